#include "backends/level_zero/standalone_events.h"

#include <cstring>

#include "backends/level_zero/kernel_call.h"

namespace refrain::backends::level_zero {

using capture::ArgumentDescriptor;
using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;

namespace {

constexpr std::uint32_t kEventsOfPool = 64;

/// `visit(index, descriptor, place of its value in the record)` for each event. False: they are no events.
template <class Visit>
bool for_each_event(const OperationView& operation, Visit&& visit) {
  const int first = arguments_before_events(operation);
  const auto arguments = operation.arguments();
  if (first < 0 || arguments.size() <= static_cast<std::size_t>(first)) {
    return false;
  }
  auto place = static_cast<std::size_t>(operation.values().data() - operation.bytes().data());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_event = i >= static_cast<std::size_t>(first);
    if (is_event != (arguments[i].kind == ArgumentKind::kOtherHandle) ||
        (is_event && arguments[i].size != sizeof(capture::Handle))) {
      return false;
    }
    if (is_event && !visit(i - static_cast<std::size_t>(first), arguments[i], place)) {
      return false;
    }
    place += arguments[i].stored_bytes();
  }
  return true;
}

capture::Handle handle_at(const std::byte* record, std::size_t place) noexcept {
  capture::Handle handle = 0;
  std::memcpy(&handle, record + place, sizeof(handle));
  return handle;
}

}  // namespace

bool StandaloneEvents::replace(std::vector<std::byte>* record, std::string* why) {
  const OperationView operation(record->data());
  const bool resets = operation.kind() == OperationKind::kOther;
  std::size_t signal_place = 0;
  capture::ObjectId signalled = 0;
  *why = "its events are not written as a command has them";
  const bool good =
      for_each_event(operation, [&](std::size_t index, const ArgumentDescriptor& argument, std::size_t place) {
        const capture::Handle old = handle_at(record->data(), place);
        if (old == 0) {
          return index == 0 && !resets;  // it signals none
        }
        if (argument.object == 0) {
          *why = "it uses an event that the capture does not know: shared with other processes, or of an extension";
          return false;
        }
        if (index == 0) {  // waits come first
          signal_place = place;
          signalled = argument.object;
          return true;
        }
        const Event* const event = event_of(argument.object, true, why);
        if (event != nullptr && !event->set) {
          *why = "it waits for an event that nothing before it signals, once it was reset";
          return false;
        }
        if (event != nullptr) {
          std::memcpy(record->data() + place, &event->handle, sizeof(event->handle));
        }
        return event != nullptr;
      });
  if (!good) {
    return false;
  }
  if (signalled != 0) {
    Event* event = event_of(signalled, resets, why);
    if (event != nullptr && !resets && event->set) {
      event = make(false, why);
      current_[signalled] = event;
    }
    if (event == nullptr) {
      return false;
    }
    event->set = !resets;
    std::memcpy(record->data() + signal_place, &event->handle, sizeof(event->handle));
  }
  why->clear();
  return true;
}

bool StandaloneEvents::made_all_of(const OperationView& operation) const {
  return for_each_event(operation, [&](std::size_t index, const ArgumentDescriptor&, std::size_t place) {
    const capture::Handle handle = handle_at(operation.bytes().data(), place);
    return handle == 0 ? index == 0 : handles_.contains(handle);
  });
}

ze_result_t StandaloneEvents::put_back() const noexcept {
  for (const auto& event : all_) {
    const ze_result_t now = driver_.zeEventQueryStatus(event->handle);
    if (now != ZE_RESULT_SUCCESS && now != ZE_RESULT_NOT_READY) {
      return now;
    }
    if ((now == ZE_RESULT_SUCCESS) != event->set_at_begin) {
      const ze_result_t status =
          event->set_at_begin ? driver_.zeEventHostSignal(event->handle) : driver_.zeEventHostReset(event->handle);
      if (status != ZE_RESULT_SUCCESS) {
        return status;
      }
    }
  }
  return ZE_RESULT_SUCCESS;
}

void StandaloneEvents::clear() noexcept {
  for (const auto& event : all_) {
    destroy_object(driver_.zeEventDestroy, event->handle);
  }
  for (ze_event_pool_handle_t pool : pools_) {
    destroy_object(driver_.zeEventPoolDestroy, pool);
  }
  current_.clear();
  handles_.clear();
  all_.clear();
  pools_.clear();
}

StandaloneEvents::Event* StandaloneEvents::make(bool set_at_begin, std::string* why) {
  const auto failed = [&](ze_result_t status) {
    *why = std::string("the device refuses an event (") + backends::error_name(status) + ")";
    return nullptr;
  };
  const auto index = static_cast<std::uint32_t>(all_.size() % kEventsOfPool);
  if (index == 0) {
    ze_event_pool_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    description.count = kEventsOfPool;
    pools_.reserve(pools_.size() + 1);
    ze_device_handle_t device = device_;
    ze_event_pool_handle_t pool = nullptr;
    if (const ze_result_t status = driver_.zeEventPoolCreate(context_, &description, 1, &device, &pool);
        status != ZE_RESULT_SUCCESS) {
      return failed(status);
    }
    pools_.push_back(pool);
  }
  auto made = std::make_unique<Event>();
  all_.reserve(all_.size() + 1);
  ze_event_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  description.index = index;
  description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  if (const ze_result_t status = driver_.zeEventCreate(pools_.back(), &description, &made->handle);
      status != ZE_RESULT_SUCCESS) {
    return failed(status);
  }
  made->set_at_begin = made->set = set_at_begin;
  all_.push_back(std::move(made));
  handles_.insert(reinterpret_cast<capture::Handle>(all_.back()->handle));
  return all_.back().get();
}

StandaloneEvents::Event* StandaloneEvents::event_of(capture::ObjectId object, bool set_at_begin, std::string* why) {
  if (const auto known = current_.find(object); known != current_.end()) {
    return known->second;
  }
  Event* const made = make(set_at_begin, why);
  if (made != nullptr) {
    current_[object] = made;
  }
  return made;
}

}  // namespace refrain::backends::level_zero
