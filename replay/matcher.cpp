#include "replay/matcher.h"

#include <algorithm>
#include <array>
#include <utility>

#include "replay/chunks.h"
#include "replay/detector.h"
#include "replay/history.h"
#include "replay/tracks.h"

namespace refrain::replay {
namespace {

/// Cuts are values of the history like operations, but never equal to one.
constexpr std::uint64_t kCutSalt = 0xA24BAED4963EE407ULL;
/// After leaving a track without knowing why, the stream is expected back there for so many operations …
constexpr std::uint64_t kGuessWindow = 8;
/// … up to so many tokens further on than where it left.
constexpr std::uint32_t kGuessSkip = 3;
/// Operations after which such a guess counts as right, and wrong guesses allowed until one is.
constexpr std::uint32_t kGuessConfirmed = 4, kGuessBudget = 3;
/// How far back a place found by its last six values is compared with what came before.
constexpr std::uint64_t kCompareBack = 64;
/// A chunk that fails twice as often as it completes is entered less and less often, down to once in 1024.
constexpr std::uint8_t kMaxBackoff = 12, kBackoffRelief = 2;
/// How often a loop must repeat without a break if what is known predicts it well enough already.
constexpr std::uint64_t kTimesToPromote = 4;

MatcherOptions sane(MatcherOptions options) {
  options.chunk_cap = std::clamp(options.chunk_cap, 1U, 1U << 20U);
  options.chunk_first = std::clamp(options.chunk_first, 1U, options.chunk_cap);
  options.chunk_growth = std::max(options.chunk_growth, 1U);
  options.history = std::clamp(options.history, 64U, 1U << 22U);
  options.max_nodes = std::clamp(options.max_nodes, 64U, 1U << 28U);
  options.min_chunk = std::max(options.min_chunk, 1U);
  return options;
}

/// Which values were seen before, roughly: may claim so wrongly, and forgets what is long ago.
class SeenFilter {
 public:
  /// Whether `value` was seen before; from now on it was.
  bool test_and_set(Token value) {
    if (marks_.empty()) {
      marks_ = LazyArray<std::uint16_t>(kBuckets * kWays);
    }
    const std::uint64_t hash = value * kHashBase;
    const auto mark = static_cast<std::uint16_t>((hash >> 32U & 0xFFFFU) | 1U);
    std::uint16_t* const bucket = &marks_[(hash >> 48U & (kBuckets - 1)) * kWays];
    if (std::find(bucket, bucket + kWays, mark) != bucket + kWays) {
      return true;
    }
    bucket[next_++ % kWays] = mark;
    return false;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return marks_.bytes(); }

 private:
  static constexpr std::size_t kBuckets = 4096, kWays = 8;
  LazyArray<std::uint16_t> marks_;
  std::uint32_t next_ = 0;
};

}  // namespace

struct Matcher::Implementation {
  explicit Implementation(const MatcherOptions& given)
      : options(sane(given)),
        history(options.history),
        detector(history),
        chunks(options.max_nodes / 2),
        store(options, history, chunks),
        growth_limit(options.chunk_first) {
    actions.reserve(64);
  }

  /// The chunk that the newest operations belong to so far.
  struct Active {
    Slot* slot = nullptr;  ///< null: none
    Range range;
    ChunkId chunk = kNoChunk;
    ChunkMode mode = ChunkMode::kPass;
    bool reported = false;  ///< not held, but shown in following()
  };

  /// Where and with what a known stretch was left.
  struct Exit {
    std::uint32_t track = kNone;
    std::uint32_t offset = 0;
    Token token = 0;
    std::uint64_t position = 0;
  };

  MatcherOptions options;
  History history;
  Detector detector;
  ChunkTable chunks;
  TrackStore store;

  Track* track = nullptr;    // where the stream is believed to be; null: lost
  std::uint32_t offset = 0;  // of the next token there
  Active active;
  std::uint32_t held = 0;
  std::uint32_t growth_limit;  // longest chunk to hold now; grows with each one that completes
  Following following;
  std::vector<Action> actions;
  bool detecting = true;

