#include "replay/detect/hold_planner.h"

#include <array>

#include "replay/tuning.h"

namespace refrain::replay {
namespace {

/// A chunk that fails twice as often as it completes is entered less and less often.
void back_off(ChunkSite& site) noexcept {
  site.backoff = std::min<std::uint8_t>(tuning::kMostBackoff, static_cast<std::uint8_t>(site.backoff + 1));
  if (site.backoff >= tuning::kGivenUpAfter) {
    site.skip = static_cast<std::uint16_t>(1U << (site.backoff - 2U));
  }
}

}  // namespace

[[gnu::hot]] void HoldPlanner::completed(const Pattern& pattern) noexcept {
  site_->backoff = static_cast<std::uint8_t>(std::max(site_->backoff, tuning::kBackoffRelief) - tuning::kBackoffRelief);
  site_ = nullptr;
  chunks_.prefetch(pattern.spots[range_.end == pattern.length ? 0 : range_.end].head);
  if (growth_limit_ < options_.chunk_cap) {
    growth_limit_ = grown(growth_limit_);
  }
}

/// The same choice as enter() makes, where it is an easy one.
[[gnu::hot]] Holding HoldPlanner::next(const Place& cursor) noexcept {
  Pattern& pattern = *cursor.pattern;
  std::uint32_t offset = cursor.offset, limit = std::min(growth_limit_, options_.chunk_cap);
  if (ahead_.known) {
    offset = ahead_.offset;
    limit = grown(ahead_.growth_limit);
  } else if (held_ != 0) {
    offset = range_.end;
    limit = grown(growth_limit_);
  } else if (site_ != nullptr) {
    return {};
  }
  if (offset == pattern.length && pattern.period != 0) {
    offset = 0;
  }
  if (offset >= pattern.planned || pattern.training.length() != 0) {
    return {};
  }
  const Range range = PatternStore::largest_part(pattern, offset);
  if (range.length() < options_.min_chunk || range.length() > limit) {
    return {};
  }
  const ChunkSite* site = store_.find_site(pattern, range);
  if (site == nullptr || site->skip != 0 || ChunkTable::mode_of(*site) != ChunkMode::kHold) {
    return {};
  }
  ahead_ = {true, range.end, limit};
  return {site->id, 0, range.length()};
}

[[gnu::hot]] void HoldPlanner::follow(const Place& cursor) noexcept {
  const bool last = cursor.offset == range_.end;
  if (reported_) {
    following_ = {chunk_, cursor.offset - range_.start - 1, last, mode_};
  }
  if (last) {
    completed(*cursor.pattern);
  }
}

/// Chooses the chunk that starts at the cursor, if any.
[[gnu::hot]] void HoldPlanner::enter(const Place& cursor) {
  Pattern& pattern = *cursor.pattern;
  if (cursor.offset >= pattern.planned) {
    return;
  }
  Range range = PatternStore::largest_part(pattern, cursor.offset);
  if (pattern.training.length() != 0) {
    while (range.contains(pattern.training) && range != pattern.training) {
      range = left_part(range, pattern.unit);
    }
    if (range == pattern.training) {
      pattern.training = {};
    }
  }
  while (range.length() >= options_.min_chunk) {
    ChunkSite* site = store_.site(pattern, range);
    if (site == nullptr) {
      return;
    }
    const Range left = left_part(range, pattern.unit);
    if (site->skip != 0) {
      --site->skip;
    } else {
      const ChunkMode mode = ChunkTable::mode_of(*site);
      const std::uint32_t limit = std::min(growth_limit_, options_.chunk_cap);
      if (mode != ChunkMode::kHold || range.length() <= limit || !can_hold(pattern, left, range)) {
        site_ = site;
        range_ = range;
        chunk_ = site->id;
        mode_ = mode;
        // Parts of main chunks are worth building only where the stream is disturbed again and again.
        reported_ = mode != ChunkMode::kHold && (site->entered != 0 || range == pattern.spots[cursor.offset].main);
        site->entered = 1;
        __builtin_prefetch(&pattern.spots[range.end == pattern.length ? 0 : range.end]);
        return;
      }
    }
    if (left == range) {
      return;
    }
    range = left;
  }
}

[[gnu::hot]] bool HoldPlanner::can_hold(Pattern& pattern, Range part, Range whole) {
  if (part == whole || part.length() < options_.min_chunk) {
    return false;
  }
  const ChunkSite* site = store_.site(pattern, part);
  return site != nullptr && site->skip == 0 && ChunkTable::mode_of(*site) == ChunkMode::kHold;
}

void HoldPlanner::leave(Pattern* pattern, bool failed) {
  if (site_ == nullptr) {
    return;
  }
  if (failed) {
    back_off(*site_);
  }
  site_ = nullptr;
  if (held_ == 0) {
    return;
  }
  largest_hold_ = std::max(largest_hold_, held_);
  const std::uint32_t end = range_.start + held_;
  held_ = 0;
  // At most one part of each length. All of them are asked for before the first is used: what is read
  // here was not needed for a while.
  std::array<Range, 32> parts;
  std::size_t count = 0;
  std::uint32_t start = range_.start;
  for (; start < end && count < parts.size(); ++count) {
    parts[count] = part_within(range_, start, end, pattern->unit);
    __builtin_prefetch(&pattern->spots[start]);
    start = parts[count].end;
  }
  for (std::size_t i = 0; i < count; ++i) {
    chunks_.prefetch(pattern->spots[parts[i].start].head);
  }
  for (std::size_t i = 0; i < count; ++i) {
    launch_parts(*pattern, parts[i], 0);
  }
  if (start < end) {
    issue(end - start);
  }
}

/// Launches `range`, or what is ready of it; the rest is issued.
void HoldPlanner::launch_parts(Pattern& pattern, Range range, int depth) {
  constexpr int kDepth = 3;  // limit: so many times it is halved at most
  if (range.length() < options_.min_chunk || depth > kDepth) {
    issue(range.length());
    return;
  }
  ChunkSite* site = depth == 0 ? store_.site(pattern, range) : store_.find_site(pattern, range);
  const ChunkMode mode = site != nullptr ? ChunkTable::mode_of(*site) : ChunkMode::kBypass;
  if (mode == ChunkMode::kHold) {
    launch(range.length(), site->id);
    return;
  }
  if (depth == 0 && mode == ChunkMode::kRecord && ++site->wanted >= site->wanted_limit) {
    site->wanted = 0;
    site->wanted_limit = static_cast<std::uint16_t>(std::min(site->wanted_limit * 2, 1 << 14));
    site->entered = 1;
    pattern.training = range;
  }
  const Range left = left_part(range, pattern.unit);
  if (left == range) {
    issue(range.length());
    return;
  }
  launch_parts(pattern, left, depth + 1);
  launch_parts(pattern, {left.end, range.end}, depth + 1);
}

}  // namespace refrain::replay
