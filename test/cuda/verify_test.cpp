// verify mode, where memory by address is compared.
#include "test/cuda/contract.h"

using namespace contract;

TEST_CASE("promise 1, same results: verify mode compares all memory, and the program sees nothing of it",
          "[promise-1]") {
  const auto program =
      GENERATE(Words{"loop"}, Words{"memory_kinds"}, Words{"fork_join"}, Words{"per_thread"}, Words{"threads"},
               Words{"handover"}, Words{"staging"}, Words{"new_memory"}, Words{"contexts"}, Words{"reload"},
               Words{"module_variable"}, Words{"library_variable"}, Words{"mapped_memory"}, Words{"arguments"},
               Words{"ping_pong"}, Words{"fills"}, Words{"layouts"}, Words{"rows"}, Words{"launches_with_attributes"},
               Words{"mixed_kinds"}, Words{"default_stream"});
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

TEST_CASE("promise 1, same results: verify mode leaves alone what kernels may change and nobody can put back",
          "[promise-1]") {
  const Words program{"device_heap"};
  const Result plain = run(program, "plain", 1);
  const Result result = run(program, "verify", 1, {{"REFRAIN_VERIFY_EVERY", "1"}});
  check_clean(result);
  CHECK(result.output == plain.output);
  REQUIRE(result.reported);
  CHECK(result.verified == 0);
  CHECK(result.unverified > 0);
}
