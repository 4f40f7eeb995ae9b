// Preloaded into the program: what runs before it ends in a way that exit handlers do not see: _exit(), abort(), and
// signals that end a process. It is linked with nothing, so that it can keep no process from starting, and does nothing
// in a process without a layer.
//
// Signals: while a signal has its default action, a handler of ours stands in for it, and steps aside whenever the
// program asks or changes that: it reads and sets what it would without us. At last the signal ends the process as it
// would have.
#include "env/exit_hooks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "layer/own_bindings.h"
#include "layer/starter/c_library.h"

// Not every C library has them.
#pragma weak dl_iterate_phdr
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): the C library's
int __sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept __attribute__((weak));
}

namespace {

constexpr int kSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU};
constexpr int kMostLayers = 8;

std::atomic<void (*)()> callbacks[kMostLayers];
std::atomic<long> process{0};  ///< that the callbacks are of: not that of its forked children
std::atomic<bool> ended{false};
/// The kernel's own form: the C library would add a flag of its own to what the program reads.
struct Action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};
Action defaults[32];  ///< of kSignals: as it was before ours took its place

void set_default(int number) noexcept {
  ::syscall(SYS_rt_sigaction, number, &defaults[number], nullptr, sizeof(Action::mask));
}

RefrainStderr at_start;
cpu_set_t processors_at_start;
bool processors_known = false;

using Handler = void (*)(int);

/// Those whose place we take, if there is anybody behind us: others that are preloaded, a sanitizer, the C library.
struct Next {
  void (*exit_now)(int);
  void (*exit_now_too)(int);
  void (*abort)();
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  Handler (*signal)(int, Handler);
  Handler (*bsd_signal)(int, Handler);
  Handler (*sysv_signal)(int, Handler);
  Handler (*ssignal)(int, Handler);
  Handler (*sigset)(int, Handler);
  int (*sigignore)(int);
  int (*siginterrupt)(int, int);

  [[nodiscard]] bool complete() const noexcept {
    return exit_now != nullptr && exit_now_too != nullptr && abort != nullptr && sigaction != nullptr &&
           signal != nullptr && bsd_signal != nullptr && sysv_signal != nullptr && ssignal != nullptr &&
           sigset != nullptr && sigignore != nullptr && siginterrupt != nullptr;
  }
};
Next next;

template <class Function>
void take(Function*& function, const refrain::layer::DynamicSymbols& symbols, const char* name) noexcept {
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(symbols.find(name));
  }
}

/// Not by dlsym(RTLD_NEXT, …): a library in front of us may answer that itself, and then what is behind it is us. All
/// in one walk, since every process pays for it.
void find_next() noexcept {
  if (&dl_iterate_phdr == nullptr) {
    return;
  }
  bool behind = false;
  refrain::layer::starter::visit_loaded([&behind](const char*, const refrain::layer::DynamicSymbols& symbols) {
    if (!behind) {
      behind = symbols.find("refrain_at_end") == reinterpret_cast<void*>(&refrain_at_end);
      return false;
    }
    take(next.exit_now, symbols, "_exit");
    take(next.exit_now_too, symbols, "_Exit");
    take(next.abort, symbols, "abort");
    take(next.sigaction, symbols, "sigaction");
    take(next.signal, symbols, "signal");
    take(next.bsd_signal, symbols, "bsd_signal");
    take(next.sysv_signal, symbols, "__sysv_signal");
    take(next.ssignal, symbols, "ssignal");
    take(next.sigset, symbols, "sigset");
    take(next.sigignore, symbols, "sigignore");
    take(next.siginterrupt, symbols, "siginterrupt");
    return next.complete();
  });
}

__attribute__((constructor)) void look_around() {
  refrain_own_bindings();
  find_next();
  struct stat status {};
  const int saved = errno;
  if (::syscall(SYS_fstat, STDERR_FILENO, &status) == 0) {  // the function has another version in each C library
    at_start = {1, static_cast<unsigned long>(status.st_dev), static_cast<unsigned long>(status.st_ino)};
  }
  processors_known = ::syscall(SYS_sched_getaffinity, 0, sizeof processors_at_start, &processors_at_start) > 0;
  errno = saved;
}

long this_process() noexcept {
  return ::syscall(SYS_getpid);
}

void notify_end() noexcept {
  // A child may even share this memory (vfork), so that it must not change it.
  if (process.load() != this_process() || ended.exchange(true)) {
    return;
  }
  for (auto& entry : callbacks) {
    if (auto* callback = entry.load(); callback != nullptr) {
      callback();
    }
  }
}

void on_signal(int number) noexcept {
  const int saved = errno;
  notify_end();
  // It comes again when this handler returns, where the program was, and then with its default action.
  set_default(number);
  ::syscall(SYS_tgkill, this_process(), ::syscall(SYS_gettid), number);
  errno = saved;
}

