// What OpenCL this machine has, for `refrain doctor`: loader, drivers, platforms, devices. The result is
// plain text and numbers, so that no vendor header is needed to print it. The loader is opened at run time.
#pragma once

#include <string>
#include <vector>

namespace refrain::layer::opencl {

struct OpenClDevice {
  std::string name;
  std::string type;     ///< "CPU", "GPU", "accelerator", "custom"
  std::string version;  ///< CL_DEVICE_VERSION
  std::string driver;   ///< CL_DRIVER_VERSION
  std::vector<std::string> extensions;
  std::string command_buffer;  ///< version of cl_khr_command_buffer, "unknown", or empty if it is absent
  std::vector<std::string> command_buffer_capabilities;
  std::string mutable_dispatch;  ///< the same for cl_khr_command_buffer_mutable_dispatch
  std::vector<std::string> mutable_capabilities;
  std::string mutable_use;  ///< what Refrain makes of them, and what one more would free
};

struct OpenClPlatform {
  std::string name;
  std::string vendor;
  std::string version;
  std::vector<OpenClDevice> devices;
  std::string error;  ///< why its devices can't be listed
};

struct OpenClDriver {
  std::string file;     ///< the .icd file, or the variable that names the library
  std::string library;  ///< what it names
  std::string error;    ///< why it can't be opened; empty if it can
};

struct OpenClProbe {
  bool headers = false;        ///< whether this program was built with the OpenCL headers
  std::string loader;          ///< path of libOpenCL.so.1; empty if there is none
  std::string loader_name;     ///< "OpenCL ICD Loader (OCL Icd free software) 2.3.1", or empty if it doesn't say
  bool loader_layers = false;  ///< whether the loader knows OPENCL_LAYERS
  std::string error;           ///< why nothing more is known
  std::vector<OpenClDriver> drivers;
  std::vector<OpenClPlatform> platforms;
};

/// Opens loader and drivers in this process: call it in a process that may crash and that makes no other
/// OpenCL call. Never throws but for lack of memory.
OpenClProbe probe_opencl();

/// Makes the first OpenCL call of this process, with which loaders load layers. Returns what went wrong.
std::string touch_opencl();

/// Whether a loader's file knows OPENCL_LAYERS: ocl-icd does from 2.3, Khronos' from 2020.12.06 on.
bool loader_has_layers(const std::string& path);

}  // namespace refrain::layer::opencl
