#include "backends/level_zero/list_ends.h"

#include <algorithm>
#include <utility>

namespace refrain::backends {

using Clock = std::chrono::steady_clock;

ze_result_t ListEnds::finish_by(ImmediateList& list, Clock::time_point until) noexcept {
  if (list.synchronous) {
    return ZE_RESULT_SUCCESS;  // each call waited
  }
  try {
    const env::MutexLock guard(mutex_);
    End& end = ends_[&list];
    ze_result_t status = end.event == nullptr ? make(list, end) : ZE_RESULT_SUCCESS;
    // One that nobody saw stands in front of what came later.
    if (status == ZE_RESULT_SUCCESS && end.pending) {
      status = seen_by(end, until);
    }
    if (status == ZE_RESULT_SUCCESS && driver_.zeEventQueryStatus(end.event) == ZE_RESULT_SUCCESS) {
      status = driver_.zeEventHostReset(end.event);
    }
    if (status != ZE_RESULT_SUCCESS) {
      return status;
    }
    const std::uint64_t before = list.appended.load(std::memory_order_relaxed);
    status = driver_.zeCommandListAppendBarrier(list.handle, end.event, 0, nullptr);
    end.pending = status == ZE_RESULT_SUCCESS;
    list.appended.fetch_add(1, std::memory_order_relaxed);
    if (status == ZE_RESULT_SUCCESS) {
      status = seen_by(end, until);
    }
    if (status == ZE_RESULT_SUCCESS) {
      list.done_up_to(before + 1);
    }
    return status;
  } catch (...) {
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
}

ze_result_t ListEnds::seen_by(End& end, Clock::time_point until) noexcept {
  const auto left = std::max<std::chrono::nanoseconds>(until - Clock::now(), std::chrono::nanoseconds(0));
  const ze_result_t status = driver_.zeEventHostSynchronize(end.event, static_cast<std::uint64_t>(left.count()));
  end.pending = status != ZE_RESULT_SUCCESS;
  return status;
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
