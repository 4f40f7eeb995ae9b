// The OpenCL layer's process-wide state: the functions below us, the engine, the recorder.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/backend.h"
#include "backends/memory_inventory.h"
#include "capture/recorder.h"
#include "env/settings.h"
#include "layer/common/host_call.h"
#include "layer/opencl/objects.h"
#include "layer/opencl/opencl_headers.h"
#include "replay/engine.h"

namespace refrain::layer::opencl {

/// The functions below us (the loader's, or those of a layer below). Entries the loader did not pass are
/// null. Written once, in clInitLayer.
extern cl_icd_dispatch target;

struct Layer {
  env::Settings settings;
  backends::Backend* backend = nullptr;
  capture::Recorder* recorder = nullptr;  ///< in capture mode
  /// User events of the application whose status is not set yet: while there are any, nothing may
  /// wait for the device on Refrain's own account.
  std::atomic<std::uint32_t> unset_user_events{0};
  /// An object was made by a function Refrain does not know; see MAKES in entry_points.def.
  std::atomic<bool> foreign_objects{false};
  std::atomic<bool> device_queues{false};  ///< the application made a queue on a device
  std::atomic<bool> resizes{false};        ///< so did it one whose recorded launches can be given other global sizes
  /// Shared virtual memory that the application has; for a device the number of its context; kHost: fine-grained, so
  /// that the host may use it at any time.
  backends::MemoryInventory shared_memory;
};
extern Layer& state;

/// The allocation of shared virtual memory that the address lies in; 0: none that is known.
[[nodiscard]] inline ObjectId shared_memory_at(Handle address) noexcept {
  const auto found = state.shared_memory.find(address);
  return found ? found->id : 0;
}

/// The engine, or null before the first context and after a failure to start.
extern std::atomic<replay::Engine*> engine_pointer;

/// The engine, even one that gave up, if it holds anything.
[[nodiscard]] replay::Engine* engine_with_work() noexcept;

/// Starts the engine; called when the first context is made (nothing can be submitted before).
void start_engine() noexcept;

/// Every wrapper that can flush has one of these: what became of promises is told to the driver and
/// to the application's callbacks at its end, when no lock of Refrain is held.
class EntryScope {
 public:
  EntryScope() noexcept = default;
  ~EntryScope();
  EntryScope(const EntryScope&) = delete;
  EntryScope& operator=(const EntryScope&) = delete;
};

/// What layer/common asks of this layer.
struct Protocol : common::PlainProtocol {
  using Status = cl_int;
  using Scope = EntryScope;
  static replay::Engine* any_engine() noexcept { return engine_pointer.load(std::memory_order_acquire); }
  static replay::Engine* engine() noexcept { return common::at_work(any_engine()); }
  static capture::Recorder* recorder() noexcept { return state.recorder; }
  static void flushed(bool submits) noexcept;
  static void waited() noexcept;
};
using HostCall = common::HostCall<Protocol>;

/// The engine if it is at work; null: pass everything through.
[[nodiscard]] inline replay::Engine* engine() noexcept {
  return Protocol::engine();
}
/// See layer/common/host_call.h.
[[nodiscard]] inline replay::Engine* engine_with_threads() noexcept {
  return common::engine_with_threads<Protocol>();
}

/// Before the last release of an object that `holder` (see Object) may hold work for: flushes other lanes.
/// Returns the calling thread's lane if the release should be put off until that lane holds nothing.
[[nodiscard]] replay::Lane* flush_for_release(std::uint64_t holder) noexcept;

/// Last release by the application of an object that held work may name: now, or when that work is
/// submitted. Returns the driver's answer if it was asked.
template <cl_int (*Release)(Handle) noexcept>
cl_int release_later(std::uint64_t holder, Handle handle) noexcept {
  replay::Lane* lane = flush_for_release(holder);
  if (lane == nullptr) {
    return Release(handle);
  }
  lane->release_later([](Handle later) { static_cast<void>(Release(later)); }, handle);
  return CL_SUCCESS;
}

/// Logs "refrain: <what>; passing it through" once per `what` (static lifetime).
void log_once(std::atomic<bool>& said, const char* what) noexcept;

}  // namespace refrain::layer::opencl
