#include "capture/call_times.h"

#include <catch2/catch.hpp>
#include <vector>

#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

std::unique_ptr<Recorder> open_timed(const std::string& file, std::uint64_t calls) {
  FileRecorderOptions options;
  options.file = file;
  options.timed_calls = calls;
  std::string error;
  auto recorder = open_file_recorder(options, &error);
  REQUIRE(recorder != nullptr);
  return recorder;
}

std::vector<TimedCall> calls_of(const LaneCalls& lane) {
  std::vector<TimedCall> calls;
  lane.for_each([&](const TimedCall& call) { calls.push_back(call); });
  CHECK(calls.size() == lane.count);
  return calls;
}

}  // namespace

TEST_CASE("begin and end of each call come back, of every length") {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  TemporaryFile file;
  {
    const auto recorder = open_timed(file.name(), 100);
    describe_program(*recorder);
    Stream& stream = recorder->open_stream(7);
    TestRecord record;
    stream.operation(record.kernel({.function = 2, .queue = 1, .sequence = 1, .time_ns = 5000, .host_ns = 300}));
    stream.host_call("clFinish", 6000);
    stream.host_call_done(6000 + kHour);
    stream.host_call("clFlush", 6001 + kHour);  // which never returns
    stream.operation(record.other(9, OperationKind::kCopyBuffer, kBlocking, 2, 3 * kHour));
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.calls.size() == 1);
  CHECK(capture.calls[0].lane == 7);
  CHECK(capture.calls[0].begin_ns == 5000);
  CHECK(capture.calls[0].end_ns == 3 * kHour);
  const auto calls = calls_of(capture.calls[0]);
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].what.function == 2);
  CHECK(calls[0].what.queue == 1);
  CHECK(calls[0].begin_ns == 5000);
  CHECK(calls[0].end_ns == 5300);
  CHECK(capture.ended_by(calls[1].what.entry_point) == "clFinish");
  CHECK(calls[1].begin_ns == 6000);
  CHECK(calls[1].end_ns == 6000 + kHour);
  CHECK(calls[2].what.kind == OperationKind::kCopyBuffer);
  CHECK(calls[2].what.blocking);
  CHECK(calls[2].begin_ns == 3 * kHour);
}

TEST_CASE("calls of many records come back in order, and of all lanes together no more than are wanted") {
  TemporaryFile file;
  constexpr std::uint64_t kCalls = 300'000;
  {
    const auto recorder = open_timed(file.name(), kCalls);
    describe_program(*recorder);
    for (std::uint64_t lane = 1; lane <= 2; ++lane) {
      Stream& stream = recorder->open_stream(lane);
      TestRecord record;
      for (std::uint64_t i = 1; i <= 200'000; ++i) {
        stream.operation(record.kernel({.function = 1 + i % 3,
                                        .sequence = i,
                                        .time_ns = i * 1000,
                                        .host_ns = static_cast<std::uint32_t>(i % 900)}));
      }
      recorder->flush();
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.calls.size() == 2);
  CHECK(capture.calls[0].count == 200'000);
  CHECK(capture.calls[1].count == kCalls - 200'000);
  std::uint64_t number = 0;
  capture.calls[0].for_each([&](const TimedCall& call) {
    ++number;
    if (call.begin_ns != number * 1000 || call.end_ns != number * 1000 + number % 900 ||
        call.what.function != 1 + number % 3) {
      FAIL("call " << number);
    }
  });
}

TEST_CASE("no times are told where none are wanted") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    describe_program(*recorder);
    heat(recorder->open_stream(1), 30);
  }
  CHECK(load(file.name()).calls.empty());
}

TEST_CASE("calls of one lane do not overlap, whatever clocks say") {
  CallAllowance allowance(10);
  CallTimes times(1, allowance);
  times.host_call(20, 1000);
  times.host_call_done(900);
  times.host_call(20, 500);
  times.host_call_done(2000);
  times.host_call_done(3000);  // of nothing
  CHECK(times.count() == 2);
  const auto batches = times.take();
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].begin_ns == 1000);
  CHECK(batches[0].after_ns == std::vector<std::uint32_t>{0, 0});
  CHECK(batches[0].took_ns == std::vector<std::uint32_t>{0, 1000});
  CHECK(times.take().empty());
}

}  // namespace refrain::capture
