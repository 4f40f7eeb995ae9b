// A checked call of the driver, for programs that call it beside the runtime.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

/// Ends the process with the call that failed.
#define CHECK_DRIVER(call) ::gpu_test::check_driver((call), #call)

namespace gpu_test {

inline void check_driver(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(status, &name);
  std::fprintf(stderr, "%s failed: %s\n", call, name != nullptr ? name : "unknown error");
  // Not exit: other threads may be in the middle of calls.
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace gpu_test
