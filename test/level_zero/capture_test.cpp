// `refrain run --capture` and `refrain bench` on programs of Level Zero, on the simulated device.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/level_zero/list.h"
#include "test/capture/changed_capture.h"
#include "test/level_zero/run_program.h"
#include "test/support/scratch_folder.h"

namespace {

using namespace refrain;
using capture::Capture;
using capture::CaptureChange;
using nlohmann::json;
using Environment = std::map<std::string, std::string>;

/// Captures a program; returns what the file holds. The seed is even, so that addresses come again.
Capture captured(const std::string& file, bool portable, const std::vector<std::string>& program = {"captured", "5"},
                 const Environment& more = {}) {
  Environment environment = {{"REFRAIN_CAPTURE_FILE", file}, {"REFRAIN_PORTABLE", portable ? "on" : "off"}};
  environment.insert(more.begin(), more.end());
  const run_program::Result plain = run_program::run(program, "plain", 2, more);
  const run_program::Result result = run_program::run(program, "capture", 2, environment);
  INFO(result.output << result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(result.output == plain.output);
  CHECK(result.errors.find("violation") == std::string::npos);
  Capture capture = capture::load(file);
  CHECK(capture.cut_short.empty());
  return capture;
}

struct Told {
  int status = -1;
  std::string output, errors;
  std::vector<std::string> calls;  ///< of the driver

  [[nodiscard]] bool called(const std::string& name) const { return std::ranges::count(calls, name) != 0; }
  [[nodiscard]] std::string reason() const {
    const json all = json::parse(output);
    return all["skipped"].empty() ? std::string() : all["skipped"][0]["reason"].get<std::string>();
  }
};

Told refrain_told(std::vector<std::string> command, const Environment& more) {
  const std::string log = child::scratch("calls.log");
  std::filesystem::remove(log);
  Environment variables = {
      {"PATH", "/usr/bin:/bin"}, {"ZE_ENABLE_ALT_DRIVERS", SIMULATED_DRIVER}, {"SIM_LOG", log}, {"SIM_PATIENCE", "10"}};
  for (const auto& [name, value] : more) {
    variables[name] = value;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(name + "=" + value);
  }
  command.insert(command.begin(), REFRAIN);
  const child::Result result = child::run(command, environment, run_program::kSanitized ? 300 : 60);
  Told told{result.exit_code, result.output, result.errors, {}};
  std::ifstream calls(log);
  for (std::string call; std::getline(calls, call);) {
    told.calls.push_back(call);
  }
  CHECK(told.errors.find("violation") == std::string::npos);
  return told;
}

Told bench(const std::string& file, const std::vector<std::string>& options, const Environment& more = {}) {
  std::vector<std::string> command{"bench", "--quiet"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(file);
  return refrain_told(command, more);
}

const capture::StoredGraph& loop_of(const Capture& capture) {
  const auto found = std::ranges::find_if(capture.graphs, [](const auto& graph) { return graph.size() == 10; });
  REQUIRE(found != capture.graphs.end());
  return *found;
}

}  // namespace

TEST_CASE("Level Zero capture: code and how it is built, lists, memory, contents") {
  const test::ScratchFolder folder;
  const Capture capture = captured(folder.file("one.rfn"), true);
  REQUIRE(capture.devices.size() == 1);
  CHECK(capture.devices[0].api == "level_zero");
  CHECK(capture.devices[0].driver == "16777217");

  std::vector<std::uint64_t> details;
  for (const auto& [id, queue] : capture.queues) {
    details.push_back(queue.detail);
  }
  std::ranges::sort(details);
  CHECK(details == std::vector<std::uint64_t>{0, backends::ImmediateList::kUnordered});

  REQUIRE(capture.functions.size() == 2);
  for (const auto& [id, function] : capture.functions) {
    CAPTURE(function.name);
    const bool native = function.name == "scale";
    CHECK(function.build_options == (native ? "" : "constant 7=0d0c0b0a flags=-ze-opt-level=2"));
    const auto code = capture.code.find(function.code);
    REQUIRE(code != capture.code.end());
    CHECK(code->second.kind == (native ? capture::CodeKind::kBinary : capture::CodeKind::kIntermediate));
    std::uint32_t magic = 0;
    const std::vector<std::byte> image = capture.read_code(function.code);
    REQUIRE(image.size() > sizeof(magic));
    std::memcpy(&magic, image.data(), sizeof(magic));
    CHECK(magic == (native ? 0x4B524157 : 0x07230203));
  }

  // What was freed before is there as well.
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
    switch (static_cast<capture::MemoryPlace>(buffer.description[0])) {
      case capture::MemoryPlace::kHost: CHECK(values[5] == 1005); break;
      case capture::MemoryPlace::kManaged: CHECK(values[5] == 6); break;
      default: break;
    }
  }
  CHECK(places == std::vector<std::size_t>{2, 1, 1});
  CHECK(loop_of(capture).occurrences == 5);
  CHECK(loop_of(capture).argument_sets() == 1);
}

TEST_CASE("Level Zero capture: two runs agree on what was submitted") {
  const test::ScratchFolder folder;
  const Capture one = captured(folder.file("one.rfn"), false);
  const Capture two = captured(folder.file("two.rfn"), true);
  CHECK(loop_of(one).graph().fingerprint() == loop_of(two).graph().fingerprint());
  for (const auto& [id, function] : one.functions) {
    REQUIRE(two.functions.contains(id));
    CHECK(two.functions.at(id) == function);
  }
  for (const auto& [id, buffer] : one.buffers) {
    CHECK_FALSE(one.has_contents(id));
  }
}

TEST_CASE("Level Zero capture: bench runs it without the program") {
  const test::ScratchFolder folder;
  for (const bool portable : {true, false}) {
    const std::string file = folder.file(portable ? "with.rfn" : "without.rfn");
    captured(file, portable);
    for (const std::string extensions : {"", "append", "append,mutable"}) {
      for (const char* seed : {"0", "1", "2", "3"}) {
        const Told told = bench(file, {"--json", "--repetitions", "3", "--chunks", "0,1,3"},
                                {{"SIM_SEED", seed}, {"SIM_ZE_EXTENSIONS", extensions}});
        CAPTURE(seed, extensions, told.output, told.errors);
        REQUIRE(told.status == 0);
        CHECK(told.called("zeCommandListImmediateAppendCommandListsExp") == !extensions.empty());
        CHECK(told.called("zeCommandQueueExecuteCommandLists") == extensions.empty());
        CHECK(told.called("zeModuleCreate: flags -ze-opt-level=2"));
        CHECK(told.called("zeModuleCreate: constant 7 begins with 13"));
        const auto all = json::parse(told.output);
        CHECK(all["api"] == "level_zero");
        CHECK(all["failed"].empty());
        CHECK(all["skipped"].empty());
        REQUIRE(all["results"].size() == 6);
        for (const auto& row : all["results"]) {
          CHECK((row["buffers_without_contents"] == 0) == portable);
          if (row["nodes"] == 10 && row["chunk"] == 0) {
            CHECK(row["native_parts"] == row["parts"]);
            CHECK(row["native_parts"] < 5);
          }
        }
      }
    }
  }
}

TEST_CASE("Level Zero capture: every option of bench, and what extract takes out") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("one.rfn");
  const std::string number = std::to_string(loop_of(captured(file, true)).id());
  const Told swept =
      bench(file, {"--sweep", "--repetitions", "2", "--plot", folder.file("one.svg"), "--graph", number});
  CAPTURE(swept.output, swept.errors);
  CHECK(swept.status == 0);
  CHECK_THAT(swept.output, Catch::Contains("Simulated device on Level Zero"));
  CHECK_THAT(swept.output, Catch::Contains("The fastest chunk size of each graph"));
  CHECK(std::filesystem::file_size(folder.file("one.svg")) > 1000);

