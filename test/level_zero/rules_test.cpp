// What decides whether work may be held, or replayed, and behind what: one small program for each rule, run plain and
// in replay mode on the simulated driver.

#include <catch2/catch.hpp>
#include <string>

#include "test/level_zero/compare.h"

using run_program::check_clean;
using run_program::Result;
using run_program::run;
using run_program::Variables;
using run_program::Words;

namespace {

/// The program computes the same with Refrain, by which at least so much of it was replayed.
Result same_replayed(const Words& program, long least, const Variables& more) {
  CAPTURE(program.front());
  const Result plain = run(program, "plain", 0, more);
  check_clean(plain);
  Result result = child::run_until_replayed(least, plain.output, [&] { return run(program, "replay", 0, more); });
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK(result.replayed >= least);
  return result;
}

Variables extensions(const char* names) {
  return {{"SIM_ZE_EXTENSIONS", names}};
}

}  // namespace

TEST_CASE("cooperative launches and offsets: each launch of one kernel is replayed as it was made") {
  for (const char* names : {"", "append,mutable"}) {
    CAPTURE(names);
    same_replayed({"launched_with"}, 500, extensions(names));
  }
}

TEST_CASE("memory allocated anew in the place of other memory: a kernel that keeps the address is replayed again") {
  const Result result = same_replayed({"same_place"}, 500, extensions("append"));
  CHECK(result.output.find("same place 1\n") != std::string::npos);
}

TEST_CASE("what signals an event that other processes may wait for is not held") {
  CHECK(same_replayed({"shared_events"}, 0, extensions("append")).replayed == 0);
}

TEST_CASE("what repeats does not wait for a command that waits for the host") {
  // A list of ours on a queue of our own comes behind everything that its list has.
  const Variables more = {{"SIM_ZE_EXTENSIONS", ""}, {"SIM_PATIENCE", "1"}};
  constexpr long kBefore = 1600;  // submissions before the first command that waits: some behind it are replayed, too
  SECTION("for an event that was used before") {
    same_replayed({"host_sets_later"}, kBefore + 100, more);
  }
  SECTION("for a new event") {
    same_replayed({"host_sets_later", "anew"}, kBefore + 100, more);
  }
}

TEST_CASE("what waits for an event that a regular list signals is replayed") {
  same_replayed({"regular_signals"}, 500, extensions("append"));
}

TEST_CASE("the end of a barrier that waits for one event says nothing about the rest of a list without an order") {
  same_replayed({"some_events"}, 500, {{"SIM_ZE_EXTENSIONS", ""}, {"SIM_LAZY", "1"}});
}
