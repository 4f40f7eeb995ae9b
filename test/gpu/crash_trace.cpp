// Preloaded into random programs: says where a program crashed, for a crash that does not come again under a debugger.
// The stack and the mapped files go to standard error; `addr2line -e` on the unstripped build turns their offsets into
// lines.
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

namespace {

constexpr int kFrames = 64;
alignas(16) std::array<char, 256UL * 1024> stack;

void write_maps() {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> text;
  for (ssize_t count = 0; (count = read(maps, text.data(), text.size())) > 0;)
    if (write(STDERR_FILENO, text.data(), static_cast<std::size_t>(count)) < 0) break;
}

/// Not all of this is safe in a signal handler, but the process is lost anyway; the alarm ends it if this hangs.
void on_signal(int number, siginfo_t* info, void*) {
  alarm(10);
  (void)std::signal(number, SIG_DFL);
  std::array<char, 128> line;
  const int length =
      std::snprintf(line.data(), line.size(), "crash_trace: signal %d at address %p, thread %d of process %d\n", number,
                    info->si_addr, gettid(), getpid());
  if (write(STDERR_FILENO, line.data(), static_cast<std::size_t>(length)) < 0) _exit(1);
  std::array<void*, kFrames> frames;
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), kFrames), STDERR_FILENO);
  write_maps();
  raise(number);
}

[[gnu::constructor]] void install() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads what it needs now, not in the handler
  // Of the main thread only: other threads report on their own stacks unless those overflowed.
  const stack_t alternate = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  (void)sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) (void)sigaction(number, &action, nullptr);
}

}  // namespace
