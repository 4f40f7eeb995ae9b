// What one thread holds, observed by another one in ways that only CUDA's programs have.

#include "test/cuda/contract.h"

using contract::same_everywhere;

TEST_CASE("promise 2, host calls cut: a call that nobody classified, of another thread than the one that holds",
          "[promise-2]") {
  // Nothing is submitted because it was held for too long.
  same_everywhere({"read_by_another"}, 500, {{"REFRAIN_HOLD_LIMIT_US", "1000000"}});
}
