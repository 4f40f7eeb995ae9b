// A library of ours in a program that has functions of its own with the C library's names.
#include "layer/own_bindings.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <thread>
#include <vector>

#define OWN(name)                                                 \
  [[gnu::visibility("default")]] int own_##name() __asm__(#name); \
  int own_##name() {                                              \
    return 7;                                                     \
  }
OWN(shutdown)
OWN(listen)
OWN(setenv)

namespace {

int call(void* library, const char* name) {
  return reinterpret_cast<int (*)()>(dlsym(library, name))();
}

}  // namespace

TEST_CASE("whoever took the C library's names, it is asked itself") {
  void* const library = dlopen(OWN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  // The program's own are still the program's.
  REQUIRE(reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "shutdown"))() == 7);
  errno = 0;
  CHECK(call(library, "call_shutdown") == -1);
  CHECK(errno == EBADF);
  errno = 0;
  CHECK(call(library, "call_listen_by_address") == -1);
  CHECK(errno == EBADF);

  SECTION("but for what is left to the program, and what sanitizers took") {
    CHECK(call(library, "call_setenv") == 7);
    CHECK(call(library, "call_accept4") == 8);
    CHECK(call(library, "call_socketpair") == 9);
  }
  SECTION("by several threads at once") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back(reinterpret_cast<void (*)()>(dlsym(library, "bind_again")));
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(call(library, "call_shutdown") == -1);
  }
}
