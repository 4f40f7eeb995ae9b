#include "test/level_zero/compare.h"

#include <catch2/catch.hpp>

namespace run_program {

namespace {

/// Graphs are built in the background: on a busy machine a short program may end before.
constexpr int kTries = 5;

}  // namespace

void check_clean(const Result& result) {
  INFO("output: " << result.output.substr(0, 2000));
  INFO("errors: " << result.errors.substr(0, 4000));
  CHECK(result.exit_code == 0);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.errors.find("[refrain] error") == std::string::npos);
}

void same_everywhere(const Words& program, long least, const Variables& more) {
  const std::vector<int> seeds = kSanitized ? std::vector<int>{1, 2} : std::vector<int>{0, 1, 2, 5};
  const Result plain = run(program, "plain", 0, more);
  check_clean(plain);
  REQUIRE(plain.output.find("end 0") != std::string::npos);
  for (const int seed : seeds) {
    CAPTURE(program.front(), seed);
    if (seed != 0) {
      CHECK(run(program, "plain", seed, more).output == plain.output);  // the program itself leaves nothing open
    }
    for (const std::string mode : {"observe", "capture", "replay", "gate"}) {
      CAPTURE(mode);
      Result result = run(program, mode, seed, more);
      for (int i = 1; i < kTries && mode == "replay" && result.replayed < least; ++i) {
        CHECK(result.output == plain.output);
        result = run(program, mode, seed, more);
      }
      check_clean(result);
      CHECK(result.output == plain.output);
      REQUIRE(result.reported);  // the proof that the layer was in
      CHECK(result.submissions > 0);
      if (mode == "replay") {
        CHECK(result.replayed >= least);
      } else if (mode != "gate") {
        CHECK(result.replayed == 0);
      }
    }
  }
}

void same_both_ways(const Words& program, long least) {
  for (const char* extensions : {"", "append", "append,counter,mutable"}) {
    CAPTURE(extensions);
    same_everywhere(program, least, {{"SIM_ZE_EXTENSIONS", extensions}});
  }
}

}  // namespace run_program
