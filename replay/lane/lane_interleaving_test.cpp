// Two threads and three operations in every order: one thread stands still wherever it may (between its operations, and
// inside the driver, with its lane's lock taken), while the other one acts until it is done or has to wait for the
// first.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "replay/engine_test_support.h"

namespace refrain::replay {
namespace {

using test::Arrived;
using test::constant;
using test::Program;
using test::quiet;
using test::Rig;

constexpr int kLength = 8;                ///< of the loop that is replayed
constexpr int kPrefix = 3;                ///< of it that is held when the operations begin
constexpr std::uint64_t kStrange = 5000;  ///< scalars of what the first thread's loop does not have
constexpr std::uint64_t kOther = 9000;    ///< scalars of the second thread
constexpr EntryPoint kCall{"a call"};

/// What the first thread does: goes on with its loop, does something else, or waits.
constexpr std::string_view kFirst = "hsw";
/// What the second thread does: submits to the first one's queue or to its own, flushes that queue or that lane,
/// flushes everything.
constexpr std::string_view kSecond = "qoslf";

/// Whether the thread sleeps: what it waits for comes from the thread that looks.
bool sleeps(pid_t thread) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
  char line[256] = "";
  if (std::FILE* file = std::fopen(path, "re"); file != nullptr) {
    const bool told = std::fgets(line, sizeof(line), file) != nullptr;
    std::fclose(file);
    const char* behind_name = told ? std::strrchr(line, ')') : nullptr;
    return behind_name != nullptr && behind_name[1] != '\0' && behind_name[2] == 'S';
  }
  return false;
}

/// Acts when it is told. Used by one thread.
class Second {
 public:
  Second() : thread_([this] { run(); }) {
    while (id_ == 0) {
      std::this_thread::yield();
    }
  }
  ~Second() {
    begin([] {});
    ends_ = true;
    thread_.join();
  }
  Second(const Second&) = delete;
  Second& operator=(const Second&) = delete;

