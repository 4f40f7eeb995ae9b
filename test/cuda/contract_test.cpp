// The promises of the design, and the things a CUDA program may do, one by one: small programs run plain and in every
// mode on a driver that works in any order it may (../sim); they must print the same and break no rule of the
// API; in replay mode something must really have been replayed.

#include "test/cuda/contract.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <vector>

using contract::check_clean;
using contract::kGates;
using contract::kShort;
using contract::same_everywhere;
using contract::Words;
using run_program::kSanitized;
using run_program::Result;
using run_program::run;

namespace {

double longest_ms(const Result& result) {
  const auto at = result.errors.find("longest ");
  return at == std::string::npos ? -1 : std::stod(result.errors.substr(at + 8));
}

/// Where a thread's work is not looked at for a while: with the gate on, and without.
void dormant_now_and_then(const std::string& program, std::map<std::string, std::string> more = {}) {
  const Result plain = run({program}, "plain", 0, more);
  check_clean(plain);
  for (const int seed : child::nightly() ? std::vector<int>{0, 1, 5} : std::vector<int>{1}) {
    CAPTURE(seed);
    more.erase("REFRAIN_DORMANT_AFTER");
    CHECK(run({program}, "plain", seed, more).output == plain.output);
    const Result gated = run({program}, "gate", seed, more);
    check_clean(gated);
    CHECK(gated.output == plain.output);
    CHECK(gated.dormant > 1000);
    more["REFRAIN_DORMANT_AFTER"] = "1000";
    const Result result =
        child::run_until_replayed(1001, plain.output, [&] { return run({program}, "replay", seed, more); });
    check_clean(result);
    CHECK(result.output == plain.output);
    CHECK(result.dormant > 1000);
    CHECK(result.replayed > 1000);
  }
}

}  // namespace

TEST_CASE("promise 1, same order: a loop", "[promise-1]") {
  same_everywhere({"loop"}, 1000);
}

TEST_CASE("promise 1, same order: four streams that fork and join", "[promise-1]") {
  same_everywhere({"fork_join"}, 1000);
}

TEST_CASE("promise 1, no other waits: a kernel waits for the host, which waits for another stream", "[promise-1]") {
  for (const char* way : {"stream", "event", "ask event", "ask stream", "default"}) {
    CAPTURE(way);
    same_everywhere({"host_gate", way}, 500, kGates);
  }
}

TEST_CASE("promise 1, no other waits: a kernel waits for what another stream gets later", "[promise-1]") {
  same_everywhere({"stream_gate"}, 500, kGates);
  same_everywhere({"stream_gate", "chunks"}, 500, kGates);
}

TEST_CASE("promise 1, no other waits: an event in front of a kernel that waits for the host", "[promise-1]") {
  same_everywhere({"gate_behind_event"}, 500, kGates);
  same_everywhere({"gate_behind_event", "ask"}, 500, kGates);
}

TEST_CASE("promise 1, same order: events recorded long before, and recorded again while waits are held",
          "[promise-1]") {
  same_everywhere({"old_events"}, 100, kShort);
}

TEST_CASE("promise 1, same order: the default stream among blocking and non-blocking ones", "[promise-1]") {
  same_everywhere({"default_stream"}, 100);
}

TEST_CASE("promise 1, same order: the default stream before and after blocking and non-blocking ones together",
          "[promise-1]") {
  same_everywhere({"mixed_kinds"}, 100);
}

TEST_CASE("promise 1, same order: the default stream alone, and the thread's default stream", "[promise-1]") {
  same_everywhere({"own_default_stream"}, 100);
}

TEST_CASE("promise 1, same order: a thread's own default stream, alone and mixed with calls that are not held",
          "[promise-1]") {
  same_everywhere({"per_thread"}, 1000);
  same_everywhere({"per_thread", "mixed"}, 300);
}

TEST_CASE("promise 1, same order: threads with nothing but their own default streams, and events between them",
          "[promise-1]") {
  same_everywhere({"per_thread_threads"}, 500);
}

TEST_CASE("promise 1, same order: threads that end with work in their own default streams", "[promise-1]") {
  same_everywhere({"per_thread_ends"}, 100);
}

