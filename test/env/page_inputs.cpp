// Writes what the page's test in a browser looks at: captures of several sizes, and reports, as programs leave them.
// Usage: env_page_inputs FOLDER
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "capture/file_recorder.h"
#include "replay/report/report.h"
#include "test/capture/records.h"

namespace refrain {
namespace {

using capture::FunctionId;
using capture::ObjectId;

std::unique_ptr<capture::Recorder> recorder_of(const std::string& file, const std::string& command) {
  capture::FileRecorderOptions options;
  options.file = file;
  options.command = command;
  options.timed_calls = 10'000'000;
  std::string error;
  auto recorder = open_file_recorder(options, &error);
  if (!recorder) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  capture::describe_program(*recorder);
  return recorder;
}

/// Two queues that wait for each other, a loop in the middle, something that changes, something that can't be recorded.
void small_capture(const std::string& file, int rounds) {
  const auto recorder = recorder_of(file, "./solver --grid 512");
  capture::Stream& stream = recorder->open_stream(1);
  capture::TestRecord record;
  std::uint64_t sequence = 0, time = 1'000'000;
  const auto kernel = [&](FunctionId function, ObjectId queue, std::int32_t scalar) {
    stream.operation(record.kernel({.function = function,
                                    .queue = queue,
                                    .buffers = {1},
                                    .scalars = {scalar},
                                    .sequence = ++sequence,
                                    .time_ns = time += 5000,
                                    .host_ns = 3000}));
  };
  for (std::int32_t round = 0; round < rounds; ++round) {
    kernel(1, 1, 7);
    const std::uint64_t first = sequence;
    stream.operation(record.kernel({.function = 2,
                                    .queue = 2,
                                    .waits = {capture::kInternalWait | first},
                                    .sequence = ++sequence,
                                    .time_ns = time += 5000,
                                    .host_ns = 4000}));
    for (int turn = 0; turn < 5; ++turn) {
      for (int i = 0; i < 3; ++i) kernel(1, 1, 7);
      kernel(3, 1, round);
    }
    if (round % 2 == 0) {
      stream.operation(record.other(55, capture::OperationKind::kMap, 0, ++sequence, time += 9000));
    }
    stream.host_call("clFinish", time);
    stream.host_call_done(time += 50'000);
  }
  for (int i = 0; i < 4; ++i) {
    kernel(3, 1, 1);
    stream.host_call("clWaitForEvents", time);
    stream.host_call_done(time += 20'000);
  }
}

/// Lanes with stretches of many lengths in no order: as little as possible is folded.
void large_capture(const std::string& file, std::uint64_t submissions) {
  constexpr int kLanes = 4;
  const auto recorder = recorder_of(file, "./many --lanes 4");
  std::mt19937_64 random(7);
  for (std::uint64_t lane = 1; lane <= kLanes; ++lane) {
    capture::Stream& stream = recorder->open_stream(lane);
    capture::TestRecord record;
    std::uint64_t sequence = 0, time = 1'000'000 * lane;
    while (sequence < submissions / kLanes) {
      const auto stretch = static_cast<FunctionId>(random() % 40);
      for (FunctionId i = 0; i < 5 + 3 * stretch; ++i) {
        const std::uint32_t host_ns = 1000 + static_cast<std::uint32_t>(random() % 4000);
        stream.operation(record.kernel({.function = 1 + (stretch + i % 7) % 3,
                                        .queue = 1 + lane % 2,
                                        .sequence = ++sequence,
                                        .time_ns = time,
                                        .host_ns = host_ns}));
        time += host_ns + 500 + random() % 1000;
      }
      stream.host_call("clFinish", time);
      stream.host_call_done(time += 10'000 + random() % 100'000);
    }
  }
}

std::string report(double seconds, std::uint64_t launched) {
  using replay::GraphEntry;
  replay::ReportData data;
  data.program = "./solver --grid 512";
  data.process = "pid 17";
  data.mode = "replay";
  data.backend = "opencl";
  data.seconds = seconds;
  data.lanes = 1;
  data.submissions = 100'000;
  data.replayed = 100 * launched;
  data.launches = launched;
  data.followed = 4000;
  data.cuts = 1000;
  data.cut_by = {{"clFinish", 900}, {"clWaitForEvents", 100}};
  data.unholdable = {{"the call blocks", 700}};
  replay::LaneRuns& lane = data.timeline.emplace_back();
  lane.lane = 1;
  lane.hold_ns = 100;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t begin = 1'000'000'000 + i * 10'000'000;
    lane.runs.push_back({.begin_ns = begin,
                         .waiting_ns = begin + 3'000'000,
                         .end_ns = begin + 8'000'000,
                         .submissions = 40,
                         .in_graphs = i < 20 ? 0U : 34U,
                         .held_issued = i < 20 ? 0U : 4U,
                         .launches = i < 20 ? 0U : 3U,
                         .how = i < 20 ? replay::IntervalRun::How::kNew : replay::IntervalRun::How::kConcluded});
  }
  using Why = replay::ChunkChange::Why;
  lane.chunks = {{1'000'000'000, 0, {8, 4, 128, 0}, Why::kStart},
                 {1'200'000'000, 0, {16, 4, 1024, 0}, Why::kPace},
                 {1'400'000'000, 2, {64, 1, 64, 0}, Why::kTrial},
                 {1'600'000'000, 1, {16, 4, 4096, 32}, Why::kChosen}};
  lane.chunks_left_out = 3;
  for (std::uint64_t i = 0; i < 24; ++i) {
    GraphEntry::Summary& graph = data.graphs.emplace_back();
    graph.fingerprint = 0x1000 + i + (launched > 500 ? 3 : 0);
    graph.operations = 10 + i;
    graph.what = i % 3 == 0 ? "stencil x10" : i % 3 == 1 ? "reduce, axpy" : "copy device to host";
    graph.state = i % 4 == 1 ? GraphEntry::State::kBypassing : GraphEntry::State::kReady;
    graph.reason = i % 4 == 1 ? "it is not faster as a graph" : "";
    graph.recorded = 20 + i;
    graph.launched = i % 4 == 1 ? 0 : launched;
    graph.bypassed = i % 4 == 1 ? 400 : 0;
    graph.eager_ns = 30'000 + 1000 * i;
    graph.replay_ns = i % 4 == 1 ? 31'000 + 1000 * i : 9000;
    graph.saved_ns = graph.launched * 20'000;
    graph.builds = graph.variants = graph.parts = 1;
    graph.memory = 4096 * (i + 1);
  }
  return report_json(data);
}

void write(const std::string& file, const std::string& text) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr || std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fclose(out) != 0) {
    std::exit(1);
  }
}

}  // namespace
}  // namespace refrain

int main(int count, char** values) {
  if (count != 2) return 2;
  const std::string folder = std::string(values[1]) + "/";
  refrain::small_capture(folder + "small.rfn", 100);
  refrain::small_capture(folder + "other.rfn", 30);
  refrain::large_capture(folder + "large.rfn", 100'000);
  refrain::large_capture(folder + "huge.rfn", 1'000'000);
  refrain::write(folder + "first.json", refrain::report(12.5, 500));
  refrain::write(folder + "second.json", refrain::report(9.5, 900));
  return 0;
}
