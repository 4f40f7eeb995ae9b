// What the HIP samples have in common: errors, and kernels from a code object beside the program.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include <filesystem>
#include <string>

#include "../cuda/common.h"

#define CHECK_HIP(call) sample::check((call), #call)

namespace sample {

inline void check(hipError_t status, const char* call) {
  if (status == hipSuccess) return;
  const char* name = hipGetErrorName(status);
  const char* text = hipGetErrorString(status);
  fail(call, name != nullptr ? name : "unknown error", text != nullptr ? text : "no description");
}

/// kernels.co in the program's folder.
inline std::string default_code() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kernels.co";
}

inline void add_code_option(CLI::App& app, std::string& code) {
  app.add_option("--code", code, "Code object with the kernels (hipcc --genco kernels.hip -o kernels.co)")
      ->capture_default_str();
}

/// A device, a stream, and the kernels of a code object.
class Module {
 public:
  Module(int device, const std::string& code) {
    CHECK_HIP(hipSetDevice(device));
    CHECK_HIP(hipModuleLoad(&module_, code.c_str()));
    CHECK_HIP(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking));
  }
  ~Module() {
    static_cast<void>(hipStreamDestroy(stream_));
    static_cast<void>(hipModuleUnload(module_));
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  hipFunction_t function(const char* name) const {
    hipFunction_t found = nullptr;
    CHECK_HIP(hipModuleGetFunction(&found, module_, name));
    return found;
  }
  hipStream_t stream() const { return stream_; }

 private:
  hipModule_t module_ = nullptr;
  hipStream_t stream_ = nullptr;
};

template <class T>
T* allocate(std::size_t count) {
  void* memory = nullptr;
  CHECK_HIP(hipMalloc(&memory, count * sizeof(T)));
  return static_cast<T*>(memory);
}

}  // namespace sample
