// How patterns are divided into main chunks: growing behind a cut, shrinking towards a wait, and of equal rounds where
// a loop goes round in between.
#include <algorithm>
#include <cstdint>

#include "replay/detect/patterns.h"
#include "replay/tuning.h"

namespace refrain::replay {

namespace {

void set_main(Pattern& pattern, Range range) noexcept {
  for (std::uint32_t offset = range.start; offset < range.end; ++offset) {
    pattern.spots[offset].main = range;
  }
}

}  // namespace

Rounds Rounds::of(std::uint32_t round, std::uint32_t most) noexcept {
  for (std::uint64_t pieces = round / most + 1;; ++pieces) {
    const std::uint64_t room = pieces * most;
    const std::uint64_t tokens = room / round * round;
    if (tokens != 0 && room * 100 <= tokens * tuning::kRoundsWithin) {
      return {static_cast<std::uint32_t>(tokens), static_cast<std::uint32_t>(std::min(pieces, tokens))};
    }
  }
}

std::uint32_t Rounds::end_of(std::uint32_t offset) const noexcept {
  const std::uint64_t next = std::uint64_t{offset} * pieces / tokens + 1;
  return static_cast<std::uint32_t>((next * tokens + pieces - 1) / pieces);
}

void PatternStore::start_run(Pattern& pattern, std::uint32_t start, bool after_cut) noexcept {
  pattern.run_begin = pattern.run_start = pattern.planned = start;
  pattern.run_grown = kNoIndex;
  next_target(pattern, after_cut ? options_.chunk_first : options_.chunk_cap);
}

/// The next chunk is to have `target` tokens, if that is not more than it may have.
void PatternStore::next_target(Pattern& pattern, std::uint64_t target) noexcept {
  pattern.run_target = static_cast<std::uint32_t>(std::min<std::uint64_t>(target, options_.chunk_cap));
  if (pattern.inner == 0 || pattern.run_target != options_.chunk_cap) {
    return;
  }
  if (pattern.run_grown == kNoIndex) {
    pattern.run_grown = pattern.run_start;
  }
  const Rounds rounds = Rounds::of(pattern.inner, options_.chunk_cap);
  const std::uint32_t offset = pattern.run_start - pattern.run_grown;
  if (rounds.tokens / rounds.pieces >= options_.min_chunk) {
    pattern.run_target = rounds.end_of(offset) - offset;
  }
}

/// The chunks that are complete where the run is known up to `end`.
void PatternStore::emit_growing(Pattern& pattern, std::uint32_t end) {
  while (end - pattern.run_start >= std::uint64_t{pattern.run_target} + options_.min_chunk) {
    const std::uint32_t length = pattern.run_target;
    emit_main(pattern, pattern.run_start + length);
    next_target(pattern,
                pattern.run_grown != kNoIndex ? options_.chunk_cap : std::uint64_t{length} * options_.chunk_growth);
  }
}

void PatternStore::emit_main(Pattern& pattern, std::uint32_t end) {
  set_main(pattern, {pattern.run_start, end});
  pattern.run_start = pattern.planned = end;
}

void PatternStore::finish_run(Pattern& pattern, std::uint32_t end, Cut cut) {
  const std::uint32_t begin = pattern.run_begin;
  const bool before_wait = cut == Cut::kWait || cut == Cut::kBehind;
  emit_rest(pattern, begin, end, before_wait);
  if (begin != end) {
    pattern.runs.push_back({begin, end, lengths_, begin != 0 || pattern.after_cut, before_wait, cut == Cut::kBehind});
    if (pattern.lengths != lengths_) {
      pattern.lengths = kNoIndex;
    }
  }
}

/// The end of a run is reached; it began at `begin`.
void PatternStore::emit_rest(Pattern& pattern, std::uint32_t begin, std::uint32_t end, bool before_wait) {
  if (before_wait && options_.chunk_last != 0) {
    shrink_towards(pattern, begin, end);
  }
  // What is left is at most min_chunk - 1 more than the next chunk would be: no tail too short to be one, if it can be
  // helped.
  while (pattern.run_start < end) {
    const std::uint32_t left = end - pattern.run_start;
    const std::uint32_t half = std::max(left / 2, options_.min_chunk);
    emit_main(pattern, left <= options_.chunk_cap ? end : pattern.run_start + std::min(options_.chunk_cap, half));
  }
}

/// Before a wait chunks become shorter again, as they became longer behind the last cut: the program waits for what was
/// held last. Only the end of the run is divided anew: from where a chunk begins already, at or
/// before the place where the shrinking begins.
void PatternStore::shrink_towards(Pattern& pattern, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t growth = std::max(options_.chunk_growth, 2U);
  std::uint32_t tail = 0;
  std::uint32_t largest = 0;
  for (std::uint64_t piece = options_.chunk_last; piece <= options_.chunk_cap && tail + piece <= (end - begin) / 2;
       piece *= growth) {
    tail += static_cast<std::uint32_t>(piece);
    largest = static_cast<std::uint32_t>(piece);
  }
  if (tail == 0) {
    return;
  }
  const std::uint32_t shrinks_from = end - tail;
  pattern.run_start =
      shrinks_from < pattern.planned ? std::max(begin, pattern.spots[shrinks_from].main.start) : pattern.run_start;
  while (shrinks_from - pattern.run_start > options_.chunk_cap) {
    emit_main(pattern, pattern.run_start + std::min(options_.chunk_cap, (shrinks_from - pattern.run_start) / 2));
  }
  if (shrinks_from - pattern.run_start >= options_.min_chunk) {
    emit_main(pattern, shrinks_from);
  }
  // What is still left in front is too short to be a chunk: the first of the shrinking ones takes it.
  std::uint32_t stop = shrinks_from;
  for (std::uint32_t piece = largest; stop < end; piece /= growth) {
    stop += piece;
    if (stop - pattern.run_start > options_.chunk_cap) {
      emit_main(pattern, pattern.run_start + (stop - pattern.run_start) / 2);
    }
    emit_main(pattern, stop);
  }
}

bool Pattern::ends_stretch(std::uint32_t offset) const noexcept {
  const auto run = std::ranges::lower_bound(runs, offset + 1, {}, &Run::end);
  return run != runs.end() && run->end == offset + 1 && run->ends_itself;
}

void PatternStore::divide_anew(Pattern& pattern, std::uint32_t offset) noexcept {
  const auto run = std::lower_bound(pattern.runs.begin(), pattern.runs.end(), offset,
                                    [](const Run& known, std::uint32_t wanted) { return known.start < wanted; });
  if (run == pattern.runs.end() || run->start != offset || run->lengths == lengths_) {
    return;
  }
  // Very many graphs are not worth what it takes to build them: in so long a stretch its beginning and its end, and
  // with them the plan by which it is divided, matter little (docs/decisions/0018-fewer-heuristics.md).
  constexpr std::uint32_t kMostPieces = 128;  // limit: of the work for one stretch
  if (options_.chunk_growth == 1 && pattern.inner == 0 && (run->end - run->start) / options_.chunk_cap > kMostPieces) {
    return;
  }
  run->lengths = lengths_;
  if (std::all_of(pattern.runs.begin(), pattern.runs.end(),
                  [this](const Run& any) { return any.lengths == lengths_; })) {
    pattern.lengths = pattern.complete() ? lengths_ : kNoIndex;
  }
  // As if the run came for the first time; what is being built behind it goes on undisturbed.
  const std::uint32_t saved[] = {pattern.run_begin, pattern.run_start, pattern.planned, pattern.run_target,
                                 pattern.run_grown};
  start_run(pattern, run->start, run->after_cut);
  emit_growing(pattern, run->end);
  emit_rest(pattern, run->start, run->end, run->before_wait);
  pattern.run_begin = saved[0];
  pattern.run_start = saved[1];
  pattern.planned = saved[2];
  pattern.run_target = saved[3];
  pattern.run_grown = saved[4];
}

void PatternStore::divide(Pattern& pattern, std::uint32_t offset) {
  if (pattern.unit != 0 || offset >= pattern.planned) {
    return;
  }
  const Range main = pattern.spots[offset].main;
  if (offset - main.start < options_.min_chunk || main.end - offset < options_.min_chunk) {
    return;
  }
  set_main(pattern, {main.start, offset});
  set_main(pattern, {offset, main.end});
}

}  // namespace refrain::replay
