#include <utility>

#include "test/sim/cuda/face.h"

using sim::Context;
using sim::context_stack;
using sim::Lock;
using sim::state;
using sim::Status;

namespace {

CUcontext handle_of(Context* context) noexcept {
  return reinterpret_cast<CUcontext>(context);
}

CUresult create(CUcontext* result) {
  const Lock lock;
  Context* made = sim::make_context();
  context_stack().push_back(made);
  *result = handle_of(made);
  return CUDA_SUCCESS;
}

/// The primary context has the same handle again after it was reset.
Context* former_primary = nullptr;

CUresult reset_primary(Lock& lock) {
  state().primary_users = 0;
  if (Context* context = std::exchange(state().primary, nullptr); context != nullptr) {
    sim::destroy_context(lock, context);
  }
  return CUDA_SUCCESS;
}

Status synchronize(Lock& lock, Context& context) {
  const Status status = sim::forbidden_in_captures_of(context);
  if (status != Status::kOk) {
    return status;
  }
  return sim::wait_for_all(lock, context.open) ? Status::kOk : Status::kTimeout;
}

}  // namespace

FACE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  ENTER(cuDevicePrimaryCtxRetain);
  const Lock lock;
  if (state().primary == nullptr) {
    state().primary = former_primary = sim::make_context(former_primary);
  }
  ++state().primary_users;
  *context = handle_of(state().primary);
  return CUDA_SUCCESS;
}
FACE cuDevicePrimaryCtxRelease_v2(CUdevice) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  Lock lock;
  return state().primary_users > 1 ? (--state().primary_users, CUDA_SUCCESS) : reset_primary(lock);
}
FACE cuDevicePrimaryCtxReset_v2(CUdevice) {
  ENTER(cuDevicePrimaryCtxReset_v2);
  Lock lock;
  return reset_primary(lock);
}
FACE cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  ENTER(cuDevicePrimaryCtxGetState);
  const Lock lock;
  *flags = 0;
  *active = state().primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
FACE cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
  ENTER(cuCtxCreate_v2);
  return create(context);
}
FACE cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
  ENTER(cuCtxCreate_v4);
  return create(context);
}
FACE cuCtxDestroy_v2(CUcontext handle) {
  ENTER(cuCtxDestroy_v2);
  Lock lock;
  Context* context = sim::find_context(handle);
  if (context == nullptr) {
    sim::violation("cuCtxDestroy of a context that is none");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (sim::is_current(context)) {
    context_stack().pop_back();
  }
  sim::destroy_context(lock, context);
  return CUDA_SUCCESS;
}
FACE cuCtxGetCurrent(CUcontext* context) {
  ENTER(cuCtxGetCurrent);
  *context = context_stack().empty() ? nullptr : handle_of(context_stack().back());
  return CUDA_SUCCESS;
}
FACE cuCtxGetId(CUcontext handle, unsigned long long* number) {
  ENTER(cuCtxGetId);
  const Lock lock;
  Context* context = handle != nullptr         ? sim::find_context(handle)
                     : context_stack().empty() ? nullptr
                                               : context_stack().back();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *number = context->number;
  return CUDA_SUCCESS;
}
FACE cuCtxSetCurrent(CUcontext context) {
  ENTER(cuCtxSetCurrent);
  const Lock lock;
  if (context != nullptr && sim::find_context(context) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!context_stack().empty()) {
    context_stack().pop_back();
  }
  if (context != nullptr) {
    context_stack().push_back(sim::find_context(context));
  }
  return CUDA_SUCCESS;
}
FACE cuCtxPushCurrent_v2(CUcontext context) {
  ENTER(cuCtxPushCurrent_v2);
  const Lock lock;
  if (sim::find_context(context) == nullptr) {
    sim::violation("cuCtxPushCurrent of a context that is none");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  context_stack().push_back(sim::find_context(context));
  return CUDA_SUCCESS;
}
FACE cuCtxPopCurrent_v2(CUcontext* context) {
  ENTER(cuCtxPopCurrent_v2);
  if (context_stack().empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context != nullptr) {
    *context = handle_of(context_stack().back());
  }
  context_stack().pop_back();
  return CUDA_SUCCESS;
}
FACE cuCtxGetDevice(CUdevice* device) {
  ENTER(cuCtxGetDevice);
  *device = 0;
  Context* context = nullptr;
  return sim::cuda::result(sim::current(&context));
}
FACE cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  Lock lock;
  Context* context = nullptr;
  const Status status = sim::current(&context);
  return sim::cuda::result(status == Status::kOk ? synchronize(lock, *context) : status);
}
FACE cuCtxSynchronize_v2(CUcontext handle) {
  ENTER(cuCtxSynchronize_v2);
  Lock lock;
  Context* context = sim::find_context(handle);
  return sim::cuda::result(context == nullptr ? Status::kInvalidContext : synchronize(lock, *context));
}
