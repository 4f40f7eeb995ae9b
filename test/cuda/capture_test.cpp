// `refrain run --capture`, `refrain dump` and `refrain bench` on a program of the driver API, on the simulated device.

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "capture/reader.h"
#include "test/cuda/run_process.h"
#include "test/support/scratch_folder.h"

namespace {

using namespace refrain;
using capture::OperationKind;

/// Runs a program in capture mode. It finds the library where it looks for the driver, as instrumented programs cannot
/// have it preloaded.
Outcome run_captured(const std::vector<std::string>& command, const std::string& file, bool portable,
                     const std::string& seed) {
  return run(command, {std::string("LD_LIBRARY_PATH=") + SHIM_FOLDER, std::string("REFRAIN_CUDA_DRIVER=") + SIM_CUDA,
                       "SIM_SEED=" + seed, "REFRAIN_MODE=capture", "REFRAIN_CAPTURE_FILE=" + file,
                       std::string("REFRAIN_PORTABLE=") + (portable ? "on" : "off"), "REFRAIN_REPORT=off"});
}

/// Captures the program; returns what the file holds. The seed is even, so that addresses come again.
capture::Capture captured(const std::string& file, bool portable) {
  const Outcome outcome = run_captured({CAPTURE_PROGRAM, "5"}, file, portable, "2");
  CAPTURE(outcome.output);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.output == run({CAPTURE_PROGRAM, "5"}, {"SIM_SEED=2"}).output);
  std::string error;
  auto capture = capture::read_capture(file, &error);
  CAPTURE(error);
  REQUIRE(capture);
  CHECK(capture->cut_short.empty());
  return std::move(*capture);
}

const capture::StoredGraph& loop_of(const capture::Capture& capture) {
  const auto found = std::ranges::find_if(capture.graphs, [](const auto& graph) { return graph.size() == 8; });
  REQUIRE(found != capture.graphs.end());
  return *found;
}

std::string text_of(const std::vector<std::byte>& code) {
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}

}  // namespace

TEST_CASE("CUDA capture: code, kernels, memory, devices") {
  const test::ScratchFolder folder;
  const capture::Capture capture = captured(folder.file("one.rfn"), true);
  REQUIRE(capture.devices.size() == 1);
  CHECK(capture.devices[0].api == "cuda");
  CHECK(capture.devices[0].name == "Simulated device");
  CHECK(capture.devices[0].native.find("compute capability 9.0") != std::string::npos);
  CHECK(capture.queues.size() == 2);
  for (const auto& [id, queue] : capture.queues) {
    CHECK(queue.device == capture.devices[0].id);
  }

  REQUIRE(capture.functions.size() == 2);
  REQUIRE(capture.code.size() == 2);
  for (const auto& [id, function] : capture.functions) {
    const auto code = capture.code.find(function.code);
    REQUIRE(code != capture.code.end());
    const std::string text = text_of(capture.read_code(function.code));
    CHECK(code->second.kind == capture::CodeKind::kIntermediate);
    CHECK(text.back() == '\0');
    CHECK((text.find("library") != std::string::npos) == (function.name == "mix_in"));
  }

  // What was freed before is there as well, at the address of what came next.
  REQUIRE(capture.buffers.size() == 4);
  std::size_t places[3] = {};
  for (const auto& [id, buffer] : capture.buffers) {
    CHECK(buffer.size == 256);
    CHECK(buffer.address != 0);
    REQUIRE(buffer.description.size() == 2);
    REQUIRE(buffer.description[0] <= 2);
    ++places[buffer.description[0]];
    REQUIRE(capture.has_contents(id));
    std::vector<std::uint32_t> words(64);
    std::string error;
    REQUIRE(capture.read_contents(id, std::as_writable_bytes(std::span(words)), &error));
    if (buffer.description[0] == static_cast<std::uint64_t>(capture::MemoryPlace::kHost)) {
      CHECK(words[5] == 1005);
    }
  }
  CHECK(places[0] == 3);
  CHECK(places[1] == 1);

  const capture::StoredGraph& loop = loop_of(capture);
  CHECK(loop.occurrences == 5);
  CHECK(loop.argument_sets() == 1);
  std::vector<OperationKind> kinds;
  const capture::Graph graph = loop.graph();
  for (capture::NodeIndex node = 0; node < graph.size(); ++node) {
    kinds.push_back(graph.operation(node).kind());
  }
  CHECK(kinds == std::vector{OperationKind::kPointerCopy, OperationKind::kPointerFill, OperationKind::kKernel,
                             OperationKind::kEventRecord, OperationKind::kKernel, OperationKind::kEventWait,
                             OperationKind::kKernel, OperationKind::kPointerCopy});
  CHECK(graph.queues().size() == 2);
}

TEST_CASE("CUDA capture: two runs agree on what was submitted") {
  const test::ScratchFolder folder;
  const capture::Capture one = captured(folder.file("one.rfn"), false);
  const capture::Capture two = captured(folder.file("two.rfn"), true);
  CHECK(loop_of(one).graph().fingerprint() == loop_of(two).graph().fingerprint());
  for (const auto& [id, function] : one.functions) {
    REQUIRE(two.functions.contains(id));
    CHECK(two.functions.at(id).name == function.name);
    CHECK(two.functions.at(id).code == function.code);
  }
  for (const auto& [id, buffer] : one.buffers) {
    CHECK_FALSE(one.has_contents(id));
  }
}

