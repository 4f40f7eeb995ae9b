// What follows from seeing an event set: that so much of a command list is done.
//
// That is only known where exactly one command can have set it since it was seen to be not set. Other threads may
// submit, wait and reset meanwhile, so who asks the driver looks here before the question, and learns something only
// if nothing has changed since.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/level_zero/list.h"

namespace refrain::layer::level_zero {

/// Thread-safe, without locks.
class EventMeaning {
 public:
  /// A command that signals the event is about to be submitted.
  class Signal {
    friend class EventMeaning;
    std::uint64_t word_ = 0;
    bool only_one_ = false;
  };
  /// Before the driver is called, or the command is held.
  [[nodiscard]] Signal begin_signal() noexcept {
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(before, next(before, kUnknown), std::memory_order_acq_rel)) {
    }
    Signal signal;
    signal.word_ = next(before, kUnknown);
    signal.only_one_ = state(before) == kClear;
    return signal;
  }
  /// After it was submitted: when it has set the event, the first `covers` commands of `list` are done. Null: that says
  /// nothing about any list. Without this (the driver refused the command), nothing will ever be known of the event.
  void signals(const Signal& signal, backends::ImmediateList* list, std::uint64_t covers) noexcept {
    if (!signal.only_one_) {
      return;
    }
    list_.store(list, std::memory_order_relaxed);
    covers_.store(covers, std::memory_order_relaxed);
    std::uint64_t expected = signal.word_;
    word_.compare_exchange_strong(expected, next(expected, kOnItsWay), std::memory_order_acq_rel);
  }

  struct Sight {
    std::uint64_t word = 0;
    backends::ImmediateList* list = nullptr;
    std::uint64_t covers = 0;
  };
  /// Before the driver is asked whether the event is set, or to wait for it.
  [[nodiscard]] Sight look() const noexcept {
    return {word_.load(std::memory_order_acquire), list_.load(std::memory_order_acquire),
            covers_.load(std::memory_order_acquire)};
  }
  /// The driver said that it is set. What follows is told to the list.
  void seen_set(const Sight& sight) noexcept {
    std::uint64_t expected = sight.word;
    if (state(expected) == kOnItsWay &&
        word_.compare_exchange_strong(expected, next(expected, kSet), std::memory_order_acq_rel) &&
        sight.list != nullptr) {
      sight.list->done_up_to(sight.covers);
    }
  }

  /// The host has reset it.
  void reset_by_host() noexcept {
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (state(before) == kSet || state(before) == kOnItsWay) {
      // What is on its way may still set it, unless it is known to be done by something else.
      const bool done = state(before) == kSet || known_done();
      if (word_.compare_exchange_weak(before, next(before, done ? kClear : kUnknown), std::memory_order_acq_rel)) {
        return;
      }
    }
  }
  /// The host is about to set it.
  void set_by_host() noexcept {
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    while (state(before) == kClear || state(before) == kOnItsWay) {
      const State then = state(before) == kClear ? kSet : kUnknown;
      if (word_.compare_exchange_weak(before, next(before, then), std::memory_order_acq_rel)) {
        return;
      }
    }
  }
  /// Something happens to it at some time, or nobody knows what.
  void muddle() noexcept { static_cast<void>(begin_signal()); }

  /// Of a new event.
  void renew() noexcept {
    word_.store(next(word_.load(std::memory_order_relaxed), kClear), std::memory_order_release);
    list_.store(nullptr, std::memory_order_relaxed);
  }

 private:
  enum State : std::uint64_t {
    kClear,     ///< not set, and nothing on its way sets it
    kOnItsWay,  ///< as before, but for one command
    kSet,       ///< and nothing on its way changes it
    kUnknown    ///< for good
  };
  static constexpr std::uint64_t kStates = 4;
  [[nodiscard]] static State state(std::uint64_t word) noexcept { return static_cast<State>(word % kStates); }
  /// Each word comes once.
  [[nodiscard]] static std::uint64_t next(std::uint64_t word, State state) noexcept {
    return (word / kStates + 1) * kStates + state;
  }
  [[nodiscard]] bool known_done() const noexcept {
    const backends::ImmediateList* list = list_.load(std::memory_order_relaxed);
    return list != nullptr &&
           list->known_done.load(std::memory_order_relaxed) >= covers_.load(std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> word_{kClear};  ///< state, and how often it changed
  std::atomic<backends::ImmediateList*> list_{nullptr};
  std::atomic<std::uint64_t> covers_{0};
};

}  // namespace refrain::layer::level_zero
