// Contexts: the device's primary one and others; each thread has a stack of them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "test/cuda/fake_driver/memory.h"
#include "test/cuda/fake_driver/objects.h"

namespace fake {

State& state() noexcept {
  static State& all = *new State;
  return all;
}

namespace {

std::vector<Context*>& stack() {
  thread_local std::vector<Context*> contexts;
  return contexts;
}

CUcontext handle_of(Context* context) noexcept {
  return reinterpret_cast<CUcontext>(context);
}

Context* find_context(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  const auto& all = state().contexts;
  return std::find(all.begin(), all.end(), context) == all.end() ? nullptr : context;
}

Context* make_context() {
  auto* made = new Context;
  state().kept_contexts.push_back(made);
  made->legacy = new Stream;
  made->legacy->context = made;
  made->legacy->legacy = true;
  state().contexts.push_back(made);
  return made;
}

template <class T>
void destroy_all(Handles<T>& handles, const Context* context) {
  std::vector<T*> gone;
  std::copy_if(handles.all().begin(), handles.all().end(), std::back_inserter(gone),
               [context](const T* object) { return object->context == context; });
  for (T* object : gone) {
    handles.destroy(object);
  }
}

void destroy_context(Lock& lock, Context* context) {
  wait_for_all(lock, context->open);
  context->alive = false;
  std::erase(state().contexts, context);
  destroy_all(state().streams, context);
  destroy_all(state().events, context);
  destroy_all(state().functions, context);
  destroy_all(state().modules, context);
  free_all(context);
}

CUresult create(const char* name, CUcontext* result) {
  if (const CUresult status = enter(name); status != CUDA_SUCCESS) {
    return status;
  }
  const Lock lock;
  Context* made = make_context();
  stack().push_back(made);
  *result = handle_of(made);
  return CUDA_SUCCESS;
}

CUresult destroy(const char* name, CUcontext handle) {
  if (const CUresult status = enter(name); status != CUDA_SUCCESS) {
    return status;
  }
  Lock lock;
  Context* context = find_context(handle);
  if (context == nullptr) {
    violation("%s of a context that is none", name);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!stack().empty() && stack().back() == context) {
    stack().pop_back();
  }
  destroy_context(lock, context);
  return CUDA_SUCCESS;
}

CUresult reset_primary(Lock& lock) {
  state().primary_users = 0;
  if (Context* context = std::exchange(state().primary, nullptr); context != nullptr) {
    destroy_context(lock, context);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult current(Context** context) {
  if (stack().empty() || stack().back() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = stack().back();
  return (*context)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool is_current(const Context* context) {
  return !stack().empty() && stack().back() == context;
}

void wait_for_device(Lock& lock) {
  const std::vector<Context*> all = state().contexts;
  for (const Context* context : all) {
    wait_for_all(lock, context->open);
  }
}

}  // namespace fake

using fake::Lock;
using fake::state;

FAKE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  ENTER(cuDevicePrimaryCtxRetain);
  const Lock lock;
  if (state().primary == nullptr) {
    state().primary = fake::make_context();
  }
  ++state().primary_users;
  *context = fake::handle_of(state().primary);
  return CUDA_SUCCESS;
}
FAKE cuDevicePrimaryCtxRelease_v2(CUdevice) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  Lock lock;
  return state().primary_users > 1 ? (--state().primary_users, CUDA_SUCCESS) : fake::reset_primary(lock);
}
FAKE cuDevicePrimaryCtxReset_v2(CUdevice) {
  ENTER(cuDevicePrimaryCtxReset_v2);
  Lock lock;
  return fake::reset_primary(lock);
}
FAKE cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  ENTER(cuDevicePrimaryCtxGetState);
  const Lock lock;
  *flags = 0;
  *active = state().primary != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
FAKE cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
  return fake::create("cuCtxCreate_v2", context);
}
FAKE cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
  return fake::create("cuCtxCreate_v4", context);
}
FAKE cuCtxDestroy_v2(CUcontext context) {
  return fake::destroy("cuCtxDestroy_v2", context);
}
FAKE cuCtxGetCurrent(CUcontext* context) {
  ENTER(cuCtxGetCurrent);
  *context = fake::stack().empty() ? nullptr : fake::handle_of(fake::stack().back());
  return CUDA_SUCCESS;
}
FAKE cuCtxSetCurrent(CUcontext context) {
  ENTER(cuCtxSetCurrent);
  const Lock lock;
  if (context != nullptr && fake::find_context(context) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!fake::stack().empty()) {
    fake::stack().pop_back();
  }
  if (context != nullptr) {
    fake::stack().push_back(fake::find_context(context));
  }
  return CUDA_SUCCESS;
}
FAKE cuCtxPushCurrent_v2(CUcontext context) {
  ENTER(cuCtxPushCurrent_v2);
  const Lock lock;
  if (fake::find_context(context) == nullptr) {
    fake::violation("cuCtxPushCurrent of a context that is none");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  fake::stack().push_back(fake::find_context(context));
  return CUDA_SUCCESS;
}
FAKE cuCtxPopCurrent_v2(CUcontext* context) {
  ENTER(cuCtxPopCurrent_v2);
  if (fake::stack().empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (context != nullptr) {
    *context = fake::handle_of(fake::stack().back());
  }
  fake::stack().pop_back();
  return CUDA_SUCCESS;
}
FAKE cuCtxGetDevice(CUdevice* device) {
  ENTER(cuCtxGetDevice);
  *device = 0;
  fake::Context* context = nullptr;
  return fake::current(&context);
}
FAKE cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  Lock lock;
  fake::Context* context = nullptr;
  CUresult status = fake::current(&context);
  if (status == CUDA_SUCCESS) {
    status = fake::forbidden_in_captures_of(*context);
  }
  if (status == CUDA_SUCCESS) {
    fake::wait_for_all(lock, context->open);
  }
  return status;
}
