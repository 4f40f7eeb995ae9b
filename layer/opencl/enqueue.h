// What every enqueue function has in common: token, reasons not to hold, wait lists, events, and the
// protocol of replay/lane/lane.h.
#pragma once

#include <array>
#include <cstring>

#include "layer/opencl/doubts.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/wrappers.h"
#include "layer/waiting.h"
#include "replay/runtime/clock.h"

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
};

/// Up to four arguments of a copy, fill … in the layout of a record.
class ArgumentList {
 public:
  void memory(cl_mem object) noexcept;
  void handle(capture::ArgumentKind kind, const void* value) noexcept { add(kind, 0, &value, sizeof(value)); }
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

/// Looks at a wait list before a submission: flushes what other lanes hold of it, adds the distances to
/// `token`. Returns why the operation cannot be held for its waits, or null.
const char* look_at_waits(replay::Engine& running, const replay::Lane& lane, const QueueState& queue, cl_uint count,
                          const cl_event* waits, Token* token) noexcept;

/// Completes a record after its arguments: waits, flags, promise.
void finish_record(capture::OperationWriter& writer, const Call& call, const replay::Lane& lane, cl_uint count,
                   const cl_event* waits, bool held, bool wants_event, EventState* promise);

/// Tells the recorder about the objects a record names, before their first recorded use is issued.
void tell_recorder(const QueueState& queue, const capture::OperationView& operation) noexcept;

/// Marks the objects of a held record, so that their release by another thread flushes this lane.
void mark_held(const capture::OperationView& operation, std::uint64_t lane, cl_uint count,
               const cl_event* waits) noexcept;

/// The end of an issued call: reports it, registers its event.
cl_int finish_issued(const Call& call, const QueueState& queue, replay::Lane& lane, std::uint64_t sequence,
                     cl_int status, std::uint32_t host_ns, cl_event* event) noexcept;

/// If the call succeeded, but the application is told of an earlier error (`result`), it gets no event. Returns
/// `result`.
cl_int withdraw_event(cl_int status, cl_int result, cl_event* event) noexcept;

/// The event of a held call for the application: the promise's, or the real one if there is none.
cl_int give_promise(replay::Engine& running, replay::Lane& lane, EventState* promise, int held_error,
                    cl_event* event) noexcept;
/// A promise without a user event, if the driver refuses to make one.
EventState* make_bare_promise(const QueueState& queue, cl_command_type command) noexcept;

/// A queue Refrain does not know, or the engine is not at work.
template <class Issue>
cl_int pass_through(const Call& call, cl_uint count, const cl_event* waits, cl_event* event, Issue&& issue) noexcept {
  HostCall host_call(call.entry_point);
  if (replay::Engine* running = engine_with_work(); running != nullptr) {
    running->flush_all(call.entry_point);
    signal_promises();
  }
  DriverWaits driver_waits;
  const cl_int status = issue(driver_waits.translate(count, waits), event);
  const cl_int result = host_call.done(status, (call.flags & capture::kBlocking) != 0);
  return event == nullptr ? result : withdraw_event(status, result, event);
}

/// The calling thread's lane if it sleeps and nothing is held anywhere: then a call without a wait list needs
/// no more than enqueue_asleep(). Null: go the long way.
inline replay::Lane* sleeping_lane(cl_uint count, const cl_event* waits) noexcept {
  replay::Lane* lane = replay::Lane::current;
  if (lane == nullptr || !lane->asleep() || count != 0 || waits != nullptr) [[likely]] {
    return nullptr;
  }
  const replay::Engine* running = engine();
  return running != nullptr && !running->anything_held() ? lane : nullptr;
}

template <class Issue>
cl_int enqueue_asleep(replay::Lane& lane, cl_event* event, Issue&& issue) noexcept {
  const std::uint64_t sequence = lane.doze();
  const cl_int status = issue(nullptr, event);
  if (event != nullptr && status == CL_SUCCESS && *event != nullptr) {
    register_event(*event, lane.number(), sequence, 0);
  }
  return status;
}

/// For commands that the driver can only refuse for their queue and waits.
inline const char* no_doubt(const QueueState& /*queue*/) noexcept {
  return nullptr;
}

/// `describe(writer, token)` begins the record and adds words and arguments; it may throw.
/// `issue(waits, event)` calls the driver. `doubt(queue)` tells why the driver may refuse the call, or null; see
/// doubts.h.
template <class Describe, class Issue, class Doubt>
cl_int enqueue(const Call& call, cl_command_queue handle, cl_uint count, const cl_event* waits, cl_event* event,
               Describe&& describe, Issue&& issue, Doubt&& doubt) noexcept {
  const NotCancelled during((call.flags & capture::kBlocking) != 0);
  if (replay::Lane* lane = sleeping_lane(count, waits); lane != nullptr) {
    return enqueue_asleep(*lane, event, issue);
  }
  replay::Engine* running = engine();
  QueueState* queue = objects.queues.find(handle_of(handle));
  if (running == nullptr || queue == nullptr || (count != 0) != (waits != nullptr)) [[unlikely]] {
    return pass_through(call, count, waits, event, issue);
  }
  const EntryScope scope;
  replay::Lane& lane = running->lane();
  running->settle(queue->slot);
  Token token = mix(call.token, queue->token_seed);
  const char* unholdable = call.unholdable != nullptr ? call.unholdable : queue->unholdable;
  if (unholdable == nullptr) {
    unholdable = queue->cannot_record[static_cast<std::size_t>(call.kind)];
  }
  if (unholdable == nullptr && event != nullptr && queue->slot.info.profiling) {
    unholdable = "its event is profiled";
  }
  if (unholdable == nullptr) {
    unholdable = doubt(static_cast<const QueueState&>(*queue));
  }
  if (count != 0) {
    const char* reason = look_at_waits(*running, lane, *queue, count, waits, &token);
    unholdable = unholdable != nullptr ? unholdable : reason;
  }
  const std::uint64_t sequence = lane.next_sequence();
  const replay::Verdict verdict = lane.submit({token, call.kind, &queue->slot, unholdable});
  if (verdict == replay::Verdict::kIssue) [[likely]] {
    signal_promises();  // what this call flushed; the driver's call may wait for a callback of it
    DriverWaits driver_waits;
    const cl_int status = issue(driver_waits.translate(count, waits), event);
    return finish_issued(call, *queue, lane, sequence, status, 0, event);
  }
  const bool hold = verdict == replay::Verdict::kHold;
  EventState* promise = nullptr;
  if (hold && event != nullptr) {
    promise = make_promise(*queue, call.command);
    promise = promise != nullptr ? promise : make_bare_promise(*queue, call.command);
    if (promise != nullptr) {
      promise->lane = lane.number();
      promise->sequence = sequence;
    }
  }
  capture::OperationWriter writer = lane.writer();
  try {
    describe(writer, token);
    finish_record(writer, call, lane, count, waits, hold, event != nullptr, promise);
  } catch (...) {
    lane.abandon();
    running->fail("out of memory while a submission was described");
    if (promise != nullptr) {
      promise->references.store(0, std::memory_order_relaxed);
      fulfil_promise(*promise, 0, CL_OUT_OF_HOST_MEMORY);
      drop_use(*promise);
    }
    DriverWaits driver_waits;
    return finish_issued(call, *queue, lane, sequence, issue(driver_waits.translate(count, waits), event), 0, event);
  }
  const capture::OperationView record(reinterpret_cast<const std::byte*>(&writer.header()));
  if (hold) {
    mark_held(record, lane.number(), count, waits);
    const int error = lane.hold();
    return event == nullptr ? error : give_promise(*running, lane, promise, error, event);
  }
  signal_promises();
  if (state.recorder != nullptr) {
    tell_recorder(*queue, record);
  }
  DriverWaits driver_waits;
  const cl_event* translated = driver_waits.translate(count, waits);
  if (!lane.wants_time()) {
    return finish_issued(call, *queue, lane, sequence, issue(translated, event), 0, event);
  }
  const std::uint64_t before = replay::now_ns();
  const cl_int status = issue(translated, event);
  const std::uint64_t spent = replay::now_ns() - before;
  return finish_issued(call, *queue, lane, sequence, status, static_cast<std::uint32_t>(spent < ~0U ? spent : ~0U),
                       event);
}

}  // namespace refrain::layer::opencl
