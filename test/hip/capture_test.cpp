// `refrain run --capture` and `refrain bench` on a program of HIP, on the simulated device.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/hip/code_object.h"
#include "capture/reader.h"
#include "test/capture/capture_files.h"
#include "test/cuda/run_process.h"
#include "test/support/scratch_folder.h"

namespace {

using namespace refrain;
using capture::MemoryPlace;
using nlohmann::json;

std::vector<std::string> program(const std::string& image = "elf") {
  return {CAPTURE_PROGRAM, "5", image};
}

/// Runs a program in capture mode. It finds the library where it looks for the runtime, as instrumented programs cannot
/// have it preloaded.
Outcome run_captured(const std::vector<std::string>& command, const std::string& file, bool portable,
                     const std::string& seed = "2") {
  return run(command, {std::string("LD_LIBRARY_PATH=") + SHIM_FOLDER, std::string("REFRAIN_HIP_LIBRARY=") + SIM_HIP,
                       "SIM_SEED=" + seed, "REFRAIN_MODE=capture", "REFRAIN_CAPTURE_FILE=" + file,
                       std::string("REFRAIN_PORTABLE=") + (portable ? "on" : "off"), "REFRAIN_REPORT=off"});
}

/// Captures the program; returns what the file holds. The seed is even, so that addresses come again.
capture::Capture captured(const std::string& file, bool portable, const std::vector<std::string>& command = program()) {
  const Outcome outcome = run_captured(command, file, portable);
  CAPTURE(outcome.output);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.output == run(command, {"SIM_SEED=2"}).output);
  std::string error;
  auto capture = capture::read_capture(file, &error);
  CAPTURE(error);
  REQUIRE(capture);
  CHECK(capture->cut_short.empty());
  return std::move(*capture);
}

Outcome bench(const std::string& file, const std::vector<std::string>& options,
              const std::vector<std::string>& environment) {
  std::vector<std::string> command{REFRAIN, "bench", "--quiet"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(file);
  std::vector<std::string> all{std::string("REFRAIN_HIP_LIBRARY=") + SIM_HIP, "REFRAIN_CONFIG=/dev/null"};
  all.insert(all.end(), environment.begin(), environment.end());
  return run(command, all);
}

const capture::StoredGraph& loop_of(const capture::Capture& capture) {
  const auto found = std::ranges::find_if(capture.graphs, [](const auto& graph) { return graph.size() == 8; });
  REQUIRE(found != capture.graphs.end());
  return *found;
}

/// Another capture with the loop, whose code is what `change(bytes)` makes of it; empty: it has none.
void write_loop(const capture::Capture& from, const std::string& file,
                const std::function<void(std::vector<std::byte>&)>& change) {
  const auto recorder = capture::open(file);
  recorder->define_all(std::span<const capture::DeviceInfo>(from.devices));
  for (const auto& [id, queue] : from.queues) {
    recorder->define(queue);
  }
  for (const auto& [id, function] : from.functions) {
    recorder->define(function);
  }
  for (const auto& [id, buffer] : from.buffers) {
    recorder->define(buffer);
  }
  for (const auto& [id, code] : from.code) {
    std::vector<std::byte> bytes = from.read_code(id);
    change(bytes);
    if (!bytes.empty()) {
      recorder->code({id, code.kind, bytes});
    }
  }
  const capture::Graph graph = loop_of(from).graph();
  capture::Stream& stream = recorder->open_stream(1);
  for (capture::NodeIndex node = 0; node < graph.size(); ++node) {
    stream.operation(graph.operation(node));
  }
  stream.host_call("hipStreamSynchronize", 1);
  recorder->flush();
}

}  // namespace

