#include "env/own_thread.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <thread>
#include <vector>

#include "env/exit_hooks.h"

namespace {

bool is_one(const cpu_set_t& set, int processor) {
  return CPU_COUNT(&set) == 1 && CPU_ISSET(processor, &set);
}

/// The first or the last one of those that this process has.
int processor(bool first) {
  static const cpu_set_t all = [] {
    cpu_set_t set{};
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  int found = -1;
  for (int each = 0; each < CPU_SETSIZE; ++each) {
    found = CPU_ISSET(each, &all) && (found < 0 || !first) ? each : found;
  }
  return found;
}

}  // namespace

/// As what is preloaded says: the process was given its last processor alone.
extern "C" REFRAIN_HOOK const cpu_set_t* refrain_processors_at_start() {
  static cpu_set_t set{};
  CPU_ZERO(&set);
  CPU_SET(processor(false), &set);
  return &set;
}

namespace refrain::env {
namespace {

/// All that can be blocked.
std::vector<int> signals() {
  std::vector<int> numbers;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const bool of_system = number == SIGKILL || number == SIGSTOP || (number > 31 && number < SIGRTMIN);
    if (!of_system) numbers.push_back(number);
  }
  return numbers;
}

TEST_CASE("a thread of Refrain's blocks signals, or as who starts it, who blocks those that it did before",
          "[promise-3]") {
  const auto which = GENERATE(OwnThread::Signals::kOwn, OwnThread::Signals::kStarters);
  sigset_t before;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR2);
  sigset_t theirs;
  REQUIRE(pthread_sigmask(SIG_SETMASK, &before, &theirs) == 0);
  sigset_t ours;
  sigemptyset(&ours);
  OwnThread thread;
  REQUIRE(thread.start(
      "refrain-test", [](void* mask) noexcept { pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(mask)); },
      &ours, OwnThread::Stack::kOwn, which));
  thread.join();
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &theirs, &after);
  for (const int number : signals()) {
    CAPTURE(number);
    const bool of_thread = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
                           number == SIGTRAP || number == SIGSYS;
    CHECK(sigismember(&ours, number) ==
          (which == OwnThread::Signals::kOwn ? !of_thread : sigismember(&before, number) == 1));
    CHECK(sigismember(&after, number) == sigismember(&before, number));
  }
}

/// What a thread finds when it begins.
struct Found {
  cpu_set_t processors{};
  int policy = -1;
  int slack_ns = -1;
  std::size_t stack = 0;

  void look() noexcept {
    sched_getaffinity(0, sizeof processors, &processors);
    policy = sched_getscheduler(0);
    slack_ns = prctl(PR_GET_TIMERSLACK);
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstacksize(&attributes, &stack);
      pthread_attr_destroy(&attributes);
    }
  }
  [[nodiscard]] bool start(OwnThread::Stack wanted = OwnThread::Stack::kOwn) noexcept {
    OwnThread thread;
    return thread.start<&Found::look>("refrain-test", *this, wanted);
  }
};

/// Runs `body` on a thread that has bound itself to one processor, wants to be real-time, and sleeps late.
template <class Body>
void on_odd_thread(Body body) {
  std::thread odd([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor(true), &one);
    sched_setaffinity(0, sizeof one, &one);
    prctl(PR_SET_TIMERSLACK, 200'000'000UL);
    const sched_param priority{1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
      std::cout << "not allowed to be real-time: that is not tested\n";
    }
    body();
  });
  odd.join();
}

TEST_CASE("a thread of Refrain's has nothing of how the thread is scheduled that starts it", "[promise-3]") {
  Found found;
  bool started = false;
  on_odd_thread([&] { started = found.start(); });
  REQUIRE(started);
  CHECK(found.policy == SCHED_OTHER);
  CHECK(is_one(found.processors, processor(false)));
  CHECK(found.slack_ns == 50'000);
  CHECK(processors_at_start() == 1);
}

TEST_CASE("a thread of Refrain's takes a stack of one MiB, or one as the program's") {
  Found own;
  REQUIRE(own.start());
  Found programs;
  REQUIRE(programs.start(OwnThread::Stack::kPrograms));
  pthread_attr_t attributes;
  REQUIRE(pthread_getattr_default_np(&attributes) == 0);
  std::size_t usual = 0;
  pthread_attr_getstacksize(&attributes, &usual);
  pthread_attr_destroy(&attributes);
  CHECK(programs.stack == usual);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(own.stack >= std::size_t{1} << 20U);
  CHECK(own.stack < std::size_t{2} << 20U);
#endif
}

TEST_CASE("where the system refuses how a thread is to be scheduled, there is one all the same", "[promise-7]") {
  const long refused = GENERATE(SYS_sched_setaffinity, SYS_sched_setscheduler);
  std::cout.flush();
  const pid_t child = fork();
  if (child == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(refused), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(0);  // no filters here
    }
    Found found;
    const bool started = found.start();
    const bool bound = is_one(found.processors, processor(false));
    _exit(started && (bound || refused == SYS_sched_setaffinity) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a thread that does not end is left after two seconds", "[promise-7]") {
  static std::atomic<bool> goes_on{true};
  static std::atomic<bool> over{false};
  OwnThread thread;
  REQUIRE(thread.start(
      "refrain-test",
      [](void*) noexcept {
        while (goes_on) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        over = true;
      },
      nullptr));
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(thread.join_in_time());
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(1500));
  CHECK_FALSE(thread.running());
  goes_on = false;
  while (!over) {
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace refrain::env
