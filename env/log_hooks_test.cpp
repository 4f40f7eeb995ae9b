// The log where the preloaded library of layer/exit_hooks.cpp is there, which knows how the process was started.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>

#include "env/exit_hooks.h"
#include "env/log.h"

namespace {

RefrainStderr at_start{};

}  // namespace

extern "C" REFRAIN_HOOK const RefrainStderr* refrain_stderr_at_start() {
  return &at_start;
}

namespace refrain::env {
namespace {

RefrainStderr standard_error_now() {
  struct stat status {};
  const bool open = ::fstat(STDERR_FILENO, &status) == 0;
  return {open ? 1 : 0, status.st_dev, status.st_ino};
}

TEST_CASE("what has the number of a standard error that was not there at the start is not written to") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("refrain_log_hooks_" + std::to_string(::getpid()));
  for (const bool closed_at_start : {false, true}) {
    std::cout.flush();
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(STDERR_FILENO);
      at_start = standard_error_now();
      if (::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600) != STDERR_FILENO) ::_exit(1);
      if (!closed_at_start) at_start = standard_error_now();
      open_log(Settings());
      log_error("late");
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(std::filesystem::is_empty(file) == closed_at_start);
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace refrain::env
