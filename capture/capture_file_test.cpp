// Writer and reader together: what is written comes back; what is damaged is noticed.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "capture/analysis.h"
#include "capture/file_recorder.h"
#include "capture/file_writer.h"
#include "capture/reader.h"
#include "test/capture/capture_files.h"
#include "test/capture/records.h"
#include "test/capture/temporary_file.h"

namespace refrain::capture {

TEST_CASE("what is written comes back") {
  TemporaryFile file;
  std::vector<std::byte> data(10'000'000);
  std::mt19937 random(3);
  for (std::byte& byte : data) {
    byte = static_cast<std::byte>(random() % 4);
  }
  {
    const auto recorder = open(file.name(), true);
    REQUIRE(recorder->wants_contents());
    describe_program(*recorder);
    recorder->contents(2, data);
    heat(recorder->open_stream(5), 30);
  }
  const Capture capture = load(file.name());
  CHECK(capture.cut_short.empty());
  CHECK(capture.command == "./heat 512");
  CHECK(capture.writer.rfind("refrain ", 0) == 0);
  REQUIRE(capture.devices.size() == 1);
  CHECK(capture.devices[0].name == "Test device");
  CHECK(capture.queues.size() == 2);
  CHECK_FALSE(capture.queues.at(2).in_order);
  CHECK(capture.code.at(77).size == 66);
  CHECK(capture.read_code(77).size() == 66);
  CHECK(capture.function_name(2) == "residual");
  CHECK(capture.functions.at(1).build_options == "-cl-fast-relaxed-math");
  CHECK(capture.buffers.at(3).size == 4096);

  REQUIRE(capture.graphs.size() == 1);
  const StoredGraph& graph = capture.graphs[0];
  REQUIRE(graph.graph().size() == 11);
  CHECK(graph.graph().edges().size() == 10);
  REQUIRE(graph.argument_sets() == 3);
  TestRecord record;
  for (std::uint32_t set = 0; set < 3; ++set) {
    const Graph again = graph.materialise(set);
    REQUIRE(again.size() == 11);
    for (NodeIndex node = 0; node < 10; ++node) {
      const ObjectId from = 1 + node % 2;
      const auto expected = record.kernel(
          {.function = 1, .buffers = {from, 3 - from}, .scalars = {static_cast<std::int32_t>(10 * set + node)}});
      CHECK(same_work(again.operation(node), expected));
      CHECK(again.operation(node).token() == expected.token());
      CHECK(again.operation(node).header().queue_handle == 0xC001);
    }
    CHECK(again.operation(10).header().function == 2);
  }
  REQUIRE(capture.lanes.size() == 1);
  CHECK(capture.lanes[0].lane == 5);
  CHECK(submissions(capture) == 33);
  const HistoryItem item = capture.lanes[0].items().front();
  CHECK(item.first_ns == 3000);
  CHECK(item.last_ns == 1000 + 11 * 2000 + 500);
  CHECK(item.host_ns == 10 * 1500 + 1000);
  CHECK(capture.ended_by(item.ended_by) == "clEnqueueReadBuffer");

  // The step numbers grow by ten from occurrence to occurrence; nothing else changes.
  CHECK(graph.occurrences == 3);
  CHECK(graph.changed == 2);
  const auto statistics = graph.statistics();
  REQUIRE(statistics.size() == 10);
  for (const SlotStatistic& slot : statistics) {
    CHECK(slot.kind == format::SlotKind::kArgument);
    CHECK(slot.index == 2);
    CHECK(slot.changes == 2);
    CHECK(slot.min_delta == 10);
    CHECK(slot.max_delta == 10);
    CHECK(slot.distinct == 3);
  }
  std::vector<std::byte> again(data.size());
  std::string error;
  REQUIRE(capture.read_contents(2, again, &error));
  CHECK((again == data));  // not to be printed
  CHECK_FALSE(capture.read_contents(1, again, &error));
  CHECK(error.find(file.name()) != std::string::npos);
}

TEST_CASE("edges, waits and queues come back") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    describe_program(*recorder);
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    for (std::uint64_t round = 0; round < 3; ++round) {
      const std::uint64_t base = 4 * round;
      stream.operation(record.kernel({.function = 1, .queue = 1, .sequence = base + 1}));
      stream.operation(
          record.kernel({.function = 2, .queue = 2, .waits = {kInternalWait | (base + 1)}, .sequence = base + 2}));
      stream.operation(
          record.kernel({.function = 2, .queue = 2, .waits = {kInternalWait | base, 0x7777}, .sequence = base + 3}));
      stream.operation(record.kernel({.function = 3,
                                      .queue = 1,
                                      .waits = {kInternalWait | (base + 2), kInternalWait | (base + 3)},
                                      .sequence = base + 4}));
      stream.host_call("clFinish", 0);
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.graphs.size() == 1);
  const Graph graph = capture.graphs[0].graph();
  const std::vector<Edge> edges(graph.edges().begin(), graph.edges().end());
  CHECK(edges == std::vector<Edge>{{0, 1, EdgeReason::kEvent}, {1, 3, EdgeReason::kEvent}, {2, 3, EdgeReason::kEvent}});
  REQUIRE(graph.operation(2).waits().size() == 2);
  CHECK(graph.operation(2).waits()[0] == kWaitEarlier);
  CHECK(graph.operation(2).waits()[1] == kWaitForeign);
  CHECK_FALSE(graph.queue_of(1).in_order);
  CHECK(capture.graphs[0].argument_sets() == 1);
  CHECK(capture.lanes[0].items().size() == 1);
  CHECK(capture.lanes[0].items()[0].repeat == 3);
}

