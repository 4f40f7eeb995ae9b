#include "layer/start_up.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <new>
#include <stdexcept>
#include <thread>

#include "layer/elf_exports.h"

namespace refrain::layer {
namespace {

TEST_CASE("a step of the start that throws has failed, whatever it throws", "[promise-7]") {
  CHECK(start_up("CUDA", [] {}));
  CHECK_FALSE(start_up("CUDA", [] { throw std::bad_alloc(); }));
  CHECK_FALSE(start_up("CUDA", [] { throw 7; }));
}

TEST_CASE("what is thrown while the loaded objects are visited reaches the caller, and the C library keeps no lock") {
  int visited = 0;
  const auto visit = [&visited](const dl_phdr_info& /*info*/) -> bool {
    ++visited;
    throw std::runtime_error("enough");
  };
  CHECK_THROWS_WITH(visit_loaded_objects(visit), "enough");
  CHECK(visited == 1);
  bool seen = false;
  std::thread([&seen] { visit_loaded_objects([&seen](const dl_phdr_info& /*info*/) { return seen = true; }); }).join();
  CHECK(seen);
}

int told = -1;  ///< where it is written that the end came

TEST_CASE("the end of a process is told once, by exit() and by quick_exit()") {
  for (void (*const end)(int) : {&std::exit, &std::quick_exit}) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    std::cout.flush();
    const pid_t child = ::fork();
    if (child == 0) {
      told = ends[1];
      watch_process({[] { static_cast<void>(!::write(told, "x", 1)); }, [] {}, [] {}});
      end(3);
    }
    ::close(ends[1]);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
    char text[4];
    CHECK(::read(ends[0], text, sizeof(text)) == 1);
    ::close(ends[0]);
  }
}

}  // namespace
}  // namespace refrain::layer
