#include "backends/level_zero/event_states.h"

#include "backends/level_zero/kernel_call.h"

namespace refrain::backends {

using capture::OperationKind;
using capture::OperationView;

void EventStates::begin() noexcept {
  runs_ = 0;
  running_ = false;
  refused_ = ZE_RESULT_SUCCESS;
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void EventStates::end() noexcept {
  if (!concerned()) {
    return;
  }
  if (runs_ > 1) {
    static_cast<void>(put(&State::after));
  }
  states_.clear();
  owner_.store({}, std::memory_order_relaxed);
}

ze_result_t EventStates::before(const OperationView& operation) noexcept {
  if (!concerned()) {
    return ZE_RESULT_SUCCESS;
  }
  const ze_result_t status = before_list();
  if (status != ZE_RESULT_SUCCESS || runs_ > 1) {
    return status;
  }
  try {
    CommandEvents events;
    if (events.read(operation)) {
      for (ze_event_handle_t event : events.waits) {
        if (!state_of(event).now) {
          refused_ = ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;  // who sets it will not do so once more
        }
      }
      if (events.signal != nullptr) {
        state_of(events.signal).now = operation.kind() != OperationKind::kOther;
      }
    }
  } catch (...) {
    refused_ = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t EventStates::before_list() noexcept {
  if (!concerned()) {
    return ZE_RESULT_SUCCESS;
  }
  if (!running_) {
    running_ = true;
    ++runs_;
    if (runs_ == 2) {
      for (auto& [event, state] : states_) {
        state.after = is_set(event);
      }
    }
    if (runs_ > 1 && refused_ == ZE_RESULT_SUCCESS) {
      refused_ = put(&State::before);
    }
  }
  return runs_ > 1 ? refused_ : ZE_RESULT_SUCCESS;
}

void EventStates::run_ended() noexcept {
  if (concerned()) {
    running_ = false;
  }
}

EventStates::State& EventStates::state_of(ze_event_handle_t event) {
  const auto [place, fresh] = states_.try_emplace(event);
  if (fresh) {
    place->second.before = place->second.now = is_set(event);
  }
  return place->second;
}

bool EventStates::is_set(ze_event_handle_t event) const noexcept {
  return driver_.zeEventQueryStatus(event) == ZE_RESULT_SUCCESS;
}

ze_result_t EventStates::put(bool State::*wanted) noexcept {
  ze_result_t status = ZE_RESULT_SUCCESS;
  for (const auto& [event, state] : states_) {
    if (is_set(event) != state.*wanted) {
      const ze_result_t changed = state.*wanted ? driver_.zeEventHostSignal(event) : driver_.zeEventHostReset(event);
      status = status != ZE_RESULT_SUCCESS ? status : changed;
    }
  }
  return status;
}

}  // namespace refrain::backends
