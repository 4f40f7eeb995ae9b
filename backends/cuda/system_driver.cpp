#include "backends/cuda/system_driver.h"

#include <dlfcn.h>

namespace refrain::backends::cuda {
namespace {

void* opened = nullptr;

void* look_up(const char* name) {
  return dlsym(opened, name);
}

}  // namespace

const CudaDriver* system_driver(std::string* why) {
  static const CudaDriver* driver = []() -> const CudaDriver* {
    opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      return nullptr;
    }
    static CudaDriver table;
    fill(table, &look_up);
    return &table;
  }();
  if (driver == nullptr) {
    *why = "this machine has no CUDA driver (libcuda.so.1, which NVIDIA's driver package brings)";
    return nullptr;
  }
  const char* missing = nullptr;
  if (!can_replay(*driver, &missing)) {
    *why = std::string("this machine's CUDA driver has no ") + missing + ": it is older than CUDA 12.4";
    return nullptr;
  }
  return driver;
}

}  // namespace refrain::backends::cuda
