#include "replay/detect/tracks.h"

#include <algorithm>
#include <bit>

#include "replay/tuning.h"

namespace refrain::replay {
namespace {

constexpr std::uint32_t kTrackBits = 12;                               // format
constexpr std::uint32_t kTrackMask = (1U << kTrackBits) - 1;           // format
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

TrackStore::TrackStore(const MatcherOptions& options, const History& history, ChunkTable& chunks)
    : options_(options), history_(history), chunks_(chunks), powers_(std::size_t{options.chunk_cap} + 1, 1) {
  static_assert(kMaxTracks == kTrackMask + 1);
  for (std::size_t i = 1; i < powers_.size(); ++i) {
    powers_[i] = powers_[i - 1] * kHashBase;
  }
}

TrackStore::~TrackStore() = default;

Track* TrackStore::find(std::uint32_t id) noexcept {
  const std::uint32_t number = id & kTrackMask;
  Track* track = number < tracks_.size() ? tracks_[number].get() : nullptr;
  return track != nullptr && track->id == id ? track : nullptr;
}

void TrackStore::unlink(Track& track) noexcept {
  (track.newer != nullptr ? track.newer->older : newest_) = track.older;
  (track.older != nullptr ? track.older->newer : oldest_) = track.newer;
  track.newer = track.older = nullptr;
}

void TrackStore::touch(Track& track) noexcept {
  if (newest_ == &track) {
    return;
  }
  if (track.newer != nullptr) {
    unlink(track);
  }
  track.older = newest_;
  if (newest_ != nullptr) {
    newest_->newer = &track;
  }
  newest_ = &track;
  track.touched = history_.size();
  if (oldest_ == nullptr) {
    oldest_ = &track;
  }
}

void TrackStore::evict(Track& track) {
  unlink(track);
  std::erase(building_, &track);
  nodes_ -= track.length;
  const std::uint32_t number = track.id & kTrackMask;
  dead_.push_back(std::move(tracks_[number]));
  free_.push_back(number);
}

/// What has not been in use for so many histories is hardly ever in use again: programs that run for long would fill
/// all the room there is.
bool TrackStore::is_forgotten(const Track& track) const noexcept {
  constexpr std::uint64_t kHistories = 16;  // limit: of memory
  return track.newer != nullptr && track.newer->touched + kHistories * history_.capacity() < history_.size();
}

bool TrackStore::make_room(std::uint32_t nodes, const Track* keep) {
  if (nodes > options_.max_nodes) {
    return false;
  }
  // A bounded number per call: what asked for room asks again if it matters.
  for (int evictions = 0; evictions < 64; ++evictions) {
    const bool forgotten = oldest_ != nullptr && oldest_ != keep && is_forgotten(*oldest_);
    if (!forgotten && nodes_ + nodes <= options_.max_nodes && (!free_.empty() || tracks_.size() < kMaxTracks)) {
      return true;
    }
    Track* victim = oldest_ != keep || oldest_ == nullptr ? oldest_ : oldest_->newer;
    if (victim == nullptr) {
      return false;
    }
    evict(*victim);
  }
  return false;
}

Track* TrackStore::add(std::uint64_t source, std::uint32_t length, std::uint32_t period, bool wraps_cuts,
                       const Track* keep, std::uint32_t inner) {
  const bool unroll = period != 0 && !wraps_cuts && period <= options_.chunk_cap / 2;
  if (unroll) {
    length = options_.chunk_cap / period * period;
  }
  if (length == 0 || building_.size() >= 16 || !make_room(length, keep)) {
    return nullptr;
  }
  if (anchors_.empty()) {
    anchor_mask_ = std::bit_ceil(std::max(options_.max_nodes / 2, 64U)) - 1;
    anchors_ = LazyArray<Anchor>(anchor_mask_ + std::size_t{1});
    edge_mask_ = std::bit_ceil(std::max(options_.max_nodes / 16, 64U)) - 1;
    edges_ = LazyArray<Edge>(edge_mask_ + std::size_t{1});
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(tracks_.size()));
    tracks_.emplace_back();
    generations_.push_back(0);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  auto track = std::make_unique<Track>();
  track->id = generations_[number]++ << kTrackBits | number;
  track->length = length;
  track->period = period;
  track->unit = unroll ? period : 0;
  track->inner = inner;
  const std::size_t bytes =
      (std::size_t{length} + 1) * sizeof(std::uint64_t) + length * (sizeof(Token) + sizeof(Track::Spot));
  track->block = std::make_unique_for_overwrite<std::byte[]>(bytes);
  track->prefix = reinterpret_cast<std::uint64_t*>(track->block.get());
  track->tokens = track->prefix + length + 1;
  track->spots = reinterpret_cast<Track::Spot*>(track->tokens + length);
  track->prefix[0] = 0;
  track->source = source;
  track->source_end = history_.size();
  track->lengths = lengths_;
  const bool after_cut = wraps_cuts || (period == 0 && source > history_.oldest() && history_.is_cut(source - 1));
  track->after_cut = after_cut;
  start_run(*track, 0, after_cut);
  nodes_ += length;
  block_bytes_ += bytes;
  Track* result = track.get();
  tracks_[number] = std::move(track);
  touch(*result);
  build(*result, kBurst);
  if (!result->complete()) {
    building_.push_back(result);
  }
  return result;
}

void TrackStore::work(const Track* keep) {
  if (!building_.empty()) {
    Track& track = *building_.front();
    const std::uint32_t before = track.built;
    build(track, kPerOperation);
    if (track.complete()) {
      building_.pop_front();
    } else if (track.built == before) {  // the history went by before it was read
      if (&track == keep) {
        building_.pop_front();
        building_.push_back(&track);
      } else {
        evict(track);
      }
    }
  }
  for (int i = 0; i < 8 && !dead_.empty(); ++i) {
    Track& track = *dead_.front();
    if (track.slots != kNoIndex) {
      const std::uint32_t index = track.slots;
      track.slots = chunks_.slot(index).next_in_track;
      chunks_.remove_slot(index);
    } else {
      block_bytes_ -= (std::size_t{track.length} + 1) * sizeof(std::uint64_t) +
                      track.length * (sizeof(Token) + sizeof(Track::Spot));
      dead_.pop_front();
    }
  }
}

void TrackStore::build(Track& track, std::uint32_t count) {
  for (; count != 0 && !track.complete(); --count) {
    if (track.unit != 0 && track.built >= track.unit) {
      append(track, track.tokens[track.built - track.unit], Cut::kNone);
      continue;
    }
    std::uint64_t position = track.source + track.built;
    while (position < history_.oldest()) {  // the same token stands one period later
      if (track.period == 0 || position + track.period >= track.source_end) {
        return;
      }
      position += track.period;
    }
    append(track, history_.at(position), history_.cut_at(position));
  }
  if (track.complete()) {
    finish_run(track, track.length, Cut::kNone);
    anchor_wrap(track);
  }
}

void TrackStore::append(Track& track, Token token, Cut cut) {
  const std::uint32_t offset = track.built++;
  track.tokens[offset] = token;
  track.prefix[offset + 1] = track.prefix[offset] * kHashBase + token;
  track.spots[offset] = {};
  const std::uint32_t next = offset + 1;
  if (next >= History::kGram && (track.unit == 0 || next < History::kGram + track.unit)) {
    anchor(track, track.prefix[next] - track.prefix[next - History::kGram] * kGramPower, next);
  }
  if (cut != Cut::kNone) {
    finish_run(track, offset, cut);
    track.spots[offset].main = {offset, next};
    start_run(track, next, true);
  } else {
    emit_growing(track, next);
  }
}

void TrackStore::anchor(const Track& track, std::uint64_t gram, std::uint32_t offset) {
  if (track.period != 0) {
    offset %= track.period;
  }
  anchors_[(gram * kSpread) >> 32U & anchor_mask_] = {track.id + 1, offset};
}

void TrackStore::anchor_wrap(const Track& track) {
  if (track.period == 0) {
    return;
  }
  for (std::uint32_t offset = 0; offset < std::min(History::kGram, track.period); ++offset) {
    std::uint64_t gram = 0;
    for (std::uint32_t i = 0; i < History::kGram; ++i) {
      const std::uint64_t position = std::uint64_t{offset} + History::kGram * std::uint64_t{track.length} + i;
      gram = gram * kHashBase + track.tokens[(position - History::kGram) % track.length];
    }
    anchor(track, gram, offset);
  }
}

Place TrackStore::look_up() noexcept {
  if (anchors_.empty() || history_.size() < History::kGram) {
    return {};
  }
  const Anchor found = anchors_[(history_.gram() * kSpread) >> 32U & anchor_mask_];
  Track* track = found.track != 0 ? find(found.track - 1) : nullptr;
  if (track == nullptr || found.offset > track->built) {
    return {};
  }
  std::uint32_t offset = found.offset;
  for (std::uint32_t i = 1; i <= History::kGram; ++i) {
    if (offset == 0) {
      if (track->period == 0 || !track->complete()) {
        return {};
      }
      offset = track->length;
    }
    if (track->tokens[--offset] != history_.at(history_.size() - i)) {
      return {};
    }
  }
  return {track, found.offset};
}

TrackStore::Edge* TrackStore::edges_of(std::uint32_t from, std::uint32_t offset, Token token) noexcept {
  const std::uint64_t hash = capture::mix(capture::mix(token, from), offset) * kSpread;
  return &edges_[(hash >> 32U) & edge_mask_ & ~(kWays - 1)];
}

void TrackStore::learn_edge(const Track& from, std::uint32_t offset, Token token, Place to) {
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
  *place = {token, from.id + 1, offset, to.track->id + 1, to.offset, 0};
}

Place TrackStore::follow_edge(Track& from, std::uint32_t offset, Token token) noexcept {
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
    Track* to = find(edge.to - 1);
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

[[gnu::hot]] std::uint32_t* TrackStore::slot_link(Track& track, Range range) noexcept {
  // Longest first: that is the one that is asked for most.
  std::uint32_t* link = &track.spots[range.start].head;
  while (*link != kNoIndex && chunks_.slot(*link).length > range.length()) {
    link = &chunks_.slot(*link).next_here;
  }
  return link;
}

[[gnu::hot]] Slot* TrackStore::find_slot(Track& track, Range range) noexcept {
  const std::uint32_t index = *slot_link(track, range);
  return index != kNoIndex && chunks_.slot(index).length == range.length() ? &chunks_.slot(index) : nullptr;
}

[[gnu::hot]] Slot* TrackStore::slot(Track& track, Range range) {
  std::uint32_t* const link = slot_link(track, range);
  if (*link != kNoIndex && chunks_.slot(*link).length == range.length()) {
    return &chunks_.slot(*link);
  }
  const std::uint32_t index =
      chunks_.add_slot(hash_of(track, range), track.tokens + range.start, range.start, range.length());
  if (index == kNoIndex) {
    return nullptr;
  }
  Slot& made = chunks_.slot(index);
  made.next_here = *link;
  *link = index;
  made.next_in_track = track.slots;
  track.slots = index;
  return &made;
}

std::size_t TrackStore::bytes() const noexcept {
  return sizeof(*this) + block_bytes_ + anchors_.bytes() + edges_.bytes() +
         (tracks_.size() + dead_.size()) * sizeof(Track) + powers_.size() * sizeof(std::uint64_t);
}

}  // namespace refrain::replay
