// Submissions that are held and flushed, and what those who submit or call something else are told.
#include "layer/streams/submission.h"

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

using test::Device;
using test::Lines;
using test::Rig;
using test::Standing;
using test::State;
using test::Stretch;
using test::TestApi;
using test::TestLayer;

/// Nothing of this thread's is looked at for a while.
void become_dormant(Rig& rig) {
  State& stream = Rig::stream();
  for (int i = 0; i < 1000 && !rig.engine->lane().is_dormant(); ++i) {
    for (int each = 0; each < 16; ++each) {
      REQUIRE(submit_unheld<TestLayer>(test::kLaunch, OperationKind::kOther, "it is never held", stream.stream.handle,
                                       DefaultStream::kLegacy, [] { return 0; }) == 0);
    }
    REQUIRE(Rig::wait() == 0);
  }
  REQUIRE(rig.engine->lane().is_dormant());
}

env::Settings soon_dormant() {
  env::Settings settings = Rig::quiet();
  settings.dormant_after = 16;
  return settings;
}

TEST_CASE("what repeats is replayed, and what was begun is held") {
  Rig rig;
  const Stretch stretch(rig);
  stretch.hold();
  CHECK(rig.device.lines().size() == 8 * 30);
  CHECK(rig.own_calls < 8 * 30);
  CHECK(rig.device.graphs > 0);
  CHECK(Rig::wait() == 0);
  CHECK(rig.device.lines().size() == 8 * 30 + 3);
  CHECK(TestLayer::held_errors.empty());
}

TEST_CASE("an error of held work is told by the submission that flushed it, as one of work held before",
          "[promise-5]") {
  Rig rig;
  const Stretch stretch(rig);
  stretch.hold();
  rig.device.refusals = 1;
  CHECK(rig.launch(stretch.stream, Rig::kernel()) == Device::kRefused);
  CHECK(TestLayer::held_errors == std::vector<int>{Device::kRefused});
  CHECK(Rig::wait() == 0);
}

TEST_CASE("an error of held work is told by the call that flushed it, also if that one fails itself", "[promise-5]") {
  const int own = GENERATE(TestApi::kSuccess, TestApi::kNotReady);
  Rig rig;
  const Stretch stretch(rig);
  stretch.hold();
  rig.device.refusals = 1;
  HostCall<TestLayer> call(test::kHostCall);
  CHECK(call.done(own, false) == Device::kRefused);
  CHECK(TestLayer::held_errors == std::vector<int>{Device::kRefused});
  HostCall<TestLayer> next(test::kHostCall);
  CHECK(next.done(own, false) == own);  // once
}

TEST_CASE("kernels of which something was set are replayed as others are") {
  Rig rig;
  const Stretch stretch(rig);
  for (FunctionState* kernel : stretch.kernels) {
    kernel->name = "set";
    Setters<TestLayer>::all().adopt(*kernel, kernel->handle);
  }
  REQUIRE(Setters<TestLayer>::all().of_function(test::kHostCall, stretch.kernels[0]->handle, 1, 5, [] { return 0; }) ==
          0);
  REQUIRE(stretch.kernels[1]->state != 0);
  stretch.hold();
  CHECK(rig.device.graphs > 0);
}

TEST_CASE("what is set of a kernel that has no other handle concerns no other kernel of its name", "[promise-4]") {
  Rig rig;
  auto& setters = Setters<TestLayer>::all();
  FunctionState& first = Rig::kernel();
  FunctionState& second = Rig::kernel();
  int calls = 0;
  const auto set = [&](const FunctionState& kernel, std::uint64_t value) {
    REQUIRE(setters.of_function(test::kHostCall, kernel.handle, 1, value, [&] {
      ++calls;
      return 0;
    }) == 0);
  };
  TestLayer::one_handle = true;
  for (FunctionState* kernel : {&first, &second}) {
    kernel->name = "made for a size";
    setters.adopt(*kernel, kernel->handle);
  }
  set(first, 5);
  CHECK(first.state != 0);
  CHECK(second.state == 0);
  set(second, 5);
  CHECK(first.state == second.state);
  const std::uint64_t alike = first.state;
  set(first, 6);
  CHECK(first.state != alike);
  CHECK(second.state == alike);
  set(first, 5);
  CHECK(first.state == alike);
  CHECK(calls == 4);
  // One of another kind may be any of them.
  TestLayer::one_handle = false;
  FunctionState& third = Rig::kernel();
  third.name = first.name;
  setters.adopt(third, third.handle);
  CHECK(first.state != alike);
  CHECK(third.state == first.state);
  const std::uint64_t together = first.state;
  third.limits = LaunchLimits{32, 100};
  first.limits = LaunchLimits{32, 100};
  set(first, 7);
  CHECK(third.state == first.state);
  CHECK(third.state != together);
  CHECK(third.limits.load().threads == 0);
  CHECK(first.limits.load().threads == 32);
  for (FunctionState* kernel : {&first, &second, &third}) {
    setters.forget(*kernel, kernel->handle, true);
  }
}