  const Told before = bench(file, {"--json", "--repetitions", "3"});
  REQUIRE(before.status == 0);
  std::ofstream(folder.file("old.json")) << before.output;
  const Told compared =
      bench(file, {"--repetitions", "3", "--tolerance", "1000", "--baseline", folder.file("old.json"), "--json"});
  CAPTURE(compared.output, compared.errors);
  CHECK(compared.status == 0);
  CHECK(json::parse(compared.output)["baseline"]["compared"].size() == 2);

  const std::string part = folder.file("part.rfn");
  const Told extracted = refrain_told({"extract", "--graph", number, "-o", part, file}, {});
  CAPTURE(extracted.errors);
  REQUIRE(extracted.status == 0);
  const Told of_part = bench(part, {"--json", "--repetitions", "1"});
  CAPTURE(of_part.output);
  REQUIRE(of_part.status == 0);
  const auto row = json::parse(of_part.output)["results"].at(0);
  CHECK(row["nodes"] == 10);
  CHECK(row["buffers_without_contents"] == 0);
}

TEST_CASE("Level Zero capture: events that the host sets and resets, counter-based ones, and a copy engine") {
  const test::ScratchFolder folder;
  const auto benched = [&](const std::string& program, const Environment& more) {
    std::string file = folder.file(program + ".rfn");
    captured(file, true, {program}, more);
    const Told told = bench(file, {"--json", "--repetitions", "2"}, more);
    CAPTURE(program, told.output, told.errors);
    CHECK(told.status == 0);
    const auto all = json::parse(told.output);
    CHECK(all["failed"].empty());
    CHECK(all["skipped"].empty());
    CHECK_FALSE(all["results"].empty());
    return file;
  };
  benched("fork_join", {});
  benched("device_events", {});
  benched("host_events", {});
  benched("counter_events", {});
  const std::string file = benched("copy_engine", {{"SIM_ZE_COPY_ENGINE", "1"}});
  const Told elsewhere = bench(file, {"--json"}, {});
  REQUIRE(elsewhere.status == 0);  // of other graphs
  CHECK_THAT(elsewhere.reason(), Catch::Contains("the device has no group of queues 1, in which the captured one was"));
}

