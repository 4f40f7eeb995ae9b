#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "capture/format.h"
#include "test/capture/capture_files.h"
#include "test/capture/dumps.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {
namespace {

TEST_CASE("trace: each call on the track of its lane, and on that of its queue, with numbers that can be summed") {
  TemporaryFile file;
  {
    FileRecorderOptions options;
    options.file = file.name();
    options.timed_calls = 100;
    std::string error;
    const auto recorder = open_file_recorder(options, &error);
    REQUIRE(recorder != nullptr);
    describe_program(*recorder);
    TestRecord record;
    for (std::uint64_t lane = 1; lane <= 2; ++lane) {
      Stream& stream = recorder->open_stream(lane);
      for (std::uint64_t i = 1; i <= 3; ++i) {
        stream.operation(
            record.kernel({.function = 1, .queue = lane, .sequence = i, .time_ns = 1'000'000 * i, .host_ns = 2500}));
      }
      stream.host_call("clFinish", 4'000'000);
      stream.host_call_done(9'000'000);
    }
  }
  const auto trace = nlohmann::json::parse(dump(file.name(), DumpFormat::kTrace).out);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> tracks, groups;
  std::map<std::string, std::pair<int, std::uint64_t>> sums;  // of each track: slices and ns
  for (const auto& event : trace["traceEvents"]) {
    const std::pair<std::uint64_t, std::uint64_t> track(event["pid"], event["tid"]);
    if (event["ph"] == "M") {
      (event["name"] == "thread_name" ? tracks : groups)[track] = event["args"]["name"];
    }
  }
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] != "stretch") {
      auto& [slices, ns] = sums[tracks.at({event["pid"], event["tid"]})];
      ++slices;
      ns += event["args"]["took_ns"].get<std::uint64_t>();
      CHECK(event["dur"].get<double>() * 1000 == Approx(event["args"]["took_ns"].get<double>()));
    }
  }
  CHECK(sums["lane 1: calls"] == std::pair(4, std::uint64_t{3 * 2500 + 5'000'000}));
  CHECK(sums["queue 1: calls that gave it work"] == std::pair(3, std::uint64_t{7500}));
  CHECK(sums["queue 2: calls that gave it work"] == std::pair(3, std::uint64_t{7500}));
  // From each submission on its lane to the same one on its queue, and nothing else.
  std::map<std::string, const nlohmann::json*> from, to;
  for (const auto& event : trace["traceEvents"]) {
    if (event.contains("bind_id")) {
      CHECK(event["cat"] == "submission");
      CHECK(event.value("flow_out", false) != event.value("flow_in", false));
      auto& end = (event.contains("flow_out") ? from : to)[event["bind_id"]];
      CHECK(end == nullptr);
      end = &event;
    }
  }
  REQUIRE(from.size() == 6);
  REQUIRE(to.size() == 6);
  for (const auto& [arrow, out] : from) {
    REQUIRE(to.contains(arrow));
    const nlohmann::json& in = *to.at(arrow);
    CHECK(arrow.starts_with("0x"));
    CHECK(out < &in);  // who reads it begins an arrow before ending it
    CHECK((*out)["ts"] == in["ts"]);
    CHECK((*out)["name"] == in["name"]);
    const std::uint64_t lane = in["args"]["lane"];
    CHECK(tracks.at({(*out)["pid"], (*out)["tid"]}) == "lane " + std::to_string(lane) + ": calls");
    CHECK(tracks.at({in["pid"], in["tid"]}) == "queue " + std::to_string(lane) + ": calls that gave it work");
  }
  CHECK(groups.size() == 2);
  CHECK(std::ranges::count(groups, "Test device", [](const auto& group) { return group.second; }) == 1);
}

TEST_CASE("in a trace a loop within a loop takes the time of what is in it") {
  TemporaryFile file;
  record_to(file.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    std::uint64_t sequence = 0, time = 1'000'000;
    const auto stretch = [&](FunctionId function) {
      stream.operation(record.kernel({.function = function, .sequence = ++sequence, .time_ns = time += 1000}));
      stream.host_call("clFinish", time += 1000);
    };
    for (int outer = 0; outer < 10; ++outer) {
      for (int inner = 0; inner < 5; ++inner) {
        stretch(1);
        stretch(2);
      }
      stretch(3);
    }
  });
  const auto trace = nlohmann::json::parse(dump(file.name(), DumpFormat::kTrace).out);
  std::vector<std::string> names;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      names.push_back(event["name"]);
      CHECK(event["dur"] >= 1.0);  // us
    }
  }
  // Nothing came behind the last turn, so it is told by itself.
  CHECK(names == std::vector<std::string>{"loop x 9", "loop x 5", "graph 0: stencil", "graph 1: residual",
                                          "graph 2: axpy", "loop x 5", "graph 0: stencil", "graph 1: residual",
                                          "graph 2: axpy"});
}