bool watched(int number) noexcept {
  if (process.load(std::memory_order_relaxed) <= 1) {
    return false;
  }
  for (const int each : kSignals) {
    if (each == number) {
      return true;
    }
  }
  return false;
}

void proxy(int number) noexcept {
  Action now{};
  if (::syscall(SYS_rt_sigaction, number, nullptr, &now, sizeof(Action::mask)) != 0 || now.handler != SIG_DFL) {
    return;
  }
  defaults[number] = now;
  struct sigaction ours {};
  ours.sa_handler = &on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  __builtin_memset(&ours.sa_mask, 0xFF, sizeof(ours.sa_mask));
  __sigaction(number, &ours, nullptr);
}

void step_aside(int number) noexcept {
  struct sigaction now {};
  if (__sigaction(number, nullptr, &now) == 0 && now.sa_handler == &on_signal) {
    set_default(number);
  }
}

/// For the length of a call of the program's.
class Aside {
 public:
  explicit Aside(int number) noexcept : number_(watched(number) ? number : 0) {
    if (number_ != 0) {
      step_aside(number_);
    }
  }
  ~Aside() {
    if (number_ != 0) {
      const int saved = errno;
      proxy(number_);
      errno = saved;
    }
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  int number_;
};

[[noreturn]] void end(void (*with)(int), int status) noexcept {
  notify_end();
  if (with != nullptr) {
    with(status);
  }
  for (;;) {
    ::syscall(SYS_exit_group, status);
  }
}

Handler set_handler(Handler (*with)(int, Handler), int number, Handler handler) noexcept {
  if (with == nullptr) {
    errno = ENOSYS;
    return SIG_ERR;
  }
  const Aside aside(number);
  return with(number, handler);
}

template <class... More>
int change(int (*with)(int, More...), int number, More... more) noexcept {
  if (with == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  const Aside aside(number);
  return with(number, more...);
}

}  // namespace

extern "C" {

REFRAIN_HOOK void refrain_at_end(void (*callback)()) {
  if (process.load() != this_process()) {  // the callbacks of the process that this one was forked from
    for (auto& entry : callbacks) {
      entry.store(nullptr);
    }
    ended.store(false);
    process.store(this_process());
  }
  for (auto& entry : callbacks) {
    void (*none)() = nullptr;
    if (entry.compare_exchange_strong(none, callback)) {
      break;
    }
  }
  // A signal without a handler is never delivered to the first process of a container, and so does not end it.
  if (&__sigaction != nullptr && this_process() != 1) {
    for (const int number : kSignals) {
      proxy(number);
    }
  }
}

REFRAIN_HOOK void refrain_forget_end(void (*callback)()) {
  for (auto& entry : callbacks) {
    void (*expected)() = callback;
    entry.compare_exchange_strong(expected, nullptr);
  }
}

REFRAIN_HOOK const RefrainStderr* refrain_stderr_at_start() {
  return &at_start;
}

REFRAIN_HOOK const cpu_set_t* refrain_processors_at_start() {
  return processors_known ? &processors_at_start : nullptr;
}

REFRAIN_HOOK void _exit(int status) {
  end(next.exit_now, status);
}

REFRAIN_HOOK void _Exit(int status) noexcept {
  end(next.exit_now_too, status);
}

// As a signal it is not seen where a compiler's library below a driver has a handler, which ends the process by itself.
REFRAIN_HOOK void abort() noexcept {
  notify_end();
  if (next.abort != nullptr) {
    next.abort();
  }
  for (;;) {
    ::syscall(SYS_tgkill, this_process(), ::syscall(SYS_gettid), SIGABRT);
    ::syscall(SYS_exit_group, 127);
  }
}

REFRAIN_HOOK int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  return change(next.sigaction != nullptr ? next.sigaction : &__sigaction, number, action, before);
}

REFRAIN_HOOK Handler signal(int number, Handler handler) noexcept {
  return set_handler(next.signal, number, handler);
}

REFRAIN_HOOK Handler bsd_signal(int number, Handler handler) noexcept {
  return set_handler(next.bsd_signal, number, handler);
}

REFRAIN_HOOK Handler __sysv_signal(int number, Handler handler) noexcept {
  return set_handler(next.sysv_signal, number, handler);
}

REFRAIN_HOOK Handler ssignal(int number, Handler handler) noexcept {
  return set_handler(next.ssignal, number, handler);
}

REFRAIN_HOOK Handler sigset(int number, Handler handler) noexcept {
  return set_handler(next.sigset, number, handler);
}

REFRAIN_HOOK int sigignore(int number) noexcept {
  return change(next.sigignore, number);
}

REFRAIN_HOOK int siginterrupt(int number, int interrupts) noexcept {
  return change(next.siginterrupt, number, interrupts);
}

}  // extern "C"
