// What every enqueue function has in common: token, reasons not to hold, wait lists, events.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "layer/common/submission.h"
#include "layer/opencl/doubts.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/waits.h"
#include "layer/opencl/wrappers.h"

namespace refrain::layer::opencl {

using capture::mix;
using capture::Token;
namespace words = capture::words;

/// An origin or a region. Null (an error of the application) counts as zeros.
[[nodiscard]] inline words::Three three(const size_t* values) noexcept {
  return values == nullptr ? words::Three{} : words::Three{values[0], values[1], values[2]};
}

/// An enqueue call as far as all kinds are the same.
struct Call {
  const replay::EntryPoint& entry_point;
  OperationKind kind;
  Token token;                  ///< of everything but the queue and the waits
  cl_command_type command = 0;  ///< what clGetEventInfo says of its event
  const char* unholdable = nullptr;
  std::uint16_t flags = 0;  ///< capture::OperationFlags
  [[nodiscard]] bool blocks() const noexcept { return (flags & capture::kBlocking) != 0; }
};

/// Up to four arguments of a copy, fill … in the layout of a record.
class ArgumentList {
 public:
  void memory(cl_mem object) noexcept;
  void handle(capture::ArgumentKind kind, const void* value) noexcept { add(kind, 0, &value, sizeof(value)); }
  /// To shared virtual memory.
  void pointer(const void* value) noexcept {
    add(capture::ArgumentKind::kPointer, shared_memory_at(handle_of(value)), &value, sizeof(value));
  }
  /// A pattern or colour of at most 128 bytes; longer ones (an error of the application) are cut.
  void value(const void* bytes, std::size_t size) noexcept {
    add(capture::ArgumentKind::kValue, 0, bytes, size < 128 ? size : 128);
  }
  void write(capture::OperationWriter& writer) const {
    writer.arguments(std::span(descriptors_.data(), count_), std::span(values_.data(), bytes_));
  }

 private:
  void add(capture::ArgumentKind kind, ObjectId object, const void* bytes, std::size_t size) noexcept {
    capture::ArgumentDescriptor& descriptor = descriptors_[count_++];
    descriptor.kind = kind;
    descriptor.object = object;
    descriptor.size = static_cast<std::uint32_t>(bytes == nullptr ? 0 : size);
    if (bytes != nullptr) {
      std::memcpy(values_.data() + bytes_, bytes, size);
      bytes_ += descriptor.stored_bytes();
    }
  }
  std::array<capture::ArgumentDescriptor, 4> descriptors_{};
  alignas(8) std::array<std::byte, 256> values_{};
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// Completes a record after its arguments: waits, flags, promise.
void finish_record(capture::OperationWriter& writer, const Call& call, const replay::Lane& lane, const Waits& waits,
                   bool held, bool wants_event, EventState* promise);

/// Tells the recorder about the objects a record names, before their first recorded use is issued.
void notify_recorder(const QueueState& queue, const capture::OperationView& operation) noexcept;

/// Marks the objects of a held record, so that their release by another thread flushes this lane.
void mark_held(const capture::OperationView& operation, std::uint64_t lane) noexcept;

/// If the call succeeded, but the application is told of an earlier error (`result`), it gets no event. Returns
/// `result`.
cl_int withdraw_event(cl_int status, cl_int result, cl_event* event) noexcept;

/// The event of a held call for the application: the promise's, or the real one if there is none.
cl_int give_promise(replay::Engine& running, const QueueState& queue, EventState* promise, int held_error,
                    cl_event* event) noexcept;
/// A promise without a user event, if the driver refuses to make one.
EventState* make_bare_promise(const QueueState& queue, cl_command_type command) noexcept;

/// A queue Refrain does not know, or the engine is not at work.
template <class Issue>
cl_int pass_through(const Call& call, cl_uint count, const cl_event* waits, cl_event* event, Issue&& issue) noexcept {
  cl_int status = CL_SUCCESS;
  const cl_int result = common::pass_through<Protocol>(call.entry_point, call.blocks(), [&] {
    DriverWaits driver_waits;
    status = issue(driver_waits.translate(count, waits), event);
    return status;
  });
  return event == nullptr ? result : withdraw_event(status, result, event);
}

/// The calling thread's lane if it is dormant and nothing is held anywhere: then a call without a wait list needs
/// no more than enqueue_dormant(). Null: go the long way.
inline replay::Lane* dormant_lane(cl_uint count, const cl_event* waits) noexcept {
  replay::Lane* lane = common::dormant_lane<Protocol>();
  return lane == nullptr || count != 0 || waits != nullptr ? nullptr : lane;
}

template <class Issue>
cl_int enqueue_dormant(replay::Lane& lane, bool blocks, cl_event* event, Issue&& issue) noexcept {
  const NotCancelled during(blocks);
  lane.tick_dormant();
  const cl_int status = issue(nullptr, event);
  if (event != nullptr && status == CL_SUCCESS) {
    // Not registered: that is most of what such a call would cost, and only the first waits after this are unknown.
    objects.events.erase_stale(handle_of(*event));
  }
  if (blocks) {
    Protocol::waited();
  }
  return status;
}

/// For commands that the driver can only refuse for their queue and waits.
inline const char* no_doubt(const QueueState& /*queue*/) noexcept {
  return nullptr;
}

/// What layer/common asks of an enqueue call; the functions are those of enqueue().
template <class Describe, class Issue, class Doubt>
class Operation : public common::PlainOperation {
 public:
  Operation(const Call& call, QueueState& queue, const Waits& waits, cl_event* event, const Describe& describe,
            const Issue& issue, const Doubt& doubt) noexcept
      : call_(call), queue_(queue), waits_(waits), event_(event), describe_(describe), issue_(issue), doubt_(doubt) {}

