#include "capture/lane_stream.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "test/capture/records.h"

namespace refrain::capture {

TEST_CASE("a lane that waits for the writer goes on when there is none any more") {
  WriterSignal signal;
  LaneStream stream(1, signal, 0);
  std::atomic<bool> over{false};
  std::thread lane([&] {
    TestRecord record;
    for (int i = 0; i < 10'000; ++i) {
      stream.operation(record.kernel({.function = 1, .buffers = {1, 2}}));
    }
    over = true;
  });
  // It asks for the writer when it begins its second and third piece of memory, and then again and again.
  for (int asked = 0; asked < 4; ++asked) {
    ::sem_wait(&signal.wake);
  }
  CHECK_FALSE(over);
  signal.stopped = true;
  for (int i = 0; i < 2000 && !over; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(over);
  struct Nobody {
    void operation(const OperationView&) {}
    void host_call(const char*, std::uint64_t) {}
    void cut(const char*, std::uint64_t) {}
    void host_call_done(std::uint64_t /*time_ns*/) {}
    void region(const env::Region*) {}
  };
  while (!over) {  // else it would wait for ever
    stream.mark();
    stream.drain(Nobody());
  }
  lane.join();
}

}  // namespace refrain::capture
