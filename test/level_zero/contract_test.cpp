// The promises of the design, and the things a Level Zero program may do: small programs run plain and in every mode,
// through the real loader, on the simulated driver, which works in any order it may; they must print the same and break
// no rule of the API; in replay mode something must really have been replayed.

#include <catch2/catch.hpp>
#include <csignal>
#include <string>

#include "test/level_zero/compare.h"

using run_program::check_clean;
using run_program::kSanitized;
using run_program::Result;
using run_program::run;
using run_program::same_both_ways;
using run_program::same_everywhere;

namespace {

double longest_ms(const Result& result) {
  const auto at = result.errors.find("longest ");
  return at == std::string::npos ? -1 : std::stod(result.errors.substr(at + 8));
}

}  // namespace

TEST_CASE("a list may go when the program has seen its own work done: nothing of Refrain's is in flight there") {
  for (const char* extensions : {"", "append", "append,mutable"}) {
    CAPTURE(extensions);
    same_everywhere({"short_lived_lists"}, 400, {{"SIM_ZE_EXTENSIONS", extensions}, {"SIM_LAZY", "1"}});
  }
}

TEST_CASE("promise 1, same order: a loop on an in-order list", "[promise-1]") {
  same_both_ways({"loop"}, 1000);
}

TEST_CASE("promise 1, same order: a list without order, and barriers", "[promise-1]") {
  same_both_ways({"barriers"}, 1000);
}

TEST_CASE("promise 1, same order: two lists that fork and join by events", "[promise-1]") {
  same_both_ways({"fork_join"}, 200);
}

TEST_CASE("promise 1, same order: events that commands signal, wait for and reset", "[promise-1]") {
  same_both_ways({"device_events"}, 200);
}

TEST_CASE("promise 1, same order: one old event that every command waits for", "[promise-1]") {
  const auto where = GENERATE(as<std::string>(), "in_order", "second", "unordered");
  CAPTURE(where);
  same_both_ways({"old_event", where}, 1000);
}

TEST_CASE("promise 1, same order: threads with lists of their own, and events between them", "[promise-1]") {
  same_everywhere({"threads"}, 100);
}

TEST_CASE("promise 1, same order: one thread's work observed by another, which waits for its own alone before",
          "[promise-1]") {
  const std::string lazy = GENERATE("0", "1");
  for (const char* extensions : {"", "append,mutable"}) {
    CAPTURE(lazy, extensions);
    // Work that a wait does not submit would keep it waiting for a second each time.
    const std::map<std::string, std::string> more = {
        {"SIM_LAZY", lazy}, {"SIM_ZE_EXTENSIONS", extensions}, {"REFRAIN_HOLD_LIMIT_US", "1000000"}};
    CHECK(run({"observed_by_another"}, "plain", 0, more).output.find("wrong 0\n") != std::string::npos);
    same_everywhere({"observed_by_another"}, *extensions != 0 ? 20 : 0, more);
  }
}

TEST_CASE("promise 1, same order: two threads take turns on one list", "[promise-1]") {
  same_everywhere({"handover"}, 0);
}

TEST_CASE("promise 1, same order: a thread that only waits says nothing about what another one appends meanwhile",
          "[promise-1]") {
  for (const char* extensions : {"", "append"}) {
    CAPTURE(extensions);
    same_everywhere({"watched"}, 0, {{"SIM_ZE_EXTENSIONS", extensions}, {"SIM_LINGER", "1"}});
  }
}

TEST_CASE("promise 2, host calls cut: regular lists, recorded once and recorded anew, among immediate ones",
          "[promise-2]") {
  same_both_ways({"regular_lists"}, 100);
}

TEST_CASE("promise 3, bounded hold: memory looked at with no call at all", "[promise-3]") {
  same_everywhere({"spin"}, 1);
  const Result plain = run({"spin"}, "plain");
  const Result result = run({"spin"}, "replay", 0, {{"REFRAIN_HOLD_LIMIT_US", "2000"}});
  check_clean(result);
  REQUIRE(longest_ms(result) > 0);
  CHECK(longest_ms(result) < 2 + 20 * (kSanitized ? 20 : 5) + longest_ms(plain));  // the machine may be busy
}

TEST_CASE("promise 4, same data: arguments, group sizes and what they came from change right after the launch",
          "[promise-4]") {
  same_both_ways({"arguments"}, 500);
}

