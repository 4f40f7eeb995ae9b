// What the layer knows of streams, events and functions: one record each, found by handle, made when the
// handle is first seen. CUDA's handles reach programs on so many ways that watching where they are made
// would never be complete; the driver is asked instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.h"
#include "capture/operation.h"
#include "layer/registry.h"
#include "replay/lane.h"

namespace refrain::layer::cuda {

using capture::Handle;
using capture::ObjectId;
using capture::OperationKind;
using capture::Token;

template <class T>
[[nodiscard]] Handle handle_of(T* object) noexcept {
  return reinterpret_cast<Handle>(object);
}

/// A number never given before in this process. Thread-safe.
[[nodiscard]] ObjectId next_object_id() noexcept;

struct StreamState;

/// What streams of one context have in common.
struct ContextState {
  CUcontext handle = nullptr;
  ObjectId id = 0;
  std::atomic<StreamState*> legacy{nullptr};  ///< its default stream, once it was used
  std::uint32_t roles = 0;                    ///< streams seen in it
};

struct StreamState {
  std::atomic<std::uint64_t> handle{0};
  StreamState* next_free = nullptr;
  replay::QueueSlot slot;
  backends::CudaStream stream;
  Token token_seed = 0;
  ContextState* context = nullptr;
  const char* unholdable = nullptr;  ///< nothing of this stream is ever held, and why
  void reset() noexcept {}           // records of streams are never used again: see CudaStream
};

struct EventState {
  std::atomic<std::uint64_t> handle{0};
  EventState* next_free = nullptr;
  bool timing = true;
  /// Lane and number of the newest record and of the newest held wait that names what was recorded before.
  std::atomic<std::uint64_t> lane{0};
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::uint64_t> waiting_lane{0};
  std::atomic<std::uint64_t> waiting_sequence{0};
  std::atomic<std::uint64_t> recorded_sequence{0};  ///< newest record of `lane` that reached the driver
  std::atomic<const backends::CudaStream*> point_stream{nullptr};
  std::atomic<std::uint64_t> point_tail{0};

  void set_point(const backends::CudaStreamPoint& point) noexcept {
    point_stream.store(point.stream, std::memory_order_relaxed);
    point_tail.store(point.tail, std::memory_order_relaxed);
  }
  [[nodiscard]] backends::CudaStreamPoint point() const noexcept {
    return {point_stream.load(std::memory_order_relaxed), point_tail.load(std::memory_order_relaxed)};
  }
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    timing = true;
    for (auto* number : {&lane, &sequence, &waiting_lane, &waiting_sequence, &recorded_sequence, &point_tail}) {
      number->store(0, std::memory_order_relaxed);
    }
    point_stream.store(nullptr, std::memory_order_relaxed);
  }
};

struct FunctionState {
  std::atomic<std::uint64_t> handle{0};
  FunctionState* next_free = nullptr;
  capture::FunctionId id = 0;
  std::string name;
  /// One per parameter, then one for the dynamic shared memory, whose size is put in at each launch.
  std::vector<capture::ArgumentDescriptor> descriptors;
  std::vector<std::uint32_t> offsets;         ///< of each parameter among the record's values
  std::vector<std::uint32_t> buffer_offsets;  ///< of each parameter in a buffer given by `extra`
  std::uint32_t value_bytes = 0;
  const char* unholdable = nullptr;
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    name.clear();
    descriptors.clear();
    offsets.clear();
    buffer_offsets.clear();
    value_bytes = 0;
    unholdable = nullptr;
  }
};

struct Objects {
  Registry<StreamState> streams;
  Registry<EventState> events;
  Registry<FunctionState> functions;
};
/// Never destroyed: threads of the application may still call during exit.
extern Objects& objects;

}  // namespace refrain::layer::cuda
