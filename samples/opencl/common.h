// What the samples share: choosing a device, building a program, a checksum and a stopwatch.
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_TARGET_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sample {

/// Which device to use, as numbers in the order in which the driver lists them.
struct DeviceChoice {
  unsigned platform = 0;
  unsigned device = 0;
};

inline void list_devices() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    std::printf("platform %zu: %s\n", p, platforms[p].getInfo<CL_PLATFORM_NAME>().c_str());
    std::vector<cl::Device> devices;
    platforms[p].getDevices(CL_DEVICE_TYPE_ALL, &devices);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      std::printf("  device %zu: %s\n", d, devices[d].getInfo<CL_DEVICE_NAME>().c_str());
    }
  }
}

/// Adds --platform, --device and --list.
inline void add_device_options(CLI::App& app, DeviceChoice& choice) {
  app.add_option("--platform", choice.platform, "Number of the OpenCL platform")->capture_default_str();
  app.add_option("--device", choice.device, "Number of the device in that platform")->capture_default_str();
  app.add_flag_callback(
      "--list",
      [] {
        list_devices();
        throw CLI::Success();
      },
      "List platforms and devices, and stop");
}

inline cl::Device find_device(const DeviceChoice& choice) {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  if (choice.platform >= platforms.size()) {
    throw std::runtime_error("there is no OpenCL platform " + std::to_string(choice.platform) +
                             "; --list shows what there is");
  }
  std::vector<cl::Device> devices;
  platforms[choice.platform].getDevices(CL_DEVICE_TYPE_ALL, &devices);
  if (choice.device >= devices.size()) {
    throw std::runtime_error("platform " + std::to_string(choice.platform) + " has no device " +
                             std::to_string(choice.device) + "; --list shows what there is");
  }
  return devices[choice.device];
}

/// Compiles `source`; a compiler error becomes an exception that carries the build log.
inline cl::Program build(const cl::Context& context, const cl::Device& device, const char* source,
                         const std::string& options = "") {
  cl::Program program(context, source);
  try {
    program.build({device}, options.c_str());
  } catch (const cl::Error&) {
    throw std::runtime_error("the kernels do not compile:\n" + program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device));
  }
  return program;
}

inline std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// FNV-1a over bytes: two runs print the same checksum exactly when every bit of their results is equal.
class Checksum {
 public:
  template <typename T>
  void add(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) {
      hash_ = (hash_ ^ bytes[i]) * 0x100000001b3u;
    }
  }
  void print() const { std::printf("checksum %016llx\n", static_cast<unsigned long long>(hash_)); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

class Stopwatch {
 public:
  /// Goes to stderr: the results on stdout are the same in every run, the time is not.
  void print() const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    std::fprintf(stderr, "elapsed %.3f s\n", elapsed.count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Runs a sample and returns its exit status: 1, with one line that says why, if it threw.
inline int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const cl::Error& error) {
    std::fprintf(stderr, "error: %s failed with %d\n", error.what(), error.err());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return 1;
}

}  // namespace sample
