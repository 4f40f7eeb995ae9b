#include "backends/streams/idle_moment.h"

#include <catch2/catch.hpp>
#include <cstdint>

namespace refrain::backends {
namespace {

struct TestApi {
  struct Driver {
    mutable int asked = 0;
    int idle_after = 0;  ///< so many questions; negative: never
  };
  using Status = int;
  using StreamHandle = void*;
  using ContextHandle = void*;
  static constexpr Status kNotReady = 1;
  static constexpr ContextHandle kNoContext = nullptr;
  static inline int threads_own = 0;
  static StreamHandle per_thread_stream() { return &threads_own; }
  struct Scope {
    Scope(const Driver& /*driver*/, ContextHandle /*context*/) {}
  };
  static Status query_stream(const Driver& driver, StreamHandle /*stream*/) {
    ++driver.asked;
    return driver.idle_after >= 0 && driver.asked > driver.idle_after ? 0 : kNotReady;
  }
};

struct Moment {
  TestApi::Driver driver;
  env::StuckCheck maker{"a test"};
  SubmissionPause submissions{maker};
  SubmissionPause::Place place;
  IdleMoment<TestApi> moment{driver, submissions};
  Stream<TestApi> stream;
  int made = 0;

  Moment() {
    stream.id = 1;
    moment.watch(stream);
    submissions.add(place);
  }
  ~Moment() { submissions.remove(place); }
  bool use(bool hurry = false) {
    return moment.use([this] { ++made; }, [hurry] { return hurry; });
  }
};

}  // namespace

TEST_CASE_METHOD(Moment, "a graph is made once all streams are idle") {
  driver.idle_after = 3;
  CHECK(use());
  CHECK(made == 1);
  CHECK(driver.asked > 3);
  CHECK_FALSE(moment.wanted());
}

TEST_CASE_METHOD(Moment, "a thread's own default stream is asked once something stands in for it") {
  driver.idle_after = -1;
  stream.kind = StreamKind::kPerThread;
  stream.handle = TestApi::per_thread_stream();
  CHECK(use());
  CHECK(driver.asked == 0);
  moment.change_handle(stream, nullptr);
  CHECK_FALSE(use());
  CHECK(driver.asked > 0);
}

TEST_CASE_METHOD(Moment, "a device that is never idle is left alone for a while") {
  driver.idle_after = -1;
  CHECK_FALSE(use());
  CHECK(made == 0);
  CHECK(moment.waited_ns() > 0);
  CHECK_FALSE(moment.wanted());
  CHECK(moment.paused());
  driver.asked = 0;
  CHECK_FALSE(use());
  CHECK(driver.asked == 0);
}

TEST_CASE_METHOD(Moment, "nothing is made while somebody submits") {
  submissions.enter(place);
  CHECK_FALSE(use());
  CHECK(made == 0);
  SubmissionPause::leave(place);
}

TEST_CASE_METHOD(Moment, "who is in a hurry is not waited for, and that says nothing of the device") {
  driver.idle_after = -1;
  CHECK_FALSE(use(true));
  CHECK_FALSE(moment.paused());
}

TEST_CASE_METHOD(Moment, "a stream that was destroyed is not asked") {
  stream.id = 0;
  driver.idle_after = -1;
  CHECK(use());
  CHECK(made == 1);
  CHECK(driver.asked == 0);
}

TEST_CASE_METHOD(Moment, "while the application captures no stream is asked, and nothing is made") {
  moment.begin_capture();
  CHECK(moment.paused());
  CHECK_FALSE(use());
  CHECK(made == 0);
  CHECK(driver.asked == 0);
  moment.end_capture();
  CHECK(use());
  CHECK(made == 1);
}

}  // namespace refrain::backends
