// A program must do the same plain and in every mode, on a simulated device that works in any order it may.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "test/support/captured.h"
#include "test/support/child.h"

namespace child {

/// It ended well, broke no rule of the API, and Refrain told no error.
inline void check_clean(const Result& result) {
  INFO("output: " << result.output.substr(0, 2000));
  INFO("errors: " << result.errors.substr(0, 4000));
  CHECK(result.exit_code == 0);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.errors.find("[refrain] error") == std::string::npos);
}

/// `run(mode, seed)` runs it. `least`: operations that must have been replayed with each seed.
template <class Run>
void same_everywhere(const Run& run, long least) {
  const Result plain = run("plain", 0);
  check_clean(plain);
  REQUIRE(plain.output.find("end 0") != std::string::npos);
  for (const Way& way : ways()) {
    CAPTURE(way.seed, way.mode);
    const bool replay = way.mode == "replay";
    no_capture_yet();
    const Result result = run_until_replayed(replay ? least : 0, plain.output, [&] { return run(way.mode, way.seed); });
    check_clean(result);
    CHECK(result.output == plain.output);
    CHECK(capture_fault() == "");
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

}  // namespace child
