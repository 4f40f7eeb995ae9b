#include "backends/level_zero/list_ends.h"

#include <algorithm>
#include <utility>

namespace refrain::backends {

using Clock = std::chrono::steady_clock;

bool ListEnds::finish_by(ImmediateList& list, Clock::time_point until) noexcept {
  if (list.synchronous) {
    return true;  // each call waited
  }
  try {
    const env::MutexLock guard(mutex_);
    End& end = ends_[&list];
    if (end.event == nullptr && make(list, end) != ZE_RESULT_SUCCESS) {
      return false;
    }
    // One that nobody saw stands in front of what came later.
    if (end.pending && !seen_by(end, until)) {
      return false;
    }
    if (driver_.zeEventQueryStatus(end.event) == ZE_RESULT_SUCCESS &&
        driver_.zeEventHostReset(end.event) != ZE_RESULT_SUCCESS) {
      return false;
    }
    const std::uint64_t before = list.appended.load(std::memory_order_relaxed);
    end.pending = driver_.zeCommandListAppendBarrier(list.handle, end.event, 0, nullptr) == ZE_RESULT_SUCCESS;
    list.appended.fetch_add(1, std::memory_order_relaxed);
    if (!end.pending || !seen_by(end, until)) {
      return false;
    }
    list.done_up_to(before + 1);
    return true;
  } catch (...) {
    return false;
  }
}

bool ListEnds::seen_by(End& end, Clock::time_point until) noexcept {
  const auto left = std::max<std::chrono::nanoseconds>(until - Clock::now(), std::chrono::nanoseconds(0));
  const auto nanoseconds = static_cast<std::uint64_t>(left.count());
  end.pending = driver_.zeEventHostSynchronize(end.event, nanoseconds) != ZE_RESULT_SUCCESS;
  return !end.pending;
}

ze_result_t ListEnds::make(const ImmediateList& list, End& end) noexcept {
  ze_event_pool_desc_t pool{};
  pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool.count = 1;
  ze_device_handle_t device = list.device;
  ze_result_t status = ZE_RESULT_SUCCESS;
  if (end.pool == nullptr) {
    status = driver_.zeEventPoolCreate(list.context, &pool, 1, &device, &end.pool);
    end.pool = status == ZE_RESULT_SUCCESS ? end.pool : nullptr;
  }
  if (status == ZE_RESULT_SUCCESS) {
    ze_event_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    status = driver_.zeEventCreate(end.pool, &description, &end.event);
    end.event = status == ZE_RESULT_SUCCESS ? end.event : nullptr;
  }
  return status;
}

void ListEnds::list_gone(const ImmediateList& list) noexcept {
  const env::MutexLock guard(mutex_);
  const auto found = ends_.find(&list);
  if (found == ends_.end()) {
    return;
  }
  End& end = found->second;
  if (end.pending) {
    driver_.zeEventHostSynchronize(end.event, ~std::uint64_t{0});
  }
  if (end.event != nullptr) {
    destroy_object(driver_.zeEventDestroy, std::exchange(end.event, nullptr));
  }
  if (end.pool != nullptr) {
    destroy_object(driver_.zeEventPoolDestroy, std::exchange(end.pool, nullptr));
  }
  ends_.erase(found);
}

}  // namespace refrain::backends