TEST_CASE("Level Zero capture: bench says why it cannot") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("one.rfn");
  captured(file, false);
  const auto refused = [&](const std::vector<std::string>& options, const Environment& environment) {
    const Told told = bench(file, options, environment);
    CAPTURE(told.output, told.errors);
    CHECK(told.status == 3);
    CHECK(std::ranges::count(told.errors, '\n') == 1);
    return told.errors;
  };
  using Catch::Contains;
  CHECK_THAT(refused({"--device", "7"}, {}), Contains("no Level Zero device 7, only 1; here: 0 'Simulated device'"));
  CHECK_THAT(refused({"--device-name", "Imaginary"}, {}),
             Contains("no Level Zero device here has 'Imaginary' in its name"));
  CHECK_THAT(refused({"--platform", "1"}, {}), Contains("Level Zero has one platform, number 0"));
  CHECK_THAT(refused({}, {{"ZE_ENABLE_ALT_DRIVERS", "/nonexistent/libze_sim.so"}}),
             Contains("finds no driver here (ZE_RESULT_ERROR_UNINITIALIZED)"));
  const std::string loaders = folder.file("loaders");
  std::filesystem::create_directory(loaders);
  std::filesystem::create_symlink(NO_LOADER, loaders + "/libze_loader.so.1");
  CHECK_THAT(refused({}, {{"LD_LIBRARY_PATH", loaders}}), Contains("Level Zero loader has no ze"));
  std::filesystem::remove(loaders + "/libze_loader.so.1");
  std::ofstream(loaders + "/libze_loader.so.1") << "not a library";
  CHECK_THAT(refused({}, {{"LD_LIBRARY_PATH", loaders}}), Contains("no Level Zero loader (Debian: libze1): "));
}

TEST_CASE("Level Zero capture: code that cannot be built again is not taken for something else") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("unknown.rfn");
  const Capture capture = captured(file, false, {"captured", "5", "unknown"});
  CHECK(capture.code.size() == 1);
  const Told told = bench(file, {"--json", "--graph", std::to_string(loop_of(capture).id())});
  CAPTURE(told.output);
  CHECK(told.status == 3);
  CHECK_THAT(told.reason(), Catch::Contains("the capture does not hold the kernel's code"));
}

