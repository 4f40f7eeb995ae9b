// Threads that are asked to end (pthread_cancel()) while a call of theirs submits or flushes: it is done first.
#include <pthread.h>

#include "layer/streams/copies.h"
#include "layer/streams/layer_test_support.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose run times do not like it

namespace refrain::layer::streams {
namespace {

using test::Rig;
using test::State;
using test::TestLayer;

/// Runs `work()` in a thread that is to end, and then has it wait. Whether it ended there.
template <class Work>
bool ends_after(Work&& work) {
  pthread_t thread{};
  void* result = nullptr;
  const auto run = [](void* given) -> void* {
    pthread_cancel(pthread_self());
    (*static_cast<std::remove_reference_t<Work>*>(given))();
    HostCall<TestLayer> call(test::kWait);
    pthread_testcancel();
    call.done(0, true);
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, nullptr, run, &work) == 0);
  REQUIRE(pthread_join(thread, &result) == 0);
  return result == PTHREAD_CANCELED;
}

/// A call of the driver's in which a thread can be cancelled.
int issue_cancelled() {
  pthread_testcancel();
  return 0;
}

TEST_CASE("a thread that is cancelled ends where it waits, not in a submission that blocks", "[promise-7]") {
  Rig rig;
  State& stream = Rig::stream();
  bool returned = false;
  CHECK(ends_after([&] {
    rig.enter();
    const Call call{test::kLaunch, OperationKind::kPointerCopy, 1, "it reads pageable memory", true};
    submit<TestLayer>(
        call, &stream,
        [](capture::OperationWriter& writer, Token token, bool) {
          writer.begin(OperationKind::kOther, token);
          writer.finish();
        },
        issue_cancelled);
    returned = true;
  }));
  CHECK(returned);
}

TEST_CASE("a thread that is cancelled ends where it waits, not in a copy that nobody looks at", "[promise-7]") {
  Rig rig;
  const bool held_if_possible = GENERATE(false, true);
  TestLayer::runtime().captures = 1;  // the program captures a stream: everything passes
  bool returned = false;
  CHECK(ends_after([&] {
    rig.enter();
    if (held_if_possible) {
      copy<TestLayer>(test::kLaunch, 1, 2, 3, test::StreamHandle{}, DefaultStream::kLegacy, issue_cancelled);
    } else {
      submit_unheld<TestLayer>(test::kLaunch, OperationKind::kOther, "it copies arrays", test::StreamHandle{},
                               DefaultStream::kLegacy, issue_cancelled);
    }
    returned = true;
  }));
  CHECK(returned);
  TestLayer::runtime().captures = 0;
}

TEST_CASE("a thread that is cancelled submits what others hold before it ends", "[promise-7]") {
  Rig rig;
  test::Stretch stretch(rig);
  const test::Standing other(rig, [&] { stretch.hold(); });
  rig.device.forget_lines();
  rig.device.cancels = true;
  const bool stub = GENERATE(false, true);
  CHECK(ends_after([&] {
    rig.enter();
    if (stub) {
      flush_for_stub<TestLayer>(test::kHostCall);
    }
  }));
  CHECK(rig.device.lines().size() == 3);
  rig.device.cancels = false;
}

}  // namespace
}  // namespace refrain::layer::streams

#endif