TEST_CASE("CUDA capture: memory that is allocated in stream order where other memory was freed") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("ordered.rfn");
  const Outcome outcome = run_captured({PROGRAMS_FILE, "stream_memory"}, file, false, "2");
  CAPTURE(outcome.output);
  REQUIRE(outcome.status == 0);
  std::string error;
  const auto capture = capture::read_capture(file, &error);
  CAPTURE(error);
  REQUIRE(capture);
  std::set<std::uint64_t> addresses;
  for (const auto& [id, buffer] : capture->buffers) {
    addresses.insert(buffer.address);
  }
  CHECK(capture->buffers.size() == 201);  // one for each round
  CHECK(addresses.size() < 100);
}

TEST_CASE("CUDA capture: bench runs it without the program") {
  const test::ScratchFolder folder;
  for (const bool portable : {true, false}) {
    const std::string file = folder.file(portable ? "with.rfn" : "without.rfn");
    captured(file, portable);
    for (const char* seed : {"0", "1", "2", "3"}) {
      const Outcome outcome =
          run({REFRAIN, "bench", "--json", "--quiet", "--repetitions", "3", "--chunks", "0,1,3", file},
              {std::string("SIM_SEED=") + seed});
      CAPTURE(seed, outcome.output);
      REQUIRE(outcome.status == 0);
      const auto json = nlohmann::json::parse(outcome.output);
      CHECK(json["api"] == "cuda");
      CHECK(json["failed"].empty());
      CHECK(json["skipped"].empty());
      REQUIRE(json["results"].size() == 6);
      for (const auto& row : json["results"]) {
        CHECK((row["buffers_without_contents"] == 0) == portable);
        if (row["nodes"] == 8 && row["chunk"] == 0) {
          CHECK(row["native_parts"] == 3);  // a graph for each stream, and one more behind the event
        }
      }
    }
  }
}

TEST_CASE("CUDA capture: random programs") {
  const test::ScratchFolder folder;
  std::size_t replayed = 0;
  for (int number = 1; number <= 4; ++number) {
    const std::string seed = std::to_string(number);
    const std::vector<std::string> command{PROGRAMS_FILE, "random", seed, number % 2 == 0 ? "2" : "1", "2"};
    const std::string file = folder.file(seed + ".rfn");
    const Outcome plain = run(command, {"SIM_SEED=" + seed});
    const Outcome outcome = run_captured(command, file, number % 2 == 0, seed);
    CAPTURE(seed, outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.output == plain.output);
    const Outcome bench = run({REFRAIN, "bench", "--json", "--quiet", "--repetitions", "1", "--warm-up", "0", file},
                              {"SIM_SEED=" + std::to_string(number + 1)});
    CAPTURE(bench.output);  // violations would stand there as well
    const auto json = nlohmann::json::parse(bench.output);
    REQUIRE(bench.status == (json["results"].empty() ? 3 : 0));
    CHECK(json["failed"].empty());
    replayed += json["results"].size();
    for (const auto& skipped : json["skipped"]) {
      CHECK_THAT(
          skipped["reason"].get<std::string>(),
          Catch::Contains("(host function)") || Catch::Contains("events are recorded and waited for between graphs"));
    }
  }
  CHECK(replayed > 0);
}

TEST_CASE("CUDA capture: dump") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("dump.rfn");
  const capture::Capture capture = captured(file, true);
  const std::string summary = run({REFRAIN, "dump", file}).output;
  CAPTURE(summary);
  CHECK(summary.find("Simulated device on NVIDIA CUDA") != std::string::npos);
  CHECK(summary.find("cuStreamSynchronize") != std::string::npos);
  const Outcome graph = run({REFRAIN, "dump", "--graph", std::to_string(loop_of(capture).id()), file});
  CAPTURE(graph.output);
  CHECK(graph.status == 0);
  for (const char* part : {"copy host to device", "copy device to host", "256 bytes",
                           "mix_in  grid 2x1x1, block 32x1x1", "(device memory, 256 B)", "(pinned host memory, 256 B)",
                           "+ 128 (device memory", "stream", "shared memory 0 B"}) {
    CAPTURE(part);
    CHECK(graph.output.find(part) != std::string::npos);
  }
  const auto json = nlohmann::json::parse(run({REFRAIN, "dump", "--json", file}).output);
  for (const auto& buffer : json["buffers"]) {
    CHECK(buffer["address"] != 0);
    CHECK((buffer["kind"] == "device memory" || buffer["kind"] == "pinned host memory"));
  }
}

TEST_CASE("CUDA capture: bench says why it cannot") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("one.rfn");
  captured(file, false);
  const Outcome nowhere = run({REFRAIN, "bench", file}, {"LD_LIBRARY_PATH=/nonexistent"});
  if (nowhere.status == 3) {  // a machine with a driver has it in the linker's cache
    CHECK(nowhere.output.find("no CUDA driver") != std::string::npos);
  }
  const Outcome other = run({REFRAIN, "bench", "--device", "7", file});
  CHECK(other.status == 3);
  CHECK(other.output.find("no CUDA device 7, only 1") != std::string::npos);
  const Outcome named = run({REFRAIN, "bench", "--device-name", "Imaginary", file});
  CHECK(named.status == 3);
  CHECK(named.output.find("no CUDA device here has 'Imaginary' in its name") != std::string::npos);
}
