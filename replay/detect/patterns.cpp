#include "replay/detect/patterns.h"

#include <algorithm>
#include <bit>

#include "replay/tuning.h"

namespace refrain::replay {
namespace {

constexpr std::uint32_t kPatternBits = 12;                             // format
constexpr std::uint32_t kPatternMask = (1U << kPatternBits) - 1;       // format
constexpr std::uint64_t kGramPower = hash_base_power(History::kGram);  // format
constexpr std::uint64_t kSpread = 0xC2B2AE3D27D4EB4FULL;               // format

}  // namespace

Range left_part(Range range, std::uint32_t unit) noexcept {
  const std::uint32_t length = range.length();
  if (unit != 0 && length > unit) {
    return {range.start, range.start + std::bit_ceil((length + unit - 1) / unit) / 2 * unit};
  }
  return {range.start, range.start + std::bit_ceil(length) / 2};
}

[[gnu::hot]] Range part_within(Range range, std::uint32_t start, std::uint32_t end, std::uint32_t unit) noexcept {
  while (range.start != start || range.end > end) {
    const Range left = left_part(range, unit);
    if (start < left.end) {
      range = left;
    } else {
      range.start = left.end;
    }
  }
  return range;
}

PatternStore::PatternStore(const MatcherOptions& options, const History& history, ChunkTable& chunks)
    : options_(options), history_(history), chunks_(chunks), powers_(std::size_t{options.chunk_cap} + 1, 1) {
  static_assert(kMaxPatterns == kPatternMask + 1);
  for (std::size_t i = 1; i < powers_.size(); ++i) {
    powers_[i] = powers_[i - 1] * kHashBase;
  }
}

PatternStore::~PatternStore() = default;

Pattern* PatternStore::find(std::uint32_t id) noexcept {
  const std::uint32_t number = id & kPatternMask;
  Pattern* pattern = number < patterns_.size() ? patterns_[number].get() : nullptr;
  return pattern != nullptr && pattern->id == id ? pattern : nullptr;
}

void PatternStore::unlink(Pattern& pattern) noexcept {
  (pattern.newer != nullptr ? pattern.newer->older : newest_) = pattern.older;
  (pattern.older != nullptr ? pattern.older->newer : oldest_) = pattern.newer;
  pattern.newer = pattern.older = nullptr;
}

void PatternStore::touch(Pattern& pattern) noexcept {
  if (newest_ == &pattern) {
    return;
  }
  if (pattern.newer != nullptr) {
    unlink(pattern);
  }
  pattern.older = newest_;
  if (newest_ != nullptr) {
    newest_->newer = &pattern;
  }
  newest_ = &pattern;
  pattern.touched = history_.size();
  if (oldest_ == nullptr) {
    oldest_ = &pattern;
  }
}

void PatternStore::evict(Pattern& pattern) {
  unlink(pattern);
  std::erase(building_, &pattern);
  nodes_ -= pattern.length;
  const std::uint32_t number = pattern.id & kPatternMask;
  dead_.push_back(std::move(patterns_[number]));
  free_.push_back(number);
}

/// What has not been in use for so many histories is hardly ever in use again: programs that run for long would fill
/// all the room there is.
bool PatternStore::is_forgotten(const Pattern& pattern) const noexcept {
  constexpr std::uint64_t kHistories = 16;  // limit: of memory
  return pattern.newer != nullptr && pattern.newer->touched + kHistories * history_.capacity() < history_.size();
}

bool PatternStore::make_room(std::uint32_t nodes, const Pattern* keep) {
  if (nodes > options_.max_nodes) {
    return false;
  }
  // A bounded number per call: what asked for room asks again if it matters.
  for (int evictions = 0; evictions < 64; ++evictions) {
    const bool forgotten = oldest_ != nullptr && oldest_ != keep && is_forgotten(*oldest_);
    if (!forgotten && nodes_ + nodes <= options_.max_nodes && (!free_.empty() || patterns_.size() < kMaxPatterns)) {
      return true;
    }
    Pattern* victim = oldest_ != keep || oldest_ == nullptr ? oldest_ : oldest_->newer;
    if (victim == nullptr) {
      return false;
    }
    evict(*victim);
  }
  return false;
}

/// A pattern without tokens so far. Null if there is no room.
Pattern* PatternStore::make(std::uint32_t length, std::uint32_t period, bool wraps_cuts, bool after_cut,
                            const Pattern* keep, std::uint32_t inner) {
  const bool unroll = period != 0 && !wraps_cuts && period <= options_.chunk_cap / 2;
  if (unroll) {
    length = options_.chunk_cap / period * period;
  }
  if (length == 0 || !make_room(length, keep)) {
    return nullptr;
  }
  if (anchors_.empty()) {
    anchor_mask_ = std::bit_ceil(std::max(options_.max_nodes / 2, 64U)) - 1;
    anchors_ = LazyArray<Anchor>(anchor_mask_ + std::size_t{1});
    edge_mask_ = std::bit_ceil(std::max(options_.max_nodes / 16, 64U)) - 1;
    edges_ = LazyArray<Edge>(edge_mask_ + std::size_t{1});
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(patterns_.size()));
    patterns_.emplace_back();
    generations_.push_back(0);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  auto pattern = std::make_unique<Pattern>();
  pattern->id = generations_[number]++ << kPatternBits | number;
  pattern->length = length;
  pattern->period = period;
  pattern->unit = unroll ? period : 0;
  pattern->inner = inner;
  const std::size_t bytes =
      (std::size_t{length} + 1) * sizeof(std::uint64_t) + length * (sizeof(Token) + sizeof(Pattern::Spot));
  pattern->block.reset(new std::byte[bytes]);  // no zeros are needed
  pattern->prefix = reinterpret_cast<std::uint64_t*>(pattern->block.get());
  pattern->tokens = pattern->prefix + length + 1;
  pattern->spots = reinterpret_cast<Pattern::Spot*>(pattern->tokens + length);
  pattern->prefix[0] = 0;
  pattern->lengths = lengths_;
  pattern->after_cut = after_cut;
  start_run(*pattern, 0, after_cut);
  nodes_ += length;
  block_bytes_ += bytes;
  Pattern* result = pattern.get();
  patterns_[number] = std::move(pattern);
  touch(*result);
  return result;
}

Pattern* PatternStore::add(std::uint64_t source, std::uint32_t length, std::uint32_t period, bool wraps_cuts,
                           const Pattern* keep, std::uint32_t inner) {
  const bool after_cut = wraps_cuts || (period == 0 && source > history_.oldest() && history_.is_cut(source - 1));
  Pattern* const result = building_.size() >= 16 ? nullptr : make(length, period, wraps_cuts, after_cut, keep, inner);
  if (result == nullptr) {
    return nullptr;
  }
  result->source = source;
  result->source_end = history_.size();
  build(*result, kBurst);
  if (!result->complete()) {
    building_.push_back(result);
  }
  return result;
}

void PatternStore::work(const Pattern* keep) {
  if (!building_.empty()) {
    Pattern& pattern = *building_.front();
    const std::uint32_t before = pattern.built;
    build(pattern, kPerOperation);
    if (pattern.complete()) {
      building_.pop_front();
    } else if (pattern.built == before) {  // the history went by before it was read
      if (&pattern == keep) {
        building_.pop_front();
        building_.push_back(&pattern);
      } else {
        evict(pattern);
      }
    }
  }
  for (int i = 0; i < 8 && !dead_.empty(); ++i) {
    Pattern& pattern = *dead_.front();
    if (pattern.sites != kNoIndex) {
      const std::uint32_t index = pattern.sites;
      pattern.sites = chunks_.site(index).next_in_pattern;
      chunks_.remove_site(index);
    } else {
      block_bytes_ -= (std::size_t{pattern.length} + 1) * sizeof(std::uint64_t) +
                      pattern.length * (sizeof(Token) + sizeof(Pattern::Spot));
      dead_.pop_front();
    }
  }
}

void PatternStore::build(Pattern& pattern, std::uint32_t count) {
  for (; count != 0 && !pattern.complete(); --count) {
    if (pattern.unit != 0 && pattern.built >= pattern.unit) {
      append(pattern, pattern.tokens[pattern.built - pattern.unit], Cut::kNone);
      continue;
    }
    std::uint64_t position = pattern.source + pattern.built;
    while (position < history_.oldest()) {  // the same token stands one period later
      if (pattern.period == 0 || position + pattern.period >= pattern.source_end) {
        return;
      }
      position += pattern.period;
    }
    append(pattern, history_.at(position), history_.cut_at(position));
  }
  if (pattern.complete()) {
    finish_run(pattern, pattern.length, Cut::kNone);
    anchor_wrap(pattern);
  }
}

void PatternStore::append(Pattern& pattern, Token token, Cut cut) {
  const std::uint32_t offset = pattern.built++;
  pattern.tokens[offset] = token;
  pattern.prefix[offset + 1] = pattern.prefix[offset] * kHashBase + token;
  pattern.spots[offset] = {};
  const std::uint32_t next = offset + 1;
  if (next >= History::kGram && (pattern.unit == 0 || next < History::kGram + pattern.unit)) {
    anchor(pattern, pattern.prefix[next] - pattern.prefix[next - History::kGram] * kGramPower, next);
  }
  if (cut == Cut::kBehind) {
    emit_growing(pattern, next);
    finish_run(pattern, next, cut);
    start_run(pattern, next, true);
  } else if (cut != Cut::kNone) {
    finish_run(pattern, offset, cut);
    pattern.spots[offset].main = {offset, next};
    start_run(pattern, next, true);
  } else {
    emit_growing(pattern, next);
  }
}

void PatternStore::anchor(const Pattern& pattern, std::uint64_t gram, std::uint32_t offset) {
  if (pattern.period != 0) {
    offset %= pattern.period;
  }
  anchors_[(gram * kSpread) >> 32U & anchor_mask_] = {pattern.id + 1, offset};
}

void PatternStore::anchor_wrap(const Pattern& pattern) {
  if (pattern.period == 0) {
    return;
  }
  for (std::uint32_t offset = 0; offset < std::min(History::kGram, pattern.period); ++offset) {
    std::uint64_t gram = 0;
    for (std::uint32_t i = 0; i < History::kGram; ++i) {
      const std::uint64_t position = std::uint64_t{offset} + History::kGram * std::uint64_t{pattern.length} + i;
      gram = gram * kHashBase + pattern.tokens[(position - History::kGram) % pattern.length];
    }
    anchor(pattern, gram, offset);
  }
}

Place PatternStore::look_up() noexcept {
  if (anchors_.empty() || history_.size() < History::kGram) {
    return {};
  }
  const Anchor found = anchors_[(history_.gram() * kSpread) >> 32U & anchor_mask_];
  Pattern* pattern = found.pattern != 0 ? find(found.pattern - 1) : nullptr;
  if (pattern == nullptr || found.offset > pattern->built) {
    return {};
  }
  std::uint32_t offset = found.offset;
  for (std::uint32_t i = 1; i <= History::kGram; ++i) {
    if (offset == 0) {
      if (pattern->period == 0 || !pattern->complete()) {
        return {};
      }
      offset = pattern->length;
    }
    if (pattern->tokens[--offset] != history_.at(history_.size() - i)) {
      return {};
    }
  }
  return {pattern, found.offset};
}

PatternStore::Edge* PatternStore::edges_of(std::uint32_t from, std::uint32_t offset, Token token) noexcept {
  const std::uint64_t hash = capture::mix(capture::mix(token, from), offset) * kSpread;
  return &edges_[(hash >> 32U) & edge_mask_ & ~(kWays - 1)];
}

void PatternStore::learn_edge(const Pattern& from, std::uint32_t offset, Token token, Place to) {
  offset = from.phase(offset);
  Edge* const set = edges_of(from.id, offset, token);
  Edge* place = nullptr;
  for (std::uint32_t i = 0; i < kWays; ++i) {
    if (set[i].from == from.id + 1 && set[i].from_offset == offset && set[i].token == token) {
      place = &set[i];
      break;
    }
    if (place == nullptr && (set[i].from == 0 || find(set[i].from - 1) == nullptr || find(set[i].to - 1) == nullptr)) {
      place = &set[i];
    }
  }
  if (place == nullptr) {
    place = &set[next_victim_++ % kWays];
  }
  *place = {token, from.id + 1, offset, to.pattern->id + 1, to.offset, 0};
}

Place PatternStore::follow_edge(Pattern& from, std::uint32_t offset, Token token) noexcept {
  if (edges_.empty()) {
    return {};
  }
  offset = from.phase(offset);
  Edge* const set = edges_of(from.id, offset, token);
  for (std::uint32_t i = 0; i < kWays; ++i) {
    Edge& edge = set[i];
    if (edge.from != from.id + 1 || edge.from_offset != offset || edge.token != token) {
      continue;
    }
    Pattern* to = find(edge.to - 1);
    if (to == nullptr) {
      return {};
    }
    const std::uint32_t place = (edge.to_offset != 0 ? edge.to_offset : to->length) - 1;
    if (place >= to->built || to->tokens[place] != token) {
      return {};
    }
    if (edge.uses < tuning::kNoChance && ++edge.uses == tuning::kNoChance) {
      divide(from, offset);
      divide(*to, place);
    }
    return {to, place};
  }
  return {};
}

[[gnu::hot]] std::uint32_t* PatternStore::slot_link(Pattern& pattern, Range range) noexcept {
  // Longest first: that is the one that is asked for most.
  std::uint32_t* link = &pattern.spots[range.start].head;
  while (*link != kNoIndex && chunks_.site(*link).length > range.length()) {
    link = &chunks_.site(*link).next_here;
  }
  return link;
}

[[gnu::hot]] ChunkSite* PatternStore::find_site(Pattern& pattern, Range range) noexcept {
  const std::uint32_t index = *slot_link(pattern, range);
  return index != kNoIndex && chunks_.site(index).length == range.length() ? &chunks_.site(index) : nullptr;
}

[[gnu::hot]] ChunkSite* PatternStore::site(Pattern& pattern, Range range) {
  std::uint32_t* const link = slot_link(pattern, range);
  if (*link != kNoIndex && chunks_.site(*link).length == range.length()) {
    return &chunks_.site(*link);
  }
  const std::uint32_t index =
      chunks_.add_site(hash_of(pattern, range), pattern.tokens + range.start, range.start, range.length());
  if (index == kNoIndex) {
    return nullptr;
  }
  ChunkSite& made = chunks_.site(index);
  made.next_here = *link;
  *link = index;
  made.next_in_pattern = pattern.sites;
  pattern.sites = index;
  return &made;
}

std::size_t PatternStore::bytes() const noexcept {
  return sizeof(*this) + block_bytes_ + anchors_.bytes() + edges_.bytes() +
         (patterns_.size() + dead_.size()) * sizeof(Pattern) + powers_.size() * sizeof(std::uint64_t);
}

}  // namespace refrain::replay
