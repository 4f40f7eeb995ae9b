#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"
#include "test/support/scratch_folder.h"

namespace refrain::capture {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A step of a program: two kernels with its number, and a wait. `time_ns`: when it begins.
void step(Stream& stream, std::int32_t number, std::uint64_t time_ns) {
  TestRecord record;
  for (std::uint64_t i = 0; i < 2; ++i) {
    stream.operation(record.kernel({.function = 1,
                                    .buffers = {1},
                                    .scalars = {number},
                                    .sequence = 2 * static_cast<std::uint64_t>(number) + i + 1,
                                    .time_ns = time_ns + 1000 * i}));
  }
  stream.host_call("clFinish", time_ns + 5000);
}

std::unique_ptr<Recorder> open(const std::string& file, std::uint64_t skipped, std::uint64_t seconds) {
  FileRecorderOptions options;
  options.file = file;
  options.skipped_stretches = skipped;
  options.length = std::chrono::seconds(seconds);
  options.timed_calls = 1000;
  std::string error;
  return open_file_recorder(options, &error);
}

/// The numbers of the steps that are in the file, in order.
std::vector<std::int32_t> steps(const Capture& capture) {
  std::vector<std::int32_t> result;
  for (const LaneHistory& lane : capture.lanes) {
    for_each_leaf(lane, [&](const HistoryItem& item) {
      const Graph graph = capture.graphs[item.graph].materialise(item.set);
      CHECK(graph.size() == 2);  // a step is there as a whole or not at all
      std::int32_t number = 0;
      std::memcpy(&number, graph.operation(0).value_of(1).data(), sizeof(number));
      result.push_back(number);
    });
  }
  return result;
}

TEST_CASE("a capture may leave out the first stretches, and end after some time") {
  const TemporaryFile file;
  struct Case {
    std::uint64_t skipped, seconds;
    std::vector<std::int32_t> kept;
  };
  const auto [skipped, seconds, kept] =
      GENERATE(Case{0, 0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, Case{4, 0, {4, 5, 6, 7, 8, 9}}, Case{0, 3, {0, 1, 2}},
               Case{4, 3, {4, 5, 6}}, Case{9, 3, {9}}, Case{10, 0, {}}, Case{12, 3, {}});
  {
    const auto recorder = open(file.name(), skipped, seconds);
    REQUIRE(recorder != nullptr);
    Stream& stream = recorder->open_stream(1);
    for (std::int32_t number = 0; number < 10; ++number) {
      step(stream, number, (static_cast<std::uint64_t>(number) + 5) * kSecond);
    }
  }
  const Capture capture = load(file.name());
  CHECK(steps(capture) == kept);
  // What is counted and timed is what is captured.
  std::uint64_t cuts = 0, calls = 0;
  for (const HostCallCount& count : capture.host_calls) {
    cuts += count.cuts;
    CHECK(count.idle == 0);
  }
  for (const LaneCalls& lane : capture.calls) {
    lane.for_each([&](const TimedCall& call) { calls += call.what.is_host_call() ? 0 : 1; });
  }
  CHECK(cuts == kept.size());
  CHECK(calls == 2 * kept.size());
}

TEST_CASE("a stretch that has begun in time is captured as a whole, and stretches of all threads count") {
  const TemporaryFile file;
  {
    const auto recorder = open(file.name(), 2, 3);
    REQUIRE(recorder != nullptr);
    Stream& one = recorder->open_stream(1);
    step(one, 0, kSecond);
    recorder->flush();
    Stream& other = recorder->open_stream(2);
    step(other, 1, 2 * kSecond);
    recorder->flush();
    TestRecord record;
    for (std::uint64_t i = 0; i < 2; ++i) {  // the last one of it comes when the time is over
      one.operation(record.kernel(
          {.function = 1, .buffers = {1}, .scalars = {2}, .sequence = 3 + i, .time_ns = (3 + 9 * i) * kSecond}));
    }
    one.host_call("clFinish", 13 * kSecond);
    step(other, 3, 14 * kSecond);
  }
  CHECK(steps(load(file.name())) == std::vector<std::int32_t>{2});
}

TEST_CASE("stretches that a blocking submission ends are counted as others are") {
  const TemporaryFile file;
  {
    const auto recorder = open(file.name(), 3, 0);
    REQUIRE(recorder != nullptr);
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    for (std::int32_t number = 0; number < 5; ++number) {
      const auto sequence = 2 * static_cast<std::uint64_t>(number);
      stream.operation(record.kernel(
          {.function = 1, .buffers = {1}, .scalars = {number}, .sequence = sequence + 1, .time_ns = kSecond}));
      stream.operation(record.other(7, OperationKind::kOther, kBlocking, sequence + 2));
    }
  }
  CHECK(steps(load(file.name())) == std::vector<std::int32_t>{3, 4});
}

TEST_CASE("when its time is over a capture is complete, though the program goes on") {
  const TemporaryFile file;
  const auto recorder = open(file.name(), 0, 1);
  REQUIRE(recorder != nullptr);
  Stream& stream = recorder->open_stream(1);
  step(stream, 0, kSecond);
  step(stream, 1, 3 * kSecond);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  std::vector<std::int32_t> found;
  while (found.empty() && std::chrono::steady_clock::now() < deadline) {
    found = steps(load(file.name()));
  }
  CHECK(found == std::vector<std::int32_t>{0});
  step(stream, 2, 4 * kSecond);
  recorder->flush();
  CHECK(steps(load(file.name())) == found);
}

TEST_CASE("when a program ends of which nothing was captured there is no file that was not there before") {
  const test::ScratchFolder folder;
  const TemporaryFile file;
  for (const std::string& name : {folder.file("x.rfn"), file.name()}) {
    const auto recorder = open(name, 3, 0);
    step(recorder->open_stream(1), 1, kSecond);
    recorder->flush();
    recorder->finish();
    CHECK(recorder->file().empty());
    step(recorder->open_stream(1), 2, kSecond);
  }
  CHECK(folder.files().empty());
  CHECK(std::filesystem::file_size(file.name()) == 0);
}

TEST_CASE("an older capture goes when there is a submission, and only then") {
  const test::ScratchFolder folder;
  const std::string place = folder.file("x.rfn");
  step(open(place, 0, 0)->open_stream(1), 1, kSecond);
  struct stat status {};
  REQUIRE(::lstat(place.c_str(), &status) == 0);
  FileRecorderOptions options;
  options.file = place;
  options.older.add(status);
  std::string error;
  {
    const auto nothing = open_file_recorder(options, &error);
    nothing->define(DeviceInfo{9, "host", "platform", "device", "1.0", "graphs", true});
    nothing->flush();
    nothing->finish();
    CHECK(nothing->file().empty());
  }
  CHECK(steps(load(place)) == std::vector<std::int32_t>{1});
  const auto recorder = open_file_recorder(options, &error);
  recorder->define(DeviceInfo{9, "host", "platform", "device", "1.0", "graphs", true});
  recorder->flush();
  CHECK(load(place).devices.empty());
  step(recorder->open_stream(1), 2, kSecond);
  recorder->flush();
  CHECK(recorder->file() == place);
  CHECK(steps(load(place)) == std::vector<std::int32_t>{2});
  step(recorder->open_stream(1), 3, 2 * kSecond);
  recorder->finish();
  CHECK(steps(load(place)) == std::vector<std::int32_t>{2, 3});
  CHECK(load(place).devices.size() == 1);
  CHECK(folder.files().size() == 1);
}

}  // namespace
}  // namespace refrain::capture
