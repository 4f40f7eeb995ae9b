// What the implementation of Level Zero is made of: its objects, and how events are used again.
#pragma once

#include <level_zero/ze_api.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "test/portable/calls.h"
#include "test/portable/counters.h"
#include "test/portable/device.h"
#include "test/sim/level_zero/newer_api.h"

#define CALL_ZE(call) PORTABLE_CALL(call)

namespace portable::level_zero {

inline constexpr std::uint64_t kForEver = ~std::uint64_t{0};
/// ZE_COMMAND_QUEUE_FLAG_IN_ORDER, since 1.6.
inline constexpr ze_command_queue_flags_t kInOrderFlag = 1U << 1U;
inline constexpr std::uint32_t kEventsOfPool = 512;

/// How often nothing at all was in flight: what was used before the last time is free again.
struct Idle {
  std::atomic<int> busy_queues{0};
  std::atomic<std::uint64_t> times{1};
};

struct ZeQueue : Queue {
  ze_command_list_handle_t list = nullptr;
  std::mutex appending;  ///< a list takes commands of one thread at a time
  std::atomic<bool> busy{false};
  std::atomic<std::thread::id> user{};  ///< the thread that appended last
  bool with_parameters = false;         ///< the newer functions append to it
};
struct ZeMemory : Memory {
  std::byte* address = nullptr;
};
struct ZeEvent : Event {
  ze_event_handle_t event = nullptr;   ///< of the last record; null before the first
  std::atomic<std::uint64_t> used{0};  ///< Idle::times when it was last recorded or waited for
};
struct ZeKernel : Kernel {
  ze_kernel_handle_t kernel = nullptr;
};

struct ZeGraph : Graph {
  sim::level_zero::GraphHandle* graph = nullptr;
  sim::level_zero::ExecutableGraphHandle* executable = nullptr;
  std::mutex mutex;
  std::vector<ZeQueue*> queues;  ///< in which it was launched
};

/// What newer drivers have, by its names; null: not offered.
struct Newer {
  sim::level_zero::LaunchWithParameters launch = nullptr;
  sim::level_zero::CopyWithParameters copy = nullptr;
  sim::level_zero::FillWithParameters fill = nullptr;
  sim::level_zero::AppendHostFunction host_function = nullptr;
  sim::level_zero::BeginCapture begin = nullptr;
  sim::level_zero::EndCapture end = nullptr;
  sim::level_zero::InstantiateGraph instantiate = nullptr;
  sim::level_zero::AppendGraph append_graph = nullptr;
  sim::level_zero::DestroyGraph destroy = nullptr;
  sim::level_zero::DestroyExecutableGraph destroy_executable = nullptr;

  void find(ze_driver_handle_t driver) {
    const auto get = [driver](const char* name, auto& function) {
      void* found = nullptr;
      if (zeDriverGetExtensionFunctionAddress(driver, name, &found) == ZE_RESULT_SUCCESS) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
      }
    };
    get("zeCommandListAppendLaunchKernelWithParameters", launch);
    get("zeCommandListAppendMemoryCopyWithParameters", copy);
    get("zeCommandListAppendMemoryFillWithParameters", fill);
    get("zeCommandListAppendHostFunction", host_function);
    get("zeCommandListBeginGraphCaptureExt", begin);
    get("zeCommandListEndGraphCaptureExt", end);
    get("zeGraphInstantiateExt", instantiate);
    get("zeCommandListAppendGraphExt", append_graph);
    get("zeGraphDestroyExt", destroy);
    get("zeExecutableGraphDestroyExt", destroy_executable);
  }
};

/// By numbers in shared memory, or by an event that the host signals.
struct ZeGate : Gate {
  Counters counters;  ///< if there are kernels
  ze_kernel_handle_t await = nullptr, bump = nullptr;
  std::atomic<ze_event_handle_t> event{nullptr};  ///< while it is closed
};

inline ze_command_list_handle_t native(const Queue* queue) {
  return static_cast<const ZeQueue*>(queue)->list;
}
inline std::byte* native(const Range& range) {
  return static_cast<const ZeMemory*>(range.memory)->address + range.offset;
}
template <class Description>
Description describe(ze_structure_type_t type) {
  Description description{};
  description.stype = type;
  return description;
}

