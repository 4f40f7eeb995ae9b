#include "backends/cuda/stream.h"

namespace refrain::backends {

void StreamOrder::waits_for(CudaStream& stream, const StreamPoint& point) noexcept {
  if (point.stream == nullptr || point.stream == &stream) {
    return;
  }
  const std::lock_guard guard(stream.after_mutex);
  CudaStream::After* place = nullptr;
  for (CudaStream::After& known : stream.after) {
    if (known.stream == point.stream) {
      place = &known;
      break;
    }
  }
  if (place == nullptr) {
    place = &stream.after[stream.next_after++ % stream.after.size()];
  }
  *place = {point.stream, point.tail, epoch_.load(std::memory_order_relaxed)};
}

bool StreamOrder::covers(CudaStream& stream, const CudaStream& other) noexcept {
  const std::uint64_t epoch = epoch_.load(std::memory_order_relaxed);
  const std::uint64_t tail = other.tail.load(std::memory_order_relaxed);
  const std::lock_guard guard(stream.after_mutex);
  for (const CudaStream::After& known : stream.after) {
    if (known.stream == &other) {
      return known.tail == tail && known.epoch == epoch;
    }
  }
  return false;
}

}  // namespace refrain::backends
