// What the layer knows of every OpenCL object the application made: one record each, found by handle.
//
// Records mirror the application's reference counts only (retain and release calls); the driver's own
// counts are never asked for. A record leaves its registry at the application's last release, before
// the driver is told, so that the driver may reuse the handle at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/operation.h"
#include "capture/recorder.h"
#include "env/mutex.h"
#include "layer/common/changing_sizes.h"
#include "layer/common/object_id.h"
#include "layer/common/wait_role.h"
#include "layer/opencl/opencl_headers.h"
#include "layer/registry.h"
#include "replay/lane/lane.h"

namespace refrain::layer::opencl {

/// Lane numbers start at 1; this one means several.
inline constexpr std::uint64_t kManyLanes = ~std::uint64_t{0};

struct Object {
  std::atomic<std::uint64_t> handle{0};
  ObjectId id = 0;
  std::atomic<std::uint32_t> references{1};  ///< the application's
  /// Lane that holds, or held, work naming this object; kManyLanes if several did.
  std::atomic<std::uint64_t> holder{0};

  void begin() noexcept {
    id = next_object_id();
    references.store(1, std::memory_order_relaxed);
    holder.store(0, std::memory_order_relaxed);
  }
  /// Any thread: two may begin to hold work that names it at the same time.
  void held_by(std::uint64_t lane) noexcept {
    std::uint64_t before = holder.load(std::memory_order_relaxed);
    if (before != lane && (before != 0 || !holder.compare_exchange_strong(before, lane, std::memory_order_relaxed)) &&
        before != lane) {
      holder.store(kManyLanes, std::memory_order_relaxed);
    }
  }
};

struct ContextState : Object {
  ContextState* next_free = nullptr;
  std::vector<bool> roles;  ///< roles in use by the context's queues; under the lock of queues.cpp
  std::vector<cl_device_id> devices;
  std::size_t alignment = 0;  ///< of sub-buffers, in bytes, that suits all devices; 0: not known
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    roles.clear();
    devices.clear();
    alignment = 0;
  }
  /// The device's bit in sets of devices of this context; 0: it is none of them.
  [[nodiscard]] std::uint64_t bit_of(cl_device_id device) const noexcept {
    for (std::size_t i = 0; i < devices.size() && i < 64; ++i) {
      if (devices[i] == device) {
        return std::uint64_t{1} << i;
      }
    }
    return 0;
  }
};

struct QueueState : Object {
  QueueState* next_free = nullptr;
  replay::QueueSlot slot;
  capture::Token token_seed = 0;  ///< role and kind of the queue
  cl_context context = nullptr;
  std::uint64_t device_bit = 0;      ///< see ContextState::bit_of()
  const char* unholdable = nullptr;  ///< nothing of this queue is ever held, and why
  /// Why operations of a kind are not held; null: they can be. Filled when the queue is made.
  std::array<const char*, capture::kOperationKindCount> cannot_record{};
  bool on_device = false;
  std::atomic<std::uint64_t> flushes{0};  ///< how often the program flushed it
  std::atomic<bool> watched{false};       ///< an event of its work was given a callback since the last flush
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    slot.info = {};
    slot.capabilities = {};
    slot.holder.store(nullptr, std::memory_order_relaxed);
    context = nullptr;
    device_bit = 0;
    unholdable = nullptr;
    cannot_record.fill(nullptr);
    on_device = false;
    watched.store(false, std::memory_order_relaxed);
  }
};

struct MemoryState : Object {
  MemoryState* next_free = nullptr;
  capture::ArgumentKind kind = capture::ArgumentKind::kBuffer;
  cl_mem parent = nullptr;
  capture::BufferInfo info;
  std::size_t element_bytes = 0;  ///< images: of one pixel
  std::size_t alignment = 0;      ///< buffers: of their parts; see ContextState
  /// Whether it can be used depends on the device: a sub-buffer that is aligned for some only, an image of a context
  /// with several devices.
  bool device_dependent = false;
  std::atomic<bool> recorded{false};  ///< the recorder knows it
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    parent = nullptr;
    info = {};
    element_bytes = 0;
    alignment = 0;
    device_dependent = false;
    recorded.store(false, std::memory_order_relaxed);
  }
};

struct SamplerState : Object {
  SamplerState* next_free = nullptr;
  capture::BufferInfo info;
  std::atomic<bool> recorded{false};
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    info = {};
    recorded.store(false, std::memory_order_relaxed);
  }
};

/// How a program is built at present.
struct ProgramBuild {
  std::uint64_t constants = 0;   ///< hash of specialization constants
  bool prints = false;           ///< its kernels may print; not known of binaries
  std::string options;           ///< of the last build
  std::uint64_t number = 1;      ///< of the last build
  std::uint64_t devices = 0;     ///< for which devices of the context, if that was asked for …
  std::uint64_t devices_of = 0;  ///< … after this build; else see build_of()
};

