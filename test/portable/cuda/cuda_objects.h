// What the handles of the driver API of CUDA point to, and what its calls need of them.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <memory>

#include "test/portable/calls.h"
#include "test/portable/counters.h"
#include "test/portable/device.h"

#define CALL_CU(call) PORTABLE_CALL(call)

namespace portable {

inline constexpr std::size_t kMostDevices = 2;

struct CudaQueue : Queue {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
};
struct CudaMemory : Memory {
  CUdeviceptr address = 0;
  void* host = nullptr;
  bool registered = false;  ///< the process's own
  bool managed = false;
};
/// An event can be recorded in streams of its own context alone.
struct CudaEvent : Event {
  std::array<CUevent, kMostDevices> of_device{};
  std::atomic<std::size_t> last{0};  ///< that was recorded
};
struct CudaKernel : Kernel {
  std::array<CUfunction, kMostDevices> of_device{};
};
struct CudaGraph : Graph {
  CUgraphExec executable = nullptr;
};
/// Pinned memory: how often it was opened, and how often kernels found it closed.
struct CudaGate : Gate {
  Counters counters;
  CUdeviceptr address = 0;
};

/// The calling thread's context; with one device it stays the same.
class Current {
 public:
  void enter(CUcontext context) {
    CALL_CU(cuCtxSetCurrent(context));
    known_ = context;
  }
  void need(CUcontext context) {
    if (known_ != context) {
      enter(context);
    }
  }

 private:
  CUcontext known_ = nullptr;
};
inline thread_local Current current;

/// Its context is current then, as calls with a stream need it.
inline CUstream native(const Queue* queue) {
  const auto* own = static_cast<const CudaQueue*>(queue);
  current.need(own->context);
  return own->stream;
}
inline std::size_t index_of(const Queue* queue) {
  return static_cast<std::size_t>(queue->device);
}
inline CUevent native(const Event* event) {
  const auto* own = static_cast<const CudaEvent*>(event);
  return own->of_device[own->last.load(std::memory_order_acquire)];
}
/// To be recorded in `queue`.
inline CUevent native(Event* event, const Queue* queue) {
  auto* own = static_cast<CudaEvent*>(event);
  own->last.store(index_of(queue), std::memory_order_release);
  return native(event);
}
inline CUdeviceptr native(const Range& range) {
  return static_cast<const CudaMemory*>(range.memory)->address + range.offset;
}

/// Waits before a submission, records after it.
class Ordered {
 public:
  Ordered(Queue* queue, const Order& order) : queue_(queue), stream_(native(queue)), event_(order.event) {
    for (Event* event : order.after) {
      CALL_CU(cuStreamWaitEvent(stream_, native(event), 0));
    }
  }
  ~Ordered() {
    if (event_ != nullptr) {
      CALL_CU(cuEventRecord(native(event_, queue_), stream_));
    }
  }
  Ordered(const Ordered&) = delete;
  Ordered& operator=(const Ordered&) = delete;

 private:
  const Queue* queue_;
  CUstream stream_;
  Event* event_;
};

inline std::unique_ptr<CUDA_MEMCPY3D> copy_of(const Rectangle& to, const Rectangle& from, const Extent& extent) {
  auto copy = std::make_unique<CUDA_MEMCPY3D>();
  const auto slice = [&extent](const Rectangle& side) {
    return extent.depth > 1 ? side.slice_pitch / side.pitch : extent.height;
  };
  copy->srcMemoryType = copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy->srcDevice = native(Range{from.memory, from.offset});
  copy->srcPitch = from.pitch;
  copy->srcHeight = slice(from);
  copy->dstDevice = native(Range{to.memory, to.offset});
  copy->dstPitch = to.pitch;
  copy->dstHeight = slice(to);
  copy->WidthInBytes = extent.width;
  copy->Height = extent.height;
  copy->Depth = extent.depth;
  return copy;
}

}  // namespace portable
