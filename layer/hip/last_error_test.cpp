// What hipGetLastError() tells of held work, without a device: the runtime is two functions.
#include "layer/hip/last_error.h"

#include <catch2/catch.hpp>
#include <utility>

#include "layer/hip/runtime.h"
#include "layer/hip/wrappers.h"

namespace refrain::layer::hip {
namespace {

hipError_t of_runtime = hipSuccess;

/// A runtime of that kind, and a thread without errors.
struct OfKind {
  explicit OfKind(bool keeps) {
    library.hipGetLastError = [] { return std::exchange(of_runtime, hipSuccess); };
    library.hipPeekAtLastError = [] { return of_runtime; };
    keeps_errors = keeps;
    of_runtime = hipSuccess;
    static_cast<void>(wrap::hipGetLastError());
  }
};

constexpr hipError_t kHeld = hipErrorLaunchOutOfResources, kRuntimes = hipErrorInvalidValue;

}  // namespace

TEST_CASE("an error of held work is the last one until it is asked for") {
  const OfKind kind(GENERATE(false, true));
  HipLayer::on_held_error(kHeld);
  CHECK(wrap::hipPeekAtLastError() == kHeld);
  CHECK(wrap::hipPeekAtLastError() == kHeld);
  CHECK(wrap::hipGetLastError() == kHeld);
  CHECK(wrap::hipPeekAtLastError() == hipSuccess);
  HipLayer::on_hold(kHeld);
  CHECK(wrap::hipPeekAtLastError() == kHeld);
  CHECK(wrap::hipGetLastError() == kHeld);
  CHECK(wrap::hipGetLastError() == hipSuccess);
}

TEST_CASE("before HIP 7 a call that succeeds makes the thread forget its last error, whether it is held or not") {
  const OfKind kind(false);
  const bool held = GENERATE(false, true);
  const auto succeed = [held] { held ? HipLayer::on_hold(hipSuccess) : HipLayer::on_success(); };
  HipLayer::on_held_error(kHeld);
  succeed();
  CHECK(wrap::hipPeekAtLastError() == hipSuccess);
  CHECK(wrap::hipGetLastError() == hipSuccess);
  if (held) {  // else the runtime forgets its own
    of_runtime = kRuntimes;
    succeed();
    CHECK(wrap::hipGetLastError() == hipSuccess);
  }
}

TEST_CASE("from HIP 7 on a call that succeeds leaves the last error alone") {
  const OfKind kind(true);
  const bool of_held_work = GENERATE(false, true);
  of_runtime = of_held_work ? hipSuccess : kRuntimes;
  if (of_held_work) {
    HipLayer::on_held_error(kHeld);
  }
  HipLayer::on_hold(hipSuccess);
  HipLayer::on_success();
  CHECK(wrap::hipGetLastError() == (of_held_work ? kHeld : kRuntimes));
}

}  // namespace refrain::layer::hip
