// Captures of programs on the simulated device agree with each other, and `refrain bench` runs them: CUDA's, and HIP's.
#include "test/cuda/captured.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/support/scratch_folder.h"

using namespace refrain;

TEST_CASE("capture: two runs agree on what was submitted") {
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

TEST_CASE("capture: bench runs it without the program") {
  const test::ScratchFolder folder;
  for (const bool portable : {true, false}) {
    const std::string file = folder.file(portable ? "with.rfn" : "without.rfn");
    captured(file, portable);
    for (const char* seed : {"0", "1", "2", "3"}) {
      const Outcome outcome =
          bench(file, {"--json", "--repetitions", "3", "--chunks", "0,1,3"}, {std::string("SIM_SEED=") + seed});
      CAPTURE(seed, outcome.output);
      REQUIRE(outcome.status == 0);
      const auto json = nlohmann::json::parse(outcome.output);
      CHECK(json["api"] == kApi);
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

TEST_CASE("capture: streams are destroyed while contents wait for them") {
  const test::ScratchFolder folder;
  const std::vector<std::string> command{PROGRAMS_FILE, "streams_beside_memory"};
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome plain = run(command, {std::string("SIM_SEED=") + seed});
    const Outcome outcome = run_captured(command, folder.file(std::string(seed) + ".rfn"), true, seed);
    CAPTURE(seed, outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.output.find("violation") == std::string::npos);
    CHECK(outcome.output.find(plain.output) != std::string::npos);
  }
}

TEST_CASE("capture: random programs") {
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
    const auto json = nlohmann::json::parse(told.output);
    REQUIRE(told.status == (json["results"].empty() ? 3 : 0));
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
