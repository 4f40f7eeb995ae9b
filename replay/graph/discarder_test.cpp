#include "replay/graph/discarder.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

/// What a driver has of it goes in `on`, after `work`.
struct Buffer final : backends::CommandBuffer {
  explicit Buffer(std::atomic<std::thread::id>* its_on, void (*its_work)() = nullptr) noexcept
      : on(its_on), work(its_work) {}
  ~Buffer() override {
    *on = std::this_thread::get_id();
    if (work != nullptr) {
      work();
    }
  }
  backends::Status enqueue(std::span<const backends::Event> /*waits*/, backends::Event* /*done*/) noexcept override {
    return {};
  }
  backends::Status update(std::span<const backends::NodeUpdate> /*updates*/) noexcept override { return {}; }
  [[nodiscard]] bool busy() const noexcept override { return false; }

  std::atomic<std::thread::id>* on;
  void (*work)();
};

Discarder::Buffers one(std::atomic<std::thread::id>* on, void (*work)() = nullptr) {
  Discarder::Buffers buffers;
  buffers.push_back(std::make_unique<Buffer>(on, work));
  buffers.push_back(nullptr);  // an operation that is issued
  return buffers;
}

}  // namespace

TEST_CASE("what is discarded is gone behind it: on another thread, and behind the end on this one") {
  test::ArithmeticBackend backend;
  Discarder discarder(backend);
  std::atomic<std::thread::id> on;
  discarder.look_again();  // nothing to look for yet
  discarder.discard(one(&on));
  CHECK(on.load() != std::thread::id());
  CHECK(on.load() != std::this_thread::get_id());
  discarder.look_again();
  discarder.stop();
  discarder.discard(one(&on));
  CHECK(on.load() == std::this_thread::get_id());
}

TEST_CASE("a driver that never returns from taking a graph back keeps nobody", "[promise-3]") {
  // The thread is there as long as the process lives, and uses them.
  static test::ArithmeticBackend& backend = *new test::ArithmeticBackend;
  static Discarder& discarder = *new Discarder(backend);
  static std::atomic<std::thread::id> on, other;
  const auto start = std::chrono::steady_clock::now();
  // What such a driver has is never destroyed. Here it stays known, which leaked memory is not.
  static auto& lost = *new std::vector<const void*>;
  const auto known = [](Discarder::Buffers buffers) {
    lost.push_back(buffers.front().get());
    return buffers;
  };
  discarder.discard(known(one(&on, [] { std::this_thread::sleep_for(std::chrono::hours(1)); })));
  CHECK(on.load() != std::thread::id());
  const auto since = std::chrono::steady_clock::now();
  discarder.discard(known(one(&other)));
  CHECK(other.load() == std::thread::id());  // who knows what the driver would do
  discarder.look_again();
  discarder.stop();
  discarder.discard(known(one(&other)));
  CHECK(other.load() == std::thread::id());
  const auto end = std::chrono::steady_clock::now();
  CHECK(since - start > env::StuckCheck::kLongest - std::chrono::milliseconds(100));
  CHECK(end - since < env::StuckCheck::kLongest / 2);
}

}  // namespace refrain::replay
