#include "layer/opencl/enqueue.h"

#include <vector>

#include "env/log.h"

namespace refrain::layer::opencl {

void ArgumentList::memory(cl_mem object) noexcept {
  const MemoryState* known = objects.memory.find(handle_of(object));
  add(known != nullptr ? known->kind : capture::ArgumentKind::kBuffer, known != nullptr ? known->id : 0, &object,
      sizeof(object));
}

void finish_record(capture::OperationWriter& writer, const Call& call, const replay::Lane& lane, const Waits& waits,
                   bool held, bool wants_event, EventState* promise) {
  waits.write(lane, held, writer);
  capture::OperationHeader& header = writer.header();
  header.flags = static_cast<std::uint16_t>(call.flags | (wants_event ? capture::kWantsEvent : 0));
  header.promise = reinterpret_cast<std::uint64_t>(promise);
  writer.finish();
}

void mark_held(const capture::OperationView& operation, std::uint64_t lane) noexcept {
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
    begin_promise(promise, queue, command);
  }
  return promise;
}

cl_int give_promise(replay::Engine& running, const QueueState& queue, EventState* promise, int held_error,
                    cl_event* event) noexcept {
  *event = nullptr;
  if (promise == nullptr) {
    running.flush_lane(running.lane().number());
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
    running.flush_lane(running.lane().number());
    const Handle real = promise->native.load(std::memory_order_acquire);
    if (result == CL_SUCCESS && real != 0 && target.clRetainEvent(native<cl_event>(real)) == CL_SUCCESS) {
      *event = native<cl_event>(real);
      register_event(*event, promise->lane, promise->sequence, queue);
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