TEST_CASE("a queue made anew for every call is the same graph with another argument") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    for (ObjectId i = 0; i < 5; ++i) {
      QueueInfo queue;
      queue.id = 100 + i;
      queue.in_order = false;
      recorder->define(queue);
      stream.operation(record.kernel({.queue = 100 + i}));
      stream.operation(record.kernel({.queue = 100 + i}));
      stream.host_call("clFinish", 0);
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.graphs.size() == 1);
  CHECK(capture.graphs[0].graph().edges().empty());
  REQUIRE(capture.graphs[0].argument_sets() == 5);
  CHECK(capture.graphs[0].materialise(4).operation(1).header().queue == 104);
  CHECK(capture.graphs[0].materialise(4).edges().empty());
  REQUIRE(capture.graphs[0].statistics().size() == 1);
  CHECK(capture.graphs[0].statistics()[0].kind == format::SlotKind::kQueue);
}

TEST_CASE("flush writes what no host call has ended, a later cut replaces it") {
  TemporaryFile file;
  const auto recorder = open(file.name());
  Stream& stream = recorder->open_stream(1);
  TestRecord record;
  stream.operation(record.kernel({.function = 1, .sequence = 1}));
  recorder->flush();
  Capture capture = load(file.name());
  CHECK(submissions(capture) == 1);
  CHECK(capture.ended_by(capture.lanes[0].items()[0].ended_by) == "end of capture");
  const std::uint64_t size = capture.file_bytes;
  recorder->flush();  // nothing new
  CHECK(load(file.name()).file_bytes == size);

  stream.operation(record.kernel({.function = 2, .sequence = 2}));
  recorder->flush();  // the same stretch, which has grown
  capture = load(file.name());
  CHECK(submissions(capture) == 2);
  CHECK(capture.lanes[0].items().size() == 1);

  stream.host_call("clFinish", 5);
  recorder->flush();
  capture = load(file.name());
  REQUIRE(capture.lanes[0].items().size() == 1);
  CHECK(submissions(capture) == 2);
  CHECK(capture.ended_by(capture.lanes[0].items()[0].ended_by) == "clFinish");
  // What was only told for the time being stays as a graph that never occurred.
  CHECK(capture.graphs.size() == 2);
}

TEST_CASE("host calls are counted, cutting or not") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    stream.operation(record.kernel({}));
    for (int i = 0; i < 1000; ++i) {
      stream.host_call("clGetEventInfo", 0);
      if (i == 500) {
        recorder->flush();  // what is told later replaces what is told here
      }
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.host_calls.size() == 1);
  CHECK(capture.host_calls[0].cuts == 1);
  CHECK(capture.host_calls[0].idle == 999);
  CHECK(capture.ended_by(capture.host_calls[0].entry_point) == "clGetEventInfo");
}

