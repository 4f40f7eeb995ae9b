// Writing in a process that is not ours: what write() may cause does not reach the program.
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace refrain::env {

/// While it lives the calling thread's writes raise neither SIGPIPE (a reader that went away) nor SIGXFSZ (the limit of
/// a file's size), whatever the program does about these signals, and leave none behind. By system calls, so that
/// starters can use it, too; changes errno.
class WithoutSignals {
 public:
  WithoutSignals() noexcept {
    unsigned long pending = 0;
    ::syscall(SYS_rt_sigpending, &pending, sizeof(pending));
    ours_ = (bit(SIGPIPE) | bit(SIGXFSZ)) & ~pending;  // one that waits already is the program's, and comes once anyway
    blocked_ = ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ours_, &before_, sizeof(before_)) == 0;
  }
  ~WithoutSignals() {
    if (!blocked_) return;
    const timespec none{};
    while (::syscall(SYS_rt_sigtimedwait, &ours_, nullptr, &none, sizeof(ours_)) > 0 || errno == EINTR) {
    }
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_));
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  static constexpr unsigned long bit(int number) noexcept { return 1UL << (number - 1); }

  unsigned long ours_ = 0;
  unsigned long before_ = 0;
  bool blocked_ = false;
};

}  // namespace refrain::env
