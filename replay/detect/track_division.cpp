// How tracks are divided into main chunks: growing behind a cut, shrinking towards a wait, and of equal rounds where a
// loop goes round in between.
#include <algorithm>
#include <cstdint>

#include "replay/detect/tracks.h"
#include "replay/tuning.h"

namespace refrain::replay {

namespace {

void set_main(Track& track, Range range) noexcept {
  for (std::uint32_t offset = range.start; offset < range.end; ++offset) {
    track.spots[offset].main = range;
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

void TrackStore::start_run(Track& track, std::uint32_t start, bool after_cut) noexcept {
  track.run_begin = track.run_start = track.planned = start;
  track.run_grown = kNoIndex;
  next_target(track, after_cut ? options_.chunk_first : options_.chunk_cap);
}

/// The next chunk is to have `target` tokens, if that is not more than it may have.
void TrackStore::next_target(Track& track, std::uint64_t target) noexcept {
  track.run_target = static_cast<std::uint32_t>(std::min<std::uint64_t>(target, options_.chunk_cap));
  if (track.inner == 0 || track.run_target != options_.chunk_cap) {
    return;
  }
  if (track.run_grown == kNoIndex) {
    track.run_grown = track.run_start;
  }
  const Rounds rounds = Rounds::of(track.inner, options_.chunk_cap);
  const std::uint32_t offset = track.run_start - track.run_grown;
  if (rounds.tokens / rounds.pieces >= options_.min_chunk) {
    track.run_target = rounds.end_of(offset) - offset;
  }
}

/// The chunks that are complete where the run is known up to `end`.
void TrackStore::emit_growing(Track& track, std::uint32_t end) {
  while (end - track.run_start >= std::uint64_t{track.run_target} + options_.min_chunk) {
    const std::uint32_t length = track.run_target;
    emit_main(track, track.run_start + length);
    next_target(track,
                track.run_grown != kNoIndex ? options_.chunk_cap : std::uint64_t{length} * options_.chunk_growth);
  }
}

void TrackStore::emit_main(Track& track, std::uint32_t end) {
  set_main(track, {track.run_start, end});
  track.run_start = track.planned = end;
}

void TrackStore::finish_run(Track& track, std::uint32_t end, Cut cut) {
  const std::uint32_t begin = track.run_begin;
  emit_rest(track, begin, end, cut == Cut::kWait);
  if (begin != end) {
    track.runs.push_back({begin, end, lengths_, begin != 0 || track.after_cut, cut == Cut::kWait});
    if (track.lengths != lengths_) {
      track.lengths = kNoIndex;
    }
  }
}

/// The end of a run is reached; it began at `begin`.
void TrackStore::emit_rest(Track& track, std::uint32_t begin, std::uint32_t end, bool before_wait) {
  if (before_wait && options_.chunk_last != 0) {
    shrink_towards(track, begin, end);
  }
  // What is left is at most min_chunk - 1 more than the next chunk would be: no tail too short to be one, if it can be
  // helped.
  while (track.run_start < end) {
    const std::uint32_t left = end - track.run_start;
    const std::uint32_t half = std::max(left / 2, options_.min_chunk);
    emit_main(track, left <= options_.chunk_cap ? end : track.run_start + std::min(options_.chunk_cap, half));
  }
}

/// Before a wait chunks become shorter again, as they became longer behind the last cut: the program waits for what was
/// held last. Only the end of the run is divided anew: from where a chunk begins already, at or
/// before the place where the shrinking begins.
void TrackStore::shrink_towards(Track& track, std::uint32_t begin, std::uint32_t end) {
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
  track.run_start =
      shrinks_from < track.planned ? std::max(begin, track.spots[shrinks_from].main.start) : track.run_start;
  while (shrinks_from - track.run_start > options_.chunk_cap) {
    emit_main(track, track.run_start + std::min(options_.chunk_cap, (shrinks_from - track.run_start) / 2));
  }
  if (shrinks_from - track.run_start >= options_.min_chunk) {
    emit_main(track, shrinks_from);
  }
  // What is still left in front is too short to be a chunk: the first of the shrinking ones takes it.
  std::uint32_t stop = shrinks_from;
  for (std::uint32_t piece = largest; stop < end; piece /= growth) {
    stop += piece;
    if (stop - track.run_start > options_.chunk_cap) {
      emit_main(track, track.run_start + (stop - track.run_start) / 2);
    }
    emit_main(track, stop);
  }
}

void TrackStore::divide_anew(Track& track, std::uint32_t offset) noexcept {
  const auto run = std::lower_bound(track.runs.begin(), track.runs.end(), offset,
                                    [](const Run& known, std::uint32_t wanted) { return known.start < wanted; });
  if (run == track.runs.end() || run->start != offset || run->lengths == lengths_) {
    return;
  }
  // Very many graphs are not worth what it takes to build them: in so long a stretch its beginning and its end, and
  // with them the way in which it is divided, matter little (docs/decisions/0018-fewer-heuristics.md).
  constexpr std::uint32_t kMostPieces = 128;  // limit: of the work for one stretch
  if (options_.chunk_growth == 1 && track.inner == 0 && (run->end - run->start) / options_.chunk_cap > kMostPieces) {
    return;
  }
  run->lengths = lengths_;
  if (std::all_of(track.runs.begin(), track.runs.end(), [this](const Run& any) { return any.lengths == lengths_; })) {
    track.lengths = track.complete() ? lengths_ : kNoIndex;
  }
  // As if the run came for the first time; what is being built behind it goes on undisturbed.
  const std::uint32_t saved[] = {track.run_begin, track.run_start, track.planned, track.run_target, track.run_grown};
  start_run(track, run->start, run->after_cut);
  emit_growing(track, run->end);
  emit_rest(track, run->start, run->end, run->before_wait);
  track.run_begin = saved[0];
  track.run_start = saved[1];
  track.planned = saved[2];
  track.run_target = saved[3];
  track.run_grown = saved[4];
}

void TrackStore::divide(Track& track, std::uint32_t offset) {
  if (track.unit != 0 || offset >= track.planned) {
    return;
  }
  const Range main = track.spots[offset].main;
  if (offset - main.start < options_.min_chunk || main.end - offset < options_.min_chunk) {
    return;
  }
  set_main(track, {main.start, offset});
  set_main(track, {offset, main.end});
}

}  // namespace refrain::replay
