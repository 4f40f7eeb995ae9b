// The installed driver's functions as a dispatch table, for tests that call the layer's wrappers in their own process.
#pragma once

#include "layer/opencl/dispatch.h"

namespace refrain::layer::opencl {

inline cl_icd_dispatch driver_table() noexcept {
  cl_icd_dispatch table{};
#define SUBMIT(f) table.f = &::f;
#define TRACKED(f) SUBMIT(f)
#define RESOLVE(f) SUBMIT(f)
#define TYPED(f) SUBMIT(f)
#define NEUTRAL(f)
#define HOST(f)
#define MAKES(f)
#include "layer/opencl/entry_points.def"
#undef SUBMIT
  table.clGetKernelInfo = &::clGetKernelInfo;
  table.clGetDeviceInfo = &::clGetDeviceInfo;
  table.clGetPlatformInfo = &::clGetPlatformInfo;
  table.clGetCommandQueueInfo = &::clGetCommandQueueInfo;
  table.clGetContextInfo = &::clGetContextInfo;
  table.clGetMemObjectInfo = &::clGetMemObjectInfo;
  table.clGetImageInfo = &::clGetImageInfo;
  table.clGetProgramInfo = &::clGetProgramInfo;
  table.clGetProgramBuildInfo = &::clGetProgramBuildInfo;
  table.clSVMFree = &::clSVMFree;
  return table;
}

}  // namespace refrain::layer::opencl
