// Whether a launch is exactly what a record says: the only thing that is asked of one that was predicted.
#include "layer/streams/launch.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

namespace refrain::layer::streams {
namespace {

const replay::EntryPoint kEntry{"launch"};

/// A kernel with parameters of many sizes, and a launch of it that passes their addresses, or all of them in one piece.
struct Example {
  explicit Example(bool in_one_piece = false) : in_buffer(in_one_piece) {
    function.id = 7;
    std::uint32_t offset = 0;
    for (const std::vector<std::byte>& value : values) {
      function.add_parameter(static_cast<std::uint32_t>(value.size()), offset);
      offset += static_cast<std::uint32_t>(value.size()) + 5;
    }
    buffer.resize(offset);
    function.end_parameters();
    for (std::vector<std::byte>& value : values) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        value[i] = static_cast<std::byte>(17 * i + value.size());
      }
      parameters.push_back(value.data());
    }
  }
  [[nodiscard]] Launch launch() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::copy(values[i].begin(), values[i].end(), buffer.begin() + function.buffer_offsets[i]);
    }
    return {kEntry,
            4711,
            {3, 4, 5},
            {6, 7, 8},
            99,
            in_buffer ? nullptr : parameters.data(),
            in_buffer ? buffer : std::span<const std::byte>(),
            nullptr,
            more};
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
  bool in_buffer;
  std::vector<std::byte> buffer;
  std::vector<void*> parameters;
  std::span<const std::byte> more;
  FunctionState function;
  capture::RecordBytes bytes;
};

Sameness compared(Example& example, const Launch& launch, const capture::OperationView& record) {
  const auto find = [&example] { return &example.function; };
  return compare(launch, record, find, find);
}

TEST_CASE("a launch is what its record says, with attributes and without") {
  Example example(GENERATE(false, true));
  const std::uint64_t attribute[2] = {1, 2};
  if (GENERATE(false, true)) {
    example.more = std::as_bytes(std::span(attribute));
  }
  CHECK(compared(example, example.launch(), example.record()) == Sameness::kSame);
}

TEST_CASE("where grids keep changing, a launch with another one is the same with other values") {
  Example example(GENERATE(false, true));
  const capture::OperationView record = example.record();
  const auto compared_with = [&](backends::Grid grid) {
    Launch launch = example.launch();
    launch.grid = grid;
    return compared(example, launch, record);
  };
  CHECK(compared_with({8, 4, 5}) == Sameness::kOther);
  Token first = 0, last = 0;
  for (unsigned i = 0; i < 9; ++i) {
    Launch launch = example.launch();
    launch.grid.x = 10 + i;
    last = launch_token(launch, &example.function, 0, i + 1);
    first = i == 0 ? last : first;
  }
  CHECK(first != last);
  CHECK(launch_token(example.launch(), &example.function, 0, 1) == last);
  CHECK(compared_with({8, 4, 5}) == Sameness::kOtherValues);
  CHECK(compared_with({3, 4, 5}) == Sameness::kSame);
  // What a driver might refuse is not held.
  for (const backends::Grid grid :
       {backends::Grid{0, 4, 5}, backends::Grid{3, 0, 5}, backends::Grid{3, 4, 0},
        backends::Grid{0x7FFFFFFF / 6 + 1, 4, 5}, backends::Grid{3, 0x10000, 5}, backends::Grid{3, 4, 0x10000}}) {
    Launch launch = example.launch();
    launch.grid = grid;
    CHECK(compared_with(grid) == Sameness::kOther);
    CHECK(launch_token(launch, &example.function, 0, 1) != last);
  }
  example.function.any_grid = false;
  CHECK(compared_with({8, 4, 5}) == Sameness::kOther);
  CHECK(launch_token(example.launch(), &example.function, 0, 1) != last);
  example.function.any_grid = true;
  Launch launch = example.launch();
  launch.block.x = 1;
  CHECK(compared(example, launch, record) == Sameness::kOther);
  CHECK(launch_token(launch, &example.function, 0, 1) != last);
  // What more there is to say of a launch may limit its grid.
  const std::uint64_t attribute[2] = {1, 2};
  example.more = std::as_bytes(std::span(attribute));
  CHECK(launch_token(example.launch(), &example.function, 0, 1) != last);
  const capture::OperationView with_more = example.record();
  Launch wider = example.launch();
  wider.grid.x = 8;
  CHECK(compared(example, wider, with_more) == Sameness::kOther);
}

