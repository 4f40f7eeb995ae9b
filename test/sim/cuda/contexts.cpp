#include <map>
#include <utility>

#include "test/sim/cuda/face.h"

using sim::Context;
using sim::context_stack;
using sim::Lock;
using sim::Status;

namespace {

Context* former = nullptr;  ///< the last one that was made by cuCtxCreate() and destroyed

CUcontext handle_of(Context* context) noexcept {
  return reinterpret_cast<CUcontext>(context);
}

[[nodiscard]] bool is_device(CUdevice device) noexcept {
  return device >= 0 && device < sim::settings().devices;
}

/// A handle may come again: that of a context that is gone, as one of whatever device.
CUresult create(CUcontext* result, CUdevice device) {
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const Lock lock;
  Context* made = sim::make_context(std::exchange(former, nullptr));
  made->device = device;
  context_stack().push_back(made);
  *result = handle_of(made);
  return CUDA_SUCCESS;
}

/// A device's primary context. It has the same handle again after it was reset.
struct Primary {
  Context* context = nullptr;
  Context* former = nullptr;
  int users = 0;
};

Primary& primary_of(CUdevice device) {
  static std::map<CUdevice, Primary> all;
  return all[device];
}

CUresult reset(Lock& lock, Primary& primary) {
  primary.users = 0;
  if (Context* context = std::exchange(primary.context, nullptr); context != nullptr) {
    sim::destroy_context(lock, context);
  }
  return CUDA_SUCCESS;
}

CUresult device_of(const Context* context, CUdevice* device) {
  if (context == nullptr || !context->alive) {
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  *device = context->device;
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

FACE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER(cuDevicePrimaryCtxRetain);
  if (!is_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const Lock lock;
  Primary& primary = primary_of(device);
  if (primary.context == nullptr) {
    primary.context = primary.former = sim::make_context(primary.former);
    primary.context->device = device;
  }
  ++primary.users;
  *context = handle_of(primary.context);
  return CUDA_SUCCESS;
}
FACE cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  Lock lock;
  Primary& primary = primary_of(device);
  return primary.users > 1 ? (--primary.users, CUDA_SUCCESS) : reset(lock, primary);
}
FACE cuDevicePrimaryCtxReset_v2(CUdevice device) {
  ENTER(cuDevicePrimaryCtxReset_v2);
  Lock lock;
  return reset(lock, primary_of(device));
}
FACE cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  ENTER(cuDevicePrimaryCtxGetState);
  const Lock lock;
  *flags = 0;
  *active = primary_of(device).context != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
FACE cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  ENTER(cuCtxCreate_v2);
  return create(context, device);
}
FACE cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
  ENTER(cuCtxCreate_v4);
  return create(context, device);
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
  former = context;
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
  const Lock lock;
  return device_of(context_stack().empty() ? nullptr : context_stack().back(), device);
}
FACE cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  ENTER(cuCtxGetDevice_v2);
  const Lock lock;
  return device_of(sim::find_context(handle), device);
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
