// Markers and barriers, in their old and new forms.

#include "layer/opencl/enqueue.h"

namespace refrain::layer::opencl {
namespace {

template <class Issue>
cl_int order(const replay::EntryPoint& entry_point, OperationKind kind, cl_command_type command, bool blocks_queue,
             const char* doubt, cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event,
             Issue&& issue) noexcept {
  std::uint16_t flags = count == 0 ? capture::kWaitsForQueue : 0;
  if (blocks_queue) {
    flags = static_cast<std::uint16_t>(flags | capture::kBlocksQueue);
  }
  const QueueState* known = objects.queues.find(handle_of(queue));
  const char* unholdable = doubt;
  if (count == 0 && known != nullptr && !known->slot.info.in_order) {
    unholdable = "it waits for everything in an out-of-order queue";
  }
  const Call call{entry_point, kind, mix(static_cast<Token>(kind), flags), command, unholdable, flags};
  return enqueue(
      call, queue, count, waits, event,
      [kind](capture::OperationWriter& writer, Token token) { writer.begin(kind, token); }, issue, &no_doubt);
}

}  // namespace

cl_int wrap::clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* waits,
                                         cl_event* event) noexcept {
  return order(entry::clEnqueueMarkerWithWaitList, OperationKind::kMarker, CL_COMMAND_MARKER, false, nullptr, queue,
               count, waits, event, [&](const cl_event* driver_waits, cl_event* result) {
                 return target.clEnqueueMarkerWithWaitList(queue, count, driver_waits, result);
               });
}

cl_int wrap::clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* waits,
                                          cl_event* event) noexcept {
  return order(entry::clEnqueueBarrierWithWaitList, OperationKind::kBarrier, CL_COMMAND_BARRIER, true, nullptr, queue,
               count, waits, event, [&](const cl_event* driver_waits, cl_event* result) {
                 return target.clEnqueueBarrierWithWaitList(queue, count, driver_waits, result);
               });
}

cl_int wrap::clEnqueueMarker(cl_command_queue queue, cl_event* event) noexcept {
  return order(entry::clEnqueueMarker, OperationKind::kMarker, CL_COMMAND_MARKER, false,
               event == nullptr ? "it has no event" : nullptr, queue, 0, nullptr, event,
               [&](const cl_event*, cl_event* result) { return target.clEnqueueMarker(queue, result); });
}

cl_int wrap::clEnqueueBarrier(cl_command_queue queue) noexcept {
  return order(entry::clEnqueueBarrier, OperationKind::kBarrier, CL_COMMAND_BARRIER, true, nullptr, queue, 0, nullptr,
               nullptr, [&](const cl_event*, cl_event*) { return target.clEnqueueBarrier(queue); });
}

cl_int wrap::clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* waits) noexcept {
  return order(entry::clEnqueueWaitForEvents, OperationKind::kBarrier, CL_COMMAND_BARRIER, true,
               count == 0 ? "it waits for nothing" : nullptr, queue, count, waits, nullptr,
               [&](const cl_event* driver_waits, cl_event*) {
                 return target.clEnqueueWaitForEvents(queue, count, driver_waits);
               });
}

}  // namespace refrain::layer::opencl
