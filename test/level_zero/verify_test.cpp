// verify mode, where memory by address is compared.
#include <catch2/catch.hpp>

#include "test/level_zero/compare.h"

using run_program::check_clean;
using run_program::Result;
using run_program::run;
using run_program::Variables;
using run_program::Words;

namespace {

const char* const kExtensions[] = {"", "append,mutable"};

/// Plain and compared, it must print the same; the result of the latter.
Result same_compared(const Words& program, const Variables& more) {
  const Result plain = run(program, "plain", 1, more);
  check_clean(plain);
  const Result result = child::run_until_replayed(1, plain.output, [&] { return run(program, "verify", 1, more); });
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.differences == 0);
  return result;
}

}  // namespace

TEST_CASE("promise 1, same results: verify mode compares all memory, and the program sees nothing of it",
          "[promise-1]") {
  const auto program =
      GENERATE(Words{"loop"}, Words{"barriers"}, Words{"fork_join"}, Words{"device_events"}, Words{"threads"},
               Words{"handover"}, Words{"watched"}, Words{"regular_lists"}, Words{"regular_signals"},
               Words{"arguments"}, Words{"ping_pong"}, Words{"turns"}, Words{"copies"}, Words{"variants"},
               Words{"times"}, Words{"deep"}, Words{"recreate"}, Words{"same_place"}, Words{"some_events"},
               Words{"launched_with"}, Words{"short_lived_lists"}, Words{"memory_kinds"}, Words{"mapped_memory"},
               Words{"module_variable"}, Words{"read_image"}, Words{"queue_beside"});
  const std::string extensions = GENERATE(from_range(std::begin(kExtensions), std::end(kExtensions)));
  CAPTURE(program, extensions);
  const Result result = same_compared(program, {{"SIM_ZE_EXTENSIONS", extensions}, {"REFRAIN_VERIFY_EVERY", "5"}});
  CHECK(result.verified > 0);
  CHECK(result.unverified <= result.verified);
}

TEST_CASE("promise 1, same results: who waits for an event sees nothing of work that runs again", "[promise-1]") {
  const auto program = GENERATE(Words{"looks_when_told"}, Words{"looks_when_told", "asks"},
                                Words{"observed_by_another"}, Words{"host_events"}, Words{"host_sets_later"},
                                Words{"host_sets_later", "anew"}, Words{"spin"}, Words{"shared_events"});
  const std::string extensions = GENERATE(from_range(std::begin(kExtensions), std::end(kExtensions)));
  CAPTURE(program, extensions);
  const Variables more = {{"SIM_ZE_EXTENSIONS", extensions}, {"REFRAIN_VERIFY_EVERY", "1"}};
  const Result plain = run(program, "plain", 1, more);
  const Result result = run(program, "verify", 1, more);
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK(result.differences == 0);
  if (program.front() == "looks_when_told") {
    CHECK(result.output.find("wrong 0\n") != std::string::npos);
    CHECK((result.verified > 0 || program.size() > 1));  // who asks all the time has held work submitted
  }
}

#ifndef __SANITIZE_THREAD__  // it would see that memory is looked at which another thread writes
TEST_CASE("promise 1, same results: what a thread writes into memory of the host stays while verify mode compares",
          "[promise-1]") {
  const Words program{"host_writer"};
  const Result plain = run(program, "plain", 1);
  CHECK(plain.output.find("lost 0") != std::string::npos);
  for (int i = 0; i < 5; ++i) {  // it has to write at the wrong moment
    const Result result = run(program, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "1"}});
    check_clean(result);
    CHECK(result.output == plain.output);
    REQUIRE(result.reported);
    CHECK(result.verified + result.unverified > 0);
  }
}
#endif

TEST_CASE("promise 1, same results: verify mode leaves alone what kernels may change and nobody can put back",
          "[promise-1]") {
  struct Case {
    const char* program;
    const char* why;
  };
  const auto each = GENERATE(Case{"hidden_variable", "the driver does not tell where a variable"},
                             Case{"unknown_variable", "the driver does not tell where a variable"},
                             Case{"native_code", "it is not known which variables the code"},
                             Case{"linked_code", "it is not known which variables the code"},
                             Case{"printing_code", "a kernel prints, or allocates memory"},
                             Case{"written_image", "kernels may write images"},
                             Case{"exported_memory", "other processes or APIs use as well"});
  CAPTURE(each.program);
  const Result plain = run({each.program}, "plain", 1);
  check_clean(plain);
  const Result result = child::run_until(
      [](const Result& done) { return done.unverified > 0; },
      [&] {
        return run({each.program}, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "1"}, {"REFRAIN_REPORT", "1"}});
      });
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.verified == 0);
  CHECK(result.replayed == 0);
  CHECK(result.unverified > 0);
  CHECK(result.errors.find(each.why) != std::string::npos);
}

TEST_CASE("promise 1, same results: verify mode holds no command with an event that the host cannot see",
          "[promise-1]") {
  const Result plain = run({"events_of_device"}, "plain", 1);
  const Result result =
      run({"events_of_device"}, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "1"}, {"REFRAIN_REPORT", "1"}});
  check_clean(result);
  CHECK(result.output == plain.output);
  CHECK(result.differences == 0);
  CHECK(result.errors.find("the host cannot see an event that it uses") != std::string::npos);
  CHECK(run({"events_of_device"}, "observe", 1, {{"REFRAIN_REPORT", "1"}}).errors.find("the host cannot see") ==
        std::string::npos);
}

TEST_CASE("promise 1, same results: verify finds what a graph does otherwise", "[promise-1]") {
  struct Fault {
    const char* kind;
    const char* program;
  };
  const auto fault =
      GENERATE(Fault{"skipped", "loop"}, Fault{"repeats", "loop"}, Fault{"early", "loop"}, Fault{"argument", "loop"},
               Fault{"stale", "updates"}, Fault{"shape", "arguments"}, Fault{"attribute", "launched_with"},
               Fault{"skipped", "module_variable"}, Fault{"bytes", "copies"}, Fault{"rows", "copies"},
               Fault{"skipped", "mapped_memory"}, Fault{"skipped", "device_events"});
  CAPTURE(fault.kind, fault.program);
  const Words program{fault.program};
  const Result plain = run(program, "plain", 1);
  const Result result =
      child::run_until([](const Result& each) { return each.differences > 0; },
                       [&] {
                         return run(program, "verify", 1, {{"SIM_WRONG", fault.kind}, {"REFRAIN_VERIFY_EVERY", "1"}});
                       });
  CAPTURE(result.errors);
  CHECK(result.exit_code == 0);
  CHECK(result.output == plain.output);
  CHECK(result.differences > 0);
}