  Exit exit;                      // by which the stream got lost
  std::uint64_t lost_since = 0;   // position of the first unknown value
  std::uint64_t last_miss = 0;    // position + 1 of the newest value that was not predicted
  std::uint64_t miss_before = 0;  // the same when the stream got lost
  bool novel = false;             // nothing since then had ever been seen
  SeenFilter seen;
  struct Recurring {
    std::uint64_t period = 0;
    std::uint32_t track = kNone;
  };
  std::array<Recurring, 64> recurring{};  // loops that what is known predicts, but not as loops
  Exit guess;                             // where it is expected back; track kNone: nowhere
  std::uint32_t guess_budget = kGuessBudget;
  std::uint32_t watch = 0;  // operations until the last guess counts as right; 0: none pending
  std::uint64_t guessed_at = 0;
  std::uint32_t guessed_offset = 0, guessed_skip = 0;
  bool disturbed = false;  // what came in between had never been seen
  std::uint64_t promoted_period = 0, promoted_until = 0;
  std::uint64_t last_cut = 0;  // position

  MatcherStats stats;

  // --- actions ---

  void issue(std::uint32_t count) {
    if (!actions.empty() && actions.back().kind == Action::Kind::kIssue) {
      actions.back().count += count;
    } else {
      actions.push_back({Action::Kind::kIssue, count, kNoChunk});
    }
  }

  void launch(std::uint32_t count, ChunkId chunk) {
    actions.push_back({Action::Kind::kLaunch, count, chunk});
    stats.launched_operations += count;
    if (stats.launches++ == 0) {
      stats.first_launch_at = stats.operations;
    }
  }

  // --- chunks ---

  static void failed(Slot& slot) noexcept {
    slot.backoff = std::min<std::uint8_t>(kMaxBackoff, static_cast<std::uint8_t>(slot.backoff + 1));
    if (slot.backoff >= 3) {
      slot.skip = static_cast<std::uint16_t>(1U << (slot.backoff - 2U));
    }
  }

  void completed() noexcept {
    active.slot->backoff =
        static_cast<std::uint8_t>(std::max(active.slot->backoff, kBackoffRelief) - kBackoffRelief);
    active.slot = nullptr;
    chunks.prefetch(track->spots[offset == track->length ? 0 : offset].head);
    if (growth_limit < options.chunk_cap) {
      growth_limit = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(std::uint64_t{growth_limit} * options.chunk_growth, options.chunk_cap));
    }
  }

  /// Chooses the chunk that starts at the cursor, if any.
  void enter() {
    if (offset >= track->planned) {
      return;
    }
    Range range = TrackStore::largest_part(*track, offset);
    if (track->training.length() != 0) {
      while (range.contains(track->training) && range != track->training) {
        range = left_part(range, track->unit);
      }
      if (range == track->training) {
        track->training = {};
      }
    }
    while (range.length() >= options.min_chunk) {
      Slot* slot = store.slot(*track, range);
      if (slot == nullptr) {
        return;
      }
      const Range left = left_part(range, track->unit);
      if (slot->skip != 0) {
        --slot->skip;
      } else {
        const ChunkMode mode = ChunkTable::mode_of(*slot);
        if (mode != ChunkMode::kHold || range.length() <= growth_limit || !can_hold(left, range)) {
          active = {slot, range, slot->id, mode, false};
          // Parts of main chunks are worth building only where the stream is disturbed again and again.
          active.reported =
              mode != ChunkMode::kHold && (slot->entered != 0 || range == track->spots[offset].main);
          slot->entered = 1;
          __builtin_prefetch(&track->spots[range.end == track->length ? 0 : range.end]);
          return;
        }
      }
      if (left == range) {
        return;
      }
      range = left;
    }
  }

  bool can_hold(Range part, Range whole) {
    if (part == whole || part.length() < options.min_chunk) {
      return false;
    }
    const Slot* slot = store.slot(*track, part);
    return slot != nullptr && slot->skip == 0 && ChunkTable::mode_of(*slot) == ChunkMode::kHold;
  }

