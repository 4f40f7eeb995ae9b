// What stands in for threads' own default streams.
#include "layer/streams/proxy_stream.h"

#include <chrono>
#include <limits>
#include <thread>

#include "layer/streams/layer_test_support.h"

namespace refrain::layer::streams {
namespace {

using test::Lines;
using test::Rig;
using test::State;
using test::TestApi;
using test::TestLayer;

/// The calling thread holds something of its default stream.
void use(State& own) {
  while (why_no_proxy<TestLayer>(own) != nullptr) {
  }
  use_proxy<TestLayer>(own);
}

/// Whether the thread's own default stream was made to come after the proxy stream.
bool left(Rig& rig, const State& own) {
  const Lines lines = rig.device.lines();
  return lines.size() == 3 && lines[0].ends_with(" in " + test::name(own.stream.handle)) &&
         lines[1].starts_with(test::name(TestApi::per_thread_stream()) + " waits for ");
}

TEST_CASE("a thread's default stream comes after what stands in for it, once that is left") {
  Rig rig;
  State& own = Rig::own_default_stream();
  use(own);
  rig.device.busy = {own.stream.handle};
  leave_proxy<TestLayer>();
  CHECK(left(rig, own));
  rig.device.forget_lines();
  leave_proxy<TestLayer>();
  CHECK(rig.device.lines().empty());
}

TEST_CASE("a thread with the place in memory of one that ended has its proxy stream, and leaves it as well",
          "[promise-1]") {
  Rig rig;
  State& own = Rig::own_default_stream();
  std::thread([&] {
    rig.enter();
    use(own);
  }).join();
  rig.device.busy = {own.stream.handle};
  CHECK(why_no_proxy<TestLayer>(own) != nullptr);  // with work of the thread that ended
  rig.device.busy = {};
  use(own);
  rig.device.busy = {own.stream.handle};
  leave_proxy<TestLayer>();
  CHECK(left(rig, own));
}

TEST_CASE("a thread with default streams in several contexts leaves that of each one by itself", "[promise-1]") {
  Rig rig;
  struct InContext {
    test::ContextHandle context = test::new_handle<test::ContextTag>();
    State* own = nullptr;
  };
  std::vector<InContext> all(3);
  for (InContext& each : all) {
    TestLayer::current = each.context;
    each.own = &Rig::own_default_stream();
    use(*each.own);
    rig.device.busy.insert(each.own->stream.handle);
  }
  for (const std::size_t i : {1, 2, 0}) {
    rig.device.forget_lines();
    TestLayer::current = all[i].context;
    leave_proxy<TestLayer>();
    CHECK(left(rig, *all[i].own));
  }
}

TEST_CASE("a question behind a wait is asked when what Refrain put behind the work is done as well", "[promise-1]") {
  Rig rig;
  State& own = Rig::own_default_stream();
  use(own);
  rig.device.busy = {own.stream.handle};
  leave_proxy<TestLayer>();
  rig.device.unfinished = 5;
  const auto ask = [&] {
    int left_over = 0;
    CHECK(query_stream<TestLayer>(test::kHostCall, TestApi::per_thread_stream(), DefaultStream::kPerThread, [&] {
            left_over = rig.device.unfinished;
            return 0;
          }) == 0);
    return left_over;
  };
  CHECK(ask() == 5);  // the program does not know yet that anything is done
  REQUIRE(wait_for_stream<TestLayer>(test::kWait, TestApi::per_thread_stream(), DefaultStream::kPerThread,
                                     [] { return 0; }) == 0);
  CHECK(ask() <= 0);
}

TEST_CASE("a question behind an event that came after all that was held waits longer for a driver that is late",
          "[promise-1]") {
  Rig rig;
  State& own = Rig::own_default_stream();
  use(own);
  rig.device.busy = {own.stream.handle};
  const test::EventHandle last = Rig::event();
  const auto record = [&](test::EventHandle event) {
    REQUIRE(record_event<TestLayer>(
                test::kLaunch, event, [&] { return &own; }, 0, [] { return 0; }) == 0);
  };
  const bool asked = GENERATE(false, true);
  const bool is_last = GENERATE(true, false);
  CAPTURE(asked, is_last);
  record(last);
  if (!is_last) {
    record(Rig::event());
  }
  leave_proxy<TestLayer>();
  rig.device.unfinished = std::numeric_limits<int>::max();
  const auto done = [] { return 0; };
  REQUIRE((asked ? query_event<TestLayer>(test::kHostCall, last, done)
                 : wait_for_event<TestLayer>(test::kWait, last, done)) == 0);
  CHECK(ProxyStreams<TestApi>::done == is_last);
  if (is_last) {
    std::thread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rig.device.unfinished = 0;
    });
    bool unfinished = true;
    CHECK(query_stream<TestLayer>(test::kHostCall, TestApi::per_thread_stream(), DefaultStream::kPerThread, [&] {
            unfinished = rig.device.unfinished.load() > 0;
            return 0;
          }) == 0);
    CHECK(!unfinished);
    late.join();
  }
}

}  // namespace
}  // namespace refrain::layer::streams