/// Threads may build a program and make its kernels at the same time.
struct ProgramState : Object {
  ProgramState* next_free = nullptr;
  capture::CodeId code = 0;  ///< hash of the content
  cl_context context = nullptr;
  env::Mutex mutex;
  ProgramBuild build REFRAIN_GUARDED_BY(mutex);
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    context = nullptr;
    code = 0;
    const env::MutexLock guard(mutex);
    build = {};
  }
};

struct KernelState : Object {
  KernelState* next_free = nullptr;
  capture::FunctionId function = 0;
  capture::CodeId code = 0;
  ObjectId program = 0;
  std::string name;
  std::string options;
  std::atomic<bool> recorded{false};
  const char* unholdable = nullptr;  ///< e.g. clSetKernelExecInfo was called
  /// Arguments as they go into a record: descriptors, offsets into `values`, padded values.
  std::vector<capture::ArgumentDescriptor> descriptors;
  std::vector<std::uint32_t> offsets;
  std::vector<std::byte> values;
  std::uint32_t unset_count = 0;    ///< arguments the application has not set yet
  bool arguments_recorded = false;  ///< the recorder knows every object among the arguments
  ObjectId context = 0;
  std::uint64_t built = 0;                  ///< see ProgramBuild::devices
  std::uint64_t doubtful_arguments = 0;     ///< one bit each, the last one for all from the 64th on; see doubts.h
  capture::Token local_memory = 0;          ///< of the sizes of local memory among the arguments
  std::atomic<ObjectId> accepted_queue{0};  ///< that it can be launched in, whatever its arguments
  common::ChangingSizes sizes;              ///< global ones; all of one hash are of one shape
  void reset() noexcept {
    context = 0;
    built = 0;
    doubtful_arguments = 0;
    local_memory = 0;
    accepted_queue.store(0, std::memory_order_relaxed);
    sizes.reset();
    handle.store(0, std::memory_order_relaxed);
    recorded.store(false, std::memory_order_relaxed);
    unholdable = nullptr;
    descriptors.clear();
    offsets.clear();
    values.clear();
    unset_count = 0;
    arguments_recorded = false;
  }
};

/// An event the application has. Either a real one, made by the driver for an operation that was
/// issued; or a user event of the application; or a *promise*: a user event that Refrain made to stand
/// for the event of a held operation. See promises.h.
struct EventState : Object {
  EventState* next_free = nullptr;
  bool promise = false;
  bool user = false;
  std::uint64_t lane = 0;  ///< of the operation; 0: none
  std::uint64_t sequence = 0;
  cl_command_type command = 0;              ///< promises: what clGetEventInfo says
  cl_command_queue queue = nullptr;         ///< of the operation; null: none
  std::uint64_t flushes = 0;                ///< of that queue, before the operation
  cl_context context = nullptr;             ///< promises
  std::atomic<ObjectId> context_number{0};  ///< of its context; 0: not known yet
  /// Promises: 1 until the operation was submitted, then 0, or the error it was refused with.
  std::atomic<int> outcome{1};
  std::atomic<Handle> native{0};     ///< promises: the event of the submission, one reference
  std::atomic<bool> watched{false};  ///< promises: the user event itself has callbacks
  /// Promises: reasons to keep the record: the application, the held operation, a signal under way.
  std::atomic<std::uint32_t> uses{0};
  EventState* next_signal = nullptr;
  // What waits for it are: see waits.h.
  std::atomic<bool> done{false};            ///< complete, without an error
  std::atomic<std::uint64_t> waited_at{0};  ///< the newest wait's lane and the program's last wait before it; 0: none
  common::NewestWait newest_wait;
  /// Some queues, that of its work among them, whose later work comes after it if they are in order. Their numbers say
  /// which one gives way to another.
  std::array<std::atomic<ObjectId>, 4> later_queues{};
  void comes_before(ObjectId later) noexcept {
    later_queues[later % later_queues.size()].store(later, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_behind_it(ObjectId later) const noexcept {
    return later_queues[later % later_queues.size()].load(std::memory_order_relaxed) == later;
  }
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    promise = false;
    user = false;
    queue = nullptr;
    lane = 0;
    sequence = 0;
    context_number.store(0, std::memory_order_relaxed);
    outcome.store(1, std::memory_order_relaxed);
    native.store(0, std::memory_order_relaxed);
    watched.store(false, std::memory_order_relaxed);
    uses.store(0, std::memory_order_relaxed);
    next_signal = nullptr;
    done.store(false, std::memory_order_relaxed);
    waited_at.store(0, std::memory_order_relaxed);
    newest_wait.forget();
    for (auto& later : later_queues) {
      later.store(0, std::memory_order_relaxed);
    }
  }
};

struct Objects {
  Registry<ContextState> contexts;
  Registry<QueueState> queues;
  Registry<MemoryState> memory;
  Registry<SamplerState> samplers;
  Registry<ProgramState> programs;
  Registry<KernelState> kernels;
  Registry<EventState> events;
};
/// Never destroyed: threads of the application may still call during exit.
extern Objects& objects;

/// Mirrors a retain call that the driver accepted.
template <class T>
void retained(Registry<T>& registry, Handle handle) noexcept {
  if (T* record = registry.find(handle); record != nullptr) {
    record->references.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace refrain::layer::opencl