  /// The cursor does not move on inside the active chunk: what is held of it leaves as the launchable
  /// parts of it, the longest first, and the rest operation by operation.
  void leave(bool penalise) {
    if (active.slot == nullptr) {
      return;
    }
    if (penalise) {
      failed(*active.slot);
    }
    active.slot = nullptr;
    if (held == 0) {
      return;
    }
    const std::uint32_t end = active.range.start + held;
    held = 0;
    // At most one part of each length. All of them are asked for before the first is used: what is read
    // here was not needed for a while.
    std::array<Range, 32> parts;
    std::size_t count = 0;
    std::uint32_t start = active.range.start;
    for (; start < end && count < parts.size(); ++count) {
      parts[count] = part_within(active.range, start, end, track->unit);
      __builtin_prefetch(&track->spots[start]);
      start = parts[count].end;
    }
    for (std::size_t i = 0; i < count; ++i) {
      chunks.prefetch(track->spots[parts[i].start].head);
    }
    for (std::size_t i = 0; i < count; ++i) {
      launch_parts(parts[i], 0);
    }
    if (start < end) {
      issue(end - start);
    }
  }

  /// Launches `range`, or what is ready of it; the rest is issued.
  void launch_parts(Range range, int depth) {
    constexpr int kDepth = 3;  // so many times it is halved at most
    if (range.length() < options.min_chunk || depth > kDepth) {
      issue(range.length());
      return;
    }
    Slot* slot = depth == 0 ? store.slot(*track, range) : store.find_slot(*track, range);
    const ChunkMode mode = slot != nullptr ? ChunkTable::mode_of(*slot) : ChunkMode::kPass;
    if (mode == ChunkMode::kHold) {
      launch(range.length(), slot->id);
      return;
    }
    if (depth == 0 && mode == ChunkMode::kTrack && ++slot->wanted >= slot->wanted_limit) {
      slot->wanted = 0;
      slot->wanted_limit = static_cast<std::uint16_t>(std::min(slot->wanted_limit * 2, 1 << 14));
      track->training = range;
    }
    const Range left = left_part(range, track->unit);
    if (left == range) {
      issue(range.length());
      return;
    }
    launch_parts(left, depth + 1);
    launch_parts({left.end, range.end}, depth + 1);
  }

  // --- the cursor ---

  void wrap() noexcept {
    if (offset == track->length && track->period != 0) {
      offset = 0;
    }
  }

  void go(Place place) noexcept {
    track = place.track;
    offset = place.offset;
    store.touch(*track);
  }

  /// The newest operation is the cursor's next token.
  void advance() {
    if (active.slot == nullptr) {
      enter();
    }
    ++offset;
    if (active.slot == nullptr) {
      issue(1);
    } else if (active.mode == ChunkMode::kHold) {
      ++held;
      if (offset == active.range.end) {
        stats.largest_hold = std::max(stats.largest_hold, held);
        launch(held, active.chunk);
        held = 0;
        completed();
      }
    } else {
      issue(1);
      const bool last = offset == active.range.end;
      if (active.reported) {
        following = {active.chunk, offset - active.range.start - 1, last, active.mode};
      }
      if (last) {
        completed();
      }
    }
    wrap();
  }

  void accept(bool cut) {
    if (cut) {
      ++offset;
      wrap();
    } else {
      advance();
    }
  }

  /// The newest value is not the cursor's next token, or there is no cursor.
  void surprise(Token value, bool cut) {
    std::uint64_t newest = history.size() - 1;
    if (track != nullptr) {
      stats.largest_hold = std::max(stats.largest_hold, held);
      leave(true);
      Place place = store.follow_edge(*track, offset, value);
      if (place.track == nullptr && offset == track->length) {
        Track* next = store.find(track->next);
        if (next != nullptr && next->built != 0 && next->tokens[0] == value) {
          place = {next, 0};
        }
      }
      if (place.track != nullptr) {
        watch = 0;
        go(place);
        accept(cut);
        return;
      }
      ++stats.side_exits;
      if (offset < track->built) {
        chunks.prefetch(track->spots[offset].head);
      }
      if (watch != 0 && disturbed && forget_disturbance(newest - guessed_at)) {
        watch = 0;  // right as far as it went
        newest = history.size() - 1;
      }
      const Exit here{track->id, offset, value, newest};
      guess = here;
      novel = true;
      miss_before = last_miss;
      if (watch != 0) {  // the last guess was wrong: what counts is where the stream really got lost
        watch = 0;
        if (guess_budget != 0) {
          --guess_budget;
        } else {
          guess.track = kNone;
        }
      } else {
        exit = here;
        lost_since = newest;
      }
      track = nullptr;
    }
    if (guess.track != kNone && try_guess(value, cut)) {
      return;
    }
    novel = !seen.test_and_set(value) && novel && !cut;
    last_miss = newest + 1;
    if (cut) {
      growth_limit = options.chunk_first;
    } else {
      issue(1);
    }
    const Place place = store.look_up();
    if (place.track != nullptr) {
      found(place, newest);
    }
  }

