#include "layer/streams/function_table.h"

#include <catch2/catch.hpp>
#include <string>

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

capture::FunctionId number_of(Handle handle, const std::string& name) {
  const FunctionState* const made =
      FunctionTable<test::TestLayer>::all().adopt(handle, [&](FunctionState& function) { function.name = name; });
  REQUIRE(made != nullptr);
  return made->id;
}

}  // namespace

TEST_CASE("the number of a kernel is that of its name, and of how many of that name came before") {
  const auto first = number_of(0x1000, "a");
  const auto other = number_of(0x2000, "b");
  const auto second = number_of(0x3000, "a");
  CHECK(first != other);
  CHECK(first != second);
  // The same for any program: it is what profiles rest on.
  CHECK(first == (capture::mix(XXH3_64bits("a", 1), 1) | capture::FunctionId{1} << 63U));
  FunctionTable<test::TestLayer>::all().forget(Handle{0x1000});
  const auto third = number_of(0x1000, "a");
  CHECK(third != first);  // tokens must not stand for another kernel than before
  CHECK(third != second);
}

TEST_CASE("kernels that a capture gives one number, because their code is the same, are others to tokens") {
  constexpr capture::FunctionId kCaptured = 77;
  const auto adopt = [&](Handle handle) {
    return FunctionTable<test::TestLayer>::all().adopt(handle, [&](FunctionState& function) {
      function.name = "captured";
      function.recorded = kCaptured;
    });
  };
  const FunctionState* const first = adopt(0x4000);
  const FunctionState* const second = adopt(0x5000);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first->recorded == kCaptured);
  CHECK(first->id == (capture::mix(XXH3_64bits("captured", 8), 1) | capture::FunctionId{1} << 63U));
  CHECK(second->id != first->id);
}

}  // namespace refrain::layer::streams
