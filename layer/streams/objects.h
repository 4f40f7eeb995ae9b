// What the layer of an API with streams (CUDA, HIP) knows of streams, events and functions: one record each, found by
// handle, made when the handle is first seen. Handles reach programs on so many ways that watching where they are made
// would never be complete; the driver is asked instead.
//
// The templates of this folder have one of two parameters: the backend's Api (backends/streams/stream.h), or the
// layer's L, which has
//
//   Api
//   runtime()         the StreamRuntime<Api> of the process
//   engine()          the engine if it is at work; null: pass everything through
//   any_engine()      the engine, also one that gave up
//   objects()         the Objects<Api> of the process
//   notify_recorder(stream, entry_point, operation)    in capture mode
//   on_hold(status)   a call was held, and what the driver was called for is not what the program called
//   is_stream(stream, handle, by_default)    whether the calling thread means that stream by that handle
//   on_held_error(status)    a call tells an error of work that was held, and not its own
//   on_success()      a call that the driver was called for succeeded
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/memory_inventory.h"
#include "backends/streams/stream_backend.h"
#include "capture/operation.h"
#include "capture/recorder.h"
#include "layer/common/changing_sizes.h"
#include "layer/common/object_id.h"
#include "layer/common/wait_role.h"
#include "layer/registry.h"
#include "layer/set_state.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// One per layer, which is never destroyed: the application's threads may call us while the process exits. What every
/// call needs comes first: one cache line.
template <class Api>
struct alignas(64) StreamRuntime {
  std::atomic<replay::Engine*> engine{nullptr};
  /// Stream captures of the application under way: nothing is looked at meanwhile.
  std::atomic<std::uint32_t> captures{0};
  /// Graphs may be launched: the order of streams counts.
  bool replays = false;
  backends::StreamBackend<Api>* backend = nullptr;
  capture::Recorder* recorder = nullptr;           ///< in capture mode
  backends::MemoryInventory* inventory = nullptr;  ///< null: nobody wants it
  typename Api::Driver driver{};
  std::atomic<const char*> others_wait{nullptr};  ///< see note_others()
};

template <class Api>
struct StreamState;
template <class Api>
struct ProxyStream;

/// What streams of one context have in common.
template <class Api>
struct ContextState {
  typename Api::ContextHandle handle = Api::kNoContext;
  ObjectId id = 0;
  std::uint64_t number = 0;                        ///< in tokens: the same in every run
  std::atomic<StreamState<Api>*> legacy{nullptr};  ///< its default stream, once it was used
  backends::Stream<Api> unseen_legacy;             ///< the same, for who waits for all work
  std::uint32_t roles = 0;                         ///< streams seen in it
  std::atomic<bool> others_in_order{false};        ///< some of them are in order with the default stream
  /// Whether streams of it wait for each other without events.
  [[nodiscard]] bool in_order() const noexcept { return legacy.load() != nullptr && others_in_order.load(); }
};

/// What every submission needs comes first: one cache line.
template <class Api>
struct alignas(64) StreamState {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<Token> token_seed{0};  ///< the same as stream.state: of its role, and of what setters have set
  const char* unholdable = nullptr;  ///< nothing of this stream is ever held, and why
  replay::QueueSlot slot;
  backends::Stream<Api> stream;
  ContextState<Api>* context = nullptr;
  Token role_seed = 0;
  SetState set;                       ///< of its attributes; guarded by Setters
  common::ChangingSizes copies;       ///< all of one hash are of one size, and from and to one kind of memory
  ProxyStream<Api>* proxy = nullptr;  ///< of a thread's own default stream, if it may have one
  StreamState* next_free = nullptr;
  /// Everything that adopting the next one does not write. The handle stays one that nobody looks for.
  void reset() noexcept {
    unholdable = nullptr;
    slot.newest.store(nullptr, std::memory_order_relaxed);
    stream.watched.store(false, std::memory_order_relaxed);
    stream.awaited.store(false, std::memory_order_relaxed);
    context = nullptr;
    set = {};
    proxy = nullptr;
    copies.reset();
  }
};

