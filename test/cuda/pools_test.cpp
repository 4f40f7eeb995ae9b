// Memory in the order of streams: a free that is held may give its memory to a later allocation, without the driver.

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "test/cuda/contract.h"

using contract::check_clean;
using contract::kGates;
using contract::same_everywhere;
using contract::Words;
using run_program::Result;
using run_program::run;

namespace {

/// Where addresses never come back, such memory may be gone before a graph with it is made: `least` counts where they
/// do.
void same_and_replayed(const Words& program, long least, const std::map<std::string, std::string>& more = {}) {
  same_everywhere(program, 0, more);
  CAPTURE(program);
  const std::string output = run(program, "plain", 0, more).output;
  const Result result = child::run_until_replayed(least, output, [&] { return run(program, "replay", 0, more); });
  check_clean(result);
  CHECK(result.output == output);
  CHECK(result.replayed >= least);
}

/// Most of what repeats is replayed, and most allocations need no call. (The first rounds are learnt from.)
void nearly_all_replayed(const Words& program) {
  CAPTURE(program);
  const std::string output = run(program, "plain").output;
  const Result result = child::run_until_replayed(5000, output, [&] { return run(program, "replay"); });
  check_clean(result);
  CHECK(result.output == output);
  CHECK(static_cast<double>(result.replayed) >= 0.95 * static_cast<double>(result.submissions));
  CHECK(result.taken_back > 400);
}

}  // namespace

TEST_CASE("memory in stream order: tasks that allocate and free") {
  for (const Words& program : {Words{"allocation_loop"}, Words{"allocation_loop", "default"},
                               Words{"allocation_loop", "pool"}, Words{"allocation_loop", "free"}}) {
    same_and_replayed(program, 1000);
  }
}

TEST_CASE("memory in stream order: nearly all of a loop with allocations is replayed") {
  nearly_all_replayed({"allocation_loop", "long"});
}

TEST_CASE("memory in stream order: temporaries of several sizes", "[promise-4]") {
  same_and_replayed({"allocation_temporaries"}, 500);
}

TEST_CASE("memory in stream order: what is freed and held is given back before the driver has no memory left",
          "[promise-5]") {
  same_and_replayed({"allocation_limit"}, 500, {{"SIM_POOL", "1024"}});
}

TEST_CASE("memory in stream order: who asks about memory sees what the program freed", "[promise-2]") {
  same_and_replayed({"allocation_questions"}, 100);
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("memory in stream order: exported memory, other pools, other frees, and streams that end", "[promise-4]") {
  same_and_replayed({"allocation_ends"}, 300);
}
#endif

TEST_CASE("memory in stream order: memory that several streams use", "[promise-1]") {
  same_and_replayed({"allocation_elsewhere"}, 100, {{"REFRAIN_MIN_GRAPH", "1"}});
  same_and_replayed({"allocation_elsewhere", "alone"}, 100, {{"REFRAIN_MIN_GRAPH", "1"}});
  same_everywhere({"allocation_threads"}, 0);
}

TEST_CASE("promise 1, no other waits: an allocation waits for no free that comes late", "[promise-1]") {
  auto waits = kGates;
  waits["SIM_POOL_WAITS"] = "1";
  same_and_replayed({"allocation_gate"}, 300, waits);
  same_and_replayed({"allocation_gate", "late"}, 300, waits);
  same_and_replayed({"allocation_gate", "joining"}, 300, waits);
  same_and_replayed({"allocation_behind_gate"}, 300, waits);
}
