#include "layer/cuda/hooks.h"

#include "backends/cuda/issue.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/functions.h"
#include "layer/cuda/objects.h"
#include "layer/cuda/runtime.h"

namespace refrain::layer::cuda {

void Hooks::fulfil(const capture::OperationView& operation, backends::Event event, int status) noexcept {
  auto& record = *reinterpret_cast<EventState*>(operation.header().promise);
  if (event != backends::kNoEvent) {
    runtime.backend->release_event(event);
  }
  // Parts of a graph may be submitted in another order than the calls: the newest record counts.
  const std::uint64_t sequence = operation.header().sequence;
  if (status != 0 || sequence < record.recorded_sequence.load(std::memory_order_relaxed)) {
    return;
  }
  record.recorded_sequence.store(sequence, std::memory_order_relaxed);
  backends::CudaStream& stream = backends::CudaStream::of(operation.header().queue_handle);
  const backends::ContextScope scope(runtime.driver, stream.context);
  // If the stream only waits for a graph on another one, the event is recorded there.
  const backends::CudaStream& place = runtime.backend->links().recording_place(stream);
  if (driver.cuEventRecord(reinterpret_cast<CUevent>(record.handle.load(std::memory_order_relaxed)), place.handle) !=
      CUDA_SUCCESS) {
    // The program was told that it is recorded. Who asks the event finds an older record, which is done, and so the
    // work must be: slow and right.
    driver.cuStreamSynchronize(place.handle);
  }
  record.set_point(backends::CudaStreamOrder::now(stream));
}

bool Hooks::retain_objects(const capture::OperationView& /*operation*/) noexcept {
  return true;
}

void Hooks::release_objects(const capture::OperationView& /*operation*/) noexcept {}

backends::Event Hooks::acquire_event(capture::WaitRef wait) noexcept {
  backends::CudaEvent* event = backends::CudaEventPool::borrow(reinterpret_cast<CUevent>(wait));
  return event == nullptr ? backends::kNoEvent : event->as_event();
}

std::string Hooks::function_name(capture::FunctionId function) noexcept {
  return name_of_function(function);
}

}  // namespace refrain::layer::cuda