TEST_CASE("where kernels of a family keep coming new, a launch of another one is the same with other values") {
  const bool in_one_piece = GENERATE(false, true);
  Example example(in_one_piece), other(in_one_piece);
  FunctionFamily family;
  family.id = 7;
  constexpr LaunchLimits kLimits{6 * 7 * 8, 99};
  for (Example* each : {&example, &other}) {
    each->function.family = &family;
    each->function.limits = kLimits;
  }
  other.function.id = 8;
  const capture::OperationView record = example.record();
  const auto other_launch = [&] {
    Launch launch = other.launch();
    launch.function = 4712;
    return launch;
  };
  const auto compared_with_other = [&] {
    return compare(
        other_launch(), record, [&] { return &other.function; }, [&] { return &example.function; });
  };
  CHECK(compared_with_other() == Sameness::kOther);
  const auto token = [](Example& of, std::uint64_t state = 0) {
    return launch_token(of.launch(), &of.function, state, 1);
  };
  CHECK(token(example) != token(other));
  for (unsigned i = 0; i < 8; ++i) {
    example.function.id = 100 + i;
    static_cast<void>(launch_token(example.launch(), &example.function, 0, i + 1));
  }
  example.function.id = 7;
  CHECK(token(example) == token(other));
  CHECK(compared_with_other() == Sameness::kOtherValues);
  capture::RecordBytes written = example.bytes;
  write_launch(other_launch(), &other.function, written.data());
  const capture::OperationView view(written.data());
  CHECK(view.header().function == 8);
  CHECK(view.header().function_handle == 4712);
  // Either kernel may take less.
  for (FunctionState* function : {&example.function, &other.function}) {
    for (const LaunchLimits& limits : {LaunchLimits{6 * 7 * 8 + 1, 99}, LaunchLimits{6 * 7 * 8 - 1, 99},
                                       LaunchLimits{6 * 7 * 8, 98}, LaunchLimits()}) {
      function->limits = limits;
      CHECK(compared_with_other() == Sameness::kOther);
      CHECK(token(example) != token(other));
    }
    function->limits = LaunchLimits{LaunchLimits::kMostThreads, 99};  // any number of threads
    CHECK(compared_with_other() == Sameness::kOtherValues);
    CHECK(token(example) == token(other));
    function->limits = kLimits;
  }
  // What was set is another thing.
  other.function.state = 1;
  CHECK(compared_with_other() == Sameness::kOther);
  CHECK(token(example) != token(other, 1));
  other.function.state = 0;
  // Its handle is another one's now.
  example.function.id = 9;
  CHECK(compared_with_other() == Sameness::kOther);
  example.function.id = 7;
  FunctionFamily another;
  other.function.family = &another;
  CHECK(compared_with_other() == Sameness::kOther);
}

TEST_CASE("the grid and the parameters of a launch are written into a record of another") {
  Example example(GENERATE(false, true));
  static_cast<void>(example.record());
  capture::RecordBytes known = example.bytes;
  Launch launch = example.launch();
  launch.grid = {8, 9, 10};
  write_launch(launch, &example.function, known.data());
  const auto& shape = capture::OperationView(known.data()).as<capture::words::Kernel>();
  CHECK(shape.global == capture::words::Three{48, 63, 80});
  CHECK(shape.local == capture::words::Three{6, 7, 8});
}

