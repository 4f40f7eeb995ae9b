// What a program shares with others is with Refrain as it is without.

#include "test/cuda/contract.h"

using contract::kShort;
using contract::run;
using contract::same_everywhere;

TEST_CASE("a primary context is gone with its last reference") {
  CHECK(run({"given_back"}, "plain").output.find("one left: 1\nnone left: 0\n") != std::string::npos);
  same_everywhere({"given_back"}, 1000);
}

TEST_CASE("promise 5, same errors: the default stream of another context", "[promise-5]") {
  CHECK(run({"default_of_another"}, "plain").output.find("refused 25\n") != std::string::npos);
  same_everywhere({"default_of_another"}, 1000);
}

TEST_CASE("promise 1, same order: an event that another process waits for", "[promise-1]") {
  same_everywhere({"shared_event", SIM_CUDA}, 100, kShort);
}
