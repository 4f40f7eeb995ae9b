#include "replay/bench/bench_graph.h"

#include <catch2/catch.hpp>
#include <functional>

#include "test/backends/host_device.h"
#include "test/backends/record_maker.h"
#include "test/capture/capture_files.h"
#include "test/capture/temporary_file.h"

namespace {

using namespace refrain;
using namespace refrain::test;
using replay::BenchGraph;

constexpr std::uint64_t kBytes = 1024;
constexpr capture::FunctionId kScale = 21;

/// A capture of one stretch, with what it names.
class Stretch {
 public:
  explicit Stretch(bool in_order = true) : queue_{1, 0xDEAD, 7, 8, 0, in_order, false}, maker_(queue_) {}

  void buffer(capture::ObjectId id, std::uint64_t size, std::uint64_t address = 0, capture::ObjectId parent = 0) {
    capture::BufferInfo& info = buffers_.emplace_back();
    info.id = id;
    info.size = size;
    info.address = address;
    info.parent = parent;
  }
  void scale(capture::ObjectId data, std::uint32_t factor) {
    operations_.push_back(maker_.make(
        OperationKind::kKernel, {1, 0, 0, 0, 4, 1, 1, 0, 0, 0},
        [&](OperationWriter& w) {
          w.argument_handle(ArgumentKind::kBuffer, data, 0xBAD0 + data);
          RecordMaker::value(w, factor);
        },
        0, kScale, 0xBAD));
  }
  void copy(capture::ObjectId from, capture::ObjectId to, std::uint64_t after = 0) {
    operations_.push_back(maker_.make(OperationKind::kCopyBuffer, {0, 0, 64}, [&](OperationWriter& w) {
      w.argument_handle(ArgumentKind::kBuffer, from, 0xBAD0 + from);
      w.argument_handle(ArgumentKind::kBuffer, to, 0xBAD0 + to);
      if (after != 0) {
        w.wait(capture::kInternalWait | after);
      }
    }));
  }
  void copy_from_host(std::uint64_t to, std::uint64_t bytes) {
    operations_.push_back(maker_.make(OperationKind::kPointerCopy, {bytes, 0}, [&](OperationWriter& w) {
      w.argument_handle(ArgumentKind::kPointer, 0, to);
      w.argument_handle(ArgumentKind::kHostPointer, 0, 0xBAD);
    }));
  }
  void map(capture::ObjectId memory, bool blocking = false) {
    operations_.push_back(maker_.make(
        OperationKind::kMap, {0, 64, 1, blocking},
        [&](OperationWriter& w) { w.argument_handle(ArgumentKind::kBuffer, memory, 0xBAD0 + memory); },
        blocking ? capture::kBlocking : 0));
  }
  void unmap(capture::ObjectId memory, std::uint64_t after = 0) {
    operations_.push_back(maker_.make(OperationKind::kUnmap, {}, [&](OperationWriter& w) {
      w.argument_handle(ArgumentKind::kBuffer, memory, 0xBAD0 + memory);
      w.argument_handle(ArgumentKind::kHostPointer, 0, 0xBAD);
      if (after != 0) {
        w.wait(capture::kInternalWait | after);
      }
    }));
  }
  [[nodiscard]] capture::Capture captured() const {
    const capture::TemporaryFile file;
    {
      const auto recorder = capture::open(file.name());
      recorder->define(queue_);
      static constexpr std::string_view kSource = "scale";
      recorder->code({11, capture::CodeKind::kSource, std::as_bytes(std::span(kSource))});
      recorder->define(capture::FunctionInfo{kScale, 11, "scale", ""});
      for (const capture::BufferInfo& info : buffers_) {
        recorder->define(info);
      }
      capture::Stream& stream = recorder->open_stream(1);
      for (const OperationView& operation : operations_) {
        stream.operation(operation);
      }
      stream.host_call("clFinish", 0);
    }
    return capture::load(file.name());
  }

 private:
  capture::QueueInfo queue_;
  RecordMaker maker_;
  std::vector<capture::BufferInfo> buffers_;
  std::vector<OperationView> operations_;
};

}  // namespace

TEST_CASE("bench: memory that is named by address counts as memory") {
  Stretch stretch;
  stretch.buffer(41, kBytes, 0x10000);
  stretch.buffer(42, kBytes, 0x20000);
  stretch.copy_from_host(0x10000, 64);
  stretch.copy_from_host(0x20000, kBytes);
  const capture::Capture capture = stretch.captured();
  HostDevice device;
  std::string why;
  const auto graph = BenchGraph::rebuild(capture, capture.graphs.at(0), device, 2 * kBytes, &why);
  INFO(why);
  REQUIRE(graph != nullptr);
  CHECK(graph->bytes() == 2 * kBytes);
  CHECK(BenchGraph::rebuild(capture, capture.graphs[0], device, 2 * kBytes - 1, &why) == nullptr);
  CHECK(why.find("--max-memory-mb") != std::string::npos);
}

