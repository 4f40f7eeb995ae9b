#include "env/own_thread.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstddef>

#include "env/exit_hooks.h"

#pragma weak refrain_processors_at_start

namespace refrain::env {
namespace {

constexpr std::size_t kOwnStack = std::size_t{1} << 20U;  // limit: bytes
constexpr time_t kLongestEndSeconds = 2;                  // limit
constexpr unsigned long kTimerSlackNs = 50'000;           // what Linux gives to processes

/// What a thread causes itself, by what it does to memory that the program protects as a rule. If it blocked them, the
/// system would end the process without asking the program's handler.
constexpr int kOfThread[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// Functions of an instrumented program need more room.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

/// What is preloaded knows what the process was given when it started. Without it: the library's own start, which may
/// be the program's first call of the driver.
struct AtStart {
  AtStart() noexcept {
    const cpu_set_t* const given = &refrain_processors_at_start != nullptr ? refrain_processors_at_start() : nullptr;
    if (given != nullptr) {
      processors = *given;
      known = true;
    } else {
      known = sched_getaffinity(0, sizeof processors, &processors) == 0;
    }
    const auto add = [](dl_phdr_info* info, std::size_t, void* sum) {
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        *static_cast<std::size_t*>(sum) += segment.p_type == PT_TLS ? segment.p_memsz + segment.p_align : 0;
      }
      return 0;
    };
    dl_iterate_phdr(add, &thread_locals);
  }
  cpu_set_t processors{};
  bool known = false;
  std::size_t thread_locals = 0;  ///< bytes that the C library takes from each stack, at most
};
const AtStart at_start;

/// What a thread is not to have from whoever starts it.
struct Wish {
  bool processors;
  bool scheduling;
};

int create(pthread_t* thread, Wish wish, OwnThread::Stack stack, void* (*run)(void*), void* what) noexcept {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes); error != 0) {
    return error;
  }
  // Each that is refused here is left as it is.
  if (stack == OwnThread::Stack::kOwn && !kInstrumented) {
    pthread_attr_setstacksize(&attributes, kOwnStack + at_start.thread_locals);
  }
  if (wish.scheduling) {
    const sched_param usual{};
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &usual);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  }
  if (wish.processors && at_start.known) {
    pthread_attr_setaffinity_np(&attributes, sizeof at_start.processors, &at_start.processors);
  }
  const int error = pthread_create(thread, &attributes, run, what);
  pthread_attr_destroy(&attributes);
  return error;
}

/// A process may be kept from asking: a filter of system calls, processors that are gone meanwhile.
bool create_somehow(pthread_t* thread, OwnThread::Stack stack, void* (*run)(void*), void* what) noexcept {
  constexpr Wish kBestFirst[] = {{true, true}, {true, false}, {false, true}, {false, false}};
  for (const Wish wish : kBestFirst) {
    const int error = create(thread, wish, stack, run, what);
    if (error == 0 || error == EAGAIN || error == ENOMEM) {
      return error == 0;
    }
  }
  return pthread_create(thread, nullptr, run, what) == 0;
}

}  // namespace

unsigned processors_at_start() noexcept {
  return at_start.known ? static_cast<unsigned>(CPU_COUNT(&at_start.processors)) : 0;
}

bool OwnThread::start(const char* name, void (*work)(void*) noexcept, void* what, Stack stack,
                      Signals signals) noexcept {
  name_ = name;
  work_ = work;
  what_ = what;
  signals_ = signals;
  sigset_t blocked;
  sigset_t before;
  signals == Signals::kOwn ? sigfillset(&blocked) : sigemptyset(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  running_ = create_somehow(&thread_, stack, &run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return running_;
}

void* OwnThread::run(void* self) noexcept {
  const auto& mine = *static_cast<const OwnThread*>(self);
  pthread_setname_np(pthread_self(), mine.name_);
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  if (mine.signals_ == Signals::kOwn) {
    sigset_t of_thread;
    sigemptyset(&of_thread);
    for (const int signal : kOfThread) {
      sigaddset(&of_thread, signal);
    }
    pthread_sigmask(SIG_UNBLOCK, &of_thread, nullptr);
  }
  mine.work_(mine.what_);
  return nullptr;
}

bool OwnThread::join_in_time() noexcept {
  if (!running_) {
    return true;
  }
  running_ = false;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += kLongestEndSeconds;
  if (pthread_timedjoin_np(thread_, nullptr, &until) == 0) {
    return true;
  }
  pthread_detach(thread_);  // it gives back what it has when it ends
  return false;
}

void OwnThread::leave() noexcept {
  if (running_) {
    running_ = false;
    pthread_detach(thread_);
  }
}

}  // namespace refrain::env
