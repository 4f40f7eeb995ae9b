// What only HIP programs do, and what depends on the version of the runtime.

#include "test/cuda/contract.h"

using contract::check_clean;
using contract::same_everywhere;
using contract::Words;
using run_program::Result;
using run_program::run;

TEST_CASE("kernels of the program, registered before main()") {
  same_everywhere({"registered"}, 1000);
}

TEST_CASE("launches in work-items, with events of their own") {
  same_everywhere({"work_items"}, 500);
}

TEST_CASE("promise 4, same data: every function that submits, by each of its names") {
  same_everywhere({"hip_variants"}, 1000);
}

TEST_CASE("default streams of threads by the functions for them") {
  same_everywhere({"thread_streams"}, 0);
}

TEST_CASE("calls of the runtime that call others by their names pass through once") {
  same_everywhere({"nested"}, 500);
  // Per round 4 launches, 4 copies and one more: what the runtime calls itself is not counted once more.
  CHECK(run({"nested"}, "observe").submissions == 200L * 9);
}

TEST_CASE("kernels whose parameters are not known for sure are launched as ever") {
  same_everywhere({"unclear_modules"}, 0);
  const Result result = run({"unclear_modules"}, "replay");
  CHECK(result.replayed == 0);
}

TEST_CASE("functions looked up by name, also one that nobody knows") {
  same_everywhere({"looked_up"}, 500);
}

TEST_CASE("the last error of the thread is what it is without Refrain") {
  same_everywhere({"last_error"}, 500);
  // From ROCm 7 on a call that succeeds leaves it alone.
  const std::map<std::string, std::string> newer = {{"SIM_HIP_VERSION", "70000000"}};
  const Result plain = run({"last_error"}, "plain", 0, newer);
  check_clean(plain);
  CHECK(plain.output != run({"last_error"}, "plain", 0).output);
  for (const std::string mode : {"observe", "replay", "gate"}) {
    CAPTURE(mode);
    const Result result = run({"last_error"}, mode, 1, newer);
    check_clean(result);
    CHECK(result.output == plain.output);
  }
}

TEST_CASE("runtimes older than ROCm 5.5.1 are reported and passed through") {
  const std::map<std::string, std::string> older = {{"SIM_HIP_VERSION", "50530201"}};
  for (const char* program : {"loop", "registered", "nested"}) {
    CAPTURE(program);
    const Result plain = run({program}, "plain", 0, older);
    const Result result = run({program}, "replay", 0, older);
    CHECK(result.exit_code == 0);
    CHECK(result.output == plain.output);
    CHECK_FALSE(result.reported);
    CHECK(result.errors.find("the runtime is HIP 5.5.30201, older than that of ROCm 5.5.1") != std::string::npos);
  }
  CHECK(run({"loop"}, "replay", 0, {{"SIM_HIP_VERSION", "50530202"}}).reported);
}
