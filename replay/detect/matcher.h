// Recognises what repeats in one lane's stream of submissions and says, for each submission, whether
// to issue it, to hold it, or to launch what is held. Knows tokens only: no arguments, no driver.
//
// The lane keeps a queue of held operations, oldest first. feed() is told the newest submission and
// returns actions on that queue *including the newest*: after they are applied, whatever remains is
// held. So a submission that is simply to be issued comes back as {kIssue, 1}.
//
// Not thread-safe: one matcher per lane, called by that lane's thread (or under the lane's lock).
// Only set_mode() may be called from any thread at any time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/detect/chunk.h"
#include "replay/detect/chunk_plans.h"
#include "replay/detect/chunks.h"
#include "replay/detect/detector.h"
#include "replay/detect/history.h"
#include "replay/detect/hold_planner.h"
#include "replay/detect/patterns.h"
#include "replay/detect/seen_filter.h"

namespace refrain::replay {

class Matcher {
 public:
  explicit Matcher(const MatcherOptions& options);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// One submission. If `holdable` is false it is a cut that has a token: everything held leaves
  /// first, then it is issued itself. `ends`: with it everything held leaves, itself included; always the same for one
  /// token. The span is valid until the next call.
  std::span<const Action> feed(Token token, bool holdable, bool ends = false);
  /// A host call: everything held leaves. Part of the history, like a submission with token
  /// `identity` (give each entry point its own value; kHostCallToken if it does not matter). `waits`: the program may
  /// wait for what came before, so that chunks shrink towards it; always the same for one identity.
  std::span<const Action> cut(Token identity = capture::kHostCallToken, bool waits = true);
  /// Everything held was already submitted by somebody else (the watchdog, another lane), as if a
  /// host call had come, but without being part of the program: the history is not cut.
  /// What to do with the held operations is returned as for cut().
  std::span<const Action> expire();

  /// After feed(): where the newest operation stands, if it was issued as part of a known chunk.
  [[nodiscard]] const Following& following() const noexcept { return planner_.following(); }

  /// Number of operations held after the last call.
  [[nodiscard]] std::uint32_t held() const noexcept { return planner_.held(); }
  /// Which ones, after feed().
  [[nodiscard]] Holding holding() const noexcept { return planner_.holding(); }
  /// Predicts the chunk that will be held after the current one (or next, if none is held) if the stream goes on as
  /// known; its `count` is 0. Each further call predicts one more. A caller may launch predicted chunks before it feeds
  /// their tokens, and must feed these before anything else. Predictions are valid until then.
  [[nodiscard]] Holding next_chunk() noexcept {
    return cursor_.pattern == nullptr ? Holding{} : planner_.next(cursor_);
  }
  /// What is held was launched already: for a caller that launched a predicted chunk and finds, after feeding its
  /// tokens, that another chunk is held, because something was learnt in between.
  void forget_held() noexcept { planner_.forget_held(); }

  /// Called with the mode new chunks start with (default kRecord). The detection benchmark uses kHold.
  void set_initial_mode(ChunkMode mode) noexcept { chunks_.set_initial_mode(mode); }
  /// Thread-safe; takes effect when the chunk is entered the next time.
  void set_mode(ChunkId chunk, ChunkMode mode) noexcept { chunks_.set_mode(chunk, mode); }
  [[nodiscard]] ChunkMode mode(ChunkId chunk) const noexcept { return chunks_.mode(chunk); }
  /// The tokens of a chunk; empty if it was evicted. Only on the lane's thread.
  [[nodiscard]] std::vector<Token> tokens_of(ChunkId chunk) const { return chunks_.tokens_of(chunk); }
  /// Chunks evicted since the last call, whose ids are other chunks' from the next call to feed() or cut() on: who
  /// called set_mode() for them must not do so any more. Only on the lane's thread. A chunk named by an action is
  /// evicted in the next call to feed() or cut() at the earliest. May throw std::bad_alloc.
  std::vector<ChunkId> take_evicted() { return chunks_.take_evicted(); }
  /// How many that would be.
  [[nodiscard]] std::size_t evicted() const noexcept { return chunks_.evicted(); }

