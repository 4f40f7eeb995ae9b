// A small libcuda.so.1 for tests: memory is host memory, everything is done at the call, kernels do nothing.
// It knows no time and no second device. Every call is written to the file that FAKE_CUDA_LOG names, one line
// each: the exported name, and what makes calls of it differ.
//
// Functions that nobody wrote (defaults.cpp) report CUDA_ERROR_NOT_SUPPORTED, and are logged as well.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdint>

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult

namespace fake {

void log(const char* text) noexcept;
__attribute__((format(printf, 1, 2))) void logf(const char* format, ...) noexcept;

/// "c693336e-1121-df11-a8c3-68f355d89593".
struct TableName {
  char text[40];
};
TableName table_name(const CUuuid& id) noexcept;

CUcontext primary_context() noexcept;

/// Which context is current on this thread.
CUcontext& current_context() noexcept;

}  // namespace fake