/// As if the capture had been begun so much later, by the clock of the day.
void begin_later(const std::string& file, std::uint64_t ns) {
  std::vector<char> bytes = bytes_of(file);
  format::FileHeader header;
  REQUIRE(bytes.size() > sizeof(header));
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.start_realtime_ns += ns;
  header.checksum = format::checksum_of(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  write_bytes(file, bytes);
}

TEST_CASE("trace: captures of several processes are one timeline, by the clock of the day") {
  TemporaryFile first, second;
  constexpr std::uint64_t kLater = 7'000'000'000;
  for (const TemporaryFile* file : {&first, &second}) {
    record_to(file->name(), [](Recorder&, Stream& stream) {
      TestRecord record;
      stream.operation(record.kernel({.function = 1, .sequence = 1, .time_ns = 1'000'000}));
      stream.host_call("clFinish", 3'000'000);
    });
  }
  const auto starts = [](const DumpOptions& options) {
    const auto trace = nlohmann::json::parse(dump(options).out);
    std::map<std::uint64_t, double> result;  // of each process, in us
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "X") {
        result[event["pid"]] = event["ts"];
      }
    }
    return result;
  };
  begin_later(second.name(), kLater);
  const Capture one = load(first.name()), other = load(second.name());
  REQUIRE(one.process == other.process);  // this one: as on two hosts
  const auto alone = starts({first.name(), DumpFormat::kTrace, {}, 0, replay::forecast});
  const auto together = starts({first.name(), DumpFormat::kTrace, {}, 0, replay::forecast, {second.name()}});
  REQUIRE(together.size() == 2);
  const double begun_apart =
      static_cast<double>(static_cast<std::int64_t>(other.start_realtime_ns - one.start_realtime_ns) -
                          static_cast<std::int64_t>(other.start_steady_ns - one.start_steady_ns)) /
      1e3;
  CHECK(together.at(one.process) == Approx(alone.at(one.process)));
  CHECK(together.at(one.process + 1) - together.at(one.process) == Approx(begun_apart));
  CHECK(begun_apart == Approx(kLater / 1e3).epsilon(0.01));
}

TEST_CASE("trace: no arrow leads from one process to another") {
  TemporaryFile first, second;
  for (const TemporaryFile* file : {&first, &second}) {
    const auto recorder = open(file->name(), false, 100);
    describe_program(*recorder);
    TestRecord record;
    Stream& stream = recorder->open_stream(1);
    stream.operation(record.kernel({.function = 1, .sequence = 1, .time_ns = 1'000'000, .host_ns = 2500}));
    stream.host_call("clFinish", 3'000'000);
    stream.host_call_done(4'000'000);
  }
  const auto trace =
      nlohmann::json::parse(dump({first.name(), DumpFormat::kTrace, {}, 0, replay::forecast, {second.name()}}).out);
  std::map<std::string, int> ends;
  for (const auto& event : trace["traceEvents"]) {
    if (event.contains("bind_id")) {
      ++ends[event["bind_id"]];
    }
  }
  CHECK(ends.size() == 2);
  CHECK(std::ranges::all_of(ends, [](const auto& arrow) { return arrow.second == 2; }));
}

TEST_CASE("trace: one bad capture among several is an error that names it") {
  TemporaryFile good, bad;
  record_to(good.name(), [](Recorder&, Stream& stream) {
    TestRecord record;
    stream.operation(record.kernel({.sequence = 1}));
    stream.host_call("clFinish", 0);
  });
  const Output output = dump({good.name(), DumpFormat::kTrace, {}, 0, replay::forecast, {bad.name()}});
  CHECK(output.status == 1);
  CHECK(output.out.empty());
  CHECK_THAT(output.err, Catch::Contains(bad.name()));
}

}  // namespace
}  // namespace refrain::capture
