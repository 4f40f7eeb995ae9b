#include "replay/detect/chunks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace refrain::replay {

ChunkTable::ChunkTable(std::uint32_t expected)
    : bucket_mask_(std::bit_ceil(std::clamp(expected, 64U, 1U << 20U)) - 1),
      buckets_(bucket_mask_ + std::size_t{1}),
      words_((1U << kIdBits) / (kBlockMask + 1)) {}

ChunkTable::~ChunkTable() {
  for (std::size_t block = 0; block * (kBlockMask + 1) < next_id_; ++block) {
    delete words_[block].load(std::memory_order_relaxed);
  }
}

std::atomic<std::uint32_t>* ChunkTable::word(ChunkId id) const noexcept {
  Words* block = id <= kMaxId ? words_[id >> kBlockBits].load(std::memory_order_acquire) : nullptr;
  return block == nullptr ? nullptr : &(*block)[id & kBlockMask];
}

ChunkId ChunkTable::new_id() {
  if (!free_ids_.empty()) {
    const ChunkId id = free_ids_.back();
    free_ids_.pop_back();
    return id;
  }
  if (next_id_ > kMaxId) {
    return kNoChunk;
  }
  if (word(next_id_) == nullptr) {
    words_[next_id_ >> kBlockBits].store(new Words{}, std::memory_order_release);
  }
  return next_id_++;
}

std::uint32_t ChunkTable::add_site(std::uint64_t hash, const Token* tokens, std::uint32_t start, std::uint32_t length) {
  std::uint32_t& bucket = buckets_[(hash ^ (hash >> 32U) ^ length) & bucket_mask_];
  std::uint32_t found = bucket - 1;
  while (found != kNoIndex) {
    const Chunk& chunk = chunks_[found];
    if (chunk.hash == hash && chunk.length == length &&
        std::memcmp(sites_[chunk.first_site].tokens, tokens, length * sizeof(Token)) == 0) {
      break;
    }
    found = chunk.next_in_bucket;
  }
  if (found == kNoIndex) {
    const ChunkId id = new_id();
    if (id == kNoChunk) {
      return kNoIndex;
    }
    found = chunks_.take();
    chunks_[found] = {hash, id, length, kNoIndex, bucket - 1};
    bucket = found + 1;
    ++count_;
    word(id)->store(found << kRecordShift | kLive | static_cast<std::uint32_t>(initial_mode_),
                    std::memory_order_release);
  }
  const std::uint32_t index = sites_.take();
  ChunkSite& site = sites_[index];
  site.tokens = tokens;
  site.start = start;
  site.length = length;
  site.chunk = found;
  site.id = chunks_[found].id;
  site.word = word(site.id);
  site.next_same = chunks_[found].first_site;
  if (site.next_same != kNoIndex) {
    sites_[site.next_same].previous_same = index;
  }
  chunks_[found].first_site = index;
  return index;
}

void ChunkTable::remove_site(std::uint32_t index) {
  const ChunkSite& site = sites_[index];
  Chunk& chunk = chunks_[site.chunk];
  if (site.next_same != kNoIndex) {
    sites_[site.next_same].previous_same = site.previous_same;
  }
  if (site.previous_same != kNoIndex) {
    sites_[site.previous_same].next_same = site.next_same;
  } else {
    chunk.first_site = site.next_same;
  }
  if (chunk.first_site == kNoIndex) {
    std::uint32_t* link = &buckets_[(chunk.hash ^ (chunk.hash >> 32U) ^ chunk.length) & bucket_mask_];
    if (*link - 1 == site.chunk) {
      *link = chunk.next_in_bucket + 1;
    } else {
      std::uint32_t before = *link - 1;
      while (chunks_[before].next_in_bucket != site.chunk) {
        before = chunks_[before].next_in_bucket;
      }
      chunks_[before].next_in_bucket = chunk.next_in_bucket;
    }
    word(chunk.id)->store(static_cast<std::uint32_t>(ChunkMode::kBypass), std::memory_order_release);
    evicted_.push_back(chunk.id);
    --count_;
    chunks_.give(site.chunk);
  }
  sites_.give(index);
}

void ChunkTable::set_mode(ChunkId id, ChunkMode mode) noexcept {
  std::atomic<std::uint32_t>* const mine = word(id);
  std::uint32_t seen = mine != nullptr ? mine->load(std::memory_order_acquire) : 0;
  while ((seen & kLive) != 0 &&
         !mine->compare_exchange_weak(seen, (seen & ~kModeMask) | static_cast<std::uint32_t>(mode),
                                      std::memory_order_acq_rel)) {
  }
}

ChunkMode ChunkTable::mode(ChunkId id) const noexcept {
  const std::atomic<std::uint32_t>* const mine = word(id);
  const std::uint32_t seen = mine != nullptr ? mine->load(std::memory_order_acquire) : 0;
  return (seen & kLive) != 0 ? static_cast<ChunkMode>(seen & kModeMask) : ChunkMode::kBypass;
}

std::vector<Token> ChunkTable::tokens_of(ChunkId id) const {
  const std::atomic<std::uint32_t>* const mine = word(id);
  const std::uint32_t seen = mine != nullptr ? mine->load(std::memory_order_relaxed) : 0;
  if ((seen & kLive) == 0) {
    return {};
  }
  const Chunk& chunk = chunks_[seen >> kRecordShift];
  const Token* tokens = sites_[chunk.first_site].tokens;
  return {tokens, tokens + chunk.length};
}

std::vector<ChunkId> ChunkTable::take_evicted() {
  free_ids_.insert(free_ids_.end(), evicted_.begin(), evicted_.end());
  return std::exchange(evicted_, {});
}

std::size_t ChunkTable::bytes() const noexcept {
  return buckets_.bytes() + chunks_.bytes() + sites_.bytes() + sizeof(*this) +
         (next_id_ + std::size_t{kBlockMask}) / (kBlockMask + 1) * sizeof(Words) +
         (evicted_.capacity() + free_ids_.capacity()) * sizeof(ChunkId);
}

}  // namespace refrain::replay