template <class Api>
struct EventState {
  std::atomic<std::uint64_t> handle{0};
  EventState* next_free = nullptr;
  typename Api::ContextHandle context = Api::kNoContext;  ///< current when it was made
  /// Lane and number of the newest record and of the newest held wait that names what was recorded before.
  std::atomic<std::uint64_t> lane{0};
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::uint64_t> waiting_lane{0};
  std::atomic<std::uint64_t> waiting_sequence{0};
  std::atomic<backends::Stream<Api>*> stream{nullptr};  ///< of the newest record
  common::NewestWait newest_wait;                       ///< for what was recorded newest

  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    stream.store(nullptr, std::memory_order_relaxed);
    newest_wait.forget();
    for (auto* number : {&lane, &sequence, &waiting_lane, &waiting_sequence}) {
      number->store(0, std::memory_order_relaxed);
    }
  }
};

/// Of all modules, in what follows.
inline constexpr std::uint64_t kAnyModule = ~std::uint64_t{0};
/// Of a library: its handle and this bit, or the bit alone if nobody tells of which.
inline constexpr std::uint64_t kLibraryBit = 1;

/// Kernels that one node of a graph may be given in turn: of one name and with the same parameters. Some libraries make
/// such a kernel for each size of their data.
struct FunctionFamily {
  capture::FunctionId id = 0;      ///< of the first of them
  common::ChangingSizes launches;  ///< all of one hash are of one grid, and of one of the kernels
};

/// What a launch of a kernel may have, whatever others of its family have had.
struct LaunchLimits {
  /// Of a block: exactly so many, unless kMostThreads: the kernel's code may demand them.
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;  ///< dynamic ones, at most
  static constexpr std::uint32_t kMostThreads = 1024;
};

/// What every launch needs comes first: one cache line.
struct alignas(64) FunctionState {
  std::atomic<std::uint64_t> handle{0};
  capture::FunctionId id = 0;
  const char* unholdable = nullptr;
  std::atomic<std::uint64_t> state{0};  ///< what setters have set of it, and of all that may be the same kernel
  FunctionFamily* family = &own_family;
  /// One per parameter, then one for the dynamic shared memory, whose size is put in at each launch.
  std::vector<capture::ArgumentDescriptor> descriptors;
  std::uint32_t value_bytes = 0;
  capture::FunctionId recorded = 0;           ///< what a capture calls it; 0: `id`, as records do elsewhere
  std::vector<std::uint32_t> buffer_offsets;  ///< of each parameter in a buffer given by `extra`
  std::string name;
  std::uint64_t module = 0;                          ///< handle of what is unloaded with it; 0: not known
  bool any_grid = true;                              ///< false: its code does not allow all that the device has
  bool others_wait = false;                          ///< see works_with_other_devices()
  std::atomic<LaunchLimits> limits{LaunchLimits()};  ///< none is allowed: nodes of others are not given this kernel
  FunctionFamily own_family;                         ///< of this one alone
  FunctionState* next_free = nullptr;
  void reset() noexcept {
    handle.store(0, std::memory_order_relaxed);
    family = &own_family;
    own_family.launches.reset();
    limits.store({}, std::memory_order_relaxed);
    any_grid = true;
    others_wait = false;
    name.clear();
    descriptors.clear();
    buffer_offsets.clear();
    value_bytes = 0;
    recorded = 0;
    unholdable = nullptr;
    module = 0;
    state.store(0, std::memory_order_relaxed);
  }
  /// Whether it may be gone once this module is unloaded.
  [[nodiscard]] bool may_be_of(std::uint64_t unloaded) const noexcept {
    const bool of_known_library = module > kLibraryBit && (module & kLibraryBit) != 0;
    return unloaded == kAnyModule || module == 0 || module == unloaded ||
           // A function of a module may be of a library's.
           ((unloaded & kLibraryBit) != 0 && !of_known_library);
  }
  /// Whether it surely is, so that the program may not use it any more. Else another thread may be launching it.
  [[nodiscard]] bool is_of(std::uint64_t unloaded) const noexcept { return module != 0 && module == unloaded; }
  /// May throw std::bad_alloc.
  void add_parameter(std::uint32_t size, std::uint32_t buffer_offset);
  /// After the last parameter.
  void end_parameters();
};

/// Of a kernel: those of libraries for several devices wait for the same kernel there, and are waited for.
[[nodiscard]] inline bool works_with_other_devices(std::string_view kernel) noexcept {
  const auto is_of = [kernel](std::string_view library) { return kernel.find(library) != std::string_view::npos; };
  return is_of("nccl") || is_of("nvshmem");  // AMD's have the same names
}

template <class Api>
struct Objects {
  Registry<StreamState<Api>> streams;
  Registry<EventState<Api>> events;
  Registry<FunctionState> functions;
};

}  // namespace refrain::layer::streams
