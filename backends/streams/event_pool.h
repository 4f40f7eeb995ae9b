// Native events behind backends::Event: Refrain's own, which are used again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <new>
#include <vector>

#include "backends/backend.h"
#include "env/mutex.h"

namespace refrain::backends {

template <class Api>
struct NativeEvent {
  typename Api::EventHandle handle = {};
  typename Api::ContextHandle context = Api::kNoContext;
  std::uint64_t epoch = 0;  ///< of the pool, when it was made
  std::atomic<std::uint32_t> references{1};

  [[nodiscard]] static NativeEvent& of(Event event) noexcept { return *reinterpret_cast<NativeEvent*>(event); }
  [[nodiscard]] Event as_event() noexcept { return reinterpret_cast<Event>(this); }
};

/// Thread-safe.
template <class Api>
class EventPool {
 public:
  EventPool(const typename Api::Driver& driver, ExclusiveCallYield& exclusive_call_yield) noexcept
      : driver_(driver), exclusive_call_yield_(exclusive_call_yield) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// An event without timing in `context`, which must be current. One reference. Null and `error` if the
  /// driver has none left.
  NativeEvent<Api>* take(typename Api::ContextHandle context, typename Api::Status* error) noexcept;
  void release(NativeEvent<Api>& event) noexcept;
  /// A context goes away, and its events with it (kNoContext: all).
  void context_gone(typename Api::ContextHandle context) noexcept;

 private:
  const typename Api::Driver& driver_;
  ExclusiveCallYield& exclusive_call_yield_;
  env::Mutex mutex_;
  std::vector<NativeEvent<Api>*> free_ REFRAIN_GUARDED_BY(mutex_);
  /// Number of contexts that went: events of theirs may still be out.
  std::uint64_t epoch_ REFRAIN_GUARDED_BY(mutex_) = 0;
};

template <class Api>
EventPool<Api>::~EventPool() {
  // The driver may be gone already when the process ends: its events go with it.
  for (NativeEvent<Api>* event : free_) {
    delete event;
  }
}

template <class Api>
NativeEvent<Api>* EventPool<Api>::take(typename Api::ContextHandle context, typename Api::Status* error) noexcept {
  *error = Api::kSuccess;
  {
    const env::MutexLock guard(mutex_);
    const auto found =
        std::find_if(free_.rbegin(), free_.rend(), [context](const auto* event) { return event->context == context; });
    if (found != free_.rend()) {
      NativeEvent<Api>* event = *found;
      free_.erase(std::next(found).base());
      event->references.store(1, std::memory_order_relaxed);
      return event;
    }
  }
  auto* event = new (std::nothrow) NativeEvent<Api>;
  if (event == nullptr) {
    *error = Api::kOutOfMemory;
    return nullptr;
  }
  {
    const ExclusiveCallYield::Claim claim(exclusive_call_yield_);
    *error = Api::create_event(driver_, &event->handle);
  }
  if (*error != Api::kSuccess) {
    delete event;
    return nullptr;
  }
  event->context = context;
  const env::MutexLock guard(mutex_);
  event->epoch = epoch_;
  return event;
}

template <class Api>
void EventPool<Api>::release(NativeEvent<Api>& event) noexcept {
  if (event.references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (event.context != Api::kNoContext) {
    try {
      const env::MutexLock guard(mutex_);
      if (event.epoch == epoch_) {
        free_.push_back(&event);
        return;
      }
      // It was out while a context went, maybe its own, whose address may be another one's by now.
    } catch (...) {
      static_cast<void>(Api::destroy_event(driver_, event.handle));
    }
  }
  delete &event;
}

template <class Api>
void EventPool<Api>::context_gone(typename Api::ContextHandle context) noexcept {
  const env::MutexLock guard(mutex_);
  ++epoch_;
  std::erase_if(free_, [this, context](NativeEvent<Api>* event) REFRAIN_REQUIRES(mutex_) {
    if (context != Api::kNoContext && event->context != context) {
      event->epoch = epoch_;
      return false;
    }
    delete event;
    return true;
  });
}

}  // namespace refrain::backends
