// Stubs of functions that have no name in any list, and what stands in for functions that are not there.
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <vector>

#include "layer/interpose/anonymous_stubs.h"
#include "layer/interpose/missing_functions.h"

namespace refrain::layer::interpose {
namespace {

std::vector<std::string> seen;
void hook(const replay::EntryPoint& entry_point) noexcept {
  seen.emplace_back(entry_point.name);
  errno = ERANGE;
}

int add(int a, int b) {
  return a + b;
}

int call(std::uint32_t index, int a, int b) {
  return reinterpret_cast<decltype(&add)>(HostStubs::address(index))(a, b);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// Stubs call `hook`.
struct Watching {
  Watching() {
    seen.clear();
    HostStubs::set_hook(&hook);
    HostStubs::set_watching(true);
  }
  ~Watching() {
    HostStubs::set_watching(false);
    HostStubs::set_hook(nullptr);
  }
};

}  // namespace

TEST_CASE("each stub calls the hook while stubs are watching, and then its function") {
  for (const std::uint32_t index : {0U, 1U, HostStubs::kCount / 2, HostStubs::kCount - 1}) {
    CAPTURE(index);
    HostStubs::set(index, address(&add), "add");
    seen.clear();
    CHECK(call(index, 1, 2) == 3);
    CHECK(seen.empty());
    const Watching watching;
    errno = EDOM;
    CHECK(call(index, 3, 4) == 7);
    CHECK(errno == EDOM);
    CHECK(seen == std::vector<std::string>{"add"});
  }
}

TEST_CASE("a function has one stub, whoever asks for it, until there are no more") {
  AnonymousStubs stubs(10, 12);
  std::string name = "a name that is kept";
  const auto first = stubs.find(address(&add), name);
  REQUIRE(first);
  name.assign(name.size(), 'x');
  CHECK(stubs.find(address(&add), "another name") == first);
  const auto second = stubs.find(address(&hook), "hook");
  REQUIRE(second);
  CHECK(*first == 10);
  CHECK(*second == 11);
  CHECK_FALSE(stubs.find(address(&call), "call"));
  CHECK(stubs.find(address(&hook), "hook") == second);
  CHECK(stubs.size() == 2);
  const Watching watching;
  CHECK(call(*first, 5, 6) == 11);
  CHECK(seen == std::vector<std::string>{"a name that is kept"});
}

TEST_CASE("what stands in for a function that is not there") {
  const std::array<NamedFunction, 1> numbers = {{{"number", address(&report_no_number<100>)}}};
  const std::array<NamedFunction, 1> texts = {{{"text", address(&hook)}}};
  const MissingFunctions missing{numbers, texts, address(&report<100>), address(&report<801>), address(&report<3>)};
  const auto status_of = [](void* function) { return reinterpret_cast<int (*)()>(function)(); };
  CHECK(status_of(missing.no_library("other")) == 100);
  CHECK(status_of(missing.no_library(nullptr)) == 100);
  CHECK(status_of(missing.lacking("other")) == 801);
  CHECK(status_of(missing.lacking("number")) == 801);
  CHECK(missing.lacking("text") == address(&hook));
  CHECK(missing.no_library("text") == address(&hook));
  int number = 5;
  CHECK(reinterpret_cast<int (*)(int*)>(missing.no_library("number"))(&number) == 100);
  CHECK(number == 0);
}

}  // namespace refrain::layer::interpose