TEST_CASE("whatever else a launch asks for, it is not what the record says") {
  Example example(GENERATE(false, true));
  const std::array<std::uint64_t, 2> attribute{1, 2}, another{1, 3};
  const bool with_more = GENERATE(false, true);
  if (with_more) {
    example.more = std::as_bytes(std::span(attribute));
  }
  const capture::OperationView record = example.record();
  const auto differs = [&](auto&& change) {
    Launch launch = example.launch();
    change(launch);
    return compared(example, launch, record) == Sameness::kOther;
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
  CHECK(differs([](Launch& launch) {
    launch.grid.y = 28;
    launch.block.y = 1;
  }));
  CHECK(differs([](Launch& launch) {
    launch.grid.z = 10;
    launch.block.z = 4;
  }));
  CHECK(differs([](Launch& launch) { launch.shared_bytes = 100; }));
  CHECK(differs([](Launch& launch) {
    launch.parameters = nullptr;
    launch.buffer = {};
  }));
  if (example.in_buffer) {
    CHECK(differs([](Launch& launch) { launch.buffer = launch.buffer.first(launch.buffer.size() - 6); }));
    const auto none = [] { return static_cast<const FunctionState*>(nullptr); };
    CHECK(compare(example.launch(), record, none, none) == Sameness::kOther);
    example.function.id = 8;
    CHECK(differs([](Launch& /*launch*/) {}));
    example.function.id = 7;
  }
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
      CHECK(compared(example, example.launch(), record) == Sameness::kOtherValues);
      // And these are what is written into a copy of the record.
      std::vector<std::byte> copy(record.bytes().begin(), record.bytes().end());
      write_launch(example.launch(), &example.function, copy.data());
      capture::RecordBytes described;
      capture::OperationWriter writer(described);
      describe_launch(example.launch(), &example.function, true, writer, 12345);
      CHECK(std::equal(copy.begin(), copy.end(), described.begin(), described.end()));
      byte ^= std::byte{1};
    }
  }
  CHECK(compared(example, example.launch(), record) == Sameness::kSame);
}

TEST_CASE("other kinds of work, and kernels whose parameters are not known, are no launch that could be the same") {
  Example example(GENERATE(false, true));
  capture::OperationWriter event(example.bytes);
  event.begin(OperationKind::kEventRecord, 1);
  event.finish();
  CHECK(compared(example, example.launch(), capture::OperationView(example.bytes.data())) == Sameness::kOther);
  example.bytes.clear();
  capture::OperationWriter unknown(example.bytes);
  describe_launch(example.launch(), &example.function, false, unknown, 1);
  CHECK(compared(example, example.launch(), capture::OperationView(example.bytes.data())) == Sameness::kOther);
}

TEST_CASE("a kernel of which another one's record was used before has its own parameters", "[promise-4]") {
  Registry<FunctionState> functions;
  FunctionState* const first = functions.make();
  first->add_parameter(8, 0);
  first->add_parameter(4, 8);
  first->end_parameters();
  functions.recycle(first);
  FunctionState* const second = functions.make();
  REQUIRE(second == first);
  second->add_parameter(4, 4);
  second->add_parameter(4, 12);
  second->end_parameters();
  const std::array<std::uint32_t, 4> buffer{1, 2, 3, 4};
  const Launch launch{kEntry, 4711, {1, 1, 1}, {1, 1, 1}, 0, nullptr, std::as_bytes(std::span(buffer)), nullptr, {}};
  REQUIRE(reason_not_to_hold(launch, second) == nullptr);
  capture::RecordBytes bytes;
  capture::OperationWriter writer(bytes);
  describe_launch(launch, second, true, writer, 1);
  const capture::OperationView record(bytes.data());
  const auto is = [&](std::size_t parameter, const std::uint32_t& value) {
    return std::ranges::equal(record.value_of(parameter), std::as_bytes(std::span(&value, 1)));
  };
  CHECK(is(0, 2));
  CHECK(is(1, 4));
}

}  // namespace
}  // namespace refrain::layer::streams
