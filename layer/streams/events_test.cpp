// Events that several threads use, and those of another context.
#include "layer/streams/events.h"

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

using test::EventHandle;
using test::Lines;
using test::Rig;
using test::Standing;
using test::State;
using test::Stretch;
using test::TestLayer;

TEST_CASE("a wait that another thread holds comes before the event is recorded again", "[promise-1]") {
  Rig rig;
  const Stretch stretch(rig);
  const EventHandle event = Rig::event();
  State& recording = Rig::stream();
  const Standing other(rig, [&] {
    rig.loop([&] {
      stretch.submit(0, 2);
      REQUIRE(rig.wait_for(stretch.stream, event) == 0);
      stretch.submit(2, 8);
    });
    rig.device.forget_lines();
    stretch.submit(0, 2);
    REQUIRE(rig.wait_for(stretch.stream, event) == 0);
    stretch.submit(2, 3);
    REQUIRE(rig.device.lines().empty());
  });
  CHECK(rig.record(event, recording) == 0);
  const auto kernel = [&](std::size_t i) { return Rig::line(stretch.stream, *stretch.kernels[i]); };
  CHECK(rig.device.lines() ==
        Lines{kernel(0), kernel(1), test::name(stretch.stream.stream.handle) + " waits for " + test::name(event),
              kernel(2), "record " + test::name(event) + " in " + test::name(recording.stream.handle)});
}

TEST_CASE("what another thread's stream waits for leaves with its call, and is replayed", "[promise-3]") {
  Rig rig;
  const Stretch stretch(rig);
  const EventHandle event = Rig::event();
  REQUIRE(rig.record(event, stretch.stream) == 0);
  State& waiting = Rig::stream();
  const Standing other(rig, [&] { REQUIRE(rig.wait_for(waiting, event) == 0); });
  int held = 0;
  rig.loop([&] {
    stretch.submit(0, 4);
    held += rig.engine->anything_held() ? 1 : 0;
    REQUIRE(rig.record(event, stretch.stream) == 0);
    CHECK_FALSE(rig.engine->anything_held());
    stretch.submit(4, 8);
  });
  CHECK(held > 15);
  CHECK(rig.device.graphs > 30);
}

TEST_CASE("a kernel that other devices wait for leaves with its call", "[promise-3]") {
  Rig rig;
  const Stretch stretch(rig);
  CHECK(works_with_other_devices("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
  CHECK_FALSE(works_with_other_devices("vector_sum"));
  stretch.kernels[3]->others_wait = true;
  int held = 0;
  rig.loop([&] {
    stretch.submit(0, 3);
    held += rig.engine->anything_held() ? 1 : 0;
    stretch.submit(3, 4);
    CHECK_FALSE(rig.engine->anything_held());
    stretch.submit(4, 8);
  });
  CHECK(held > 15);
  CHECK(rig.device.graphs > 30);
}

TEST_CASE("an event is recorded at once where it may belong to another context, which the driver refuses",
          "[promise-5]") {
  const bool others = GENERATE(true, false);
  Rig rig;
  const Stretch stretch(rig);
  TestLayer::current = others ? test::new_handle<test::ContextTag>() : rig.context;
  const EventHandle event = Rig::event();
  rig.enter();
  int records = 0;
  rig.loop([&] {
    stretch.submit(0, 4);
    const int before = rig.own_calls;
    REQUIRE(rig.record(event, stretch.stream) == 0);
    records += rig.own_calls - before;
    stretch.submit(4, 8);
  });
  CHECK((records == 30) == others);
}

TEST_CASE("an event that was recorded once is waited for in each round of a loop, which is replayed") {
  const bool same_stream = GENERATE(true, false);
  CAPTURE(same_stream);
  Rig rig;
  const Stretch stretch(rig);
  const EventHandle event = Rig::event();
  REQUIRE(rig.record(event, same_stream ? stretch.stream : Rig::stream()) == 0);
  int issued = 0;
  rig.loop([&] {
    stretch.submit(0, 4);
    const int before = rig.own_calls;
    REQUIRE(rig.wait_for(stretch.stream, event) == 0);
    issued += rig.own_calls - before;
    stretch.submit(4, 8);
  });
  CHECK(issued < 15);
  CHECK(rig.device.graphs > 15);
  // A record makes it another one.
  rig.device.forget_lines();
  REQUIRE(rig.record(event, same_stream ? stretch.stream : Rig::stream()) == 0);
  stretch.submit(0, 4);
  REQUIRE(rig.wait_for(stretch.stream, event) == 0);
  stretch.submit(4, 8);
  REQUIRE(Rig::wait() == 0);
  CHECK(rig.device.count(test::name(stretch.stream.stream.handle) + " waits for " + test::name(event)) == 1);
}

}  // namespace
}  // namespace refrain::layer::streams