TEST_CASE("promise 4, same data: two sets of buffers in turns", "[promise-4]") {
  same_both_ways({"ping_pong"}, 1000);
}

TEST_CASE("promise 4, same data: copies, regions and fills of all kinds of memory", "[promise-4]") {
  same_both_ways({"copies"}, 100);
}

TEST_CASE("promise 4, same data: every command that can be appended", "[promise-4]") {
  same_both_ways({"variants"}, 1000);
}

TEST_CASE("promise 4: synchronous lists stay synchronous", "[promise-4]") {
  same_everywhere({"synchronous"}, 0);
}

TEST_CASE("a wait for what only the host will set holds nothing else up") {
  same_both_ways({"host_events"}, 0);
}

TEST_CASE("events queried and asked for their times") {
  same_both_ways({"times"}, 500);
}

TEST_CASE("a thousand submissions in flight and more") {
  same_both_ways({"deep"}, 1000);
}

TEST_CASE("lists, modules, kernels, events and memory made anew all the time") {
  same_both_ways({"recreate"}, 500);
}

TEST_CASE("errors of the program, and an end without a wait") {
  same_everywhere({"leave"}, 100);
}

TEST_CASE("promise 4, same data: every setter, in the middle of a loop that is replayed", "[promise-4]") {
  same_everywhere({"every_setter"}, 1000);
}

TEST_CASE("promise 6, never slower: a thread in which nothing pays is not looked at, and computes the same",
          "[promise-6]") {
  const Result plain = run({"hopeless"}, "plain");
  const Result result = run({"hopeless"}, "gate", 1, {{"REFRAIN_DORMANT_AFTER", "1000"}});
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK(result.replayed == 0);
  CHECK(result.dormant > 1000);
  CHECK(result.dormant < result.submissions);
}

TEST_CASE("promise 7, never in the way: switched off there is no trace of it", "[promise-7]") {
  const Result plain = run({"loop"}, "plain");
  const Result result = run({"loop"}, "off");
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK_FALSE(result.reported);
  CHECK(result.errors.find("refrain") == std::string::npos);
}

TEST_CASE("a report on request, besides the one at the end") {
  const std::pair<const std::string, std::string> kAsk{"REFRAIN_REPORT_SIGNAL", "usr1"};
  const auto reports = [](const Result& result) {
    int count = 0;
    for (auto at = result.errors.find("report (observe"); at != std::string::npos;
         at = result.errors.find("report (observe", at + 1)) {
      ++count;
    }
    return count;
  };
  const Result asked = run({"report"}, "observe", 0, {{"REFRAIN_REPORT", "1"}, kAsk});
  check_clean(asked);
  CHECK(reports(asked) == 2);
  CHECK(reports(run({"report"}, "observe", 0, {{"REFRAIN_REPORT", "0"}, kAsk})) == 0);
  for (const char* log : {"1", "0"}) {  // the file is written, too, and not at the end only
    const Result killed = run({"report", "killed"}, "observe", 0, {{"REFRAIN_REPORT", log}, kAsk});
    CHECK(killed.exit_code == -SIGKILL);
    CHECK(killed.reported);
  }
}

TEST_CASE("promise 3, bounded hold: nothing is held where the environment asks for that", "[promise-3]") {
  const Result result = run({"loop"}, "replay", 1, {{"ZE_ENABLE_TRACING_LAYER", "1"}});
  CHECK(result.exit_code == 0);
  CHECK(result.reported);
  CHECK(result.replayed == 0);
  CHECK(result.errors.find("ZE_ENABLE_TRACING_LAYER=1 ") != std::string::npos);
}

TEST_CASE("promise 7, never in the way: a thread that is cancelled while it waits", "[promise-7]") {
  if (kSanitized) {
    return;  // the sanitizers' run times do not like it
  }
  for (const char* program : {"cancelled", "cancelled_holding"}) {
    const Result plain = run({program}, "plain");
    CHECK(plain.exit_code == 0);
    CHECK(plain.output.starts_with("cancelled\n"));
    for (const char* mode : {"off", "observe", "replay", "gate"}) {
      CAPTURE(program, mode);
      const Result result = run({program}, mode);
      CHECK(result.exit_code == 0);
      CHECK(result.output == plain.output);
    }
  }
}
