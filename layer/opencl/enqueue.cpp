#include "layer/opencl/enqueue.h"

#include <vector>

#include "env/log.h"

namespace refrain::layer::opencl {
namespace {

/// Waits further back than this share one token: the distance to an event from the program's start
/// would otherwise make every iteration look different.
constexpr std::uint64_t kFarBack = 4096;
constexpr std::uint64_t kOutside = 0x0A75'1DEULL;

const char* const kUnknownWait = "it waits for an event that Refrain did not see made";

}  // namespace

void ArgumentList::memory(cl_mem object) noexcept {
  const MemoryState* known = objects.memory.find(handle_of(object));
  add(known != nullptr ? known->kind : capture::ArgumentKind::kBuffer, known != nullptr ? known->id : 0, &object,
      sizeof(object));
}

const char* look_at_waits(replay::Engine& running, const replay::Lane& lane, const QueueState& queue, cl_uint count,
                          const cl_event* waits, Token* token) noexcept {
  const char* unholdable = nullptr;
  Token mixed = *token;
  for (cl_uint i = 0; i < count; ++i) {
    EventState* event = objects.events.find(handle_of(waits[i]));
    if (event != nullptr && unholdable == nullptr) {
      unholdable = doubt_wait(queue, *event);
    }
    if (event == nullptr) {
      unholdable = kUnknownWait;
      mixed = mix(mixed, kOutside + 1);
      continue;
    }
    if (event->lane != lane.number()) {
      mixed = mix(mixed, kOutside);
      if (event->promise && event->outcome.load(std::memory_order_acquire) == 1) {
        running.flush_lane(event->lane);
      }
      continue;
    }
    const std::uint64_t distance = lane.next_sequence() - event->sequence;
    mixed = mix(mixed, distance < kFarBack ? distance : kFarBack);
  }
  *token = mixed;
  return unholdable;
}

void finish_record(capture::OperationWriter& writer, const Call& call, const replay::Lane& lane, cl_uint count,
                   const cl_event* waits, bool held, bool wants_event, EventState* promise) {
  for (cl_uint i = 0; i < count; ++i) {
    const Handle handle = handle_of(waits[i]);
    const EventState* event = objects.events.find(handle);
    // What was already submitted is named by its event; only the order inside what is held, or inside
    // what is remembered, can become an edge.
    const bool inside =
        event != nullptr && event->lane == lane.number() && (held ? lane.is_held(event->sequence) : true);
    writer.wait(inside ? capture::kInternalWait | event->sequence : handle);
  }
  capture::OperationHeader& header = writer.header();
  header.flags = static_cast<std::uint16_t>(call.flags | (wants_event ? capture::kWantsEvent : 0));
  header.promise = reinterpret_cast<std::uint64_t>(promise);
  writer.finish();
}

void mark_held(const capture::OperationView& operation, std::uint64_t lane, cl_uint count,
               const cl_event* waits) noexcept {
  const capture::OperationHeader& header = operation.header();
  if (header.function_handle != 0) {
    if (KernelState* kernel = objects.kernels.find(header.function_handle); kernel != nullptr) {
      kernel->held_by(lane);
    }
  }
  const std::byte* value = operation.values().data();
  for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
    if (argument.object != 0 && argument.stored_bytes() == sizeof(Handle)) {
      Handle handle = 0;
      std::memcpy(&handle, value, sizeof(handle));
      if (MemoryState* memory = objects.memory.find(handle); memory != nullptr) {
        memory->held_by(lane);
      } else if (SamplerState* sampler = objects.samplers.find(handle); sampler != nullptr) {
        sampler->held_by(lane);
      }
    }
    value += argument.stored_bytes();
  }
  for (cl_uint i = 0; i < count; ++i) {
    if (EventState* event = objects.events.find(handle_of(waits[i])); event != nullptr) {
      event->held_by(lane);
    }
  }
}

cl_int withdraw_event(cl_int status, cl_int result, cl_event* event) noexcept {
  if (status == CL_SUCCESS && result != CL_SUCCESS && *event != nullptr) {
    target.clReleaseEvent(*event);
    *event = nullptr;
  }
  return result;
}

EventState* make_bare_promise(const QueueState& queue, cl_command_type command) noexcept {
  EventState* promise = objects.events.make();
  if (promise != nullptr) {
    promise->begin();
    promise->promise = true;
    promise->command = command;
    promise->queue = native<cl_command_queue>(queue.slot.info.handle);
    promise->context = queue.context;
    promise->context_number.store(queue.slot.info.context, std::memory_order_relaxed);
    promise->outcome.store(1, std::memory_order_relaxed);
    promise->uses.store(2, std::memory_order_relaxed);
  }
  return promise;
}

cl_int give_promise(replay::Engine& running, std::uint64_t lane, EventState* promise, int held_error,
                    cl_event* event) noexcept {
  *event = nullptr;
  if (promise == nullptr) {
    running.flush_lane(lane);
    return CL_OUT_OF_HOST_MEMORY;
  }
  cl_int result = held_error;
  if (const Handle user_event = promise->handle.load(std::memory_order_relaxed); user_event != 0) {
    if (result == CL_SUCCESS) {
      *event = native<cl_event>(user_event);
      return result;
    }
  } else {
    // The driver has no user events left: submit now and hand out the real event.
    running.flush_lane(lane);
    const Handle real = promise->native.load(std::memory_order_acquire);
    if (result == CL_SUCCESS && real != 0 && target.clRetainEvent(native<cl_event>(real)) == CL_SUCCESS) {
      *event = native<cl_event>(real);
      register_event(*event, promise->lane, promise->sequence, promise->context_number);
    } else if (result == CL_SUCCESS) {
      const int outcome = promise->outcome.load(std::memory_order_acquire);
      result = outcome < 0 ? outcome : CL_OUT_OF_HOST_MEMORY;
    }
  }
  promise->references.store(0, std::memory_order_release);
  drop_use(*promise);
  return result;
}

}  // namespace refrain::layer::opencl
