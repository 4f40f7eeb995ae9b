// The Level Zero layer at work: the driver's functions, the engine, and what every wrapper needs.
#pragma once

#include <atomic>

#include "backends/level_zero/level_zero_backend.h"
#include "capture/recorder.h"
#include "env/settings.h"
#include "layer/common/host_call.h"
#include "replay/engine.h"

namespace refrain::layer::level_zero {

struct Runtime {
  backends::LevelZeroDriver driver;
  backends::LevelZeroBackend* backend = nullptr;
  capture::Recorder* recorder = nullptr;           ///< in capture mode
  backends::MemoryInventory* inventory = nullptr;  ///< in verify mode
};
/// Never destroyed: the application's threads may call us while the process exits.
extern Runtime& runtime;

extern std::atomic<replay::Engine*> engine_pointer;

/// What layer/common asks of this layer.
struct Protocol : common::PlainProtocol {
  using Status = ze_result_t;
  static replay::Engine* any_engine() noexcept { return engine_pointer.load(std::memory_order_acquire); }
  static replay::Engine* engine() noexcept { return common::at_work(any_engine()); }
  static capture::Recorder* recorder() noexcept { return runtime.recorder; }
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

/// May throw: then everything passes through.
void start_engine(const env::Settings& settings, void* (*lookup)(const char* name));

/// Submits what is held, ends the threads, writes the report. Calls pass through from then on.
void shut_down() noexcept;

}  // namespace refrain::layer::level_zero
