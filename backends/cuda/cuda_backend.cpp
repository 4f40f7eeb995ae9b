#include "backends/cuda/cuda_backend.h"

#include "backends/cuda/issue.h"
#include "backends/cuda/kernel_call.h"

namespace refrain::backends {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;

CudaBackend::CudaBackend(const CudaDriver& driver) : driver_(driver), events_(driver), links_(driver, events_, order_) {
  if (can_replay(driver, &missing_)) {
    missing_ = nullptr;
  }
}

Capabilities CudaBackend::capabilities(const capture::QueueInfo& queue) noexcept {
  Capabilities result;
  const CudaStream& stream = CudaStream::of(queue.handle);
  result.native = missing_ == nullptr && stream.kind != StreamKind::kPerThread;
  result.why_not = missing_ != nullptr ? "the driver is older than CUDA 12.4"
                                       : "its stream is a thread's default stream, which other threads cannot name";
  result.update_arguments = true;
  result.simultaneous_use = true;
  if (stream.kind == StreamKind::kBlocking || stream.kind == StreamKind::kNonBlocking) {
    // Streams of one context, priority and kind. The legacy stream orders others around each launch, so its work
    // stays by itself; and blocking streams are ordered with it, which work launched in a non-blocking one is not.
    const std::uint64_t mixed = capture::mix(
        capture::mix(reinterpret_cast<std::uint64_t>(stream.context), static_cast<std::uint64_t>(stream.priority)),
        static_cast<std::uint64_t>(stream.kind));
    result.share_group = static_cast<std::uint32_t>(mixed) | 1U;
  }
  return result;
}

Recordable CudaBackend::can_record(const OperationView& operation, const capture::QueueInfo& queue) noexcept {
  if (missing_ != nullptr) {
    return {false, "the driver is older than CUDA 12.4"};
  }
  if (CudaStream::of(queue.handle).kind == StreamKind::kPerThread) {
    return {false, "its stream is a thread's default stream, which other threads cannot name"};
  }
  switch (operation.kind()) {
    case OperationKind::kKernel:
    case OperationKind::kPointerFill:
    case OperationKind::kEventWait: return {};
    case OperationKind::kPointerCopy:
      for (const auto& argument : operation.arguments()) {
        if (argument.kind != ArgumentKind::kPointer) {
          return {false, "the copy names pageable host memory"};
        }
      }
      return {};
    case OperationKind::kEventRecord:
      // words[0]: the event takes times, which must be those of this place.
      return !operation.words().empty() && operation.words()[0] == 0
                 ? Recordable{}
                 : Recordable{false, "the event is made for measuring times"};
    default: return {false, "operations of this kind are not recorded"};
  }
}

CUresult CudaBackend::uploader_for(CUcontext context, CUstream* uploader) {
  CUstream& known = uploaders_[context];
  if (known == nullptr) {
    const CUresult status = driver_.cuStreamCreateWithPriority(&known, CU_STREAM_NON_BLOCKING, 0);
    if (status != CUDA_SUCCESS) {
      known = nullptr;
      return status;
    }
  }
  *uploader = known;
  return CUDA_SUCCESS;
}

Status CudaBackend::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                           std::unique_ptr<CommandBuffer>* result) noexcept {
  try {
    const std::lock_guard guard(recording_);
    for (const capture::NodeIndex node : nodes) {
      const capture::QueueInfo& queue = graph.queue_of(node);
      if (CudaStream::of(queue.handle).id.load(std::memory_order_acquire) != queue.id ||
          gone_functions_.contains(graph.operation(node).header().function)) {
        return {CUDA_ERROR_INVALID_HANDLE};  // destroyed while the graph was waiting to be built
      }
    }
    const CudaStream& stream = CudaStream::of(graph.queue_of(nodes.front()).handle);
    const ContextScope scope(driver_, stream.context);
    if (scope.status() != CUDA_SUCCESS) {
      return {scope.status()};
    }
    const RelaxedCapture relaxed(driver_);
    CUstream uploader = nullptr;
    if (const CUresult status = uploader_for(stream.context, &uploader); status != CUDA_SUCCESS) {
      return {status};
    }
    auto made = std::make_unique<CudaCommandBuffer>(CudaParts{driver_, events_, order_, links_, live_});
    const CUresult status = made->record(graph, nodes, uploader);
    if (status == CUDA_SUCCESS) {
      *result = std::move(made);
    }
    return {status};
  } catch (...) {
    return {CUDA_ERROR_OUT_OF_MEMORY};
  }
}

