// `refrain run --capture` and `refrain bench` on a program of HIP, on the simulated device.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/hip/code_object.h"
#include "test/capture/changed_capture.h"
#include "test/cuda/captured.h"
#include "test/support/scratch_folder.h"

using namespace refrain;
using capture::MemoryPlace;
using nlohmann::json;

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
  const capture::Capture capture = captured(file, false, {CAPTURE_PROGRAM, "5", "compressed"});
  CHECK(capture.code.size() == 1);
  const Outcome outcome = bench(file, {"--json"});
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
    capture::CaptureChange changed;
    changed.code = change;
    capture::write_changed(whole, loop_of(whole), file, changed);
    const Outcome outcome = bench(file, {"--json", "--repetitions", "1"});
    CAPTURE(outcome.output);
    CHECK(outcome.status == status);
    const auto called = [&](const char* name) { return std::ranges::count(outcome.driver_calls, name) != 0; };
    CHECK(called("hipModuleLoadData") == (status == 0));
    CHECK(called("hipGraphLaunch") == (status == 0));
    CHECK_FALSE(called("hipLaunchKernel"));  // no function of the program is here
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
