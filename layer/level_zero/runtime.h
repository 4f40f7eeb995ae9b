// The Level Zero layer at work: the driver's functions, the engine, and what every wrapper needs.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "backends/level_zero/level_zero_backend.h"
#include "capture/recorder.h"
#include "env/settings.h"
#include "layer/waiting.h"
#include "replay/engine.h"

namespace refrain::layer::level_zero {

struct Runtime {
  backends::LevelZeroDriver driver;
  backends::LevelZeroBackend* backend = nullptr;
  capture::Recorder* recorder = nullptr;  ///< in capture mode
};
/// Never destroyed: the application's threads may call us while the process exits.
extern Runtime& runtime;

extern std::atomic<replay::Engine*> engine_pointer;

/// The engine if it is at work; null: pass everything through.
[[nodiscard]] inline replay::Engine* engine() noexcept {
  replay::Engine* found = engine_pointer.load(std::memory_order_acquire);
  return found != nullptr && found->active() ? found : nullptr;
}

/// Whom a call tells that destroys something: the engine, also one that gave up; null once it does nothing any more.
[[nodiscard]] inline replay::Engine* engine_with_threads() noexcept {
  replay::Engine* found = engine_pointer.load(std::memory_order_acquire);
  return found != nullptr && found->has_threads() ? found : nullptr;
}

/// May throw: then everything passes through.
void start_engine(const env::Settings& settings, void* (*lookup)(const char* name));

/// Submits what is held, ends the threads, writes the report. Calls pass through from then on.
void shut_down() noexcept;

/// Flushes what the call may observe, and reports it to the calling thread's lane.
class HostCall {
 public:
  /// A call that may observe or change anything: what every thread holds is flushed.
  explicit HostCall(const replay::EntryPoint& entry_point) noexcept;
  /// A call that observes, of what other threads hold, only what `settle` flushes (only called if anything is held),
  /// and submits nothing.
  template <std::invocable<replay::Engine&> Settle>
  HostCall(const replay::EntryPoint& entry_point, Settle&& settle) noexcept : HostCall(entry_point, Own{}) {
    if (engine_ != nullptr && engine_->anything_held()) {
      const NotCancelled during(true);
      settle(*engine_);
    }
  }
  /// Not done: the thread was cancelled while it waited.
  ~HostCall();
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;
  /// Ends the call. `waited`: it waited for the device. Returns what the application is to be told.
  ze_result_t done(ze_result_t status, bool waited = false) noexcept;

 private:
  struct Own {};
  HostCall(const replay::EntryPoint& entry_point, Own own) noexcept;
  template <class Flush>
  void begin(Flush&& flush) noexcept;

  const replay::EntryPoint& entry_point_;
  replay::Engine* engine_;
  int held_error_ = 0;
};

}  // namespace refrain::layer::level_zero
