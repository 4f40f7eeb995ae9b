#include "layer/opencl/waits.h"

#include "layer/opencl/doubts.h"

namespace refrain::layer::opencl {
namespace {

const char* const kUnknownWait = "it waits for an event that Refrain did not see made";

/// How often this thread waited for the device.
thread_local std::uint64_t host_waits __attribute__((tls_model("initial-exec"))) = 0;

bool driver_says_done(const EventState& event) noexcept {
  const Handle handle =
      event.promise ? event.native.load(std::memory_order_acquire) : event.handle.load(std::memory_order_relaxed);
  cl_int status = CL_QUEUED;
  return handle != 0 &&
         target.clGetEventInfo(native<cl_event>(handle), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                               nullptr) == CL_SUCCESS &&
         status == CL_COMPLETE;
}

/// The driver is asked for events that were waited for before the program itself last waited for anything. They are
/// most likely complete. Whether a newer one is depends on how fast the device is, and so would the token.
bool is_done(EventState& event, const replay::Lane& lane) noexcept {
  if (event.done.load(std::memory_order_acquire)) {
    return true;
  }
  const std::uint64_t now = capture::mix(lane.number(), host_waits) | 1U;
  const std::uint64_t before = event.waited_at.load(std::memory_order_relaxed);
  if (before == now) {
    return false;
  }
  event.waited_at.store(now, std::memory_order_relaxed);
  if (before == 0 || !driver_says_done(event)) {
    return false;
  }
  event.done.store(true, std::memory_order_release);
  return true;
}

bool is_ordered(const QueueState& queue, const EventState& event) noexcept {
  return queue.slot.info.in_order && event.is_behind_it(queue.id);
}

}  // namespace

void note_host_wait() noexcept {
  ++host_waits;
}

const char* Waits::look(replay::Engine& running, const QueueState& queue, capture::Token* token) noexcept {
  static constexpr std::uint64_t kUnknown = 0x0A75'1DFULL;
  const replay::Lane& lane = running.lane();
  const char* unholdable = nullptr;
  for (cl_uint i = 0; i < count_; ++i) {
    EventState* event = objects.events.find(handle_of(events_[i]));
    if (event == nullptr) {
      unholdable = unholdable != nullptr ? unholdable : kUnknownWait;
      *token = capture::mix(*token, kUnknown);
      continue;
    }
    unholdable = unholdable != nullptr ? unholdable : doubt_wait(queue, *event);
    if (event->lane != lane.number() && event->promise && event->outcome.load(std::memory_order_acquire) == 1) {
      running.flush_lane(event->lane);
    }
    if (i < 64 && is_done(*event, lane)) {
      add(&done_, i);
    } else if (i < 64 && is_ordered(queue, *event)) {
      add(&ordered_, i);
    } else {
      const common::WaitRole role = event->newest_wait.role(lane, event->lane, event->sequence);
      *token = capture::mix(*token, role.token);
      if (role.repeated) {
        add(&repeated_, i);
      }
    }
  }
  return unholdable;
}

void Waits::write(const replay::Lane& lane, bool held, capture::OperationWriter& writer) const {
  for (cl_uint i = 0; i < count_; ++i) {
    const bool ordered = has(ordered_, i);
    if (has(done_, i) || (ordered && !held)) {
      continue;
    }
    const Handle handle = handle_of(events_[i]);
    const EventState* event = objects.events.find(handle);
    // What was already submitted is named by its event; only the order inside what is held, or inside what is
    // remembered, can become an edge.
    const bool inside = event != nullptr && event->lane == lane.number() && (!held || lane.is_held(event->sequence));
    writer.wait((inside ? capture::kInternalWait | event->sequence : handle) | (ordered ? capture::kOrderedWait : 0) |
                (has(repeated_, i) ? capture::kRepeatedWait : 0));
  }
}

void Waits::submitted(const replay::Lane& lane, std::uint64_t sequence, const QueueState& queue) const noexcept {
  for (cl_uint i = 0; i < count_; ++i) {
    EventState* event = objects.events.find(handle_of(events_[i]));
    if (event == nullptr || has(done_, i) || has(ordered_, i)) {
      continue;
    }
    event->newest_wait.note(lane.number(), sequence, i);
    event->comes_before(queue.id);
  }
}

void Waits::mark_held(std::uint64_t lane) const noexcept {
  for (cl_uint i = 0; i < count_; ++i) {
    if (EventState* event = objects.events.find(handle_of(events_[i])); event != nullptr) {
      event->held_by(lane);
    }
  }
}

}  // namespace refrain::layer::opencl
