// Where nothing is ever held, submissions are looked at together: each alone, between two calls of a driver that leaves
// nothing of this in the processor's caches, would cost several times as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "env/mutex.h"
#include "replay/lane/deferred_submission.h"
#include "replay/lane/engine_state.h"
#include "replay/lane/lane_front.h"

namespace refrain::replay {

/// For the lane's own thread. Nothing is deferred before start().
class DeferredSubmissions {
 public:
  explicit DeferredSubmissions(LaneFront& front) noexcept : front_(front) {}
  DeferredSubmissions(const DeferredSubmissions&) = delete;
  DeferredSubmissions& operator=(const DeferredSubmissions&) = delete;

  /// From now on all are. Throws std::bad_alloc.
  void start() {
    slots_ = std::make_unique<DeferredSubmission[]>(kMost);
    gone_ = front_.engine->gone.load(std::memory_order_relaxed);
    front_.deferred = slots_.get();
  }
  /// One more. True: there is no room for another one.
  [[nodiscard]] bool note(const Noted& noted) noexcept {
    slots_[count_++].note(noted);
    return count_ == kMost;
  }
  /// Whether defer() may be called instead.
  [[nodiscard]] bool can_defer() const noexcept { return front_.deferred != nullptr && count_ + 1 < kMost; }
  template <class Deferred, class... What>
  void defer(LookAtDeferred how, const What&... what) noexcept {
    slots_[count_++].defer<Deferred>(how, what...);
  }

  /// All so far, oldest first. `may_ask`: see LookAtDeferred.
  template <class Use>
  void take(bool may_ask, Use&& use) {
    const std::uint32_t count = std::exchange(count_, 0);
    for (std::uint32_t i = 0; i < count; ++i) {
      use(slots_[i].look(may_ask));
    }
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  void forget() noexcept { count_ = 0; }
  /// What is kept next names nothing that was gone by then, as EngineState::gone counts.
  void begin_anew(std::uint64_t gone) noexcept { gone_ = gone; }
  /// See Lane::while_nothing_gone().
  template <class Use>
  void while_nothing_gone(Use&& use) const {
    const env::MutexLock lock(front_.engine->asking);
    if (front_.engine->gone.load(std::memory_order_seq_cst) == gone_) {
      use();
    }
  }

 private:
  static constexpr std::uint32_t kMost = 32;  // limit

  LaneFront& front_;
  std::unique_ptr<DeferredSubmission[]> slots_;
  std::uint32_t count_ = 0;
  std::uint64_t gone_ = 0;  ///< EngineState::gone when nothing was deferred last
};

}  // namespace refrain::replay
