// Eager issue of one operation, as the application's own call would have done it.
#include <vector>

#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/record_view.h"
#include "backends/shape.h"

namespace refrain::backends {
namespace {

using capture::OperationKind;
using capture::OperationView;

struct WaitArguments {
  cl_uint count = 0;
  const cl_event* list = nullptr;
};

// An entry that the driver may lack.
template <typename Function, typename... Arguments>
cl_int call(Function function, Arguments... arguments) {
  return function == nullptr ? CL_INVALID_OPERATION : function(arguments...);
}

// A marker or barrier that waits for nothing but `waits`. With an empty list the API would take it as "wait
// for everything before", which may never come (work that waits for an event the application sets later).
template <typename Function>
cl_int wait_for_list(const cl_icd_dispatch& driver, Function function, cl_command_queue queue,
                     const WaitArguments& waits, cl_event* done) {
  if (waits.count != 0) {
    return call(function, queue, waits.count, waits.list, done);
  }
  cl_context context = nullptr;
  cl_int status = driver.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, nullptr);
  if (status != CL_SUCCESS) {
    return status;
  }
  cl_event ready = driver.clCreateUserEvent(context, &status);
  if (ready == nullptr) {
    return status;
  }
  status = driver.clSetUserEventStatus(ready, CL_COMPLETE);
  if (status == CL_SUCCESS) {
    status = call(function, queue, 1U, static_cast<const cl_event*>(&ready), done);
  }
  (void)driver.clReleaseEvent(ready);
  return status;
}

cl_int issue_order(const cl_icd_dispatch& driver, const OperationView& operation, cl_command_queue queue,
                   const WaitArguments& waits, cl_event* done) {
  const bool barrier = operation.kind() == OperationKind::kBarrier;
  const auto enqueue = [&](const WaitArguments& list) {
    return barrier ? wait_for_list(driver, driver.clEnqueueBarrierWithWaitList, queue, list, done)
                   : wait_for_list(driver, driver.clEnqueueMarkerWithWaitList, queue, list, done);
  };
  if (!operation.has(capture::kWaitsForQueue)) {
    return enqueue(waits);
  }
  if (waits.count != 0) {  // what comes from elsewhere is put before it
    const cl_int status =
        call(driver.clEnqueueBarrierWithWaitList, queue, waits.count, waits.list, static_cast<cl_event*>(nullptr));
    if (status != CL_SUCCESS) {
      return status;
    }
  }
  return call(barrier ? driver.clEnqueueBarrierWithWaitList : driver.clEnqueueMarkerWithWaitList, queue, 0U,
              static_cast<const cl_event*>(nullptr), done);
}

}  // namespace

