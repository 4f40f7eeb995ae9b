// What is preloaded, in this program itself.
#include "env/exit_hooks.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <iostream>
#include <thread>
#include <vector>

namespace {

int pipe_end = -1;
int handled = 0;

void write_number(int number) {
  static_cast<void>(!::write(pipe_end, &number, sizeof(number)));
}
void notify_end() {
  write_number(::getpid());
}
void handle(int /*number*/) {
  ++handled;
}

struct Told {
  int status = -1;
  pid_t process = 0;
  std::vector<int> numbers;  ///< what it wrote, and the process whose end was told
};

/// Runs `body` in a process whose end is watched.
template <class Body>
Told run(Body body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::cout.flush();
  Told told;
  told.process = ::fork();
  if (told.process == 0) {
    pipe_end = ends[1];
    refrain_at_end(&notify_end);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  for (int number = 0; ::read(ends[0], &number, sizeof(number)) == sizeof(number);) {
    told.numbers.push_back(number);
  }
  ::close(ends[0]);
  ::waitpid(told.process, &told.status, 0);
  return told;
}

/// As a shell or Python starts a program that is not there.
[[gnu::noinline]] void start_what_is_missing() {
  const pid_t child = ::vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (child == 0) {
    ::execl("/nowhere/program", "program", nullptr);
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("the end of a child that has its parent's memory is not the parent's", "[promise-7]") {
  const Told told = run([] {
    start_what_is_missing();
    write_number(0);
  });
  CHECK(told.status == 0);
  CHECK(told.numbers == std::vector<int>{0, told.process});
}

TEST_CASE("signals that the program handles or ignores are not its end, with its default action one is",
          "[promise-7]") {
  const Told told = run([] {
    ::signal(SIGTERM, &handle);
    ::signal(SIGINT, SIG_IGN);
    ::raise(SIGTERM);
    ::raise(SIGINT);
    write_number(handled);
    ::signal(SIGTERM, SIG_DFL);
    ::raise(SIGTERM);
    write_number(-1);
  });
  CHECK(told.numbers == std::vector<int>{1, told.process});
  CHECK(WIFSIGNALED(told.status));
  CHECK(WTERMSIG(told.status) == SIGTERM);
}

TEST_CASE("the processors that a process was given are known, whatever the program binds itself to") {
  cpu_set_t given{};
  REQUIRE(sched_getaffinity(::getpid(), sizeof given, &given) == 0);
  std::thread bound([] {
    cpu_set_t one{};
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
  });
  bound.join();
  REQUIRE(refrain_processors_at_start() != nullptr);
  CHECK(CPU_EQUAL(refrain_processors_at_start(), &given));
}

}  // namespace
