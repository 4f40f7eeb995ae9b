// What a program tells Refrain changes nothing of what it computes.
#include "test/cuda/contract.h"

using contract::same_everywhere;

TEST_CASE("promise 1, same results: a program that stops, starts and flushes Refrain, and names its regions",
          "[promise-1]") {
  same_everywhere({"controlled"}, 300);
}

TEST_CASE("promise 1, same results: a program that lets Refrain begin later", "[promise-1]") {
  same_everywhere({"controlled"}, 300, {{"REFRAIN_START", "off"}});
}