Status OpenClBackend::issue(const OperationView& operation, std::span<const Event> events, Event* done) noexcept try {
  static_assert(sizeof(Event) == sizeof(cl_event));
  if (!OperationView::well_formed(operation.bytes()) || !arguments_fit(operation)) {
    return {CL_INVALID_VALUE};
  }
  const opencl::RecordView record(operation);
  const cl_icd_dispatch& d = driver_;
  const cl_command_queue queue = record.queue();
  const WaitArguments waits{static_cast<cl_uint>(events.size()),
                            events.empty() ? nullptr : reinterpret_cast<const cl_event*>(events.data())};
  const cl_uint count = waits.count;
  const cl_event* const list = waits.list;
  cl_event made = nullptr;
  cl_event* const event = done != nullptr ? &made : nullptr;
  const auto blocking = [&](std::size_t word) {
    return static_cast<cl_bool>(record.word(word) != 0 ? CL_TRUE : CL_FALSE);
  };
  cl_int status = CL_INVALID_OPERATION;
  switch (operation.kind()) {
    case OperationKind::kKernel: {
      cl_context context = nullptr;
      status = d.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, nullptr);
      if (status != CL_SUCCESS) {
        break;
      }
      const auto lease = kernels_.take(operation, context, &status);
      if (lease.kernel() == nullptr) {
        break;
      }
      status = lease.kernel()->set_arguments(operation);
      if (status == CL_SUCCESS) {
        status = d.clEnqueueNDRangeKernel(queue, lease.kernel()->get(), record.dimensions(), record.offset(),
                                          record.global(), record.local(), count, list, event);
      }
      break;
    }
    case OperationKind::kCopyBuffer:
      status = d.clEnqueueCopyBuffer(queue, record.memory(0), record.memory(1), record.word(0), record.word(1),
                                     record.word(2), count, list, event);
      break;
    case OperationKind::kCopyBufferRect:
      status =
          call(d.clEnqueueCopyBufferRect, queue, record.memory(0), record.memory(1), record.triple(0), record.triple(3),
               record.triple(6), record.word(9), record.word(10), record.word(11), record.word(12), count, list, event);
      break;
    case OperationKind::kFillBuffer:
      status = call(d.clEnqueueFillBuffer, queue, record.memory(0), record.bytes(1), record.size(1), record.word(0),
                    record.word(1), count, list, event);
      break;
    case OperationKind::kCopyImage:
      status = d.clEnqueueCopyImage(queue, record.memory(0), record.memory(1), record.triple(0), record.triple(3),
                                    record.triple(6), count, list, event);
      break;
    case OperationKind::kFillImage:
      status = call(d.clEnqueueFillImage, queue, record.memory(0), record.bytes(1), record.triple(0), record.triple(3),
                    count, list, event);
      break;
    case OperationKind::kCopyBufferToImage:
      status = d.clEnqueueCopyBufferToImage(queue, record.memory(0), record.memory(1), record.word(0), record.triple(1),
                                            record.triple(4), count, list, event);
      break;
    case OperationKind::kCopyImageToBuffer:
      status = d.clEnqueueCopyImageToBuffer(queue, record.memory(0), record.memory(1), record.triple(0),
                                            record.triple(3), record.word(6), count, list, event);
      break;
    case OperationKind::kReadBuffer:
      status = d.clEnqueueReadBuffer(queue, record.memory(0), blocking(2), record.word(0), record.word(1),
                                     record.pointer(1), count, list, event);
      break;
    case OperationKind::kWriteBuffer:
      status = d.clEnqueueWriteBuffer(queue, record.memory(0), blocking(2), record.word(0), record.word(1),
                                      record.pointer(1), count, list, event);
      break;
    case OperationKind::kReadBufferRect:
      status = call(d.clEnqueueReadBufferRect, queue, record.memory(0), blocking(13), record.triple(0),
                    record.triple(3), record.triple(6), record.word(9), record.word(10), record.word(11),
                    record.word(12), record.pointer(1), count, list, event);
      break;
    case OperationKind::kWriteBufferRect:
      status = call(d.clEnqueueWriteBufferRect, queue, record.memory(0), blocking(13), record.triple(0),
                    record.triple(3), record.triple(6), record.word(9), record.word(10), record.word(11),
                    record.word(12), record.pointer(1), count, list, event);
      break;
    case OperationKind::kReadImage:
      status = d.clEnqueueReadImage(queue, record.memory(0), blocking(8), record.triple(0), record.triple(3),
                                    record.word(6), record.word(7), record.pointer(1), count, list, event);
      break;
    case OperationKind::kWriteImage:
      status = d.clEnqueueWriteImage(queue, record.memory(0), blocking(8), record.triple(0), record.triple(3),
                                     record.word(6), record.word(7), record.pointer(1), count, list, event);
      break;
    case OperationKind::kPointerCopy:
      status = call(d.clEnqueueSVMMemcpy, queue, blocking(1), record.pointer(0),
                    static_cast<const void*>(record.pointer(1)), record.word(0), count, list, event);
      break;
    case OperationKind::kPointerFill:
      status = call(d.clEnqueueSVMMemFill, queue, record.pointer(0), record.bytes(1), record.size(1), record.word(0),
                    count, list, event);
      break;
    case OperationKind::kMigrate: {
      std::vector<cl_mem> memory;
      for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
        memory.push_back(record.memory(i));
      }
      const cl_mem_migration_flags flags = operation.words().empty() ? 0 : record.word(0);
      status = call(d.clEnqueueMigrateMemObjects, queue, static_cast<cl_uint>(memory.size()),
                    static_cast<const cl_mem*>(memory.data()), flags, count, list, event);
      break;
    }
    case OperationKind::kMarker:
    case OperationKind::kBarrier: status = issue_order(d, operation, queue, waits, event); break;
    case OperationKind::kFlush:
      status = event != nullptr ? wait_for_list(d, d.clEnqueueMarkerWithWaitList, queue, waits, event) : CL_SUCCESS;
      if (status == CL_SUCCESS) {
        status = d.clFlush(queue);
      }
      break;
    default: break;
  }
  if (done != nullptr) {
    *done = status == CL_SUCCESS ? reinterpret_cast<Event>(made) : kNoEvent;
  }
  return {status};
} catch (...) {
  return {CL_OUT_OF_HOST_MEMORY};
}

}  // namespace refrain::backends
