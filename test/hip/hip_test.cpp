// What only HIP programs do, and what depends on the version of the runtime.

#include <algorithm>

#include "capture/reader.h"
#include "test/cuda/contract.h"

using contract::check_clean;
using contract::same_everywhere;
using contract::Words;
using run_program::Result;
using run_program::run;

TEST_CASE("kernels of the program, registered before main()") {
  same_everywhere({"registered"}, 1000);
}

TEST_CASE("promise 1, same order: launches with events of their own where others are predicted", "[promise-1]") {
  CHECK(run({"own_events"}, "plain").output.find("recorded 20\n") != std::string::npos);
  same_everywhere({"own_events"}, 500);
}

TEST_CASE("a capture has each device once, and says which one a stream is of") {
  const std::map<std::string, std::string> two = {{"SIM_DEVICES", "2"}};
  same_everywhere({"devices"}, 100, two);
  const std::string file = child::scratch("devices.rfn");
  const Result result = run({"devices"}, "capture", 0, {{"SIM_DEVICES", "2"}, {"REFRAIN_CAPTURE_FILE", file}});
  check_clean(result);
  std::string error;
  const auto capture = refrain::capture::read_capture(file, &error);
  CAPTURE(error);
  REQUIRE(capture);
  REQUIRE(capture->devices.size() == 2);
  CHECK(capture->queues.size() == 3);
  CHECK(std::ranges::count_if(capture->queues,
                              [&](const auto& queue) { return queue.second.device == capture->devices[0].id; }) == 2);
}

TEST_CASE("launches in work-items, with events of their own") {
  same_everywhere({"work_items"}, 500);
}

TEST_CASE("promise 4, same data: every function that submits, by each of its names", "[promise-4]") {
  same_everywhere({"hip_variants"}, 1000);
}

TEST_CASE("default streams of threads by the functions for them") {
  same_everywhere({"thread_streams"}, 0);
}

TEST_CASE("promise 1, same order: a thread's own default stream, whose device another thread resets", "[promise-1]") {
  same_everywhere({"reset_by_another"}, 500);
}

TEST_CASE("calls of the runtime that call others by their names pass through once") {
  same_everywhere({"nested"}, 500);
  // Per round 4 launches, 4 copies and one more: what the runtime calls itself is not counted once more.
  const Result observed = run({"nested"}, "observe");
  CHECK(observed.submissions == 200L * 9);
  // The wait of each round, and in half of them the one call that is a host call itself: no call behind a call.
  CHECK(observed.cuts == 300);
}

TEST_CASE("kernels whose parameters are not known for sure are launched as ever") {
  same_everywhere({"unclear_modules"}, 0);
  const Result result = run({"unclear_modules"}, "replay");
  CHECK(result.replayed == 0);
}

TEST_CASE("functions looked up by name, also one that nobody knows") {
  same_everywhere({"looked_up"}, 500);
  const std::string output = run({"looked_up"}, "plain").output;
  CHECK(output.find("the same again: 1\n") != std::string::npos);
  CHECK(output.find("nowhere 0, found 1, null\n") != std::string::npos);
  CHECK(run({"looked_up"}, "observe").cuts >= 200 + 20);  // a wait in each round, and what nobody knows in one of ten
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

TEST_CASE("promise 5, same errors: an error of held work is the thread's last one until a call succeeds",
          "[promise-5]") {
  int of_graphs = 0;
  for (int call = 40; call < 300; call += 13) {
    const Result failed =
        run({"held_error"}, "replay", 1, {{"SIM_FAIL_AT", std::to_string(call)}, {"SIM_FAIL_COUNT", "2"}});
    CAPTURE(call, failed.output, failed.errors.substr(0, 2000));
    CHECK(failed.exit_code >= 0);
    CHECK(failed.output.find("not the same") == std::string::npos);
    CHECK(failed.output.find("then: 7") == std::string::npos);
    const bool of_launch = failed.output.find("launch: error 701, last 701") != std::string::npos;
    const auto first = failed.errors.find("failure injected into ");
    const bool of_graph =
        first != std::string::npos && failed.errors.compare(first, 36, "failure injected into hipGraphLaunch") == 0;
    of_graphs += of_launch && of_graph ? 1 : 0;
  }
  CHECK(of_graphs > 0);
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