Status CudaBackend::issue(const OperationView& operation, std::span<const Event> waits, Event* done) noexcept {
  CudaStream& stream = CudaStream::of(operation.header().queue_handle);
  const ContextScope scope(driver_, stream.context);
  CUresult status = scope.status();
  links_.settle(stream);
  for (const Event wait : waits) {
    if (status == CUDA_SUCCESS) {
      status = driver_.cuStreamWaitEvent(stream.handle, CudaEvent::of(wait).handle, 0);
    }
  }
  if (status == CUDA_SUCCESS) {
    status = submit(driver_, operation, stream.handle);
  }
  StreamOrder::submitted(stream);
  if (status == CUDA_SUCCESS && done != nullptr) {
    CudaEvent* event = events_.take(stream.context, &status);
    if (event != nullptr && driver_.cuEventRecord(event->handle, stream.handle) == CUDA_SUCCESS) {
      *done = event->as_event();
    } else {
      if (event != nullptr) {
        events_.release(*event);
      }
      // The work is submitted. Who would have waited for the event finds the work done.
      driver_.cuStreamSynchronize(stream.handle);
      status = CUDA_SUCCESS;
    }
  }
  return {status};
}

Status CudaBackend::flush(const capture::QueueInfo& /*queue*/) noexcept {
  return {};  // CUDA starts work by itself
}

Status CudaBackend::finish(const capture::QueueInfo& queue) noexcept {
  const CudaStream& stream = CudaStream::of(queue.handle);
  const ContextScope scope(driver_, stream.context);
  return {scope.status() != CUDA_SUCCESS ? scope.status() : driver_.cuStreamSynchronize(stream.handle)};
}

void CudaBackend::retain_event(Event event) noexcept {
  CudaEvent::of(event).references.fetch_add(1, std::memory_order_relaxed);
}

void CudaBackend::release_event(Event event) noexcept {
  events_.release(CudaEvent::of(event));
}

bool CudaBackend::complete(Event event) noexcept {
  return driver_.cuEventQuery(CudaEvent::of(event).handle) != CUDA_ERROR_NOT_READY;
}

std::uint64_t CudaBackend::size_of(ArgumentKind /*kind*/, capture::Handle /*handle*/) noexcept {
  return 0;
}

CUresult CudaBackend::copy_and_wait(const capture::QueueInfo& queue, CUdeviceptr to, CUdeviceptr from,
                                    std::size_t bytes) noexcept {
  const CudaStream& stream = CudaStream::of(queue.handle);
  const ContextScope scope(driver_, stream.context);
  CUresult status = scope.status();
  if (status == CUDA_SUCCESS) {
    status = driver_.cuMemcpyAsync(to, from, bytes, stream.handle);
  }
  return status == CUDA_SUCCESS ? driver_.cuStreamSynchronize(stream.handle) : status;
}

Status CudaBackend::read(const capture::QueueInfo& queue, ArgumentKind kind, capture::Handle handle,
                         std::span<std::byte> into) noexcept {
  return {kind == ArgumentKind::kPointer
              ? copy_and_wait(queue, reinterpret_cast<CUdeviceptr>(into.data()), handle, into.size())
              : CUDA_ERROR_NOT_SUPPORTED};
}

Status CudaBackend::write(const capture::QueueInfo& queue, ArgumentKind kind, capture::Handle handle,
                          std::span<const std::byte> from) noexcept {
  return {kind == ArgumentKind::kPointer
              ? copy_and_wait(queue, handle, reinterpret_cast<CUdeviceptr>(from.data()), from.size())
              : CUDA_ERROR_NOT_SUPPORTED};
}

void CudaBackend::forget_function(capture::FunctionId function) noexcept {
  try {
    const std::lock_guard guard(recording_);
    gone_functions_.insert(function);
  } catch (...) {
    // Out of memory: recording a graph with it fails in the driver instead.
  }
}

void CudaBackend::context_gone(CUcontext context) noexcept {
  live_.context_gone(context);
  events_.context_gone(context);
  std::erase_if(uploaders_, [context](const auto& entry) { return context == nullptr || entry.first == context; });
}

const char* CudaBackend::error_name(int code) const noexcept {
  const char* name = nullptr;
  if (driver_.cuGetErrorName != nullptr && driver_.cuGetErrorName(static_cast<CUresult>(code), &name) == CUDA_SUCCESS &&
      name != nullptr) {
    return name;
  }
  return "unknown CUDA error";
}

}  // namespace refrain::backends
