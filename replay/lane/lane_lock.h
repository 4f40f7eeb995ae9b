// Who may touch what a lane holds.
#pragma once

#include "env/thread_annotations.h"
#include "replay/runtime/owner_lock.h"

namespace refrain::replay {

/// Stands for the right to touch what a lane holds, for clang to check: whoever has the lane's lock has it, and the
/// lane's own thread while nothing is held, when it works without the lock. It is the same for all lanes: no thread
/// ever touches what two of them hold.
class REFRAIN_CAPABILITY("right") HeldRight {};
inline constexpr HeldRight held_right;

/// The lock of a lane.
class LaneLock {
 public:
  // The right comes with the lock, which has no other use: that is what the analysis is to be told here.
  void lock() noexcept REFRAIN_ACQUIRE(held_right) REFRAIN_NO_THREAD_SAFETY_ANALYSIS { lock_.lock(); }
  void unlock() noexcept REFRAIN_RELEASE(held_right) REFRAIN_NO_THREAD_SAFETY_ANALYSIS { lock_.unlock(); }

 private:
  OwnerLock lock_;
};

/// Any thread, for a scope.
class REFRAIN_SCOPED_CAPABILITY HasLaneLock {
 public:
  explicit HasLaneLock(LaneLock& lock) noexcept REFRAIN_ACQUIRE(held_right) : lock_(lock) { lock_.lock(); }
  ~HasLaneLock() REFRAIN_RELEASE() { lock_.unlock(); }
  HasLaneLock(const HasLaneLock&) = delete;
  HasLaneLock& operator=(const HasLaneLock&) = delete;

 private:
  LaneLock& lock_;
};

/// The lane's own thread says that nothing is held, or that it has the lock already. Does nothing. (Were it trivial,
/// compilers would call its variables unused.)
class REFRAIN_SCOPED_CAPABILITY IsLaneOwner {
 public:
  IsLaneOwner() noexcept REFRAIN_ACQUIRE(held_right) {}  // NOLINT(modernize-use-equals-default)
  ~IsLaneOwner() REFRAIN_RELEASE() {}                    // NOLINT(modernize-use-equals-default)
  IsLaneOwner(const IsLaneOwner&) = delete;
  IsLaneOwner& operator=(const IsLaneOwner&) = delete;
};

}  // namespace refrain::replay
