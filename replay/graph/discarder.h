// Gives what graphs have of the driver back to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "backends/backend.h"
#include "env/mutex.h"
#include "env/own_thread.h"
#include "env/stuck_check.h"

namespace refrain::replay {

/// On a thread of its own, for which nobody waits for long: a driver may never return from taking something back.
/// Thread-safe.
class Discarder {
 public:
  using Buffers = std::vector<std::unique_ptr<backends::CommandBuffer>>;

  explicit Discarder(backends::Backend& backend) noexcept : backend_(backend) {}
  ~Discarder() { stop(); }
  Discarder(const Discarder&) = delete;
  Discarder& operator=(const Discarder&) = delete;

  /// Returns when the driver has them back, or, if it does not return, after StuckCheck::kLongest: they are lost then,
  /// and all that come later. Where there can be no thread, the calling one does it.
  void discard(Buffers buffers) noexcept;
  /// What ran when it was discarded is to be given back if it has ended. Waits for nothing.
  void look_again() noexcept;
  /// Ends the thread; the calling one does it from then on.
  void stop() noexcept;
  /// In a forked child the thread does not exist, and may have had the lock: no lock is taken, and nothing is given
  /// back.
  void abandon_thread() noexcept;

 private:
  [[nodiscard]] bool start() noexcept REFRAIN_REQUIRES(mutex_);
  void run() noexcept;

  backends::Backend& backend_;
  env::StuckCheck check_{"taking a graph back: what is no longer used is kept from now on"};
  env::Mutex mutex_;
  env::ConditionVariable changed_;
  std::list<Buffers> waiting_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t asked_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< how many came to waiting_ so far
  std::uint64_t done_ REFRAIN_GUARDED_BY(mutex_) = 0;   ///< of these
  bool looks_again_ REFRAIN_GUARDED_BY(mutex_) = false;
  bool stopping_ REFRAIN_GUARDED_BY(mutex_) = false;
  bool ended_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< the thread
  env::OwnThread thread_;
  std::atomic<bool> forked_{false};
};

}  // namespace refrain::replay
