#include "layer/opencl/probe.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/opencl/update_use.h"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#define REFRAIN_OPENCL_HEADERS 1
#else
#define REFRAIN_OPENCL_HEADERS 0
#endif

namespace refrain::layer::opencl {
namespace {

constexpr const char* kLoader = "libOpenCL.so.1";
constexpr const char* kVendors = "/etc/OpenCL/vendors";

std::string last_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

OpenClDriver try_driver(const std::string& file, const std::string& library) {
  OpenClDriver driver{file, library, {}};
  if (library.empty()) {
    driver.error = "names no library";
  } else if (void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL); handle == nullptr) {
    driver.error = last_error();
  }
  return driver;
}

std::vector<OpenClDriver> find_drivers() {
  std::vector<OpenClDriver> drivers;
  std::string folder = variable("OPENCL_VENDOR_PATH");
  if (folder.empty()) folder = kVendors;
  const std::string chosen = variable("OCL_ICD_VENDORS");
  std::error_code error;
  if (!chosen.empty() && std::filesystem::is_directory(chosen, error)) {
    folder = chosen;
  } else if (!chosen.empty() && !chosen.ends_with(".icd")) {
    return {try_driver("OCL_ICD_VENDORS", chosen)};
  }
  std::vector<std::string> files;
  if (chosen.ends_with(".icd")) {
    files.push_back(chosen.find('/') == std::string::npos ? folder + "/" + chosen : chosen);
  } else {
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".icd") files.push_back(entry->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    std::ifstream stream(file);
    std::string library;
    std::getline(stream, library);
    library.erase(library.find_last_not_of(" \t\r") + 1);
    drivers.push_back(try_driver(file, library));
  }
  return drivers;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

#if REFRAIN_OPENCL_HEADERS

struct Loader {
  decltype(&clGetPlatformIDs) platform_ids = nullptr;
  decltype(&clGetPlatformInfo) platform_info = nullptr;
  decltype(&clGetDeviceIDs) device_ids = nullptr;
  decltype(&clGetDeviceInfo) device_info = nullptr;
  void*(CL_API_CALL* extension_address)(const char*) = nullptr;  // deprecated by name, but in every loader
};

template <class Function>
void find_function(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
}

// Asks a clGet…Info function for a text.
template <class Query>
std::string text(Query query) {
  std::size_t size = 0;
  if (query(std::size_t{0}, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string result(size, '\0');
  if (query(size, result.data(), nullptr) != CL_SUCCESS) return {};
  result.erase(std::min(result.find('\0'), result.size()));
  return result;
}

std::string loader_name(const Loader& loader) {
  using GetInfo = cl_int(CL_API_CALL*)(cl_uint, std::size_t, void*, std::size_t*);
  constexpr cl_uint kVersion = 2;
  constexpr cl_uint kName = 3;
  if (loader.extension_address == nullptr) return {};
  const auto get = reinterpret_cast<GetInfo>(loader.extension_address("clGetICDLoaderInfoOCLICD"));
  if (get == nullptr) return {};
  const auto ask = [get](cl_uint what) {
    return text(
        [get, what](std::size_t size, void* value, std::size_t* needed) { return get(what, size, value, needed); });
  };
  return ask(kName) + " " + ask(kVersion);
}

struct Bit {
  cl_bitfield bit;
  const char* name;
};

// Values from the extension's specification: headers of different age have different sets of them.
constexpr cl_device_info kCommandBufferCapabilities = 0x12A9;
constexpr cl_device_info kMutableCapabilities = 0x12B0;
constexpr Bit kCommandBufferBits[] = {{1, "kernel_printf"},
                                      {2, "device_side_enqueue"},
                                      {4, "simultaneous_use"},
                                      {8, "out_of_order"},
                                      {16, "multiple_queue"}};

template <std::size_t kCount>
std::vector<std::string> bits(const Loader& loader, cl_device_id device, cl_device_info what,
                              const Bit (&names)[kCount]) {
  cl_bitfield value = 0;
  if (loader.device_info(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return {};
  std::vector<std::string> result;
  for (const Bit& bit : names) {
    if ((value & bit.bit) != 0) result.emplace_back(bit.name);
  }
  return result;
}

std::string extension_version(const Loader& loader, cl_device_id device, const OpenClDevice& known,
                              const std::string& name) {
  std::size_t size = 0;
  if (loader.device_info(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &size) == CL_SUCCESS) {
    std::vector<cl_name_version> list(size / sizeof(cl_name_version));
    if (!list.empty() &&
        loader.device_info(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, list.size() * sizeof(cl_name_version),
                           list.data(), nullptr) == CL_SUCCESS) {
      for (const cl_name_version& entry : list) {
        if (name != std::string(entry.name, ::strnlen(entry.name, CL_NAME_VERSION_MAX_NAME_SIZE))) continue;
        return std::to_string(CL_VERSION_MAJOR(entry.version)) + "." + std::to_string(CL_VERSION_MINOR(entry.version)) +
               "." + std::to_string(CL_VERSION_PATCH(entry.version));
      }
    }
  }
  const bool listed = std::find(known.extensions.begin(), known.extensions.end(), name) != known.extensions.end();
  return listed ? "unknown" : "";
}

OpenClDevice describe(const Loader& loader, cl_device_id device) {
  const auto ask = [&loader, device](cl_device_info what) {
    return text([&loader, device, what](std::size_t size, void* value, std::size_t* needed) {
      return loader.device_info(device, what, size, value, needed);
    });
  };
  OpenClDevice result;
  result.name = ask(CL_DEVICE_NAME);
  result.version = ask(CL_DEVICE_VERSION);
  result.driver = ask(CL_DRIVER_VERSION);
  cl_device_type type = 0;
  loader.device_info(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
  result.type = (type & CL_DEVICE_TYPE_GPU) != 0           ? "GPU"
                : (type & CL_DEVICE_TYPE_CPU) != 0         ? "CPU"
                : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator"
                                                           : "custom";
  std::istringstream extensions(ask(CL_DEVICE_EXTENSIONS));
  for (std::string name; extensions >> name;) result.extensions.push_back(name);
  result.command_buffer = extension_version(loader, device, result, "cl_khr_command_buffer");
  if (!result.command_buffer.empty()) {
    result.command_buffer_capabilities = bits(loader, device, kCommandBufferCapabilities, kCommandBufferBits);
  }
  result.mutable_dispatch = extension_version(loader, device, result, "cl_khr_command_buffer_mutable_dispatch");
  if (!result.mutable_dispatch.empty()) {
    cl_bitfield offered = 0;
    if (loader.device_info(device, kMutableCapabilities, sizeof offered, &offered, nullptr) != CL_SUCCESS) {
      offered = 0;
    }
    for (const auto& [field, name] : backends::opencl::kUpdateNames) {
      if ((offered & field) != 0) result.mutable_capabilities.emplace_back(name);
    }
    result.mutable_use = backends::opencl::use_of_updates(offered);
  }
  return result;
}

OpenClPlatform describe(const Loader& loader, cl_platform_id platform) {
  const auto ask = [&loader, platform](cl_platform_info what) {
    return text([&loader, platform, what](std::size_t size, void* value, std::size_t* needed) {
      return loader.platform_info(platform, what, size, value, needed);
    });
  };
  OpenClPlatform result;
  result.name = ask(CL_PLATFORM_NAME);
  result.vendor = ask(CL_PLATFORM_VENDOR);
  result.version = ask(CL_PLATFORM_VERSION);
  cl_uint count = 0;
  const cl_int error = loader.device_ids(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> devices(error == CL_SUCCESS ? count : 0);
  if (error != CL_SUCCESS) {
    result.error =
        error == CL_DEVICE_NOT_FOUND ? "it has no device" : "clGetDeviceIDs returned " + std::to_string(error);
  } else if (count > 0 &&
             loader.device_ids(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr) == CL_SUCCESS) {
    for (const cl_device_id device : devices) result.devices.push_back(describe(loader, device));
  }
  return result;
}

// CL_PLATFORM_NOT_FOUND_KHR, which some versions of the headers hide.
constexpr cl_int kNoPlatform = -1001;

std::string platforms(const Loader& loader, std::vector<cl_platform_id>& list) {
  cl_uint count = 0;
  const cl_int error = loader.platform_ids(0, nullptr, &count);
  if (error == kNoPlatform || (error == CL_SUCCESS && count == 0)) return "no OpenCL platform was found";
  if (error != CL_SUCCESS) return "clGetPlatformIDs returned " + std::to_string(error);
  list.resize(count);
  loader.platform_ids(count, list.data(), nullptr);
  return {};
}

// Opens the loader; on failure `probe.error` says why.
Loader open_loader(OpenClProbe& probe) {
  Loader loader;
  void* const handle = ::dlopen(kLoader, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    probe.error = std::string("no OpenCL loader: ") + last_error();
    return loader;
  }
  probe.loader = path_of(handle);
  find_function(handle, "clGetPlatformIDs", loader.platform_ids);
  find_function(handle, "clGetPlatformInfo", loader.platform_info);
  find_function(handle, "clGetDeviceIDs", loader.device_ids);
  find_function(handle, "clGetDeviceInfo", loader.device_info);
  find_function(handle, "clGetExtensionFunctionAddress", loader.extension_address);
  if (loader.platform_ids == nullptr || loader.platform_info == nullptr || loader.device_ids == nullptr ||
      loader.device_info == nullptr) {
    probe.error = probe.loader + " is not an OpenCL loader: it lacks functions of OpenCL 1.0";
  }
  return loader;
}

#endif

}  // namespace

bool loader_has_layers(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return content.find("OPENCL_LAYERS") != std::string::npos;
}

#if REFRAIN_OPENCL_HEADERS

OpenClProbe probe_opencl() {
  OpenClProbe probe;
  probe.headers = true;
  probe.drivers = find_drivers();
  const Loader loader = open_loader(probe);
  if (!probe.error.empty()) return probe;
  probe.loader_layers = loader_has_layers(probe.loader);
  probe.loader_name = loader_name(loader);
  std::vector<cl_platform_id> list;
  probe.error = platforms(loader, list);
  for (const cl_platform_id platform : list) probe.platforms.push_back(describe(loader, platform));
  return probe;
}

std::string touch_opencl() {
  OpenClProbe probe;
  const Loader loader = open_loader(probe);
  if (!probe.error.empty()) return probe.error;
  std::vector<cl_platform_id> list;
  return platforms(loader, list);
}

#else

OpenClProbe probe_opencl() {
  OpenClProbe probe;
  probe.drivers = find_drivers();
  probe.error = "Refrain was built without the OpenCL headers (Debian: opencl-headers)";
  if (void* const handle = ::dlopen(kLoader, RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
    probe.loader = path_of(handle);
    probe.loader_layers = loader_has_layers(probe.loader);
  }
  return probe;
}

std::string touch_opencl() {
  return "Refrain was built without the OpenCL headers (Debian: opencl-headers)";
}

#endif

}  // namespace refrain::layer::opencl