TEST_CASE("regions tell which stretches began in them") {
  env::Region step{nullptr, 1, "step"}, forward{&step, 2, "forward"}, unused{nullptr, 3, "unused"};
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    std::uint64_t sequence = 0;
    const auto stretch = [&](FunctionId function, int length) {
      for (int i = 0; i < length; ++i) {
        stream.operation(record.kernel({.function = function, .sequence = ++sequence}));
      }
      stream.host_call("clFinish", 0);
    };
    stretch(1, 2);  // in none
    stream.region(&unused);
    for (int i = 0; i < 10; ++i) {
      stream.region(&step);
      stretch(1, 2);
      stream.region(&forward);
      stretch(2, 3);
      stream.operation(record.kernel({.function = 3, .sequence = ++sequence}));
      stream.region(&step);
      stretch(3, 2);  // began in `forward`
      stream.region(nullptr);
      if (i == 5) {
        recorder->flush();  // what is told later replaces what is told here
      }
    }
  }
  const Capture capture = load(file.name());
  REQUIRE(capture.regions.size() == 2);
  CHECK(capture.regions[0].name == "step");
  CHECK(capture.regions[0].parent == 0);
  REQUIRE(capture.regions[0].graphs.size() == 1);
  CHECK(capture.regions[0].graphs[0].second == 10);
  CHECK(capture.regions[1].name == "forward");
  CHECK(capture.regions[1].parent == 1);
  CHECK(capture.regions[1].graphs.size() == 2);
  const std::vector<RegionSum> sums = region_sums(capture);
  REQUIRE(sums.size() == 2);
  CHECK(sums[0].name == "step");
  CHECK(sums[0].stretches == 30);
  CHECK(sums[0].submissions == 80);
  CHECK(sums[1].name == "step/forward");
  CHECK(sums[1].stretches == 20);
  CHECK(sums[1].submissions == 60);
}

TEST_CASE("an allocation beyond the last address is told without its address") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    BufferInfo buffer;
    buffer.id = 1;
    buffer.size = 4096;
    buffer.address = ~std::uint64_t{0} - 4095;
    recorder->define(buffer);
    buffer.id = 2;
    buffer.address = ~std::uint64_t{0} - 4096;
    recorder->define(buffer);
  }
  const Capture capture = load(file.name());
  CHECK(capture.buffers.at(1).address == 0);
  CHECK(capture.buffers.at(1).size == 4096);
  CHECK(capture.buffers.at(2).address == ~std::uint64_t{0} - 4096);
}

TEST_CASE("two lanes, and definitions from both") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    const auto lane = [&](std::uint64_t number) {
      describe_program(*recorder);
      heat(recorder->open_stream(number), 20'000, static_cast<std::int32_t>(number));
      recorder->flush();
    };
    std::thread first(lane, 1), second(lane, 2);
    first.join();
    second.join();
  }
  const Capture capture = load(file.name());
  CHECK(capture.lanes.size() == 2);
  CHECK(submissions(capture) == std::size_t{2} * 22'000);
  CHECK(capture.graphs.size() <= 2);
  CHECK(capture.functions.size() == 3);
}

