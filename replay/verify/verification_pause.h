// verify mode: while a graph is run twice and its buffers are put back in between, nothing else may be
// submitted, or what other threads compute would be overwritten and the comparison would be wrong.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "env/mutex.h"
#include "replay/queue_slot.h"

namespace refrain::replay {

/// Lets submissions pass, or one verification, never both. Thread-safe. Nobody waits longer than
/// kPatience: a driver may call the application, and that the driver, from a thread that the
/// verification waits for.
class VerificationPause {
 public:
  static constexpr std::chrono::milliseconds kPatience{2000};  // limit

  using Queues = std::span<QueueSlot* const>;

  /// Around every submission to the driver, blocking or not, with the queues it goes to. May be nested.
  void enter(Queues queues) noexcept;
  void leave() noexcept;

  /// Waits until no submission is under way, and keeps others out until end(). False, and nothing to
  /// end, if that took too long. `queues`: those the caller will submit to.
  [[nodiscard]] bool begin(Queues queues) noexcept;
  void end() noexcept;

  /// Between begin() and end(): waits for every queue of the process with work since it was last waited
  /// for. False if the driver reports an error.
  [[nodiscard]] bool finish(backends::Backend& backend);
  /// The same, but not beyond `until`, and except for queues of `but`: false if something is not done, or nobody knows.
  [[nodiscard]] bool finish_by(backends::Backend& backend, std::chrono::steady_clock::time_point until,
                               const std::vector<capture::QueueInfo>& but);

  /// A queue was created, or goes away: forget() returns when no verification uses it.
  void add(const QueueSlot& queue);
  void forget(const QueueSlot& queue) noexcept;

 private:
  struct Known {
    capture::QueueInfo info;
    bool used = false;  ///< work was submitted since it was last waited for
  };
  void mark(Queues queues) noexcept REFRAIN_REQUIRES(mutex_);

  env::Mutex mutex_;
  env::ConditionVariable resumed_;
  env::ConditionVariable all_left_;  ///< only the one that stopped the others waits for it
  unsigned entered_ REFRAIN_GUARDED_BY(mutex_) = 0;
  bool stopped_ REFRAIN_GUARDED_BY(mutex_) = false;
  std::vector<Known> queues_ REFRAIN_GUARDED_BY(mutex_);
};

/// Around a submission, if verifications may pause it.
class Entered {
 public:
  Entered(VerificationPause* pause, VerificationPause::Queues queues) noexcept : pause_(pause) {
    if (pause_ != nullptr) {
      pause_->enter(queues);
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