TEST_CASE("promise 1, same order: threads' default streams in contexts that are given back", "[promise-1]") {
  same_everywhere({"per_thread_contexts"}, 500);
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("promise 1, same order: functions for which 0 is the thread's own default stream", "[promise-1]") {
  same_everywhere({"per_thread_names"}, 500);
}
#endif

TEST_CASE("promise 1, same order: two threads take turns on one stream", "[promise-1]") {
  same_everywhere({"handover"}, 0);
}

TEST_CASE("promise 1, same order: threads with streams of their own, and events between them", "[promise-1]") {
  same_everywhere({"threads"}, 500);
}

TEST_CASE("graphs are built while so many threads launch that the driver lets nobody else in") {
  const std::map<std::string, std::string> crowd = {{"SIM_CROWD", "1"}};
  const Result plain = run({"crowd"}, "plain", 0, crowd);
  check_clean(plain);
  // Of 14 400. What is built only when the threads are done, or nearly, is never replayed.
  const Result result =
      child::run_until_replayed(9000, plain.output, [&] { return run({"crowd"}, "replay", 0, crowd); });
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK(result.replayed >= 9000);
}

TEST_CASE("promise 1, same order: threads in turn, one in the default stream and one in a stream in order with it",
          "[promise-1]") {
  const std::string lazy = GENERATE("0", "1");
  CAPTURE(lazy);
  same_everywhere({"ordered_by_default"}, 300, {{"SIM_LAZY", lazy}});
}

TEST_CASE("promise 1, same order: one thread's work observed by another, which waits for its own alone before",
          "[promise-1]") {
  const std::vector<std::string> program =
      GENERATE(Words{"observed_by_another"}, Words{"observed_by_another", "blocking"});
  const std::string lazy = GENERATE("0", "1");
  CAPTURE(program, lazy);
  CHECK(run(program, "plain", 0, {{"SIM_LAZY", lazy}}).output.find("wrong 0\n") != std::string::npos);
  same_everywhere(program, 300, {{"SIM_LAZY", lazy}});
}

TEST_CASE("promise 2, host calls cut: functions of the program between kernels", "[promise-2]") {
  same_everywhere({"host_functions"}, 100);
}

TEST_CASE("promise 1, same order: functions of the program end stretches that are replayed", "[promise-1]") {
  same_everywhere({"host_function_loop"}, 9000);        // of 10000
  same_everywhere({"host_function_loop", "40"}, 8200);  // of 16400
  same_everywhere({"host_function_data"}, 8000);
  same_everywhere({"host_function_data", "two"}, 8000);
}

TEST_CASE("promise 3, bounded hold: nothing is held behind a call whose effect is looked at in memory", "[promise-3]") {
  const Words program = GENERATE(Words{"host_function_spin"}, Words{"host_function_spin", "two"}, Words{"value_spin"});
  CAPTURE(program);
  const Result plain = run(program, "plain");
  // So long that it would be seen.
  const Result result = child::run_until_replayed(1000, plain.output, [&] {
    return run(program, "replay", 0, {{"REFRAIN_HOLD_LIMIT_US", "1000000"}});
  });
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK(result.replayed >= 1000);
  REQUIRE(longest_ms(result) > 0);
  CHECK(longest_ms(result) < 500);
}

TEST_CASE("promise 1, same order: memory that is fetched beforehand, and advice, end nothing", "[promise-1]") {
  same_everywhere({"prefetches"}, 9000);          // of 12000
  same_everywhere({"prefetches", "back"}, 8000);  // of 14000: what goes to the host is issued
}

TEST_CASE("promise 3, bounded hold: memory looked at with no call at all", "[promise-3]") {
  same_everywhere({"spin"}, 1);
  const Result plain = run({"spin"}, "plain");
  const Result result = run({"spin"}, "replay", 0, {{"REFRAIN_HOLD_LIMIT_US", "2000"}});
  check_clean(result);
  REQUIRE(longest_ms(result) > 0);
  CHECK(longest_ms(result) < 2 + 20 * (kSanitized ? 20 : 5) + longest_ms(plain));  // the machine may be busy
}

TEST_CASE("promise 3, bounded hold: memory looked at while work of the thread's own default stream is held",
          "[promise-3]") {
  same_everywhere({"per_thread_spin"}, 1);
}

TEST_CASE("what is done is told to be done: a thread's own default stream") {
  same_everywhere({"per_thread_done"}, 500, {{"SIM_LAZY", "1"}});
  // The other thread's lane becomes dormant.
  same_everywhere({"per_thread_done", "copies"}, 500, {{"SIM_LAZY", "1"}, {"REFRAIN_DORMANT_AFTER", "100"}});
}

TEST_CASE("promise 3, bounded hold: an event and a stream polled", "[promise-3]") {
  same_everywhere({"poll"}, 500);
}

TEST_CASE("promise 4, same data: arguments changed right after the launch", "[promise-4]") {
  same_everywhere({"arguments"}, 500);
}

TEST_CASE("promise 4, same data: two sets of buffers in turns", "[promise-4]") {
  same_everywhere({"ping_pong"}, 1000);
}

TEST_CASE("promise 4, same data: copies of pinned and pageable memory, overwritten right after the call",
          "[promise-4]") {
  same_everywhere({"copies"}, 500);
  same_everywhere({"pageable"}, 500);
}

TEST_CASE("promise 4, same data: pinned memory that copies write and read", "[promise-4]") {
  same_everywhere({"staging"}, 500);
}

TEST_CASE("promise 4, same data: fills of all widths", "[promise-4]") {
  same_everywhere({"fills"}, 500);
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("promise 4, same data: copies and fills of rows and slices", "[promise-4]") {
  same_everywhere({"rows"}, 1000);
}

TEST_CASE("promise 4, same data: every function that submits, by both of its names", "[promise-4]") {
  same_everywhere({"variants"}, 1000);
  same_everywhere({"variants_per_thread"}, 1000);
}
#endif

TEST_CASE("promise 4, same data: parameters of every layout, and buffers of parameters", "[promise-4]") {
  same_everywhere({"layouts"}, 1000);
}

TEST_CASE("promise 7, never in the way: switched off there is no trace of it", "[promise-7]") {
  const Result plain = run({"loop"}, "plain");
  const Result result = run({"loop"}, "off");
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK_FALSE(result.reported);
  CHECK(result.errors.find("refrain") == std::string::npos);
}

TEST_CASE("nothing is asked about what another thread destroyed since it was used") {
  same_everywhere({"gone_since"}, 0);
}

TEST_CASE("what is only observed is counted and recognised as what is looked at") {
  same_everywhere({"counted"}, 100);
  const Result observed = run({"counted"}, "observe");
  CHECK(observed.output.find("launches " + std::to_string(observed.submissions) + "\n") != std::string::npos);
  // Whatever way a launch took, it is known by the same token: nearly all but the first rounds of each part repeat.
  CHECK(observed.followed * 10 >= observed.submissions * 8);
  same_everywhere({"disordered"}, 0);
  const Result disordered = run({"disordered"}, "observe");
  CHECK(disordered.output.find("launches " + std::to_string(disordered.submissions) + "\n") != std::string::npos);
  CHECK(disordered.followed * 100 <= disordered.submissions * 5);
}

TEST_CASE("grids and copies that grow in each round are one graph, changed") {
  same_everywhere({"growing"}, 2000);
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("launches with attributes, kernels of a library") {
  same_everywhere({"attributes"}, 100);
  same_everywhere({"early_launches"}, 100);
}

TEST_CASE("kernels of one name that are loaded one after the other are one graph's, changed") {
  same_everywhere({"versions"}, 2500);
}

TEST_CASE("setters with the same and with other values") {
  same_everywhere({"setters"}, 100);
  const Result observed = run({"setters"}, "observe");
  const long rounds = 300, changes = rounds / 4 * 5;
  CHECK(observed.cuts >= rounds + changes);
  CHECK(observed.cuts < rounds + changes + 20);
}
#endif

TEST_CASE("events that take times") {
  same_everywhere({"timing"}, 100);
}

TEST_CASE("modules unloaded and loaded again") {
  same_everywhere({"reload"}, 500);
}

TEST_CASE("streams, events and memory made anew all the time") {
  same_everywhere({"recreate"}, 0);
}

TEST_CASE("streams destroyed with work in them, done or not, and the default stream after them") {
  same_everywhere({"left_behind"}, 0);
}

TEST_CASE("memory freed and allocated again between stretches: the same address is not the same memory") {
  same_everywhere({"new_memory"}, 500);
}

TEST_CASE("a thread whose work is not looked at for a while, beside one whose work is replayed", "[promise-6]") {
  dormant_now_and_then("lonely");
}

TEST_CASE("a thread's own default stream, used again while its other work is not looked at", "[promise-6]") {
  dormant_now_and_then("per_thread_dormant", {{"SIM_WORKERS", "2"}});  // one of them for a host function that waits
}

TEST_CASE("fills of memory that was freed and allocated again, at the same address") {
  same_everywhere({"refilled_memory"}, 100);
}

TEST_CASE("memory in stream order") {
  // Where addresses never come back, the memory may be gone before a graph with it is made.
  same_everywhere({"stream_memory"}, 0);
  const std::string output = run({"stream_memory"}, "plain").output;
  CHECK(child::run_until_replayed(100, output, [] { return run({"stream_memory"}, "replay"); }).replayed >= 100);
}

TEST_CASE("graphs follow each other whichever of their streams comes first in them") {
  same_everywhere({"turns"}, 500, kShort);
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE("contexts with many streams, destroyed while another thread works in one that stays") {
  same_everywhere({"contexts_beside"}, 0);
  same_everywhere({"contexts_beside"}, 0, {{"SIM_LINGER", "1"}});
}

TEST_CASE("several contexts, destroyed with work in them") {
  same_everywhere({"contexts"}, 500);
}
#endif

TEST_CASE("fork in the middle") {
  same_everywhere({"forks"}, 500);
}

TEST_CASE("errors of the program, and an end without a wait") {
  same_everywhere({"leave"}, 100);
}

TEST_CASE("promise 1, same results: verify mode", "[promise-1]") {
  for (const char* program : {"loop", "fork_join", "old_events"}) {
    CAPTURE(program);
    const Result plain = run({program}, "plain", 1);
    const Result result = run({program}, "verify", 1);
    check_clean(result);
    CHECK(result.output == plain.output);
    REQUIRE(result.reported);
    CHECK(result.differences == 0);
  }
}

TEST_CASE("random programs") {
  const int programs = child::nightly() ? 10 : 4;
  for (int number = 1; number <= programs; ++number) {
    const Words program = {"random", std::to_string(number), std::to_string(1 + number % 3), kSanitized ? "6" : "30"};
    CAPTURE(number);
    const Result plain = run(program, "plain", 0);
    check_clean(plain);
    for (const int seed : child::nightly() ? std::vector<int>{number, number + 1} : std::vector<int>{number}) {
      CAPTURE(seed);
      for (const std::string mode : {"replay", "gate"}) {
        CAPTURE(mode);
        const long least = mode == "gate" ? 0 : (kSanitized ? 1 : 101);
        const Result result =
            child::run_until_replayed(least, plain.output, [&] { return run(program, mode, seed, kShort); });
        check_clean(result);
        CHECK(result.output == plain.output);
        CHECK(result.replayed >= least);
      }
    }
  }
}

TEST_CASE("promise 1, same order: an event that two threads record in turn", "[promise-1]") {
  same_everywhere({"event_in_turn"}, 400);
}

TEST_CASE("a report on request, besides the one at the end") {
  const std::pair<const std::string, std::string> kAsk{"REFRAIN_REPORT_SIGNAL", "usr1"};
  const Result plain = run({"report"}, "plain");
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
  CHECK(asked.output == plain.output);
  CHECK(reports(asked) == 2);
  CHECK(reports(run({"report"}, "observe", 0, {{"REFRAIN_REPORT", "0"}, kAsk})) == 0);
  for (const char* log : {"1", "0"}) {  // the file is written, too, and not at the end only
    const Result killed = run({"report", "killed"}, "observe", 0, {{"REFRAIN_REPORT", log}, kAsk});
    CHECK(killed.exit_code == -SIGKILL);
    CHECK(killed.reported);
  }
}

TEST_CASE("virtual time and several workers: the same results") {
  for (const std::string program : {"loop", "fork_join", "old_events", "own_graphs", "poll"}) {
    CAPTURE(program);
    const Result plain = run({program}, "plain");
    for (const std::map<std::string, std::string>& way :
         {std::map<std::string, std::string>{{"SIM_TIME", "virtual"},
                                             {"SIM_COSTS", "submit=3us,kernel=2us,launch=2us"}},
          std::map<std::string, std::string>{{"SIM_WORKERS", "4"}}}) {
      CAPTURE(way.begin()->first);
      for (const std::string mode : {"plain", "replay", "gate"}) {
        CAPTURE(mode);
        const Result result = run({program}, mode, 3, way);
        check_clean(result);
        CHECK(result.output == plain.output);
      }
    }
  }
}

TEST_CASE("promise 1, same answers: what follows from a wait is done, whoever is asked", "[promise-1]") {
  for (const int seed : child::nightly() ? std::vector<int>{0, 1, 2} : std::vector<int>{1}) {
    for (const Words& program :
         {Words{"implied"}, Words{"implied", "blocking"}, Words{"implied", "copies"}, Words{"implied", "allocations"},
          Words{"implied", "graphs"}, Words{"added_by_other"}}) {
      const Result plain = run(program, "plain", seed, {{"SIM_LAZY", "1"}});
      CHECK(plain.output.find("not ready") == std::string::npos);
      CHECK(plain.output.find("too early") == std::string::npos);
      for (const std::string mode : {"observe", "replay"}) {
        CAPTURE(program, mode, seed);
        const long least = mode == "observe" ? 0 : (kSanitized ? 50 : 500);
        const Result result = child::run_until_replayed(least, plain.output, [&] {
          // The other thread's lane becomes dormant.
          return run(program, mode, seed,
                     {{"SIM_LAZY", "1"}, {"REFRAIN_DORMANT_AFTER", "100"}, {"REFRAIN_MIN_GRAPH", "1"}});
        });
        check_clean(result);
        CHECK(result.output == plain.output);
        CHECK(result.replayed >= least);
      }
    }
  }
}

TEST_CASE("a program's race is found by the simulated device, with every seed and in every mode") {
  for (const std::string mode : {"plain", "observe", "replay"}) {
    for (const int seed : {0, 1, 2}) {
      CAPTURE(mode, seed);
      const Result result = run({"racing"}, mode, seed);
      INFO(result.errors);
      CHECK(result.errors.find("violation: race: scale") != std::string::npos);
      CHECK(result.errors.find("LaunchKernel") != std::string::npos);
    }
  }
}

#ifndef PROGRAMS_ON_HIP
TEST_CASE(
    "the simulated device reads small copies from pinned memory at once where nothing says what they come after") {
  const Result result = run({"read_at_once"}, "plain", 0, {{"SIM_LAZY", "1"}});
  INFO(result.output << result.errors);
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("x 100 7") != std::string::npos);
}

TEST_CASE("a synchronous copy of pageable memory may end after its call, which the simulated device knows") {
  for (const std::string mode : {"plain", "replay"}) {
    const Result result = run({"copied_late"}, mode);
    INFO(result.errors);
    CHECK(result.errors.find("violation: race: ") != std::string::npos);
    CHECK(result.errors.find("MemcpyHtoD") != std::string::npos);
  }
}
#endif

TEST_CASE("waits for events that were never recorded: allowed, told if asked for, and none of the layer's making") {
  const std::map<std::string, std::string> strict = {{"SIM_UNRECORDED", "1"}};
  for (const std::string mode : {"plain", "replay"}) {
    CAPTURE(mode);
    check_clean(run({"unrecorded"}, mode));
    const Result told = run({"unrecorded"}, mode, 0, strict);
    CHECK(told.errors.find("violation: a stream waits for an event that was never recorded") != std::string::npos);
    CHECK(told.errors.find("violation: the host waits for an event that was never recorded") != std::string::npos);
  }
  for (const std::string program : {"fork_join", "old_events", "own_graphs", "short_events"}) {
    CAPTURE(program);
    const bool own = run({program}, "plain", 1, strict).errors.find("violation") != std::string::npos;
    const Result result = run({program}, "replay", 1, strict);
    CHECK((result.errors.find("violation") != std::string::npos) == own);
  }
}

TEST_CASE("promise 7, never in the way: threads that are cancelled while they wait", "[promise-7]") {
  if (kSanitized) {
    return;  // the sanitizers' run times do not like it
  }
  const Result plain = run({"cancelled"}, "plain");
  CHECK(plain.exit_code == 0);
  CHECK(plain.output.find("way 3: cancelled, left 4\n") != std::string::npos);
  for (const char* mode : {"off", "observe", "replay", "gate"}) {
    CAPTURE(mode);
    const Result result = run({"cancelled"}, mode);
    CHECK(result.exit_code == 0);
    CHECK(result.output == plain.output);
  }
}
