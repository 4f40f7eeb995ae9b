// Time that only passes when it is told to, for one program thread and what goes on beside it: the engine's background
// thread and its watchdog, which do not exist as threads (replay/runtime/machine.h) and act here when their time has
// come. One real thread, nothing random: the same run gives the same nanoseconds.
#pragma once

#include "replay/engine.h"
#include "test/policy/costs.h"

namespace refrain::policy {

/// What takes `ns` usually takes so long the time with this number: a fifth more or less, and every half a millisecond
/// comes a disturbance of 20 us.
[[nodiscard]] inline Ns noisy(Ns ns, std::uint64_t number) noexcept {
  const std::uint64_t any = capture::mix(number, 11);
  return ns * (800 + any % 401) / 1000 + (any / 512 % 500'000 < ns ? 20'000 : 0);
}

class VirtualTime {
 public:
  explicit VirtualTime(const Costs& costs);
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  /// Whose background thread and watchdog run; null: nothing runs beside the program.
  void attach(replay::Engine* engine, Ns hold_limit) noexcept;

  [[nodiscard]] Ns now() const noexcept { return now_; }
  /// Everything that the calling thread is busy with takes another time each time.
  void make_noisy() noexcept { is_noisy_ = true; }
  /// The calling thread is busy. What it is inside of is not disturbed.
  void busy(Ns ns) noexcept { now_ += is_noisy_ ? noisy(ns, ++done_) : ns; }
  /// The program's own time: others act when their time has come. Must not be called inside a lane.
  void pass(Ns ns) noexcept;
  /// A launch waits while a large graph is built.
  void stall() noexcept;

 private:
  [[nodiscard]] Ns build_done() const noexcept;

  const Costs& costs_;
  bool is_noisy_ = false;
  std::uint64_t done_ = 0;
  replay::Engine* engine_ = nullptr;
  Ns now_;
  Ns tick_ = 0;  ///< how often the watchdog looks
  Ns next_tick_ = 0;
  Ns builder_free_ = 0;   ///< when the background thread is done with all it did
  Ns requested_ = 0;      ///< when the oldest request was first seen; 0: there is none
  bool stalled_ = false;  ///< by the graph being built
  bool building_ = false;
};

}  // namespace refrain::policy
