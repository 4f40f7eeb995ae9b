// Graphs are not instantiated while others run.
//
// NVIDIA's driver takes memory for graphs now and then, waits for all running graphs before it does, and lets nobody
// launch meanwhile (test/gpu/busy_calls.cu). A kernel in such a graph may itself wait for what the application launches
// next: that would be for ever. So whoever instantiates has the launches of graphs stop, and waits until those that run
// are done; what the application submits meanwhile is issued one by one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/streams/stream.h"

namespace refrain::backends {

/// Thread-safe.
template <class Api>
class GraphPause {
 public:
  /// Before graphs are launched; false: not now. Never waits. To be followed by leave() if true.
  [[nodiscard]] bool enter() noexcept {
    launching_.fetch_add(1, std::memory_order_seq_cst);
    if (!paused_.load(std::memory_order_seq_cst)) [[likely]] {
      return true;
    }
    leave();
    return false;
  }
  void leave() noexcept { launching_.fetch_sub(1, std::memory_order_release); }

  /// A graph is launched in `stream`, which is not forgotten (StreamBackend::no_recording()) before pause() is over.
  /// May throw std::bad_alloc, then before anything happened.
  void launched(Stream<Api>& stream) {
    if (stream.has_graphs.load(std::memory_order_relaxed)) [[likely]] {
      return;
    }
    const std::lock_guard guard(mutex_);
    if (!stream.has_graphs.load(std::memory_order_relaxed)) {
      streams_.push_back(&stream);
      stream.has_graphs.store(true, std::memory_order_relaxed);
    }
  }

  /// True once no graph runs and none is launched until resume(). False if some do not end, or `hurry()`: then nothing
  /// is paused.
  template <class Hurry>
  [[nodiscard]] bool pause(const typename Api::Driver& driver, Hurry&& hurry) noexcept;
  void resume() noexcept { paused_.store(false, std::memory_order_release); }

  /// The application captures streams, and the driver must not be asked about any, until the last of as many ends.
  void begin_capture() noexcept {
    const std::lock_guard guard(mutex_);
    ++captures_;
  }
  void end_capture() noexcept {
    const std::lock_guard guard(mutex_);
    --captures_;
  }

 private:
  [[nodiscard]] bool one_runs(const typename Api::Driver& driver) noexcept;

  std::atomic<std::uint32_t> launching_{0};
  std::atomic<bool> paused_{false};
  std::mutex mutex_;  ///< held while streams are asked
  std::uint32_t captures_ = 0;
  std::vector<Stream<Api>*> streams_;  ///< in which a graph may run; has_graphs is set for these
};

template <class Api>
template <class Hurry>
bool GraphPause<Api>::pause(const typename Api::Driver& driver, Hurry&& hurry) noexcept {
  // Graphs take milliseconds at most, or wait for the application.
  constexpr auto kPatience = std::chrono::milliseconds(50);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  paused_.store(true, std::memory_order_seq_cst);
  while (launching_.load(std::memory_order_seq_cst) != 0 || one_runs(driver)) {
    if (hurry() || std::chrono::steady_clock::now() > until) {
      resume();
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

/// A stream that was idle once has no graph any more.
template <class Api>
bool GraphPause<Api>::one_runs(const typename Api::Driver& driver) noexcept {
  const std::lock_guard guard(mutex_);
  if (captures_ != 0) {
    return true;
  }
  std::erase_if(streams_, [&](Stream<Api>* stream) {
    if (stream->id.load(std::memory_order_acquire) != 0) {  // else it was destroyed
      const typename Api::Scope scope(driver, stream->context);
      if (Api::query_stream(driver, stream->handle) == Api::kNotReady) {
        return false;
      }
    }
    stream->has_graphs.store(false, std::memory_order_relaxed);
    return true;
  });
  return !streams_.empty();
}

}  // namespace refrain::backends