TEST_CASE("HIP capture: code of modules and of the program, memory, contents") {
  const test::ScratchFolder folder;
  const capture::Capture capture = captured(folder.file("one.rfn"), true);
  REQUIRE(capture.devices.size() == 1);
  CHECK(capture.devices[0].api == "hip");
  CHECK(capture.queues.size() == 2);

  REQUIRE(capture.functions.size() == 2);
  CHECK(capture.code.size() == 2);
  for (const auto& [id, function] : capture.functions) {
    CAPTURE(function.name);
    const auto code = capture.code.find(function.code);
    REQUIRE(code != capture.code.end());
    CHECK(code->second.kind == capture::CodeKind::kBinary);
    const std::vector<std::byte> image = capture.read_code(function.code);
    CHECK(backends::hip::image_at(image.data(), image.size()).size() == image.size());
    CHECK(backends::hip::read_layouts(image.data(), image.size()).kernels.contains(function.name));
    const std::string begin(reinterpret_cast<const char*>(image.data()), 8);
    CHECK((begin == "__CLANG_") == (function.name == "mix_in"));  // a bundle
  }

  // What was freed before is there as well, at the address of what came next.
  REQUIRE(capture.buffers.size() == 4);
  std::vector<std::size_t> places(3);
  for (const auto& [id, buffer] : capture.buffers) {
    CHECK(buffer.size == 256);
    CHECK(buffer.address != 0);
    REQUIRE(buffer.description.size() == 2);
    REQUIRE(buffer.description[0] < places.size());
    ++places[buffer.description[0]];
    std::vector<std::uint32_t> values(64);
    std::string error;
    REQUIRE(capture.has_contents(id));
    REQUIRE(capture.read_contents(id, std::as_writable_bytes(std::span(values)), &error));
    if (buffer.description[0] == static_cast<std::uint64_t>(MemoryPlace::kHost)) {
      CHECK(values[5] == 1005);
    }
  }
  CHECK(places == std::vector<std::size_t>{2, 1, 1});
  CHECK(loop_of(capture).occurrences == 5);
  CHECK(loop_of(capture).argument_sets() == 1);
}

TEST_CASE("HIP capture: two runs agree on what was submitted, and contents are only there if asked for") {
  const test::ScratchFolder folder;
  const capture::Capture one = captured(folder.file("one.rfn"), false);
  const capture::Capture two = captured(folder.file("two.rfn"), true);
  CHECK(loop_of(one).graph().fingerprint() == loop_of(two).graph().fingerprint());
  for (const auto& [id, function] : one.functions) {
    REQUIRE(two.functions.contains(id));
    CHECK(two.functions.at(id).code == function.code);
  }
  for (const auto& [id, buffer] : one.buffers) {
    CHECK_FALSE(one.has_contents(id));
  }
}

TEST_CASE("HIP capture: bench runs it without the program") {
  const test::ScratchFolder folder;
  for (const bool portable : {true, false}) {
    const std::string file = folder.file(portable ? "with.rfn" : "without.rfn");
    captured(file, portable);
    for (const char* seed : {"0", "1", "2", "3"}) {
      const Outcome outcome =
          bench(file, {"--json", "--repetitions", "3", "--chunks", "0,1,3"}, {std::string("SIM_SEED=") + seed});
      CAPTURE(seed, outcome.output);
      REQUIRE(outcome.status == 0);
      const auto told = json::parse(outcome.output);
      CHECK(told["api"] == "hip");
      CHECK(told["failed"].empty());
      CHECK(told["skipped"].empty());
      REQUIRE(told["results"].size() == 6);
      for (const auto& row : told["results"]) {
        CHECK((row["buffers_without_contents"] == 0) == portable);
        if (row["nodes"] == 8 && row["chunk"] == 0) {
          CHECK(row["native_parts"] == 3);  // a graph for each stream, and one more behind the event
        }
      }
      const auto called = [&](const char* name) {
        return std::ranges::find(outcome.driver_calls, name) != outcome.driver_calls.end();
      };
      CHECK(called("hipGraphLaunch"));
      CHECK(called("hipModuleLaunchKernel"));
      CHECK_FALSE(called("hipLaunchKernel"));  // no function of the program is here
    }
  }
}

TEST_CASE("HIP capture: what is recorded of random programs runs in the bench") {
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
    const Outcome told =
        bench(file, {"--json", "--repetitions", "1", "--warm-up", "0"}, {"SIM_SEED=" + std::to_string(number + 1)});
    CAPTURE(told.output);  // violations would stand there as well
    const auto results = json::parse(told.output);
    REQUIRE(told.status == (results["results"].empty() ? 3 : 0));
    CHECK(results["failed"].empty());
    replayed += results["results"].size();
  }
  CHECK(replayed > 0);
}

