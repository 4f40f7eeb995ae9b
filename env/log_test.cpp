#include "env/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

namespace refrain::env {
namespace {

struct Outcome {
  int status = 0;
  std::string output;
  std::string error;
};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs `body` in a process of its own, because log and standard streams belong to the whole process.
template <class Body>
Outcome in_child(Body body) {
  const std::string base =
      (std::filesystem::temp_directory_path() / ("refrain_log_" + std::to_string(::getpid()))).string();
  std::cout.flush();  // or the test's own lines may be written once more, by the child
  const pid_t child = ::fork();
  if (child == 0) {
    const int output = ::open((base + ".out").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const int error = ::open((base + ".err").c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(error, STDERR_FILENO);
    body();
    ::_exit(0);
  }
  Outcome outcome;
  ::waitpid(child, &outcome.status, 0);
  outcome.output = contents(base + ".out");
  outcome.error = contents(base + ".err");
  std::filesystem::remove(base + ".out");
  std::filesystem::remove(base + ".err");
  return outcome;
}

TEST_CASE("lines go to stderr with their level, never to stdout") {
  const Outcome outcome = in_child([] {
    log_error("e {} %s");
    log_info("first\nsecond\n");
    log_debug("hidden");
    errno = EDOM;
    log_warning("");
    if (errno != EDOM) ::_exit(1);
  });
  CHECK(outcome.status == 0);
  CHECK(outcome.output.empty());
  CHECK(outcome.error ==
        "[refrain] error: e {} %s\n[refrain] info: first\n[refrain] info: second\n[refrain] warning: \n");
}

TEST_CASE("parts are one line, which is cut where it would be too long") {
  const Outcome outcome = in_child([] {
    log_error({"no ", "memory", ""});
    log_warning({"x", std::string(5000, 'y')});
  });
  CHECK(outcome.error.starts_with("[refrain] error: no memory\n[refrain] warning: xyyy"));
  CHECK(outcome.error.size() < 1100);
  CHECK(outcome.error.back() == '\n');
}

TEST_CASE("the level decides what is written") {
  const Outcome outcome = in_child([] {
    Settings settings;
    settings.log_level = LogLevel::kOff;
    open_log(settings);
    log_error("no");
    log(LogLevel::kOff, "never");
    if (log_enabled(LogLevel::kError) || log_enabled(LogLevel::kOff)) ::_exit(1);
    settings.log_level = LogLevel::kTrace;
    open_log(settings);
    log(LogLevel::kTrace, "yes");
  });
  CHECK(outcome.status == 0);
  CHECK(outcome.error == "[refrain] trace: yes\n");
}

TEST_CASE("a log file is appended to by whole lines, also from many threads and processes") {
  const std::string path = "/tmp/refrain_log_file_" + std::to_string(::getpid());
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  const Outcome outcome = in_child([&path] {
    Settings settings;
    settings.log_file = path;
    open_log(settings);
    const pid_t other = ::fork();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < kLines; ++i) log_info("a line of the usual length, more or less");
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (other == 0) ::_exit(0);
    ::waitpid(other, nullptr, 0);
  });
  CHECK(outcome.status == 0);
  CHECK(outcome.error.empty());
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    REQUIRE(line == "[refrain] info: a line of the usual length, more or less");
  }
  CHECK(lines == 2 * kThreads * kLines);
  std::filesystem::remove(path);
}

TEST_CASE("a log file that can't be opened is reported on stderr") {
  const Outcome outcome = in_child([] {
    Settings settings;
    settings.log_file = "/nowhere/refrain.log";
    open_log(settings);
    log_info("still here");
  });
  CHECK(outcome.error ==
        "[refrain] error: log_file '/nowhere/refrain.log' can't be opened (No such file or directory); "
        "logging to "
        "stderr\n[refrain] info: still here\n");
}

TEST_CASE("a reader that went away does not kill the application") {
  const Outcome outcome = in_child([] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    log_info("to nobody");
    log_info("again");
    // The application's own writes still behave as they did.
    ::signal(SIGPIPE, SIG_DFL);
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    ::_exit(::sigismember(&mask, SIGPIPE) == 0 ? 7 : 8);
  });
  REQUIRE(WIFEXITED(outcome.status));
  CHECK(WEXITSTATUS(outcome.status) == 7);
}

TEST_CASE("standard error that the program closed is not written to, whatever has its number") {
  const std::string path = "/tmp/refrain_log_theirs_" + std::to_string(::getpid());
  for (const bool closed_before : {false, true}) {
    const Outcome outcome = in_child([&] {
      if (closed_before) ::close(STDERR_FILENO);
      open_log(Settings());
      log_info("early");
      ::close(STDERR_FILENO);
      if (::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600) != STDERR_FILENO) ::_exit(1);
      log_error("late");
    });
    CHECK(outcome.status == 0);
    CHECK(outcome.error == (closed_before ? "" : "[refrain] info: early\n"));
    CHECK(contents(path).empty());
  }
  std::filesystem::remove(path);
}

TEST_CASE("a log file that the program closed goes on, one that was moved away as well is replaced by stderr") {
  const std::string path = "/tmp/refrain_log_closed_" + std::to_string(::getpid());
  const Outcome outcome = in_child([&] {
    const auto close_others = [] {
      for (int number = 3; number < 5000; ++number) ::close(number);
    };
    Settings settings;
    settings.log_file = path;
    open_log(settings);
    log_info("one");
    close_others();
    log_info("two");
    std::filesystem::rename(path, path + ".moved");
    close_others();
    log_info("three");
    log_info("four");
  });
  CHECK(outcome.status == 0);
  CHECK(contents(path + ".moved") == "[refrain] info: one\n[refrain] info: two\n");
  CHECK(outcome.error == "[refrain] warning: the log file '" + path +
                             "' was closed by the program; logging to stderr\n[refrain] info: three\n"
                             "[refrain] info: four\n");
  std::filesystem::remove(path + ".moved");
}

TEST_CASE("what a log file can't take goes to stderr, which says why") {
  const Outcome outcome = in_child([] {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    Settings settings;
    settings.log_file = "/dev/fd/" + std::to_string(full);
    open_log(settings);
    log_info("one");
    log_info("two");
  });
  CHECK(outcome.status == 0);
  CHECK(
      outcome.error.ends_with("can't be written (No space left on device); logging to stderr\n"
                              "[refrain] info: one\n[refrain] info: two\n"));
}

TEST_CASE("messages at exit, after stderr's stream is closed, are written") {
  const Outcome outcome = in_child([] {
    std::atexit([] { log_info("bye"); });
    std::fclose(stdout);
    std::exit(0);
  });
  CHECK(outcome.status == 0);
  // The first line only: LeakSanitizer may complain of its own in a child that was forked.
  CHECK(outcome.error.substr(0, outcome.error.find('\n') + 1) == "[refrain] info: bye\n");
}

}  // namespace
}  // namespace refrain::env