TEST_CASE("a kernel that goes changes nothing for others of its name, unless something was set of it") {
  Rig rig;
  auto& setters = Setters<TestLayer>::all();
  FunctionState& stays = Rig::kernel();
  stays.name = "comes and goes";
  setters.adopt(stays, stays.handle);
  const auto set = [&](const FunctionState& kernel, std::uint64_t value) {
    REQUIRE(setters.of_function(test::kHostCall, kernel.handle, 1, value, [] { return 0; }) == 0);
  };
  const auto changes = [&](bool is_set, bool surely) {
    FunctionState& passing = Rig::kernel();
    passing.name = stays.name;
    setters.adopt(passing, passing.handle);
    if (is_set) {
      set(passing, 5);
    }
    const std::uint64_t before = stays.state;
    CHECK(passing.state == before);
    setters.forget(passing, passing.handle, surely);
    return stays.state != before;
  };
  const bool surely = GENERATE(true, false);
  CHECK(stays.state == 0);
  CHECK_FALSE(changes(false, surely));
  CHECK(stays.state == 0);
  set(stays, 7);
  CHECK(stays.state != 0);
  CHECK_FALSE(changes(false, surely));
  CHECK(changes(true, surely));
  CHECK_FALSE(changes(false, surely));
  setters.forget(stays, stays.handle, true);
}

TEST_CASE("a setter of a kernel that was never launched submits nothing of what is held", "[promise-3]") {
  Rig rig;
  const Stretch stretch(rig);
  const auto set = [](Handle kernel) {
    REQUIRE(Setters<TestLayer>::all().of_function(test::kHostCall, kernel, 1, 5, [] { return 0; }) == 0);
  };
  const Handle never_launched = Rig::kernel().handle + 1;
  TestLayer::one_handle = true;
  stretch.hold();
  set(never_launched);
  CHECK(rig.engine->anything_held());
  TestLayer::one_handle = false;
  set(never_launched);
  CHECK_FALSE(rig.engine->anything_held());
}

TEST_CASE("what another thread holds comes before the work of a thread that is not looked at", "[promise-1]") {
  Rig rig(soon_dormant());
  become_dormant(rig);
  Stretch stretch(rig);
  const Standing other(rig, [&] { stretch.hold(); });
  rig.device.forget_lines();
  FunctionState& behind = Rig::kernel();
  CHECK(rig.launch(stretch.stream, behind) == 0);
  Lines expected;
  for (int i = 0; i < 3; ++i) {
    expected.push_back(Rig::line(stretch.stream, *stretch.kernels[static_cast<std::size_t>(i)]));
  }
  expected.push_back(Rig::line(stretch.stream, behind));
  CHECK(rig.device.lines() == expected);
}

TEST_CASE("the program captures: nothing is held, not even what was predicted", "[promise-7]") {
  Rig rig;
  const Stretch stretch(rig);
  rig.loop([&] { stretch.submit(0, 8); });
  REQUIRE(predicts());
  State& captured = Rig::stream();
  REQUIRE(begin_capture<TestLayer>(test::kHostCall, captured.stream.handle, DefaultStream::kLegacy, [] { return 0; }) ==
          0);
  const int before = rig.own_calls;
  stretch.submit(0, 8);
  CHECK(rig.own_calls == before + 8);
  REQUIRE(end_capture<TestLayer>(test::kHostCall, captured.stream.handle, DefaultStream::kLegacy, [] { return 0; }) ==
          0);
}

TEST_CASE("a capture that could not begin is none, and one goes on whose end was refused", "[promise-7]") {
  Rig rig;
  auto* const stream = test::new_handle<test::StreamTag>();
  const auto begin = [&](int status) {
    return begin_capture<TestLayer>(test::kHostCall, stream, DefaultStream::kLegacy, [&] { return status; });
  };
  const auto end = [&](int status) {
    return end_capture<TestLayer>(test::kHostCall, stream, DefaultStream::kLegacy, [&] { return status; });
  };
  CHECK(begin(Device::kRefused) == Device::kRefused);
  CHECK_FALSE(passing<TestLayer>());
  CHECK(begin(0) == 0);
  CHECK(passing<TestLayer>());
  CHECK(end(TestApi::kCaptureUnmatched) == TestApi::kCaptureUnmatched);
  CHECK(passing<TestLayer>());
  CHECK(end(TestApi::kCaptureWrongThread) == TestApi::kCaptureWrongThread);
  CHECK(passing<TestLayer>());
  CHECK(end(0) == 0);
  CHECK_FALSE(passing<TestLayer>());
}

TEST_CASE("a thread that is not looked at submits behind what stands in for its default stream", "[promise-1]") {
  Rig rig(soon_dormant());
  become_dormant(rig);
  State& own = Rig::own_default_stream();
  while (why_no_proxy<TestLayer>(own) != nullptr) {
  }
  use_proxy<TestLayer>(own);
  rig.device.busy = {own.stream.handle};
  REQUIRE(rig.launch(own, Rig::kernel()) == 0);
  const Lines lines = rig.device.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].ends_with("in " + test::name(own.stream.handle)));
  CHECK(lines[1].starts_with(test::name(TestApi::per_thread_stream()) + " waits for "));
  CHECK(lines[3].starts_with("kernel "));
}

}  // namespace
}  // namespace refrain::layer::streams