  /// An operation more or less than usual, or another one in its place: the stream goes on near where it
  /// left the track.
  bool try_guess(Token value, bool cut) {
    const std::uint64_t newest = history.size() - 1;
    if (newest - guess.position > kGuessWindow) {
      guess.track = kNone;
      return false;
    }
    Track* there = store.find(guess.track);
    std::uint32_t from = guess.offset;
    if (there != nullptr && from == there->length) {
      there = store.find(there->next);
      from = 0;
    }
    if (there == nullptr) {
      return false;
    }
    const std::uint32_t first = newest == guess.position ? 1 : 0;
    for (std::uint32_t skip = first; skip <= kGuessSkip; ++skip) {
      const Token* expected = there->token_at(from + skip);
      if (expected == nullptr || *expected != value) {
        continue;
      }
      if (skip != 0) {
        last_miss = newest + 1;
      }
      disturbed = first == 0 && novel && skip <= 1;
      guessed_at = newest;
      guessed_skip = skip;
      go({there, static_cast<std::uint32_t>(expected - there->tokens)});
      watch = kGuessConfirmed + 1;
      accept(cut);
      guessed_offset = offset;
      return true;
    }
    return false;
  }

  /// The newest six values stand before `place`, which is in a known track.
  void found(Place place, std::uint64_t newest) {
    const std::uint64_t most = std::min(newest - lost_since + 1, kCompareBack);
    std::uint64_t same = 0;
    std::uint32_t before = place.offset;  // ends as the offset after the first value that is the track's
    while (same < most) {
      std::uint32_t previous = before;
      if (previous == 0) {
        if (place.track->period == 0 || !place.track->complete()) {
          break;
        }
        previous = place.track->length;
      }
      if (place.track->tokens[previous - 1] != history.at(newest - same)) {
        break;
      }
      ++same;
      before = previous - 1;
    }
    const std::uint64_t start = newest + 1 - same;
    const Place after_first{place.track, before + 1};
    if (start == lost_since) {
      if (Track* from = store.find(exit.track); from != nullptr && exit.position == lost_since) {
        store.learn_edge(*from, exit.offset, exit.token, after_first);
      }
    } else if (Track* gap = learn_gap(newest - detector.length(), detector.length(), start, place.track)) {
      store.learn_edge(*gap, gap->length, history.at(start), after_first);
    }
    go(place);
    guess.track = kNone;
    guess_budget = kGuessBudget;
    watch = 0;
    growth_limit = options.chunk_first;
  }

  // --- learning ---

  /// Between getting lost and `end`, the stream did what it had done before, but no track says so: now
  /// one does. The match with the earlier occurrence starts at `match` and is `length` long.
  Track* learn_gap(std::uint64_t match, std::uint64_t length, std::uint64_t end, const Track* keep) {
    const std::uint64_t start = std::max(lost_since, match);
    if (!detecting || length < Detector::kSignificant || start < history.oldest() ||
        end < start + std::max(options.min_chunk, 2U)) {
      return nullptr;
    }
    Track* gap = store.add(start, static_cast<std::uint32_t>(end - start), 0, false, keep);
    Track* from = gap != nullptr ? store.find(exit.track) : nullptr;
    if (from != nullptr && exit.position == lost_since) {
      if (start == lost_since) {
        store.learn_edge(*from, exit.offset, exit.token, {gap, 1});
      }
      if (exit.offset == from->length && start - lost_since <= kGuessWindow) {
        from->next = gap->id;
      }
    }
    if (gap != nullptr) {
      ++stats.promoted_variants;
    }
    return gap;
  }

  void guess_was_right(std::uint64_t newest) {
    guess_budget = kGuessBudget;
    const bool forgotten = disturbed && forget_disturbance(history.size() - guessed_at);
    guess.track = kNone;
    if (forgotten) {
      return;
    }
    Track* gap = learn_gap(newest + 1 - detector.length(), detector.length(), guessed_at, track);
    if (gap != nullptr && guessed_offset != 0) {
      store.learn_edge(*gap, gap->length, history.at(guessed_at), {track, guessed_offset});
    }
  }

