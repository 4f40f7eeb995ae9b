#include "layer/waiting.h"

#include <catch2/catch.hpp>
#include <type_traits>

namespace refrain::layer {
namespace {

int cancel_state() {
  int state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  pthread_setcancelstate(state, nullptr);
  return state;
}

TEST_CASE("promise 7, never in the way: a thread can be cancelled as before once held work was submitted",
          "[promise-7]") {
  REQUIRE(cancel_state() == PTHREAD_CANCEL_ENABLE);
  {
    const NotCancelled outer(true);
    CHECK(cancel_state() == PTHREAD_CANCEL_DISABLE);
    { const NotCancelled inner(true); }
    CHECK(cancel_state() == PTHREAD_CANCEL_DISABLE);
  }
  CHECK(cancel_state() == PTHREAD_CANCEL_ENABLE);
  {
    const NotCancelled unwanted(false);
    CHECK(cancel_state() == PTHREAD_CANCEL_ENABLE);
  }
  CHECK(cancel_state() == PTHREAD_CANCEL_ENABLE);
}

TEST_CASE("what waits for work may be unwound, and nothing else") {
  STATIC_REQUIRE(may_wait("cuStreamSynchronize"));
  STATIC_REQUIRE_FALSE(may_wait("cuLaunchKernel"));
  using Wait = WrapperType<int (*)(long), true>::Type;
  using Launch = WrapperType<int (*)(long), false>::Type;
  STATIC_REQUIRE(std::is_same_v<Wait, int(long)>);
  STATIC_REQUIRE(std::is_same_v<Launch, int(long) noexcept>);
}

}  // namespace
}  // namespace refrain::layer
