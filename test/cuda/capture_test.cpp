// `refrain run --capture` and `refrain dump` on a program of the driver API, on the simulated device, and what bench
// refuses.

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "test/cuda/captured.h"
#include "test/support/scratch_folder.h"

namespace {

using namespace refrain;
using capture::OperationKind;

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
  const Outcome nowhere = bench(file, {}, {"LD_LIBRARY_PATH=/nonexistent"});
  if (nowhere.status == 3) {  // a machine with a driver has it in the linker's cache
    CHECK(nowhere.output.find("no CUDA driver") != std::string::npos);
  }
  const Outcome other = bench(file, {"--device", "7"});
  CHECK(other.status == 3);
  CHECK(other.output.find("no CUDA device 7, only 1") != std::string::npos);
  const Outcome named = bench(file, {"--device-name", "Imaginary"});
  CHECK(named.status == 3);
  CHECK(named.output.find("no CUDA device here has 'Imaginary' in its name") != std::string::npos);
}