  /// What came where the stream left the track, before it went on there (or one token further on), never
  /// came before and will hardly come again. Left out of the history, it does not keep the detector from
  /// seeing the whole period. `matched` values have followed as the track says. False if it is not certain
  /// what would have to be left out.
  bool forget_disturbance(std::uint64_t matched) {
    if (track->period != 0 && miss_before + 2 * std::uint64_t{track->period} <= guess.position) {
      last_miss = miss_before;
      return true;  // it is on the loop: there is nothing to be learnt from here
    }
    Track* there = store.find(guess.track);
    std::uint32_t from = guess.offset;
    if (there != nullptr && from == there->length) {
      there = store.find(there->next);
      from = 0;
    }
    const Token* skipped = there != nullptr ? there->token_at(from) : nullptr;
    const auto count = static_cast<std::uint32_t>(history.size() - guessed_at);
    if (skipped == nullptr || matched < 2 || count > kGuessConfirmed + 1 ||
        (guessed_skip != 0 &&
         there->spots[skipped - there->tokens].main.length() == 1)) {  // may be a host call
      return false;
    }
    bool other_too = true;  // would one token more or less do as well?
    for (std::uint32_t i = 0; other_too && i < matched; ++i) {
      const Token* token = there->token_at(from + 1 - guessed_skip + i);
      other_too = token != nullptr && *token == history.at(guessed_at + i);
    }
    if (other_too) {
      return false;
    }
    std::array<std::pair<Token, bool>, kGuessConfirmed + 1> later;
    for (std::uint32_t i = 0; i < count; ++i) {
      later[i] = {history.at(guessed_at + i), history.cut_at(guessed_at + i)};
    }
    history.truncate(guess.position);
    detector.resume(guess.position);
    last_miss = miss_before;
    last_cut = std::min(last_cut, guess.position);
    if (guessed_skip != 0) {
      history.push(*skipped, false);
      static_cast<void>(detector.step());
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      last_cut = later[i].second ? history.size() : last_cut;
      history.push(later[i].first, later[i].second);
      if (i + 1 < count) {  // the last step is the caller's
        static_cast<void>(detector.step());
      }
    }
    return true;
  }

  /// The match with an earlier occurrence ended with the newest value, while the stream was lost.
  void match_ended(std::uint64_t length, std::uint64_t newest) {
    if (guess.track != kNone && guess.position == newest) {
      return;  // until now the stream was, perhaps, where it was guessed to be
    }
    if (Track* gap = learn_gap(newest - length, length, newest, nullptr)) {
      exit = {gap->id, gap->length, history.at(newest), newest};
      guess = exit;
      lost_since = newest;
    }
  }

  void period_seen(std::uint64_t period, std::uint64_t newest) {
    const bool on_it = track != nullptr && track->period == period;
    if (on_it && detector.length() < 2 * period) {
      return;  // perhaps only just found again
    }
    if (period == promoted_period && newest < promoted_until) {
      return;  // being built
    }
    Recurring& loop = recurring[period % recurring.size()];
    if (last_miss + period <= newest + 1) {
      if (on_it) {
        return;
      }
      // Predicted, but piece by piece: as a loop it would come in fewer and longer chunks. It is made one
      // if it keeps coming; bodies in random order also come twice by chance.
      if (detector.length() < kTimesToPromote * period) {
        return;
      }
      if (loop.period != period) {
        loop = {period, kNone};
      }
      if (Track* known = store.find(loop.track); known != nullptr) {
        const Place place = store.look_up();
        if (place.track == known) {
          leave(false);
          watch = 0;
          go(place);
        }
        return;
      }
    }
    std::uint64_t source = newest + 1 - period;
    const bool cuts = last_cut > newest - period;
    if (cuts) {
      source = last_cut + 1 - period;  // each stretch between two cuts is then in one piece
    }
    // A new version of the loop that one is on is divided at the same places, so that most chunks stay.
    if (track != nullptr && track->period == period && offset % period != 0) {
      const std::uint64_t aligned = newest + 1 - offset % period - period;
      if (!cuts || history.cut_at(aligned + period - 1)) {
        source = aligned;
      }
    }
    Track* made = store.add(source, static_cast<std::uint32_t>(period), static_cast<std::uint32_t>(period),
                            cuts, track);
    if (made == nullptr) {
      return;
    }
    ++stats.promoted_periods;
    loop = {period, made->id};
    promoted_period = period;
    promoted_until = newest + period + 1;
    leave(false);
    watch = 0;
    guess.track = kNone;
    guess_budget = kGuessBudget;
    const auto place = static_cast<std::uint32_t>((newest + 1 - source) % period);
    if (place < made->built) {
      go({made, place});
      growth_limit = cuts ? options.chunk_cap : options.chunk_first;
    } else {
      track = nullptr;
      exit.track = kNone;
      lost_since = newest + 1;
    }
  }