  [[nodiscard]] const replay::EntryPoint& entry_point() const noexcept { return call_.entry_point; }
  [[nodiscard]] bool blocks() const noexcept { return call_.blocks(); }
  [[nodiscard]] const char* cuts_as() const noexcept {
    return blocks() ? capture::blocking_name_of(call_.kind) : nullptr;
  }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  replay::Submission look(replay::Engine& running) noexcept {
    running_ = &running;
    changes_ = running.state_changes().begun();
    running.flush_holder(queue_.slot);
    token_ = mix(call_.token, queue_.token_seed);
    const char* unholdable = call_.unholdable != nullptr ? call_.unholdable : queue_.unholdable;
    if (unholdable == nullptr) {
      unholdable = queue_.cannot_record[static_cast<std::size_t>(call_.kind)];
    }
    if (unholdable == nullptr && event_ != nullptr && queue_.slot.info.profiling) {
      unholdable = "its event is profiled";
    }
    if (unholdable == nullptr) {
      unholdable = doubt_(static_cast<const QueueState&>(queue_));
    }
    if (waits_.count() != 0) {
      const char* reason = waits_.look(running, queue_, &token_);
      unholdable = unholdable != nullptr ? unholdable : reason;
    }
    return {token_, call_.kind, &queue_.slot, unholdable};
  }
  void decided(const replay::Lane& lane, replay::Verdict verdict, std::uint64_t number) noexcept {
    lane_ = &lane;
    number_ = number;
    if (verdict != replay::Verdict::kHold || event_ == nullptr) {
      return;
    }
    promise_ = make_promise(queue_, call_.command);
    promise_ = promise_ != nullptr ? promise_ : make_bare_promise(queue_, call_.command);
    if (promise_ != nullptr) {
      promise_->lane = lane.number();
      promise_->sequence = number;
    }
  }
  void describe(capture::OperationWriter& writer, bool held) const {
    describe_(writer, token_);
    finish_record(writer, call_, *lane_, waits_, held, event_ != nullptr, promise_);
  }
  void not_described() const noexcept {
    if (promise_ != nullptr) {
      promise_->references.store(0, std::memory_order_relaxed);
      fulfil_promise(*promise_, 0, CL_OUT_OF_HOST_MEMORY);
      drop_use(*promise_);
    }
  }
  void record(const capture::OperationView& view) const noexcept { notify_recorder(queue_, view); }
  void begin_hold(const capture::OperationView& view) const noexcept {
    mark_held(view, lane_->number());
    waits_.mark_held(lane_->number());
    waits_.submitted(*lane_, number_, queue_);
  }
  cl_int held(int error) const noexcept {
    return event_ == nullptr ? error : give_promise(*running_, queue_, promise_, error, event_);
  }
  void begin_issue() noexcept {
    signal_promises();  // what this call flushed; the driver's call may wait for a callback of it
    driver_waits_.emplace();
    translated_ = driver_waits_->translate(waits_.count(), waits_.events());
  }
  cl_int issue() const noexcept { return issue_(translated_, event_); }
  void answered(cl_int own, cl_int reported) const noexcept {
    if (own != CL_SUCCESS) {
      return;
    }
    waits_.submitted(*lane_, number_, queue_);
    if (event_ != nullptr && *event_ != nullptr) {
      withdraw_event(own, reported, event_);
      if (reported == CL_SUCCESS) {
        register_event(*event_, lane_->number(), number_, queue_);
      }
    }
  }

 private:
  const Call& call_;
  QueueState& queue_;
  Waits waits_;
  cl_event* const event_;
  const Describe& describe_;
  const Issue& issue_;
  const Doubt& doubt_;
  replay::Engine* running_ = nullptr;
  const replay::Lane* lane_ = nullptr;
  EventState* promise_ = nullptr;
  std::uint64_t changes_ = 0, number_ = 0;
  Token token_ = 0;
  std::optional<DriverWaits> driver_waits_;
  const cl_event* translated_ = nullptr;
};

/// `describe(writer, token)` begins the record and adds words and arguments; it may throw.
/// `issue(waits, event)` calls the driver. `doubt(queue)` tells why the driver may refuse the call, or null; see
/// doubts.h.
template <class Describe, class Issue, class Doubt>
cl_int enqueue(const Call& call, cl_command_queue handle, cl_uint count, const cl_event* waits, cl_event* event,
               Describe&& describe, Issue&& issue, Doubt&& doubt) noexcept {
  if (replay::Lane* lane = dormant_lane(count, waits); lane != nullptr) {
    return enqueue_dormant(*lane, call.blocks(), event, issue);
  }
  replay::Engine* running = engine();
  QueueState* queue = objects.queues.find(handle_of(handle));
  if (running == nullptr || queue == nullptr || (count != 0) != (waits != nullptr)) [[unlikely]] {
    return pass_through(call, count, waits, event, issue);
  }
  Operation<std::remove_reference_t<Describe>, std::remove_reference_t<Issue>, std::remove_reference_t<Doubt>>
      operation(call, *queue, {count, waits}, event, describe, issue, doubt);
  return common::submit<Protocol>(*running, operation);
}

}  // namespace refrain::layer::opencl