/// Native events are signalled once; they are reset and used again when nothing can still wait for them. Thread-safe.
class Events {
 public:
  Idle idle;

  void open(ze_context_handle_t context, ze_device_handle_t device) {
    context_ = context;
    device_ = device;
  }
  void close() {
    for (ze_event_handle_t each : all_) {
      CALL_ZE(zeEventDestroy(each));
    }
    for (ze_event_pool_handle_t each : pools_) {
      CALL_ZE(zeEventPoolDestroy(each));
    }
  }
  ze_event_handle_t take() {
    const std::lock_guard lock(mutex_);
    if (!unused_.empty()) {
      ze_event_handle_t event = unused_.back();
      unused_.pop_back();
      return event;
    }
    if (all_.size() % kEventsOfPool == 0) {
      auto description = describe<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
      description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
      description.count = kEventsOfPool;
      ze_event_pool_handle_t pool = nullptr;
      CALL_ZE(zeEventPoolCreate(context_, &description, 1, &device_, &pool));
      pools_.push_back(pool);
    }
    auto description = describe<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
    description.index = static_cast<std::uint32_t>(all_.size() % kEventsOfPool);
    description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t made = nullptr;
    CALL_ZE(zeEventCreate(pools_.back(), &description, &made));
    all_.push_back(made);
    return made;
  }
  void replace(ze_event_handle_t old) {
    if (old != nullptr) {
      const std::lock_guard lock(mutex_);
      replaced_.push_back(old);
    }
  }
  /// It is done, and nothing waits for it.
  void give_back(ze_event_handle_t event) {
    CALL_ZE(zeEventHostReset(event));
    const std::lock_guard lock(mutex_);
    unused_.push_back(event);
  }
  [[nodiscard]] std::vector<ze_event_handle_t> take_replaced() {
    const std::lock_guard lock(mutex_);
    return std::exchange(replaced_, {});
  }

 private:
  std::mutex mutex_;
  ze_context_handle_t context_ = nullptr;
  ze_device_handle_t device_ = nullptr;
  std::vector<ze_event_pool_handle_t> pools_;
  std::vector<ze_event_handle_t> all_, unused_, replaced_;
};

/// The wait list and the event of a submission. While it lives, no other thread appends to the list.
class Ordered {
 public:
  Ordered(Events& events, Queue* queue, const Order& order)
      : appending_(static_cast<ZeQueue*>(queue)->appending),
        events_(events),
        target_(static_cast<ZeEvent*>(order.event)) {
    static_cast<ZeQueue*>(queue)->user.store(std::this_thread::get_id());
    if (!static_cast<ZeQueue*>(queue)->busy.exchange(true)) {
      events.idle.busy_queues.fetch_add(1);
    }
    const std::uint64_t now = events.idle.times.load();
    for (Event* each : order.after) {
      auto* own = static_cast<ZeEvent*>(each);
      own->used.store(now);
      if (own->event != nullptr) {
        waits_.push_back(own->event);
      }
    }
    if (target_ != nullptr) {
      if (target_->event != nullptr && target_->used.load() < now) {
        event_ = target_->event;  // everything is done that used it
        CALL_ZE(zeEventHostReset(event_));
      } else {
        event_ = events_.take();
      }
      target_->used.store(now);
    }
  }
  ~Ordered() {
    if (target_ != nullptr && target_->event != event_) {
      events_.replace(std::exchange(target_->event, event_));
    }
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(waits_.size()); }
  [[nodiscard]] ze_event_handle_t* list() { return waits_.empty() ? nullptr : waits_.data(); }
  [[nodiscard]] ze_event_handle_t event() const { return event_; }

 private:
  std::lock_guard<std::mutex> appending_;
  Events& events_;
  ZeEvent* target_;
  std::vector<ze_event_handle_t> waits_;
  ze_event_handle_t event_ = nullptr;
};

}  // namespace portable::level_zero
