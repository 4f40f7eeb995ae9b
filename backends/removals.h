// Who is inside the driver to give a graph back.
#pragma once

#include <chrono>
#include <cstddef>

#include "env/mutex.h"

namespace refrain::backends {

/// Threads that give graphs back without a lock, as the driver may never return from that. Under its owner's mutex.
class Removals {
 public:
  void begin() noexcept { ++inside_; }
  void end() noexcept {
    inside_ -= inside_ != 0 ? 1 : 0;
    changed_.notify_all();
  }
  /// Until there is none, or for a while: nobody waits for those that are still inside once more.
  void wait(env::UniqueLock& lock) {
    constexpr std::chrono::seconds kPatience{1};
    if (!changed_.wait_for(lock, kPatience, [&] { return inside_ == 0; })) {
      inside_ = 0;
    }
  }

 private:
  env::ConditionVariable changed_;
  std::size_t inside_ = 0;
};

}  // namespace refrain::backends
