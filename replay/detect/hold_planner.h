// What is held of one lane, and why: the chunk that the newest operations belong to so far. Turns steps
// along a pattern into actions. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "replay/detect/chunk.h"
#include "replay/detect/chunks.h"
#include "replay/detect/patterns.h"

namespace refrain::replay {

class HoldPlanner {
 public:
  HoldPlanner(const MatcherOptions& options, ChunkTable& chunks, PatternStore& store)
      : options_(options), chunks_(chunks), store_(store), growth_limit_(options.chunk_first) {
    actions_.reserve(64);
  }

  /// A new call, about the operation with this number: nothing is to be done yet.
  void begin(std::uint64_t operation) noexcept {
    operations_ = operation;
    actions_.clear();
    following_ = {};
    ahead_ = {};
  }
  /// `count` of the oldest held operations, or the newest one if nothing is held, are issued.
  void issue(std::uint32_t count) {
    if (!actions_.empty() && actions_.back().kind == Action::Kind::kIssue) {
      actions_.back().count += count;
    } else {
      actions_.push_back({Action::Kind::kIssue, count, kNoChunk});
    }
  }

  /// The newest operation is the next token at `cursor`, which moves on.
  void advance(Place& cursor) {
    if (site_ == nullptr) {
      enter(cursor);
    }
    ++cursor.offset;
    if (site_ != nullptr && mode_ == ChunkMode::kHold) {
      ++held_;
      if (cursor.offset == range_.end) {
        largest_hold_ = std::max(largest_hold_, held_);
        launch(held_, chunk_);
        held_ = 0;
        completed(*cursor.pattern);
      }
    } else {
      issue(1);
      if (site_ != nullptr) {
        follow(cursor);
      }
    }
    cursor.wrap();
  }

  /// The stream does not go on inside the chunk, or must not: what is held of it leaves as those parts
  /// of it that can be launched, and the rest operation by operation. `failed`: it was to be expected
  /// that the chunk would be completed.
  void leave(Pattern* pattern, bool failed);

  /// What is held was launched by the lane itself, on the prediction of next().
  void forget_held() noexcept {
    site_ = nullptr;
    held_ = 0;
  }
  /// The chunk behind the one that is held, or the one at the cursor if nothing is, if it will be held when all goes on
  /// as known; asked again, the one behind that. Valid until the next call of begin().
  [[nodiscard]] Holding next(const Place& cursor) noexcept;

  /// Nothing longer than the first chunk after a host call is held until something was launched.
  void start_small() noexcept { growth_limit_ = options_.chunk_first; }
  /// The pattern's own division starts small here, or nothing needs to.
  void start_large() noexcept { growth_limit_ = options_.chunk_cap; }

  [[nodiscard]] std::uint32_t held() const noexcept { return held_; }
  [[nodiscard]] Holding holding() const noexcept {
    return held_ == 0 ? Holding{} : Holding{chunk_, held_, range_.length()};
  }
  [[nodiscard]] const Following& following() const noexcept { return following_; }
  [[nodiscard]] const std::vector<Action>& actions() const noexcept { return actions_; }

  /// Fills in what is known here.
  void count_launches(MatcherStats& stats) const noexcept {
    stats.launches = launches_;
    stats.launched_operations = launched_operations_;
    stats.first_launch_at = first_launch_at_;
    stats.largest_hold = std::max(largest_hold_, held_);
  }

 private:
  void launch(std::uint32_t count, ChunkId chunk) {
    actions_.push_back({Action::Kind::kLaunch, count, chunk});
    launched_operations_ += count;
    first_launch_at_ = launches_++ == 0 ? operations_ : first_launch_at_;
  }
  void enter(const Place& cursor);
  void follow(const Place& cursor) noexcept;
  void completed(const Pattern& pattern) noexcept;
  [[nodiscard]] std::uint32_t grown(std::uint32_t limit) const noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{limit} * options_.chunk_growth, options_.chunk_cap));
  }
  [[nodiscard]] bool can_hold(Pattern& pattern, Range part, Range whole);
  void launch_parts(Pattern& pattern, Range range, int depth);

  const MatcherOptions& options_;
  ChunkTable& chunks_;
  PatternStore& store_;

  ChunkSite* site_ = nullptr;  // of the chunk that is held or followed; null: none
  Range range_;
  ChunkId chunk_ = kNoChunk;
  ChunkMode mode_ = ChunkMode::kBypass;
  bool reported_ = false;  // not held, but shown in following()
  std::uint32_t held_ = 0;
  std::uint32_t growth_limit_;  // longest chunk to hold now; grows with each one that completes
  /// How far next() was asked: the end of the last chunk that it told.
  struct Ahead {
    bool known = false;
    std::uint32_t offset = 0, growth_limit = 0;
  };
  Ahead ahead_;

  Following following_;
  std::vector<Action> actions_;
  std::uint64_t operations_ = 0;
  std::uint64_t launches_ = 0, launched_operations_ = 0, first_launch_at_ = 0;
  std::uint32_t largest_hold_ = 0;
};

}  // namespace refrain::replay
