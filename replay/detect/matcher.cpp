#include "replay/detect/matcher.h"

#include <algorithm>
#include <utility>

#include "replay/tuning.h"

namespace refrain::replay {
namespace {

/// Cuts are values of the history like operations, but never equal to one.
constexpr std::uint64_t kCutSalt = 0xA24BAED4963EE407ULL;  // format
/// How far back a place found by its last six values is compared with what came before.
constexpr std::uint64_t kCompareBack = 64;  // limit: of one call's work

}  // namespace

void Matcher::set_lengths(std::uint32_t plan, const ChunkLengths& lengths) noexcept {
  if (plans_.set(plan, lengths)) {
    use_lengths(plan);
  }
}

void Matcher::use_lengths(std::uint32_t plan) noexcept {
  plans_.use(plan);
  store_.use_lengths(plans_.number());
  if (cursor_.pattern != nullptr && history_.size() != 0 && history_.is_cut(history_.size() - 1)) {
    store_.run_begins(*cursor_.pattern, cursor_.offset);  // the stretch that comes next is divided by this plan already
  }
}

Matcher::Matcher(const MatcherOptions& options)
    : plans_(options),
      history_(plans_.options().history),
      detector_(history_),
      chunks_(plans_.options().max_nodes / 2),
      store_(plans_.options(), history_, chunks_),
      planner_(plans_.options(), chunks_, store_) {
  guess_.budget = tuning::kGivenUpAfter;
}

[[gnu::hot, gnu::flatten]] std::span<const Action> Matcher::feed(Token token, bool holdable, bool ends) {
  if (holdable) {
    submitted(token, ends);
  } else {
    cut(token, Cut::kWait, true);
  }
  return planner_.actions();
}

[[gnu::hot]] std::span<const Action> Matcher::cut(Token identity, bool waits) {
  cut(identity, waits ? Cut::kWait : Cut::kQuiet, false);
  return planner_.actions();
}

[[gnu::hot]] void Matcher::submitted(Token token, bool ends) {
  background();
  planner_.begin(++stats_.operations);
  history_.push(token, ends ? Cut::kBehind : Cut::kNone);
  if (is_next(token)) [[likely]] {
    planner_.advance(cursor_);
  } else {
    mispredicted(token, false);
  }
  if (ends) [[unlikely]] {
    end_stretch();
  }
  after();
}

/// Behind the newest operation, which may be held.
void Matcher::end_stretch() {
  last_cut_ = history_.size() - 1;
  ++stats_.cuts;
  planner_.leave(cursor_.pattern, true);  // nothing is left of a pattern that ends here, too
  if (cursor_.pattern != nullptr) {
    store_.run_begins(*cursor_.pattern, cursor_.offset);
    planner_.start_large();
  } else {
    planner_.start_small();
  }
}

[[gnu::hot]] void Matcher::cut(Token identity, Cut kind, bool operation) {
  background();
  const Token value = capture::mix(identity, kCutSalt);
  ++stats_.cuts;
  planner_.begin(stats_.operations += operation ? 1 : 0);
  last_cut_ = history_.size();
  history_.push(value, kind);
  if (is_next(value)) {
    planner_.leave(cursor_.pattern, true);
    accept(true);
    planner_.start_large();
  } else {
    mispredicted(value, true);
  }
  after();
  if (operation) {
    planner_.issue(1);
  }
}

std::span<const Action> Matcher::expire() {
  planner_.begin(stats_.operations);
  if (planner_.held() != 0) {
    planner_.leave(cursor_.pattern, true);
    planner_.start_small();
  }
  return planner_.actions();
}

void Matcher::set_detecting(bool on) noexcept {
  detecting_ = on;
  detector_.forget();
}

[[gnu::hot]] void Matcher::detected(Detector::Step step) {
  if (step.ended >= tuning::kSignificantMatch && cursor_.pattern == nullptr) {
    match_ended(step.ended);
  }
  if (step.period != 0) {
    period_seen(step.period);
  }
}

// --- The cursor ---

[[gnu::hot]] void Matcher::accept(bool cut) {
  if (cut) {
    ++cursor_.offset;
    cursor_.wrap();
    store_.run_begins(*cursor_.pattern, cursor_.offset);
  } else {
    planner_.advance(cursor_);
  }
}

/// The newest value is not the cursor's next token, or there is no cursor.
void Matcher::mispredicted(Token value, bool cut) {
  if (cursor_.pattern != nullptr) {
    planner_.leave(cursor_.pattern, true);
    const Place place = known_branch(value);
    if (place.pattern != nullptr) {
      guess_.pending = 0;
      go(place);
      accept(cut);
      return;
    }
    lose(value);
  }
  if (guess_.exit.pattern != kNoIndex && try_guess(value, cut)) {
    return;
  }
  novel_ = !seen_.test_and_set(value) && novel_ && !cut;
  last_miss_ = history_.size();
  if (cut) {
    planner_.start_small();
  } else {
    planner_.issue(1);
  }
  const Place place = store_.look_up();
  if (place.pattern != nullptr) {
    found(place);
  }
}

Place Matcher::known_branch(Token value) {
  const Place place = store_.follow_edge(*cursor_.pattern, cursor_.offset, value);
  if (place.pattern == nullptr && cursor_.offset == cursor_.pattern->length) {
    Pattern* next = store_.find(cursor_.pattern->next);
    if (next != nullptr && next->built != 0 && next->tokens[0] == value) {
      return {next, 0};
    }
  }
  return place;
}

void Matcher::lose(Token value) {
  ++stats_.side_exits;
  if (cursor_.offset < cursor_.pattern->built) {
    chunks_.prefetch(cursor_.pattern->spots[cursor_.offset].head);
  }
  if (guess_.pending != 0 && guess_.disturbed && forget_disturbance(history_.size() - 1 - guess_.position)) {
    guess_.pending = 0;  // right as far as it went
  }
  const Exit here{cursor_.pattern->id, cursor_.offset, value, history_.size() - 1};
  guess_.exit = here;
  novel_ = true;
  miss_before_ = last_miss_;
  if (guess_.pending != 0) {  // the last guess was wrong: what counts is where the stream really got lost
    guess_.pending = 0;
    if (guess_.budget != 0) {
      --guess_.budget;
    } else {
      guess_.exit.pattern = kNoIndex;
    }
  } else {
    exit_ = here;
    lost_since_ = here.position;
  }
  cursor_.pattern = nullptr;
}

/// Where the stream left what is known, or the beginning of what usually follows there.
Place Matcher::predicted_back() noexcept {
  Pattern* pattern = store_.find(guess_.exit.pattern);
  if (pattern != nullptr && guess_.exit.offset == pattern->length) {
    return {store_.find(pattern->next), 0};
  }
  return {pattern, guess_.exit.offset};
}

/// An operation more or less than usual, or another one in its place: the stream goes on near where it
/// left the pattern.
bool Matcher::try_guess(Token value, bool cut) {
  const std::uint64_t newest = history_.size() - 1;
  if (newest - guess_.exit.position > tuning::kGuessWindow) {
    guess_.exit.pattern = kNoIndex;
    return false;
  }
  const Place there = predicted_back();
  if (there.pattern == nullptr) {
    return false;
  }
  const std::uint32_t first = newest == guess_.exit.position ? 1 : 0;
  for (std::uint32_t skip = first; skip <= tuning::kGuessSkip; ++skip) {
    const Token* token = there.pattern->token_at(there.offset + skip);
    if (token == nullptr || *token != value) {
      continue;
    }
    if (skip != 0) {
      last_miss_ = newest + 1;
    }
    guess_.disturbed = first == 0 && novel_ && skip <= 1;
    guess_.position = newest;
    guess_.skip = skip;
    guess_.pending = tuning::kNoChance + 1;
    go({there.pattern, static_cast<std::uint32_t>(token - there.pattern->tokens)});
    accept(cut);
    guess_.after = cursor_.offset;
    return true;
  }
  return false;
}

/// The newest six values stand before `place`, which is in a known pattern.
void Matcher::found(Place place) {
  const std::uint64_t newest = history_.size() - 1;
  const Pattern& pattern = *place.pattern;
  const std::uint64_t most = std::min(newest - lost_since_ + 1, kCompareBack);
  std::uint64_t same = 0;
  std::uint32_t before = place.offset;  // ends as the offset of the first value that is the pattern's
  while (same < most) {
    std::uint32_t previous = before;
    if (previous == 0) {
      if (pattern.period == 0 || !pattern.complete()) {
        break;
      }
      previous = pattern.length;
    }
    if (pattern.tokens[previous - 1] != history_.at(newest - same)) {
      break;
    }
    ++same;
    before = previous - 1;
  }
  const std::uint64_t start = newest + 1 - same;
  const Place after_first{place.pattern, before + 1};
  if (start == lost_since_) {
    if (Pattern* from = store_.find(exit_.pattern); from != nullptr && exit_.position == lost_since_) {
      store_.learn_edge(*from, exit_.offset, exit_.token, after_first);
    }
  } else if (Pattern* gap = learn_gap(newest - detector_.length(), detector_.length(), start, place.pattern)) {
    store_.learn_edge(*gap, gap->length, history_.at(start), after_first);
  }
  go(place);
  guess_.exit.pattern = kNoIndex;
  guess_.budget = tuning::kGivenUpAfter;
  guess_.pending = 0;
  planner_.start_small();
}

// --- Learning ---

/// Between getting lost and `end`, the stream did what it had done before, but no pattern says so: now one
/// does. The match with the earlier occurrence starts at `match` and is `length` long.
Pattern* Matcher::learn_gap(std::uint64_t match, std::uint64_t length, std::uint64_t end, const Pattern* keep) {
  const std::uint64_t start = std::max(lost_since_, match);
  if (!detecting_ || length < tuning::kSignificantMatch || start < history_.oldest() ||
      end < start + std::max(plans_.options().min_chunk, 2U)) {
    return nullptr;
  }
  Pattern* gap = store_.add(start, static_cast<std::uint32_t>(end - start), 0, false, keep);
  if (gap == nullptr) {
    return nullptr;
  }
  ++stats_.promoted_variants;
  Pattern* from = store_.find(exit_.pattern);
  if (from != nullptr && exit_.position == lost_since_) {
    if (start == lost_since_) {
      store_.learn_edge(*from, exit_.offset, exit_.token, {gap, 1});
    }
    if (exit_.offset == from->length && start - lost_since_ <= tuning::kGuessWindow) {
      from->next = gap->id;
    }
  }
  return gap;
}

void Matcher::guess_was_right() {
  guess_.budget = tuning::kGivenUpAfter;
  const bool forgotten = guess_.disturbed && forget_disturbance(history_.size() - guess_.position);
  guess_.exit.pattern = kNoIndex;
  if (forgotten) {
    return;
  }
  // The detector has not made its step for the newest value yet.
  Pattern* gap =
      learn_gap(history_.size() - 1 - detector_.length(), detector_.length(), guess_.position, cursor_.pattern);
  if (gap != nullptr) {
    store_.learn_edge(*gap, gap->length, history_.at(guess_.position), {cursor_.pattern, guess_.after});
  }
}

/// What came where the stream left the pattern, before it went on there (or one token further on), never
/// came before and will hardly come again. Left out of the history, it does not keep the detector from
/// seeing the whole period. `matched` values have followed as the pattern says. False if it is not certain
/// what would have to be left out.
bool Matcher::forget_disturbance(std::uint64_t matched) {
  const std::uint64_t left_at = guess_.exit.position;
  const Pattern& now = *cursor_.pattern;
  if (!detecting_ || (now.period != 0 && miss_before_ + 2 * std::uint64_t{now.period} <= left_at)) {
    last_miss_ = miss_before_;
    return true;  // it is on the loop: there is nothing to be learnt from here
  }
  const Place there = predicted_back();
  const Token* skipped = there.pattern != nullptr ? there.pattern->token_at(there.offset) : nullptr;
  const auto count = static_cast<std::uint32_t>(history_.size() - guess_.position);
  if (skipped == nullptr || matched < 2 || count > tuning::kNoChance + 1) {
    return false;
  }
  const auto skipped_at = static_cast<std::uint32_t>(skipped - there.pattern->tokens);
  if (guess_.skip != 0 &&
      (there.pattern->spots[skipped_at].main.length() == 1 || there.pattern->ends_stretch(skipped_at))) {
    return false;  // may be a host call
  }
  bool other_too = true;  // would one token more or less do as well?
  for (std::uint32_t i = 0; other_too && i < matched; ++i) {
    const Token* token = there.pattern->token_at(there.offset + 1 - guess_.skip + i);
    other_too = token != nullptr && *token == history_.at(guess_.position + i);
  }
  if (other_too) {
    return false;
  }
  std::array<std::pair<Token, Cut>, tuning::kNoChance + 1> later;
  for (std::uint32_t i = 0; i < count; ++i) {
    later[i] = {history_.at(guess_.position + i), history_.cut_at(guess_.position + i)};
  }
  history_.truncate(left_at);
  detector_.resume(left_at);
  last_miss_ = miss_before_;
  last_cut_ = std::min(last_cut_, left_at);
  if (guess_.skip != 0) {
    history_.push(*skipped, Cut::kNone);
    static_cast<void>(detector_.step());
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    last_cut_ = later[i].second != Cut::kNone ? history_.size() : last_cut_;
    history_.push(later[i].first, later[i].second);
    if (i + 1 < count) {  // the last step is made as always
      static_cast<void>(detector_.step());
    }
  }
  return true;
}

/// The match with an earlier occurrence ended with the newest value, while the stream was lost.
void Matcher::match_ended(std::uint64_t length) {
  const std::uint64_t newest = history_.size() - 1;
  if (guess_.exit.pattern != kNoIndex && guess_.exit.position == newest) {
    return;  // until now the stream was, perhaps, where it was guessed to be
  }
  if (Pattern* gap = learn_gap(newest - length, length, newest, nullptr)) {
    exit_ = {gap->id, gap->length, history_.at(newest), newest};
    guess_.exit = exit_;
    lost_since_ = newest;
  }
}

/// Two periods of the same have come, or another one after that.
void Matcher::period_seen(std::uint64_t period) {
  const std::uint64_t size = history_.size();
  const bool on_it = cursor_.pattern != nullptr && cursor_.pattern->period == period;
  if (on_it && detector_.length() < 2 * period) {
    return;  // perhaps only just found again
  }
  if (period == promoted_period_ && size <= promoted_until_) {
    return;  // being built
  }
  if (planner_.held() != 0) {
    // The stream is where it is believed to be, for once. To leave now would mean to issue all that is held in this
    // call.
    postponed_period_ = period;
    return;
  }
  if (last_miss_ + period > size) {
    promote(period);  // what is known does not predict it
  } else if (!on_it && detector_.length() >= tuning::kNoChance * period) {
    // Predicted, but piece by piece: as a loop it comes in fewer and longer chunks. Only if it keeps
    // coming: bodies in random order also come twice by chance.
    const Loop& loop = loops_[period % loops_.size()];
    Pattern* known = loop.period == period ? store_.find(loop.pattern) : nullptr;
    if (known == nullptr) {
      promote(period);
    } else if (const Place place = store_.look_up(); place.pattern == known) {
      planner_.leave(cursor_.pattern, false);
      guess_.pending = 0;
      go(place);
    }
  }
}

/// Nothing is held any more.
void Matcher::postponed_period() {
  const std::uint64_t period = std::exchange(postponed_period_, 0);
  if (detector_.distance() == period) {
    period_seen(period);
  }
}

/// Makes the last period a pattern that wraps around, and goes there.
void Matcher::promote(std::uint64_t period) {
  const std::uint64_t size = history_.size();
  std::uint64_t source = size - period;
  const bool cuts = last_cut_ >= source;
  if (cuts) {
    source = last_cut_ + 1 - period;  // each stretch between two cuts is then in one piece
  }
  // A new version of the loop that one is on is divided at the same places, so that most chunks stay.
  if (cursor_.pattern != nullptr && cursor_.pattern->period == period && cursor_.offset % period != 0) {
    const std::uint64_t aligned = size - cursor_.offset % period - period;
    if (!cuts || history_.is_cut(aligned + period - 1)) {
      source = aligned;
    }
  }
  const auto length = static_cast<std::uint32_t>(period);
  Pattern* made = store_.add(source, length, length, cuts, cursor_.pattern, cuts ? loop_within(source, period) : 0);
  if (made == nullptr) {
    return;
  }
  inner_ = cuts ? inner_ : length;
  ++stats_.promoted_periods;
  loops_[period % loops_.size()] = {period, made->id};
  promoted_period_ = period;
  promoted_until_ = size + period;
  planner_.leave(cursor_.pattern, false);
  guess_.pending = 0;
  guess_.exit.pattern = kNoIndex;
  guess_.budget = tuning::kGivenUpAfter;
  const auto offset = static_cast<std::uint32_t>((size - source) % period);
  if (offset < made->built) {
    go({made, offset});
    if (cuts) {
      planner_.start_large();
    } else {
      planner_.start_small();
    }
  } else {  // not built that far: the place will be found when it is
    cursor_.pattern = nullptr;
    exit_.pattern = kNoIndex;
    lost_since_ = size;
  }
}

/// A loop that was seen before and goes round several times between the cuts of the period that begins at `source`:
/// chunks of whole rounds are the same ones again and again. 0: none is known.
std::uint32_t Matcher::loop_within(std::uint64_t source, std::uint64_t period) const noexcept {
  // limit: of one call's work; what is before the loop, and behind it, may be a quarter
  constexpr std::uint64_t kLooks = 32;
  const Pattern* const pattern = cursor_.pattern;
  for (const std::uint64_t inner : {pattern == nullptr ? 0 : pattern->inner, inner_}) {
    if (inner == 0 || inner * 2 > period || source < history_.oldest()) {
      continue;
    }
    std::uint64_t same = 0;
    for (std::uint64_t look = 0; look < kLooks; ++look) {
      const std::uint64_t position = source + (period - inner - 1) * look / kLooks;
      same += history_.at(position) == history_.at(position + inner) ? 1 : 0;
    }
    if (same * 4 >= kLooks * 3) {
      return static_cast<std::uint32_t>(inner);
    }
  }
  return 0;
}

MatcherStats Matcher::stats() const {
  MatcherStats stats = stats_;
  planner_.count_launches(stats);
  stats.chunks = chunks_.count();
  stats.nodes = store_.nodes();
  stats.memory_bytes = sizeof(*this) + history_.bytes() + detector_.bytes() + seen_.bytes() + chunks_.bytes() +
                       store_.bytes() + planner_.actions().capacity() * sizeof(Action);
  return stats;
}

}  // namespace refrain::replay
