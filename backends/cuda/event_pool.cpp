#include "backends/cuda/event_pool.h"

#include <algorithm>
#include <new>

namespace refrain::backends {

EventPool::~EventPool() {
  // The driver may be gone already when the process ends: its events go with it.
  for (CudaEvent* event : free_) {
    delete event;
  }
}

CudaEvent* EventPool::take(CUcontext context, CUresult* error) noexcept {
  *error = CUDA_SUCCESS;
  {
    const std::lock_guard guard(mutex_);
    const auto found =
        std::find_if(free_.rbegin(), free_.rend(), [context](const auto* event) { return event->context == context; });
    if (found != free_.rend()) {
      CudaEvent* event = *found;
      free_.erase(std::next(found).base());
      event->references.store(1, std::memory_order_relaxed);
      return event;
    }
  }
  auto* event = new (std::nothrow) CudaEvent;
  if (event == nullptr) {
    *error = CUDA_ERROR_OUT_OF_MEMORY;
    return nullptr;
  }
  *error = driver_.cuEventCreate(&event->handle, CU_EVENT_DISABLE_TIMING);
  if (*error != CUDA_SUCCESS) {
    delete event;
    return nullptr;
  }
  event->context = context;
  event->owned = true;
  const std::lock_guard guard(mutex_);
  event->epoch = epoch_;
  return event;
}

CudaEvent* EventPool::borrow(CUevent handle) noexcept {
  auto* event = new (std::nothrow) CudaEvent;
  if (event != nullptr) {
    event->handle = handle;
  }
  return event;
}

void EventPool::release(CudaEvent& event) noexcept {
  if (event.references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (event.owned && event.context != nullptr) {
    try {
      const std::lock_guard guard(mutex_);
      if (event.epoch == epoch_) {
        free_.push_back(&event);
        return;
      }
      // It was out while a context went, maybe its own, whose address may be another one's by now.
    } catch (...) {
      driver_.cuEventDestroy_v2(event.handle);
    }
  }
  delete &event;
}

void EventPool::context_gone(CUcontext context) noexcept {
  const std::lock_guard guard(mutex_);
  ++epoch_;
  std::erase_if(free_, [this, context](CudaEvent* event) {
    if (context != nullptr && event->context != context) {
      event->epoch = epoch_;
      return false;
    }
    delete event;
    return true;
  });
}

}  // namespace refrain::backends