  /// Says how chunk plan `plan` divides stretches; chunk_cap as it was given stays the bound. If it is the plan that is
  /// used, or may be used again, what is known is divided anew where it comes again. Only on the lane's thread.
  void set_lengths(std::uint32_t plan, const ChunkLengths& lengths) noexcept;
  /// What comes after a cut is divided by this plan from now on. At first it is plan 0, with the options' lengths.
  void use_lengths(std::uint32_t plan) noexcept;
  /// Those of this plan.
  [[nodiscard]] const ChunkLengths& lengths() const noexcept { return plans_.lengths(); }

  /// Detection on or off (matching of known chunks goes on). Off when nothing seems to be gained.
  void set_detecting(bool on) noexcept;

  /// What was learnt so far, for another run of the program. Only on the lane's thread. May throw std::bad_alloc.
  [[nodiscard]] KnownPatterns known() const;
  /// What another run has learnt; ignored once anything was fed. The same.
  void learn(const KnownPatterns& known);

  [[nodiscard]] MatcherStats stats() const;

 private:
  /// Where, when and with what a pattern was left.
  struct Exit {
    std::uint32_t pattern = kNoIndex;
    std::uint32_t offset = 0;
    Token token = 0;
    std::uint64_t position = 0;
  };
  /// After leaving a pattern without knowing why, the sequence is predicted to come back near there.
  struct Guess {
    Exit exit;                   ///< pattern kNoIndex: nothing is predicted
    std::uint32_t budget = 0;    ///< wrong guesses that are allowed until one is right
    std::uint32_t pending = 0;   ///< operations until the one that was made counts as right; 0: none was
    std::uint64_t position = 0;  ///< of the value with which it was made
    std::uint32_t skip = 0;      ///< tokens of the pattern that are missing
    std::uint32_t after = 0;     ///< offset after that value
    bool disturbed = false;      ///< what came in between had never been seen
  };

  void submitted(Token token, bool ends);
  void end_stretch();
  void cut(Token identity, Cut kind, bool operation);
  [[nodiscard]] bool is_next(Token value) const noexcept {
    return cursor_.pattern != nullptr && cursor_.offset < cursor_.pattern->built &&
           cursor_.pattern->tokens[cursor_.offset] == value;
  }
  void go(Place place) noexcept {
    cursor_ = place;
    store_.touch(*place.pattern);
  }
  void accept(bool cut);
  void mispredicted(Token value, bool cut);
  [[nodiscard]] Place known_branch(Token value);
  void lose(Token value);
  [[nodiscard]] Place predicted_back() noexcept;
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
    if (postponed_period_ != 0 && planner_.held() == 0) [[unlikely]] {
      postponed_period();
    }
  }
  void detected(Detector::Step step);
  /// Before anything else is done in a call: what the last call launched is still known until then.
  void background() {
    if (store_.busy()) [[unlikely]] {
      store_.work(cursor_.pattern);
    }
  }

  Pattern* learn_gap(std::uint64_t match, std::uint64_t length, std::uint64_t end, const Pattern* keep);
  void guess_was_right();
  bool forget_disturbance(std::uint64_t matched);
  void match_ended(std::uint64_t length);
  void period_seen(std::uint64_t period);
  void postponed_period();
  void promote(std::uint64_t period);
  [[nodiscard]] std::uint32_t loop_within(std::uint64_t source, std::uint64_t period) const noexcept;

  ChunkPlans plans_;
  History history_;
  Detector detector_;
  ChunkTable chunks_;
  PatternStore store_;
  HoldPlanner planner_;
  bool detecting_ = true;

  Place cursor_;                   // where the stream is believed to be; pattern null: lost
  Exit exit_;                      // by which it got lost
  std::uint64_t lost_since_ = 0;   // position of the first unknown value
  std::uint64_t last_miss_ = 0;    // position + 1 of the newest value that was not predicted
  std::uint64_t miss_before_ = 0;  // the same when the stream got lost
  bool novel_ = false;             // nothing since then had ever been seen
  SeenFilter seen_;
  Guess guess_;

  struct Loop {
    std::uint64_t period = 0;
    std::uint32_t pattern = kNoIndex;
  };
  std::array<Loop, 64> loops_{};  // latest pattern for a period, at its value modulo the size
  std::uint64_t promoted_period_ = 0, promoted_until_ = 0;
  std::uint32_t inner_ = 0;             ///< the newest period without a cut
  std::uint64_t postponed_period_ = 0;  ///< seen while something was held
  std::uint64_t last_cut_ = 0;          // position
  MatcherStats stats_;
};

}  // namespace refrain::replay
