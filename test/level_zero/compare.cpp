#include "test/level_zero/compare.h"

#include <catch2/catch.hpp>

namespace run_program {

void check_clean(const Result& result) {
  INFO("output: " << result.output.substr(0, 2000));
  INFO("errors: " << result.errors.substr(0, 4000));
  CHECK(result.exit_code == 0);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.errors.find("[refrain] error") == std::string::npos);
}

void same_everywhere(const Words& program, long least, const Variables& more) {
  const Result plain = run(program, "plain", 0, more);
  check_clean(plain);
  REQUIRE(plain.output.find("end 0") != std::string::npos);
  for (const child::Way& way : child::ways()) {
    CAPTURE(program.front(), way.seed, way.mode);
    const bool replay = way.mode == "replay";
    const Result result = child::run_until_replayed(replay ? least : 0, plain.output,
                                                    [&] { return run(program, way.mode, way.seed, more); });
    check_clean(result);
    CHECK(result.output == plain.output);
    if (way.mode == "plain") {
      continue;  // the program itself leaves nothing open
    }
    REQUIRE(result.reported);  // the proof that the layer was in
    CHECK(result.submissions > 0);
    if (replay) {
      CHECK(result.replayed >= least);
    } else if (way.mode != "gate") {
      CHECK(result.replayed == 0);
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
