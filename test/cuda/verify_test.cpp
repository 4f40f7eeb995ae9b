// verify mode, where memory by address is compared: on CUDA and on HIP.
#include <sstream>

#include "test/cuda/contract.h"
#include "test/support/child.h"

using namespace contract;

namespace {

#ifdef PROGRAMS_ON_HIP
#define ON_CUDA(...)
#define ON_HIP(...) __VA_ARGS__
#else
#define ON_CUDA(...) __VA_ARGS__
#define ON_HIP(...)
#endif

const std::vector<const char*> kCompared = {
    "loop",
    "memory_kinds",
    "fork_join",
    "per_thread",
    "threads",
    "handover",
    "staging",
    "new_memory",
    "module_variable",
    "arguments",
    "ping_pong",
    "fills",
    "layouts",
    "default_stream",
    "host_function_loop",
    "prefetches",
    ON_CUDA("reload", "library_variable", "mapped_memory", "rows", "launches_with_attributes", "mixed_kinds")
        ON_HIP("registered", "registered_variable", "own_events")};

/// Whose kernels have memory that nobody can put back.
const std::vector<const char*> kLeftAlone = {"device_heap", "collective", "shared_mapping",
                                             ON_HIP("unnamed_variable", "unregistered_variable", "surface")};

struct Fault {
  const char* kind;
  const char* program;
  const char* operation;
};
const std::vector<Fault> kFaults = {
    {"skipped", "loop", "kernel mix_in(0x"},
    {"repeats", "loop", "kernel mix_in(0x"},
    {"early", "loop", "kernel mix_in(0x"},
    {"argument", "loop", "kernel mix_in(0x"},
    {"stale", "arguments", "kernel scale(0x"},
    {"shape", "layouts", "kernel odd(0x"},
    {"bytes", "fills", "pointer fill(0x"},
    {"pattern", "fills", "pointer fill(0x"},
    ON_CUDA({"attribute", "launches_with_attributes", "kernel seen(0x"},
            {"attribute", "same_setters", "kernel seen(0x"}, {"bytes", "rows", "pointer copy rect(0x"},
            {"rows", "rows", "pointer copy rect(0x"})};

}  // namespace

TEST_CASE("promise 1, same results: verify mode compares all memory, and the program sees nothing of it",
          "[promise-1]") {
  const Words program{GENERATE(from_range(kCompared))};
  CAPTURE(program);
  const Result plain = run(program, "plain", 1);
  const Result result = child::run_until_replayed(1, plain.output, [&] {
    return run(program, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "10"}});
  });
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.differences == 0);
  CHECK(result.verified > 0);
  CHECK(result.unverified <= result.verified);
}

#ifndef __SANITIZE_THREAD__  // it would see that memory is looked at which another thread writes
TEST_CASE("promise 1, same results: what a thread writes into pinned memory stays while verify mode compares",
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
  const Words program{GENERATE(from_range(kLeftAlone))};
  CAPTURE(program);
  const Result plain = run(program, "plain", 1);
  const Result result = child::run_until([](const Result& each) { return each.unverified > 0; },
                                         [&] {
                                           return run(program, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "1"}});
                                         });  // a graph has to be made in time
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.verified == 0);
  CHECK(result.unverified > 0);
}

TEST_CASE("promise 1, same results: verify mode waits for streams that are used only beside captures of the program's",
          "[promise-1]") {
  const std::string kind = GENERATE("0", "1", "2", "3", "thread");
  const Words program{"used_beside_captures", kind};
  CAPTURE(program);
  const Result plain = run(program, "plain", 1);
  const Result result = child::run_until([](const Result& each) { return each.verified + each.unverified > 0; },
                                         [&] {
                                           return run(program, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "1"}});
                                         });
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.differences == 0);
  if (kind == "3") {
    CHECK(result.verified == 0);  // of a thread's own stream nobody else can know whether it is done
    CHECK(result.unverified > 0);
  } else {
    CHECK(result.verified > 0);
  }
}

TEST_CASE("promise 1, same results: verify finds what a graph does otherwise, and names the operation", "[promise-1]") {
  const auto fault = GENERATE(from_range(kFaults));
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
  REQUIRE(result.differences > 0);
  int named = 0;
  std::istringstream lines(result.errors);
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("; operation ");
    int number = 0;
    int of = 0;
    if (at != std::string::npos && std::sscanf(line.c_str() + at, "; operation %d of %d is", &number, &of) == 2) {
      // The device does the one in the middle otherwise; one of `fills` has no work, and no node.
      CHECK((number == of / 2 || std::string(fault.program) == "fills"));
      named += line.find(std::string("is done otherwise: ") + fault.operation, at) != std::string::npos ? 1 : 0;
    }
  }
  CHECK(named > 0);
}