TEST_CASE("HIP capture: bench says why it cannot") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("one.rfn");
  captured(file, false);
  const auto refused = [&](const std::vector<std::string>& options, const std::vector<std::string>& environment) {
    const Outcome outcome = bench(file, options, environment);
    CAPTURE(outcome.output);
    CHECK(outcome.status == 3);
    CHECK(count_lines(outcome.output, "") == 1);
    return outcome.output;
  };
  using Catch::Contains;
  CHECK_THAT(refused({"--device", "7"}, {}), Contains("no HIP device 7, only 1"));
  CHECK_THAT(refused({"--device-name", "Imaginary"}, {}), Contains("no HIP device here has 'Imaginary' in its name"));
  CHECK_THAT(refused({"--platform", "1"}, {}), Contains("HIP has one platform, number 0"));
  CHECK_THAT(refused({}, {"REFRAIN_HIP_LIBRARY=/nonexistent/libamdhip64.so.6"}),
             Contains("the HIP runtime cannot be opened: /nonexistent/libamdhip64.so.6"));
  CHECK_THAT(refused({}, {std::string("REFRAIN_HIP_LIBRARY=") + SMALL_RUNTIME}), Contains("has no hip"));
  CHECK_THAT(refused({}, {"SIM_HIP_VERSION=50230201"}), Contains("HIP 5.2.30201, older than that of ROCm 5.5.1"));
  const Outcome nowhere = bench(file, {}, {"REFRAIN_HIP_LIBRARY=", "LD_LIBRARY_PATH=/nonexistent"});
  if (nowhere.status == 3) {  // a machine with a runtime has it in the linker's cache
    CHECK_THAT(nowhere.output, Contains("no HIP runtime") || Contains("the runtime is HIP"));
  }
}

TEST_CASE("HIP capture: kernels whose code is not read are named") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("compressed.rfn");
  const capture::Capture capture = captured(file, false, program("compressed"));
  CHECK(capture.code.size() == 1);
  const Outcome outcome = bench(file, {"--json"}, {});
  CAPTURE(outcome.output);
  CHECK(outcome.status == 3);
  const auto told = json::parse(outcome.output);
  REQUIRE_FALSE(told["skipped"].empty());
  for (const auto& skipped : told["skipped"]) {
    CHECK_THAT(skipped["reason"].get<std::string>(), Catch::Contains("the capture does not hold the kernel's code"));
  }
}

TEST_CASE("HIP capture: code that is damaged or missing is refused, and never given to the runtime") {
  const test::ScratchFolder folder;
  const capture::Capture whole = captured(folder.file("one.rfn"), false);
  const auto told_with = [&](const std::function<void(std::vector<std::byte>&)>& change, int status) {
    const std::string file = folder.file("other.rfn");
    std::filesystem::remove(file);
    write_loop(whole, file, change);
    const Outcome outcome = bench(file, {"--json", "--repetitions", "1"}, {});
    CAPTURE(outcome.output);
    CHECK(outcome.status == status);
    const auto called = std::ranges::find(outcome.driver_calls, "hipModuleLoadData") != outcome.driver_calls.end();
    CHECK(called == (status == 0));
    const auto told = json::parse(outcome.output);
    return told["skipped"].empty() ? std::string() : told["skipped"][0]["reason"].get<std::string>();
  };
  CHECK(told_with([](auto&) {}, 0).empty());
  const std::string damaged = "the captured code is damaged: it is neither a code object nor a bundle of them";
  CHECK_THAT(told_with([](auto& code) { code.resize(code.size() / 2); }, 3), Catch::Contains(damaged));
  CHECK_THAT(told_with([](auto& code) { code[0] = std::byte{1}; }, 3), Catch::Contains(damaged));
  CHECK_THAT(told_with([](auto& code) { code.clear(); }, 3),
             Catch::Contains("the capture does not hold the kernel's code"));
}
