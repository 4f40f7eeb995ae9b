// Follows one lane's stream through what is known of it, and learns what is not: the cursor, how it is
// found again when the stream does something else, and when what was seen becomes a track.
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "replay/detect/chunks.h"
#include "replay/detect/detector.h"
#include "replay/detect/held_window.h"
#include "replay/detect/history.h"
#include "replay/detect/matcher.h"
#include "replay/detect/seen_filter.h"
#include "replay/detect/tracks.h"

namespace refrain::replay {

class Follower {
 public:
  explicit Follower(const MatcherOptions& options);
  /// See Matcher::set_lengths() and use_lengths().
  void set_lengths(std::uint32_t way, const ChunkLengths& lengths) noexcept;
  void use_lengths(std::uint32_t way) noexcept;

  /// See Matcher::feed(), cut() and expire().
  void feed(Token token) {
    background();
    window_.begin(++stats_.operations);
    history_.push(token, Cut::kNone);
    if (expected(token)) [[likely]] {
      window_.advance(cursor_);
    } else {
      surprise(token, false);
    }
    after();
  }
  void cut(Token identity, Cut kind, bool operation);
  void expire();
  void set_detecting(bool on) noexcept;
  /// See Matcher::next_chunk() and forget_held().
  [[nodiscard]] Holding next_chunk() noexcept { return cursor_.track == nullptr ? Holding{} : window_.next(cursor_); }
  void forget_held() noexcept { window_.forget_held(); }

  [[nodiscard]] const HeldWindow& window() const noexcept { return window_; }
  [[nodiscard]] ChunkTable& chunks() noexcept { return chunks_; }
  [[nodiscard]] MatcherStats stats() const;

 private:
  /// Where, when and with what a track was left.
  struct Exit {
    std::uint32_t track = kNone;
    std::uint32_t offset = 0;
    Token token = 0;
    std::uint64_t position = 0;
  };
  /// After leaving a track without knowing why, the stream is expected back near there.
  struct Guess {
    Exit exit;                   ///< track kNone: nothing is expected
    std::uint32_t budget = 0;    ///< wrong guesses that are allowed until one is right
    std::uint32_t pending = 0;   ///< operations until the one that was made counts as right; 0: none was
    std::uint64_t position = 0;  ///< of the value with which it was made
    std::uint32_t skip = 0;      ///< tokens of the track that are missing
    std::uint32_t after = 0;     ///< offset after that value
    bool disturbed = false;      ///< what came in between had never been seen
  };

  [[nodiscard]] bool expected(Token value) const noexcept {
    return cursor_.track != nullptr && cursor_.offset < cursor_.track->built &&
           cursor_.track->tokens[cursor_.offset] == value;
  }
  void go(Place place) noexcept {
    cursor_ = place;
    store_.touch(*place.track);
  }
  void accept(bool cut);
  void surprise(Token value, bool cut);
  [[nodiscard]] Place known_branch(Token value);
  void lose(Token value);
  [[nodiscard]] Place expected_back() noexcept;
  bool try_guess(Token value, bool cut);
  void found(Place place);
  void after() {
    if (guess_.pending != 0 && --guess_.pending == 0) [[unlikely]] {
      guess_was_right();
    }
    if (detecting_) [[likely]] {
      const Detector::Step step = detector_.step();
      if ((step.ended | step.period) != 0) [[unlikely]] {
        detected(step);
      }
    }
    if (postponed_period_ != 0 && window_.held() == 0) [[unlikely]] {
      postponed_period();
    }
  }
  void detected(Detector::Step step);
  /// Before anything else is done in a call: what the last call launched is still known until then.
  void background() {
    if (store_.busy()) [[unlikely]] {
      store_.work(cursor_.track);
    }
  }

  Track* learn_gap(std::uint64_t match, std::uint64_t length, std::uint64_t end, const Track* keep);
  void guess_was_right();
  bool forget_disturbance(std::uint64_t matched);
  void match_ended(std::uint64_t length);
  void period_seen(std::uint64_t period);
  void postponed_period();
  void promote(std::uint64_t period);
  [[nodiscard]] std::uint32_t loop_within(std::uint64_t source, std::uint64_t period) const noexcept;

  MatcherOptions options_;
  std::uint32_t longest_allowed_;  ///< chunk_cap as it was given
  struct Way {
    ChunkLengths lengths;
    std::uint32_t number = 0;  ///< others have others
  };
  std::array<Way, kChunkWays> ways_;
  std::uint32_t way_ = 0;      ///< in use
  std::uint32_t numbers_ = 0;  ///< given to ways so far
  History history_;
  Detector detector_;
  ChunkTable chunks_;
  TrackStore store_;
  HeldWindow window_;
  bool detecting_ = true;

  Place cursor_;                   // where the stream is believed to be; track null: lost
  Exit exit_;                      // by which it got lost
  std::uint64_t lost_since_ = 0;   // position of the first unknown value
  std::uint64_t last_miss_ = 0;    // position + 1 of the newest value that was not predicted
  std::uint64_t miss_before_ = 0;  // the same when the stream got lost
  bool novel_ = false;             // nothing since then had ever been seen
  SeenFilter seen_;
  Guess guess_;

  struct Loop {
    std::uint64_t period = 0;
    std::uint32_t track = kNone;
  };
  std::array<Loop, 64> loops_{};  // latest track for a period, at its value modulo the size
  std::uint64_t promoted_period_ = 0, promoted_until_ = 0;
  std::uint32_t inner_ = 0;             ///< the newest period without a cut
  std::uint64_t postponed_period_ = 0;  ///< seen while something was held
  std::uint64_t last_cut_ = 0;          // position
  MatcherStats stats_;
};

}  // namespace refrain::replay
