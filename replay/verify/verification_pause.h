// verify mode: while a graph is run twice and its buffers are put back in between, nothing else may be
// submitted, or what other threads compute would be overwritten and the comparison would be wrong.
#pragma once

#include <chrono>
#include <vector>

#include "backends/backend.h"
#include "env/mutex.h"
#include "replay/layer_hooks.h"
#include "replay/queue_slot.h"
#include "replay/verify/verification_patience.h"

namespace refrain::replay {

/// Lets submissions pass, or one verification, never both. Thread-safe. A verification waits as long as
/// VerificationPatience says; a submission waits for its end, which is sooner than kLongest unless the driver waits for
/// that submission: it may call the application from a thread that has work to complete.
class VerificationPause {
 public:
  static constexpr std::chrono::seconds kLongest{10};  // limit

  /// Around every submission to the driver, blocking or not. May be nested.
  void enter() noexcept;
  void leave() noexcept;

  /// Waits until no submission is under way, and keeps others out until end(). False, and nothing to
  /// end, if that took too long.
  [[nodiscard]] bool begin() noexcept;
  void end() noexcept;

  /// Between begin() and end(): waits for `queues` and, if `all`, for every other queue of the process: host calls
  /// submit as well, and nobody notes where to. False if something is not done in time, or nobody knows.
  [[nodiscard]] bool finish(backends::Backend& backend, const std::vector<capture::QueueInfo>& queues, bool all);
  /// Waits for work that has ended once already, eagerly: it does not wait for the program.
  [[nodiscard]] static bool finish_again(backends::Backend& backend, const std::vector<capture::QueueInfo>& queues);

  void add(const capture::QueueInfo& queue);
  /// Work may be under way that cannot be waited for: nothing is compared from now on. `why` has static lifetime.
  void cannot_know(const char* why) noexcept;
  /// Between begin() and end(): why work may be under way in a queue that is not known; null: in none.
  [[nodiscard]] const char* why_not(LayerHooks& hooks) noexcept;
  /// The queue goes away: returns when no verification uses it. Its work is waited for first, since later verifications
  /// cannot do that, if `wait`. Without, or in vain: nothing is compared from then on.
  void forget(const QueueSlot& queue, backends::Backend& backend, bool wait) noexcept;

 private:
  [[nodiscard]] bool finish_others(backends::Backend& backend, VerificationPatience::Clock::time_point until,
                                   const std::vector<capture::QueueInfo>& but);
  template <class Wait>
  bool patiently(Wait&& wait);

  env::Mutex mutex_;
  env::ConditionVariable resumed_;
  env::ConditionVariable all_left_;  ///< only the one that stopped the others waits for it
  unsigned entered_ REFRAIN_GUARDED_BY(mutex_) = 0;
  bool stopped_ REFRAIN_GUARDED_BY(mutex_) = false;
  VerificationPatience patience_ REFRAIN_GUARDED_BY(mutex_);
  const char* unknown_ REFRAIN_GUARDED_BY(mutex_) = nullptr;
  std::vector<capture::QueueInfo> queues_ REFRAIN_GUARDED_BY(mutex_);
};

/// Around a submission, if verifications may pause it.
class Entered {
 public:
  explicit Entered(VerificationPause* pause) noexcept : pause_(pause) {
    if (pause_ != nullptr) {
      pause_->enter();
    }
  }
  ~Entered() {
    if (pause_ != nullptr) {
      pause_->leave();
    }
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  VerificationPause* pause_;
};

}  // namespace refrain::replay
