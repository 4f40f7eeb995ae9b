// Eager issue of one operation, as the application's own call would have done it.
#include <vector>

#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/record_view.h"
#include "backends/shape.h"

namespace refrain::backends {
namespace {

using capture::OperationKind;
using capture::OperationView;
namespace words = capture::words;

struct WaitArguments {
  cl_uint count = 0;
  const cl_event* list = nullptr;
};

// An entry that the driver may lack.
template <typename Function, typename... Arguments>
cl_int call(Function function, Arguments... arguments) {
  return function == nullptr ? CL_INVALID_OPERATION : function(arguments...);
}

cl_bool flag(std::uint64_t number) {
  return number != 0 ? CL_TRUE : CL_FALSE;
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
  // Reads and writes take the same arguments.
  const auto transfer_buffer = [&](auto function) {
    const auto& n = operation.as<words::TransferBuffer>();
    return function(queue, record.memory(0), flag(n.blocking), n.offset, n.bytes, record.pointer(1), count, list,
                    event);
  };
  const auto transfer_rect = [&](auto function) {
    const auto& n = operation.as<words::TransferBufferRect>();
    return call(function, queue, record.memory(0), flag(n.blocking), n.origin.data(), n.host_origin.data(),
                n.region.data(), n.row_pitch, n.slice_pitch, n.host_row_pitch, n.host_slice_pitch, record.pointer(1),
                count, list, event);
  };
  const auto transfer_image = [&](auto function) {
    const auto& n = operation.as<words::TransferImage>();
    return function(queue, record.memory(0), flag(n.blocking), n.origin.data(), n.region.data(), n.host_row_pitch,
                    n.host_slice_pitch, record.pointer(1), count, list, event);
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
        const auto& shape = operation.as<words::Kernel>();
        status = d.clEnqueueNDRangeKernel(queue, lease.kernel()->get(), static_cast<cl_uint>(shape.dimensions),
                                          shape.offset.data(), shape.global.data(), opencl::local_size(shape), count,
                                          list, event);
      }
      break;
    }
    case OperationKind::kCopyBuffer: {
      const auto& n = operation.as<words::CopyBuffer>();
      status = d.clEnqueueCopyBuffer(queue, record.memory(0), record.memory(1), n.from_offset, n.to_offset, n.bytes,
                                     count, list, event);
      break;
    }
    case OperationKind::kCopyBufferRect: {
      const auto& n = operation.as<words::CopyBufferRect>();
      status = call(d.clEnqueueCopyBufferRect, queue, record.memory(0), record.memory(1), n.from_origin.data(),
                    n.to_origin.data(), n.region.data(), n.from_row_pitch, n.from_slice_pitch, n.to_row_pitch,
                    n.to_slice_pitch, count, list, event);
      break;
    }
    case OperationKind::kFillBuffer: {
      const auto& n = operation.as<words::FillBuffer>();
      status = call(d.clEnqueueFillBuffer, queue, record.memory(0), record.bytes(1), record.size(1), n.offset, n.bytes,
                    count, list, event);
      break;
    }
    case OperationKind::kCopyImage: {
      const auto& n = operation.as<words::CopyImage>();
      status = d.clEnqueueCopyImage(queue, record.memory(0), record.memory(1), n.from_origin.data(), n.to_origin.data(),
                                    n.region.data(), count, list, event);
      break;
    }
    case OperationKind::kFillImage: {
      const auto& n = operation.as<words::FillImage>();
      status = call(d.clEnqueueFillImage, queue, record.memory(0), record.bytes(1), n.origin.data(), n.region.data(),
                    count, list, event);
      break;
    }
    case OperationKind::kCopyBufferToImage: {
      const auto& n = operation.as<words::CopyBufferToImage>();
      status = d.clEnqueueCopyBufferToImage(queue, record.memory(0), record.memory(1), n.from_offset,
                                            n.to_origin.data(), n.region.data(), count, list, event);
      break;
    }
    case OperationKind::kCopyImageToBuffer: {
      const auto& n = operation.as<words::CopyImageToBuffer>();
      status = d.clEnqueueCopyImageToBuffer(queue, record.memory(0), record.memory(1), n.from_origin.data(),
                                            n.region.data(), n.to_offset, count, list, event);
      break;
    }
    case OperationKind::kReadBuffer: status = transfer_buffer(d.clEnqueueReadBuffer); break;
    case OperationKind::kWriteBuffer: status = transfer_buffer(d.clEnqueueWriteBuffer); break;
    case OperationKind::kReadBufferRect: status = transfer_rect(d.clEnqueueReadBufferRect); break;
    case OperationKind::kWriteBufferRect: status = transfer_rect(d.clEnqueueWriteBufferRect); break;
    case OperationKind::kReadImage: status = transfer_image(d.clEnqueueReadImage); break;
    case OperationKind::kWriteImage: status = transfer_image(d.clEnqueueWriteImage); break;
    case OperationKind::kPointerCopy: {
      const auto& n = operation.as<words::PointerCopy>();
      status = call(d.clEnqueueSVMMemcpy, queue, flag(n.blocking), record.pointer(0),
                    static_cast<const void*>(record.pointer(1)), n.bytes, count, list, event);
      break;
    }
    case OperationKind::kPointerFill:
      status = call(d.clEnqueueSVMMemFill, queue, record.pointer(0), record.bytes(1), record.size(1),
                    operation.as<words::PointerFill>().bytes, count, list, event);
      break;
    case OperationKind::kMigrate: {
      std::vector<cl_mem> memory;
      for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
        memory.push_back(record.memory(i));
      }
      const auto* const n = operation.find<words::Migrate>();
      status = call(d.clEnqueueMigrateMemObjects, queue, static_cast<cl_uint>(memory.size()),
                    static_cast<const cl_mem*>(memory.data()), n != nullptr ? n->flags : cl_mem_migration_flags{0},
                    count, list, event);
      break;
    }
    case OperationKind::kPointerMigrate: {
      const auto numbers = operation.words();  // flags, then perhaps a size for each pointer
      std::vector<const void*> pointers;
      for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
        pointers.push_back(record.pointer(i));
      }
      if (numbers.size() == 1 || numbers.size() == 1 + pointers.size()) {
        status = call(d.clEnqueueSVMMigrateMem, queue, static_cast<cl_uint>(pointers.size()), pointers.data(),
                      numbers.size() == 1 ? nullptr : numbers.data() + 1, cl_mem_migration_flags{numbers[0]}, count,
                      list, event);
      }
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
