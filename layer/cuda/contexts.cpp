// Which context is a thread's: neutral for what is held, but the shared runtime makes the primary context current at
// its next call if there is none, so that no launch may skip the runtime then.

#include "layer/cuda/cudart_launch.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/wrappers.h"

namespace refrain::layer::cuda {

CUresult wrap::cuCtxSetCurrent(CUcontext context) noexcept {
  context_changed = true;
  return driver.cuCtxSetCurrent(context);
}
CUresult wrap::cuCtxPushCurrent(CUcontext context) noexcept {
  context_changed = true;
  return driver.cuCtxPushCurrent(context);
}
CUresult wrap::cuCtxPushCurrent_v2(CUcontext context) noexcept {
  context_changed = true;
  return driver.cuCtxPushCurrent_v2(context);
}
CUresult wrap::cuCtxPopCurrent(CUcontext* context) noexcept {
  context_changed = true;
  return driver.cuCtxPopCurrent(context);
}
CUresult wrap::cuCtxPopCurrent_v2(CUcontext* context) noexcept {
  context_changed = true;
  return driver.cuCtxPopCurrent_v2(context);
}

}  // namespace refrain::layer::cuda
