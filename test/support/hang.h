// Tests and programs that never end are ended themselves, and say where each of their threads is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace refrain::test {

/// Who does nothing for so long hangs: neither the process nor what it started uses a processor. (A limit of time would
/// end what a busy machine only slows down, or come late.)
inline constexpr std::chrono::seconds kIdleFor{15};

/// Looks at a process now and then.
class IdleWatch {
 public:
  explicit IdleWatch(pid_t process) noexcept : process_(process) {}
  /// To be called every second or so.
  [[nodiscard]] bool hangs();
  /// It is about to wait for something else, or has waited.
  void begin_again() noexcept { since_ = std::chrono::steady_clock::now(); }

 private:
  const pid_t process_;
  std::uint64_t ticks_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// The stacks of all threads of the process and of what it started, by eu-stack(1) of elfutils.
std::string stacks_of(pid_t process);

/// From now on the calling process ends with `what` it was doing and its stacks on standard error once it hangs.
void watch_this_process() noexcept;
void now_doing(const std::string& what) noexcept;
/// While one of these lives somebody else sees to it that it ends.
class NotWatched {
 public:
  NotWatched() noexcept;
  ~NotWatched();
  NotWatched(const NotWatched&) = delete;
  NotWatched& operator=(const NotWatched&) = delete;
};

}  // namespace refrain::test
