// Promise 7, never in the way: the program captures streams and makes graphs of its own.

#include <catch2/catch.hpp>
#include <string>

#include "test/cuda/contract.h"

using contract::kSanitized;
using contract::run;
using contract::same_everywhere;

TEST_CASE("promise 7, never in the way: the program's own captures and graphs", "[promise-7]") {
  same_everywhere({"own_graphs"}, 100);
}

/// Nor may the device that stands in for a real one allow more (../gpu/capture_rules.cu).
TEST_CASE("promise 7, never in the way: calls that captures forbid, in all modes", "[promise-7]") {
  same_everywhere({"forbidden_calls"}, 0);
  const std::string output = run({"forbidden_calls"}, "plain").output;
  for (const std::string call : {"query stream", "query event", "wait for stream", "wait for event", "instantiate",
                                 "allocate", "record", "query captured stream"}) {
    for (const int mode : {0, 1, 2}) {  // global, thread-local, relaxed
      for (const bool other_thread : {false, true}) {
        for (const int own : {0, 2}) {
          const bool forbidden = call == "query captured stream" ||
                                 (call != "record" && own == 0 && (mode == 0 || (mode == 1 && !other_thread)));
          const std::string line = call + (other_thread ? " in another thread" : "") + ", modes " +
                                   std::to_string(mode) + " and " + std::to_string(own) +
                                   (forbidden ? ": 900, ended 901\n" : ": 0, ended 0\n");
          CAPTURE(line);
          CHECK(output.find(line) != std::string::npos);
        }
      }
    }
  }
}

/// What one thread captures is invalidated by a forbidden call of any thread, so also by one of Refrain's own. Where
/// little is replayed, Refrain has little to ask.
TEST_CASE("promise 7, never in the way: captures of a thread beside others whose work is replayed", "[promise-7]") {
  same_everywhere({"captures_beside", kSanitized ? "60" : "400"}, kSanitized ? 500 : 10000);
}

TEST_CASE("promise 7, never in the way: two threads capture their own default streams", "[promise-7]") {
  same_everywhere({"per_thread_captures"}, 1000);
}
