// Two devices in one process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "test/cuda/contract.h"

using namespace contract;

namespace {

/// Two devices that do several things at once, as kernels wait for each other.
std::map<std::string, std::string> devices(std::map<std::string, std::string> more = {}) {
  more.insert(kGates.begin(), kGates.end());
  more["SIM_DEVICES"] = "2";
  return more;
}

/// verify mode computes the same, and finds nothing.
Result verified(const Words& program) {
  const Result plain = run(program, "plain", 1, devices());
  Result result =  // a graph has to be made in time
      child::run_until([](const Result& each) { return each.verified + each.unverified > 0; },
                       [&] {
                         return run(program, "verify", 1, devices({{"REFRAIN_VERIFY_EVERY", "1"}}));
                       });
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.differences == 0);
  CHECK(result.verified + result.unverified > 0);
  return result;
}

/// Of the calls that the driver got.
std::vector<std::string> calls_of(const Words& program, const std::string& mode, long least) {
  const std::string log = child::scratch("calls");
  const Result plain = run(program, "plain", 0, devices());
  const Result result = child::run_until_replayed(least, plain.output, [&] {
    std::remove(log.c_str());
    return run(program, mode, 0, devices({{"SIM_LOG", log}}));
  });
  check_clean(result);
  CHECK(result.replayed >= least);
  std::vector<std::string> calls;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    calls.push_back(line);
  }
  return calls;
}

}  // namespace

TEST_CASE("promise 1, same order: one thread's work goes to two devices in turns", "[promise-1]") {
  const Words program = GENERATE(Words{"device_switches"}, Words{"device_switches", "push"});
  CAPTURE(program);
  same_everywhere(program, 4000, devices());  // of 5000
  verified(program);                          // though nobody can put back the memory of both
}

TEST_CASE("promise 1, same order: copies from device to device, ordered by events of the other one", "[promise-1]") {
  const Words program = GENERATE(Words{"device_copies"}, Words{"device_copies", "threads"});
  CAPTURE(program);
  same_everywhere(program, 1000, devices());  // of 4400
  verified(program);
}

TEST_CASE("promise 1, same order: each device uses the other one's memory from the middle of the loop on",
          "[promise-1]") {
  const Words program = GENERATE(Words{"peer_access"}, Words{"peer_access", "threads"});
  CAPTURE(program);
  same_everywhere(program, 500, devices());  // of 7200; how many is a busy machine's pace
  verified(program);
}

TEST_CASE("promise 1, no other waits: a kernel waits for what the other device gets later", "[promise-1]") {
  const Words program = GENERATE(Words{"device_gate"}, Words{"device_gate", "much"}, Words{"device_gate", "pinned"});
  CAPTURE(program);
  same_everywhere(program, 500, devices());
}

TEST_CASE("promise 1, no other waits: two devices whose kernels wait for each other", "[promise-1]") {
  const Words program =
      GENERATE(Words{"device_signals"}, Words{"device_signals", "threads"}, Words{"device_signals_apart"});
  CAPTURE(program);
  same_everywhere(program, 500, devices());
}

TEST_CASE("promise 1, no other waits: verify mode leaves alone what waits for another device", "[promise-1]") {
  const Words program = GENERATE(Words{"device_gate"}, Words{"device_gate", "pinned"}, Words{"device_signals"},
                                 Words{"device_signals", "threads"}, Words{"device_signals_apart"});
  CAPTURE(program);
  const auto start = std::chrono::steady_clock::now();
  const Result result = verified(program);
  CHECK(result.verified == 0);
  // Nothing is waited for in vain, which would take four seconds.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(run_program::kSanitized ? 60 : 3));
}

TEST_CASE("promise 1, same results: verify mode does no work of a second context twice", "[promise-1]") {
  verified({"contexts"});  // one stretch has work of both
}

TEST_CASE("promise 1, same order: copies between devices are nodes of graphs, with other addresses and sizes as well",
          "[promise-1]") {
  const Words program =
      GENERATE(Words{"device_exchange"}, Words{"device_exchange", "wrong"}, Words{"device_exchange", "default"},
               Words{"device_exchange", "apart"}, Words{"device_exchange", "wrong", "apart"});
  CAPTURE(program);
  same_everywhere(program, 1000, devices());  // of 3870
  // Copies reach memory that kernels do not: what they wrote there is not put back.
  CHECK(verified(program).errors.find("differ from each other") == std::string::npos);
}

TEST_CASE("copies between devices are held: a graph has them, and is changed where their addresses are others") {
  const std::vector<std::string> calls = calls_of({"device_exchange"}, "replay", 2500);
  const auto count = [&](const std::string& name) { return std::ranges::count(calls, name); };
  CHECK(count("cuMemcpyPeerAsync") + count("cuMemcpyAsync") < 500);  // of 960
  CHECK(count("cuGraphExecMemcpyNodeSetParams") > 0);
  // In the default stream they wait for both devices, which no graph does.
  const std::vector<std::string> legacy = calls_of({"device_exchange", "default"}, "replay", 1000);
  CHECK(std::ranges::count(legacy, "cuMemcpyPeerAsync") == 960);
  // Named with a context that is not theirs they go to the driver as they are, which refuses them.
  const std::vector<std::string> wrong = calls_of({"device_exchange", "wrong"}, "replay", 1000);
  CHECK(std::ranges::count(wrong, "cuMemcpyPeerAsync") >= 24);
}

TEST_CASE("another context is no cut: graphs are launched once for ten kernels of each device") {
  CHECK(std::ranges::count(calls_of({"device_switches"}, "replay", 4000), "cuGraphLaunch") > 0);
}

TEST_CASE("promise 3, bounded hold: a kernel that other devices may wait for leaves with its call", "[promise-3]") {
  const Words program = GENERATE(Words{"collective"}, Words{"remote_domain"});
  CAPTURE(program);
  same_everywhere(program, 500, devices());
  const std::vector<std::string> calls = calls_of(program, "replay", 900);
  CHECK(std::ranges::count(calls, "cuGraphLaunch") > std::ranges::count(calls, "cuStreamSynchronize") * 4 / 3);
}

TEST_CASE("promise 3, bounded hold: the report says where another device may wait for what is held", "[promise-3]") {
  const auto says = [](const Words& program) {
    const Result plain = run(program, "plain", 0, devices());
    const Result result = child::run_until_replayed(100, plain.output, [&] {
      return run(program, "replay", 0, devices({{"REFRAIN_REST_LIMIT_US", "150"}}));
    });
    check_clean(result);
    return result.errors.find("what is held leaves 150 us after the last submission") != std::string::npos;
  };
  CHECK(says({"device_gate"}));
  CHECK_FALSE(says({"device_switches"}));
}

TEST_CASE("promise 1, same order: one device is reset, or its context destroyed, while the other one works",
          "[promise-1]") {
  const Words program = GENERATE(Words{"device_reset"}, Words{"device_reset", "context"});
  CAPTURE(program);
  same_everywhere(program, 1000, devices());
  verified(program);
}
