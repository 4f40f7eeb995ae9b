// Whether a launch is exactly what a record says: the only thing that is asked of one that was expected.
#include "layer/streams/launch.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

namespace refrain::layer::streams {
namespace {

const replay::EntryPoint kEntry{"launch"};

/// A kernel with parameters of many sizes, and a launch of it.
struct Example {
  Example() {
    function.id = 7;
    for (const std::vector<std::byte>& value : values) {
      function.add_parameter(static_cast<std::uint32_t>(value.size()), 0);
    }
    function.end_parameters();
    for (std::vector<std::byte>& value : values) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        value[i] = static_cast<std::byte>(17 * i + value.size());
      }
      parameters.push_back(value.data());
    }
  }
  [[nodiscard]] Launch launch() {
    return {kEntry, 4711, {3, 4, 5}, {6, 7, 8}, 99, parameters.data(), {}, nullptr, more};
  }
  [[nodiscard]] capture::OperationView record() {
    bytes.clear();
    capture::OperationWriter writer(bytes);
    describe_launch(launch(), &function, true, writer, 12345);
    return capture::OperationView(bytes.data());
  }

  std::vector<std::vector<std::byte>> values{std::vector<std::byte>(8),  std::vector<std::byte>(4),
                                             std::vector<std::byte>(1),  std::vector<std::byte>(20),
                                             std::vector<std::byte>(16), std::vector<std::byte>(3)};
  std::vector<void*> parameters;
  std::span<const std::byte> more;
  FunctionState function;
  capture::RecordBytes bytes;
};

TEST_CASE("a launch is what its record says, with attributes and without") {
  Example example;
  const std::uint64_t attribute[2] = {1, 2};
  if (GENERATE(false, true)) {
    example.more = std::as_bytes(std::span(attribute));
  }
  CHECK(asks_for_same(example.launch(), example.record()));
}

TEST_CASE("whatever else a launch asks for, it is not what the record says") {
  Example example;
  const std::array<std::uint64_t, 2> attribute{1, 2}, another{1, 3};
  const bool with_more = GENERATE(false, true);
  if (with_more) {
    example.more = std::as_bytes(std::span(attribute));
  }
  const capture::OperationView record = example.record();
  const auto differs = [&](auto&& change) {
    Launch launch = example.launch();
    change(launch);
    return !asks_for_same(launch, record);
  };
  CHECK(differs([](Launch& launch) { launch.function = 4712; }));
  CHECK(differs([](Launch& launch) { launch.grid.x = 4; }));
  CHECK(differs([](Launch& launch) { launch.grid.y = 5; }));
  CHECK(differs([](Launch& launch) { launch.grid.z = 6; }));
  CHECK(differs([](Launch& launch) { launch.block.x = 7; }));
  CHECK(differs([](Launch& launch) { launch.block.y = 8; }));
  CHECK(differs([](Launch& launch) { launch.block.z = 9; }));
  CHECK(differs([](Launch& launch) {  // as many threads
    launch.grid.x = 6;
    launch.block.x = 3;
  }));
  CHECK(differs([](Launch& launch) { launch.shared_bytes = 100; }));
  CHECK(differs([](Launch& launch) { launch.parameters = nullptr; }));
  CHECK(differs([](Launch& launch) { launch.unholdable = "because"; }));
  CHECK(differs([&](Launch& launch) { launch.more = std::as_bytes(std::span(another)); }));
  CHECK(differs([&](Launch& launch) {
    launch.more = with_more ? std::span<const std::byte>() : std::as_bytes(std::span(attribute));
  }));
  CHECK(differs([&](Launch& launch) { launch.more = std::as_bytes(std::span(attribute)).first(8); }));
  // Every byte of every parameter.
  for (std::vector<std::byte>& value : example.values) {
    for (std::byte& byte : value) {
      byte ^= std::byte{1};
      CHECK_FALSE(asks_for_same(example.launch(), record));
      byte ^= std::byte{1};
    }
  }
  CHECK(asks_for_same(example.launch(), record));
}

TEST_CASE("other kinds of work, and kernels whose parameters are not known, are no launch that could be the same") {
  Example example;
  capture::OperationWriter event(example.bytes);
  event.begin(OperationKind::kEventRecord, 1);
  event.finish();
  CHECK_FALSE(asks_for_same(example.launch(), capture::OperationView(example.bytes.data())));
  example.bytes.clear();
  capture::OperationWriter unknown(example.bytes);
  describe_launch(example.launch(), &example.function, false, unknown, 1);
  CHECK_FALSE(asks_for_same(example.launch(), capture::OperationView(example.bytes.data())));
}

}  // namespace
}  // namespace refrain::layer::streams
