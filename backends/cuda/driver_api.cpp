#include "backends/cuda/driver_api.h"

#include <initializer_list>
#include <utility>

namespace refrain::backends {

void fill(CudaDriver& driver, void* (*lookup)(const char* name)) noexcept {
#define CUDA_FUNCTION(name) driver.name = reinterpret_cast<decltype(driver.name)>(lookup(#name));
#include "backends/cuda/driver_functions.def"
#undef CUDA_FUNCTION
}

bool can_replay(const CudaDriver& driver, const char** missing) noexcept {
#define NEEDED(name) \
  { #name, reinterpret_cast < const void*>(driver.name) }
  const std::initializer_list<std::pair<const char*, const void*>> needed = {
      NEEDED(cuCtxGetCurrent),
      NEEDED(cuCtxPushCurrent_v2),
      NEEDED(cuCtxPopCurrent_v2),
      NEEDED(cuStreamCreateWithPriority),
      NEEDED(cuStreamDestroy_v2),
      NEEDED(cuStreamGetCtx),
      NEEDED(cuStreamGetFlags),
      NEEDED(cuStreamQuery),
      NEEDED(cuStreamSynchronize),
      NEEDED(cuStreamWaitEvent),
      NEEDED(cuEventCreate),
      NEEDED(cuEventDestroy_v2),
      NEEDED(cuEventQuery),
      NEEDED(cuEventRecord),
      NEEDED(cuPointerGetAttributes),
      NEEDED(cuThreadExchangeStreamCaptureMode),
      NEEDED(cuGraphCreate),
      NEEDED(cuGraphAddKernelNode_v2),
      NEEDED(cuGraphAddMemcpyNode),
      NEEDED(cuGraphAddMemsetNode),
      NEEDED(cuGraphAddHostNode),
      NEEDED(cuGraphAddDependencies_v2),
      NEEDED(cuGraphKernelNodeSetAttribute),
      NEEDED(cuGraphInstantiateWithFlags),
      NEEDED(cuGraphUpload),
      NEEDED(cuGraphLaunch),
      NEEDED(cuGraphDestroy),
      NEEDED(cuGraphExecDestroy),
      NEEDED(cuGraphExecKernelNodeSetParams_v2),
      NEEDED(cuGraphExecHostNodeSetParams),
      NEEDED(cuLaunchKernel),
      NEEDED(cuLaunchKernelEx),
      NEEDED(cuLaunchHostFunc),
      NEEDED(cuFuncGetParamInfo),
      NEEDED(cuKernelGetParamInfo),
      NEEDED(cuMemcpyAsync),
      NEEDED(cuMemcpy3DAsync_v2),
      NEEDED(cuMemsetD8Async),
      NEEDED(cuMemsetD2D8Async),
      NEEDED(cuMemsetD2D16Async),
      NEEDED(cuMemsetD2D32Async),
  };
#undef NEEDED
  for (const auto& [name, function] : needed) {
    if (function == nullptr) {
      *missing = name;
      return false;
    }
  }
  return true;
}

}  // namespace refrain::backends