TEST_CASE("Level Zero capture: what is damaged or missing is refused, with the reason") {
  const test::ScratchFolder folder;
  const Capture whole = captured(folder.file("one.rfn"), false);
  const auto told_with = [&](const CaptureChange& change, int status) {
    const std::string file = folder.file("other.rfn");
    std::filesystem::remove(file);
    capture::write_changed(whole, loop_of(whole), file, change);
    const Told told = bench(file, {"--json", "--repetitions", "1"});
    CAPTURE(told.output, told.errors);
    CHECK(told.status == status);
    CHECK(told.called("zeCommandListImmediateAppendCommandListsExp") == (status == 0));
    return told.reason();
  };
  using Catch::Contains;
  CHECK(told_with({}, 0).empty());
  const auto is_spirv = [](const std::vector<std::byte>& code) { return code[0] == std::byte{3}; };
  CaptureChange change;
  change.code = [&](auto& code) { code.erase(is_spirv(code) ? code.end() - 4 : code.end(), code.end()); };
  CHECK_THAT(told_with(change, 3), Contains("the captured code is damaged: it is no SPIR-V"));
  change.code = [](auto& code) { code.clear(); };
  CHECK_THAT(told_with(change, 3), Contains("the capture does not hold the kernel's code"));
  change.code = [&](auto& code) {
    if (!is_spirv(code)) {
      const char elf[] =
          "\x7F"
          "ELF and nothing else";
      const auto bytes = std::as_bytes(std::span(elf));
      code.assign(bytes.begin(), bytes.end());
    }
  };
  CHECK_THAT(told_with(change, 3), Contains("the captured code is damaged: an ELF file that is cut off"));
  change.code = [&](auto& code) {
    if (!is_spirv(code)) {
      const auto bytes = std::as_bytes(std::span("broken"));
      code.assign(bytes.begin(), bytes.end());
    }
  };
  CHECK_THAT(told_with(change, 3), Contains("does not take the captured code, which was made for the device of the "
                                            "capture (ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)"));
  change = {};
  change.function = [](auto& function) { function.build_options = "constant 7"; };
  CHECK_THAT(told_with(change, 3), Contains("its build options make no sense"));
  change.function = [](auto& function) { function.name += "_not"; };
  CHECK_THAT(told_with(change, 3), Contains("the captured code has no kernel '"));
  change.function = [](auto& function) { function.name = function.name == "scale" ? "busy" : function.name; };
  CHECK_THAT(told_with(change, 3), Contains("its arguments are not those of the captured kernel"));
  change = {};
  change.queue = [](auto& queue) { queue.detail |= 0xFF0000; };
  CHECK_THAT(told_with(change, 3), Contains("the device has no group of queues 255"));
  change = {};
  change.buffer = [](auto& buffer) { buffer.size = 64; };
  CHECK_THAT(told_with(change, 3), Contains("it names memory that the capture does not describe"));
  change.buffer = [](auto& buffer) { buffer.address = 0; };
  CHECK_THAT(told_with(change, 3), Contains("which captures do not hold"));
}

TEST_CASE("Level Zero capture: an error of the driver is told, wherever it comes") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("one.rfn");
  captured(file, true);
  const std::vector<std::string> options{"--json", "--repetitions", "1", "--warm-up", "0"};
  for (const std::string extensions : {"", "append,mutable"}) {
    const std::string counts = folder.file("count");
    REQUIRE(bench(file, options, {{"SIM_COUNT", counts}, {"SIM_ZE_EXTENSIONS", extensions}}).status == 0);
    int calls = 0;
    std::ifstream(counts) >> calls;
    REQUIRE(calls > 100);
    for (int number = 1; number <= calls; number += child::nightly() ? 1 : 4) {
      const Told told =
          bench(file, options, {{"SIM_FAIL_AT", std::to_string(number)}, {"SIM_ZE_EXTENSIONS", extensions}});
      CAPTURE(number, extensions, told.output, told.errors);
      REQUIRE((told.status == 0 || told.status == 1 || told.status == 3));
      if (told.output.empty()) {
        CHECK_THAT(told.errors, Catch::Contains("(ZE_RESULT_ERROR_"));
        continue;
      }
      const auto all = json::parse(told.output);
      for (const char* kind : {"failed", "skipped"}) {
        for (const auto& problem : all[kind]) {
          CHECK_THAT(problem["reason"].get<std::string>(), Catch::Contains("ZE_RESULT_ERROR_"));
        }
      }
    }
  }
}