TEST_CASE("bench: parts of buffers have no contents of their own") {
  Stretch stretch;
  stretch.buffer(31, kBytes);
  stretch.buffer(32, kBytes);
  stretch.buffer(33, kBytes / 2, 0, 31);
  stretch.scale(33, 2);
  stretch.copy(33, 32);
  const capture::Capture capture = stretch.captured();
  HostDevice device;
  std::string why;
  const auto graph = BenchGraph::rebuild(capture, capture.graphs.at(0), device, 16 * kBytes, &why);
  INFO(why);
  REQUIRE(graph != nullptr);
  std::vector<std::vector<std::byte>> contents;
  REQUIRE(graph->contents(&contents, &why));
  REQUIRE(contents.size() == 2);
  CHECK(graph->name_of_content(0) == "buffer 31");
  CHECK(graph->name_of_content(1) == "buffer 32");
}

namespace {

std::unique_ptr<BenchGraph> rebuilt(const capture::Capture& capture, HostDevice& device) {
  device.host.set_asynchronous(true);
  device.host.add_function(kScale, [](const backends::host::KernelCall& call) {
    for (auto& word : call.buffer<std::uint32_t>(0)) {
      word = word * call.value<std::uint32_t>(1) + 1;
    }
  });
  std::string why;
  auto graph = BenchGraph::rebuild(capture, capture.graphs.at(0), device, 16 * kBytes, &why);
  INFO(why);
  REQUIRE(graph != nullptr);
  return graph;
}

/// Whether all runs give the same, in whatever order the device may do the work.
void check_runs(BenchGraph& graph, HostDevice& device, const replay::BenchPlan& plan) {
  std::string why;
  std::vector<std::vector<std::byte>> first, again;
  REQUIRE(graph.reset(&why));
  REQUIRE(graph.run_eagerly(&why));
  REQUIRE(graph.contents(&first, &why));
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    device.host.set_schedule(seed);
    for (const bool natively : {false, true}) {
      REQUIRE(graph.reset(&why));
      REQUIRE((natively ? graph.run_natively(plan, &why) : graph.run_eagerly(&why)));
      REQUIRE(graph.contents(&again, &why));
      CHECK(again == first);
    }
  }
}

}  // namespace

TEST_CASE("bench: command buffers of an out-of-order queue wait for each other") {
  Stretch stretch(false);
  for (capture::ObjectId buffer = 31; buffer <= 35; ++buffer) {
    stretch.buffer(buffer, kBytes);
  }
  stretch.scale(31, 3);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    stretch.copy(30 + i, 31 + i, i);
  }
  const capture::Capture capture = stretch.captured();
  HostDevice device;
  const auto graph = rebuilt(capture, device);
  std::string why;
  const auto plan = graph->plan(1, replay::PartitionMode::kNoFalseWait, &why);
  REQUIRE(plan);
  REQUIRE(plan->native_pieces == 5);
  check_runs(*graph, device, *plan);
}

TEST_CASE("bench: maps and unmaps keep their places, and are no part of a command buffer") {
  Stretch stretch;
  for (capture::ObjectId buffer = 31; buffer <= 33; ++buffer) {
    stretch.buffer(buffer, kBytes);
  }
  stretch.unmap(31);
  stretch.scale(31, 3);
  stretch.copy(31, 32);
  stretch.unmap(33);
  stretch.scale(33, 5);
  stretch.map(32, true);
  const capture::Capture capture = stretch.captured();
  HostDevice device;
  const auto graph = rebuilt(capture, device);
  CHECK(graph->graph().size() == 6);
  CHECK(graph->bytes() == 3 * kBytes);
  CHECK(graph->longest_part(replay::PartitionMode::kNoFalseWait) == 2);
  std::string why;
  const auto plan = graph->plan(0, replay::PartitionMode::kNoFalseWait, &why);
  REQUIRE(plan);
  CHECK(plan->native_pieces == 2);
  CHECK(plan->pieces.size() == 5);
  check_runs(*graph, device, *plan);
}

TEST_CASE("bench: what waits for an unmap waits for what that waits for") {
  Stretch stretch(false);
  for (capture::ObjectId buffer = 31; buffer <= 33; ++buffer) {
    stretch.buffer(buffer, kBytes);
  }
  stretch.scale(31, 3);
  stretch.unmap(33, 1);
  stretch.copy(31, 32, 2);
  const capture::Capture capture = stretch.captured();
  HostDevice device;
  const auto graph = rebuilt(capture, device);
  std::string why;
  const auto plan = graph->plan(0, replay::PartitionMode::kNoFalseWait, &why);
  REQUIRE(plan);
  CHECK(plan->native_pieces == 2);
  check_runs(*graph, device, *plan);
}

TEST_CASE("bench: where a program only maps and unmaps there is nothing to record") {
  Stretch stretch;
  stretch.buffer(31, kBytes);
  stretch.unmap(31);
  stretch.map(31, true);
  const capture::Capture capture = stretch.captured();
  HostDevice device;
  const auto graph = rebuilt(capture, device);
  std::string why;
  CHECK_FALSE(graph->plan(0, replay::PartitionMode::kNoFalseWait, &why));
  CHECK(why == "nothing of it can be recorded here: the program maps and unmaps memory");
}