  void after(std::uint64_t newest) {
    if (watch != 0 && --watch == 0) {
      guess_was_right(newest);
      newest = history.size() - 1;
    }
    if (detecting) {
      const Detector::Step step = detector.step();
      if (step.ended >= Detector::kSignificant && track == nullptr) {
        match_ended(step.ended, newest);
      }
      if (step.period != 0) {
        period_seen(step.period, newest);
      }
    }
    if (store.busy()) {
      store.work(track);
    }
  }

  void feed(Token token) {
    actions.clear();
    following = {};
    ++stats.operations;
    history.push(token, false);
    if (track != nullptr && offset < track->built && track->tokens[offset] == token) {
      advance();
    } else {
      surprise(token, false);
    }
    after(history.size() - 1);
  }

  void cut(Token identity, bool operation) {
    actions.clear();
    following = {};
    const Token value = capture::mix(identity, kCutSalt);
    stats.largest_hold = std::max(stats.largest_hold, held);
    ++(operation ? stats.operations : stats.cuts);
    last_cut = history.size();
    history.push(value, true);
    if (track != nullptr && offset < track->built && track->tokens[offset] == value) {
      leave(true);
      accept(true);
      growth_limit = options.chunk_cap;  // the main chunks after a known cut already start small
    } else {
      surprise(value, true);
    }
    after(history.size() - 1);
    if (operation) {
      ++stats.cuts;
      issue(1);
    }
  }
};

Matcher::Matcher(const MatcherOptions& options) : impl_(std::make_unique<Implementation>(options)) {}
Matcher::~Matcher() = default;

std::span<const Action> Matcher::feed(Token token, bool holdable) {
  if (holdable) {
    impl_->feed(token);
  } else {
    impl_->cut(token, true);
  }
  return impl_->actions;
}

std::span<const Action> Matcher::cut(Token identity) {
  impl_->cut(identity, false);
  return impl_->actions;
}

std::span<const Action> Matcher::expire() {
  impl_->actions.clear();
  impl_->stats.largest_hold = std::max(impl_->stats.largest_hold, impl_->held);
  if (impl_->held != 0) {
    impl_->leave(true);
    impl_->growth_limit = impl_->options.chunk_first;
  }
  return impl_->actions;
}

const Following& Matcher::following() const noexcept {
  return impl_->following;
}
std::uint32_t Matcher::held() const noexcept {
  return impl_->held;
}
void Matcher::set_initial_mode(ChunkMode mode) noexcept {
  impl_->chunks.set_initial_mode(mode);
}
void Matcher::set_mode(ChunkId chunk, ChunkMode mode) noexcept {
  impl_->chunks.set_mode(chunk, mode);
}
ChunkMode Matcher::mode(ChunkId chunk) const noexcept {
  return impl_->chunks.mode(chunk);
}
std::vector<Token> Matcher::tokens_of(ChunkId chunk) const {
  return impl_->chunks.tokens_of(chunk);
}
std::vector<ChunkId> Matcher::take_evicted() {
  return impl_->chunks.take_evicted();
}

void Matcher::set_detecting(bool on) noexcept {
  impl_->detecting = on;
  impl_->detector.forget();
}

MatcherStats Matcher::stats() const {
  MatcherStats stats = impl_->stats;
  stats.largest_hold = std::max(stats.largest_hold, impl_->held);
  stats.chunks = impl_->chunks.count();
  stats.nodes = impl_->store.nodes();
  stats.memory_bytes = sizeof(Implementation) + impl_->history.bytes() + impl_->detector.bytes() +
                       impl_->seen.bytes() + impl_->chunks.bytes() + impl_->store.bytes() +
                       impl_->actions.capacity() * sizeof(Action);
  return stats;
}

}  // namespace refrain::replay