TEST_CASE("lanes that are far ahead wait, and nothing is lost") {
  TemporaryFile file;
  {
    FileRecorderOptions options;
    options.file = file.name();
    options.max_behind = 65536;
    const auto recorder = open_file_recorder(options, nullptr);
    REQUIRE(recorder != nullptr);
    heat(recorder->open_stream(1), 100'000);
  }
  CHECK(submissions(load(file.name())) == 110'000);
}

TEST_CASE("a million submissions fit into 256 KiB") {
  TemporaryFile file;
  enum class Scalar { kSame, kCounts, kRandom };
  const bool host_calls = GENERATE(true, false);
  const Scalar scalar = GENERATE(Scalar::kSame, Scalar::kCounts, Scalar::kRandom);
  const auto start = std::chrono::steady_clock::now();
  {
    const auto recorder = open(file.name());
    describe_program(*recorder);
    Stream& stream = recorder->open_stream(1);
    TestRecord record;
    std::mt19937 random(5);
    std::uint64_t time = 0;
    for (std::int32_t i = 0; i < 100'000; ++i) {
      for (int j = 0; j < 10; ++j) {
        const std::int32_t value = scalar == Scalar::kSame     ? 0
                                   : scalar == Scalar::kCounts ? i
                                                               : static_cast<std::int32_t>(random());
        time += 2000 + random() % 500;
        stream.operation(
            record.kernel({.function = 1 + static_cast<FunctionId>(j) % 3,
                           .buffers = {1, 2},
                           .scalars = {j == 4 ? value : 5},
                           .sequence = static_cast<std::uint64_t>(i) * 10 + static_cast<std::uint64_t>(j) + 1,
                           .time_ns = time,
                           .host_ns = static_cast<std::uint32_t>(1500 + random() % 300)}));
      }
      if (host_calls) {
        stream.host_call("clFinish", time += 10'000);
      }
    }
  }
  const auto written = std::chrono::steady_clock::now();
  const Capture capture = load(file.name());
  const auto read = std::chrono::steady_clock::now();
  std::printf("host calls %d, scalar %d: %lu bytes, written in %.0f ms, read in %.0f ms\n", host_calls,
              static_cast<int>(scalar), capture.file_bytes,
              std::chrono::duration<double, std::milli>(written - start).count(),
              std::chrono::duration<double, std::milli>(read - written).count());
  CHECK(submissions(capture) == 1'000'000);
  CHECK(capture.file_bytes < std::size_t{256} * 1024);
}

TEST_CASE("a forked child writes nothing and leaves nothing behind") {
  TemporaryFile file;
  {
    const auto recorder = open(file.name());
    Stream& stream = recorder->open_stream(1);
    heat(stream, 1000);
    const pid_t child = ::fork();
    if (child == 0) {
      heat(stream, 500'000);
      heat(recorder->open_stream(9), 100);
      recorder->define(DeviceInfo{});
      recorder->flush();
      ::_exit(recorder->wants_contents() ? 1 : 0);
    }
    REQUIRE(child > 0);
    heat(stream, 1000);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    // One that destroys its copy.
    const pid_t second = ::fork();
    if (second == 0) {
      const_cast<std::unique_ptr<Recorder>&>(recorder).reset();
      ::_exit(0);
    }
    REQUIRE(::waitpid(second, &status, 0) == second);
    CHECK(WIFEXITED(status));
  }
  const Capture capture = load(file.name());
  CHECK(capture.cut_short.empty());
  CHECK(submissions(capture) == 2200);
  CHECK(capture.lanes.size() == 1);
}

TEST_CASE("a file that cannot be written is an error that names it") {
  std::string error;
  FileRecorderOptions options;
  options.file = "/nonexistent/folder/x.rfn";
  CHECK(open_file_recorder(options, &error) == nullptr);
  CHECK(error.find("/nonexistent/folder/x.rfn") != std::string::npos);
  CHECK(error.find("No such file") != std::string::npos);
}

TEST_CASE("a full disk stops the capture, not the program") {
  FileRecorderOptions options;
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  options.file = "/dev/fd/" + std::to_string(full);
  std::string error;
  CHECK(open_file_recorder(options, &error) == nullptr);
  CHECK(error.find("No space left") != std::string::npos);
  ::close(full);

  // Later: a limit on the size of files stands in for a disk that fills up.
  TemporaryFile file;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{20'000, 20'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    options.file = file.name();
    options.contents = true;
    auto recorder = open_file_recorder(options, &error);
    std::vector<std::byte> noise(1 << 20);
    std::mt19937 random(1);
    for (std::byte& byte : noise) {
      byte = static_cast<std::byte>(random());
    }
    describe_program(*recorder);
    heat(recorder->open_stream(1), 1000);
    recorder->flush();
    recorder->contents(1, noise);
    recorder->flush();
    heat(recorder->open_stream(1), 200'000);  // must not wait for a writer that gave up
    const bool gave_up = !recorder->wants_contents();
    recorder.reset();
    ::_exit(gave_up ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  const Capture capture = load(file.name());
  CHECK(capture.cut_short.empty());
  CHECK(submissions(capture) == 1100);
}

// (ThreadSanitizer ends a process that was forked beside a thread and starts another one.)
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("two processes do not write to one file") {
  TemporaryFile file;
  const auto recorder = open(file.name());
  describe_program(*recorder);
  heat(recorder->open_stream(1), 10);
  recorder->flush();
  const pid_t child = ::fork();
  if (child == 0) {
    heat(open(file.name())->open_stream(1), 20);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  const std::string further = file.name() + "." + std::to_string(child);
  CHECK(submissions(load(file.name())) == 11);
  CHECK(submissions(load(further)) == 22);
  std::remove(further.c_str());
}
#endif

TEST_CASE("a file that is no capture stays as it is") {
  TemporaryFile file;
  std::ofstream(file.name()) << "a,b\n1,2\n";
  heat(open(file.name())->open_stream(1), 10);
  std::ifstream in(file.name());
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "a,b\n1,2\n");
  std::remove((file.name() + "." + std::to_string(::getpid())).c_str());
}

}  // namespace refrain::capture