  void begin(std::function<void()> what) {
    finish();
    what_ = std::move(what);
    busy_.store(true, std::memory_order_release);
  }
  /// Until it is done, or has to wait for the calling thread.
  void let_act() const {
    for (int asleep = 0; busy_.load(std::memory_order_acquire) && asleep < 3;) {
      asleep = sleeps(id_) ? asleep + 1 : 0;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  void finish() const {
    while (busy_.load(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }

 private:
  void run() {
    id_ = ::gettid();
    while (!ends_) {
      if (busy_.load(std::memory_order_acquire)) {
        what_();
        busy_.store(false, std::memory_order_release);
      } else {
        std::this_thread::yield();  // it must not look asleep
      }
    }
  }

  std::function<void()> what_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> ends_{false};
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

/// What the second thread did to the first one's queue, or learnt of it.
struct Seen {
  std::size_t returned = 0;             ///< the first thread's submissions that had returned when it began
  std::size_t begun = 0;                ///< that had begun when it was done
  std::size_t arrived = 0;              ///< that had arrived when it was done
  std::optional<std::uint64_t> scalar;  ///< of what it submitted there
};

class World {
 public:
  World() : rig_(quiet(false)) {
    second_queue_.info.id = 2;
    second_queue_.info.handle = 2;
    second_queue_.info.role = 1;
    rig_.engine->adopt_queue(second_queue_);
    first_ = std::make_unique<Program>(*rig_.engine, rig_.backend, rig_.queue);
    second_.begin([&] {
      to_firsts_ = std::make_unique<Program>(*rig_.engine, rig_.backend, rig_.queue);
      to_own_ = std::make_unique<Program>(*rig_.engine, rig_.backend, second_queue_);
    });
    second_.finish();
    lane_ = rig_.engine->lane().number();
    rig_.backend.in_run = [this] { point(); };
    learn(30);
    REQUIRE(rig_.report()["replayed"].get<int>() > 0);
  }

  /// The first thread does `first`, and at its `stop`th point the second one begins with `second`. False: it has fewer.
  bool trial(std::string_view first, std::string_view second, int stop) {
    learn(2);
    begin_ = log_of_first_queue().size();
    first_->submitted.clear();
    to_firsts_->submitted.clear();
    seen_.clear();
    returned_ = begun_ = 0;
    for (int k = 0; k < kPrefix; ++k) {
      submit(k, constant(0, k));
    }
    next_ = kPrefix;
    plan_ = second;
    points_left_ = stop;
    started_ = false;
    for (const char kind : first) {
      point();
      act_first(kind);
    }
    point();
    points_left_ = 0;
    second_.finish();
    first_->wait();
    return started_;
  }

  void check() {
    const std::vector<Arrived> all = log_of_first_queue();
    std::vector<Arrived> firsts, seconds;
    for (std::size_t i = begin_; i < all.size(); ++i) {
      (all[i].scalar < kOther ? firsts : seconds).push_back(all[i]);
    }
    CHECK(firsts == first_->submitted);
    CHECK(seconds == to_firsts_->submitted);
    CHECK_FALSE(held_of_first());
    for (const Seen& each : seen_) {
      CHECK(each.arrived >= each.returned);
      if (each.scalar) {
        std::size_t before = 0;
        for (std::size_t i = begin_; i < all.size() && all[i].scalar != *each.scalar; ++i) {
          before += all[i].scalar < kOther ? 1 : 0;
        }
        CHECK(before >= each.returned);
        CHECK(before <= each.begun);
      }
    }
  }

 private:
  /// The first thread stands still here, if this is where it is to.
  void point() {
    if (std::this_thread::get_id() != owner_ || points_left_ == 0 || --points_left_ != 0) {
      return;
    }
    started_ = true;
    second_.begin([this] {
      for (const char kind : plan_) {
        act_second(kind);
      }
    });
    second_.let_act();
  }
  void submit(int k, std::uint64_t scalar, std::uint64_t function = 0) {
    ++begun_;
    REQUIRE(first_->kernel(function != 0 ? function : 100U + static_cast<unsigned>(k),
                           7U + static_cast<unsigned>(k) % 3, scalar) == 0);
    ++returned_;
  }
  void act_first(char kind) {
    if (kind == 'h') {
      submit(next_, constant(0, next_));
      next_ = (next_ + 1) % kLength;
    } else if (kind == 's') {
      submit(next_, kStrange + ++strange_ % 1000, 900);
    } else {
      REQUIRE(first_->wait() == 0);
      next_ = 0;
    }
  }
  void act_second(char kind) {
    Seen seen;
    seen.returned = returned_;
    Engine& engine = *rig_.engine;
    switch (kind) {
      case 'q':
        seen.scalar = kOther + ++others_;
        to_firsts_->kernel(800, 9, *seen.scalar);
        break;
      case 'o': to_own_->kernel(801, 10, kOther); return;
      case 's': engine.flush_holder(rig_.queue); break;
      case 'l': engine.flush_lane(lane_); break;
      default: engine.flush_all(kCall);
    }
    seen.begun = begun_;
    seen.arrived = 0;
    const std::vector<Arrived> all = log_of_first_queue();
    for (std::size_t i = begin_; i < all.size(); ++i) {
      seen.arrived += all[i].scalar < kOther ? 1 : 0;
    }
    seen_.push_back(seen);
  }
  /// What repeats comes again, so that the next operations are held.
  void learn(int iterations) {
    points_left_ = 0;
    loop(rig_, *first_, iterations, kLength, constant);
  }
  bool held_of_first() { return rig_.engine->anything_held() && rig_.queue.holder.load() != nullptr; }
  std::vector<Arrived> log_of_first_queue() {
    std::vector<Arrived> all = rig_.backend.log();
    std::erase_if(all, [](const Arrived& each) { return each.queue != 1; });
    return all;
  }

  const std::thread::id owner_ = std::this_thread::get_id();
  Rig rig_;
  QueueSlot second_queue_;
  std::unique_ptr<Program> first_, to_firsts_, to_own_;
  std::uint64_t lane_ = 0;
  std::size_t begin_ = 0;  ///< of the trial in the log
  std::atomic<std::size_t> returned_{0}, begun_{0};
  std::vector<Seen> seen_;  ///< by the second thread
  std::string_view plan_;
  int next_ = 0;
  int points_left_ = 0;
  bool started_ = false;
  std::uint64_t strange_ = 0, others_ = 0;
  Second second_;
};

/// All words of so many letters.
std::vector<std::string> words(std::string_view letters, std::size_t length) {
  std::vector<std::string> all{""};
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<std::string> longer;
    for (const std::string& each : all) {
      for (const char letter : letters) {
        longer.push_back(each + letter);
      }
    }
    all = std::move(longer);
  }
  return all;
}

TEST_CASE("promise 1, same order: two threads and three operations in every order", "[promise-1]") {
  World world;
  int trials = 0;
  for (const std::size_t of_first : {1U, 2U}) {
    for (const std::string& first : words(kFirst, of_first)) {
      for (const std::string& second : words(kSecond, 3 - of_first)) {
        for (int stop = 1; world.trial(first, second, stop); ++stop) {
          CAPTURE(first, second, stop);
          world.check();
          ++trials;
        }
      }
    }
  }
  CHECK(trials > 400);
}

}  // namespace
}  // namespace refrain::replay
