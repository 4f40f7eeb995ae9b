// The chunks of one lane: which tokens each stands for, in which mode it is, and the places ("sites")
// of known stretches where it occurs. Equal contents are one chunk, wherever they occur.
// Not thread-safe, except set_mode() and mode().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "replay/detect/chunk.h"
#include "replay/detect/history.h"

namespace refrain::replay {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};  // format

/// Records with stable addresses and no growth that would be felt: memory comes in small blocks.
template <typename T>
class Pool {
 public:
  T& operator[](std::uint32_t index) noexcept { return blocks_[index >> kBits][index & kMask]; }
  const T& operator[](std::uint32_t index) const noexcept { return blocks_[index >> kBits][index & kMask]; }

  [[nodiscard]] std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      (*this)[index] = T{};
      return index;
    }
    if ((used_ & kMask) == 0) {
      blocks_.push_back(std::make_unique<T[]>(kMask + 1));
    }
    return used_++;
  }
  void give(std::uint32_t index) { free_.push_back(index); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return blocks_.size() * (kMask + 1) * sizeof(T) + free_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kBits = 6;                  // format
  static constexpr std::uint32_t kMask = (1U << kBits) - 1;  // format
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

/// A place in a pattern where a chunk stands, and how it fares there.
struct alignas(64) ChunkSite {    // one cache line
  const Token* tokens = nullptr;  ///< in the pattern
  std::uint32_t start = 0;        ///< offset in the pattern
  std::uint32_t length = 0;
  std::uint32_t chunk = kNoIndex;  ///< number of the chunk's record
  ChunkId id = kNoChunk;
  const std::atomic<std::uint32_t>* word = nullptr;  ///< the chunk's mode
  std::uint32_t next_here = kNoIndex;                ///< other sites that start at the same offset
  std::uint32_t next_in_pattern = kNoIndex;
  std::uint32_t next_same = kNoIndex, previous_same = kNoIndex;  ///< other places of the same chunk
  std::uint16_t skip = 0;                                        ///< times it is not to be entered
  std::uint8_t backoff = 0;                                      ///< exponent of the above
  std::uint8_t entered = 0;                                      ///< saturates
  std::uint16_t wanted = 0;        ///< times it could have been launched, had it been ready
  std::uint16_t wanted_limit = 2;  ///< when that is reached, the next occurrence is split so that it is followed
};

class ChunkTable {
 public:
  /// `expected`: about how many chunks there will be at most (bounds the cost of a look-up, not the number).
  explicit ChunkTable(std::uint32_t expected);
  ~ChunkTable();
  ChunkTable(const ChunkTable&) = delete;
  ChunkTable& operator=(const ChunkTable&) = delete;

  /// Makes a site for `tokens` (which must stay where they are until remove_site), whose hash is given.
  /// kNoIndex if there are too many chunks.
  std::uint32_t add_site(std::uint64_t hash, const Token* tokens, std::uint32_t start, std::uint32_t length);
  /// A chunk without a site left is evicted.
  void remove_site(std::uint32_t site);
  [[nodiscard]] ChunkSite& site(std::uint32_t index) noexcept { return sites_[index]; }

  /// The site (or kNoIndex) will be looked at soon.
  void prefetch(std::uint32_t site) const noexcept {
    if (site != kNoIndex) {
      __builtin_prefetch(&sites_[site]);
    }
  }
  [[nodiscard]] static ChunkMode mode_of(const ChunkSite& site) noexcept {
    return static_cast<ChunkMode>(site.word->load(std::memory_order_acquire) & kModeMask);
  }
  void set_initial_mode(ChunkMode mode) noexcept { initial_mode_ = mode; }

  void set_mode(ChunkId id, ChunkMode mode) noexcept;       // any thread
  [[nodiscard]] ChunkMode mode(ChunkId id) const noexcept;  // any thread
  [[nodiscard]] std::vector<Token> tokens_of(ChunkId id) const;
  std::vector<ChunkId> take_evicted();
  [[nodiscard]] std::size_t evicted() const noexcept { return evicted_.size(); }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Chunk {
    std::uint64_t hash = 0;
    ChunkId id = kNoChunk;
    std::uint32_t length = 0;
    std::uint32_t first_site = kNoIndex;
    std::uint32_t next_in_bucket = kNoIndex;
  };
  // Ids are small, so that they can be indices: one is given again once it was taken by take_evicted(). Other threads
  // read and write modes: there is one word per id with its mode and the number of its record. Blocks of words never
  // move or go away.
  static constexpr std::uint32_t kIdBits = 26, kMaxId = (1U << kIdBits) - 1;            // format
  static constexpr std::uint32_t kBlockBits = 12, kBlockMask = (1U << kBlockBits) - 1;  // format
  static constexpr std::uint32_t kModeMask = 3, kLive = 4, kRecordShift = 3;            // format
  using Words = std::array<std::atomic<std::uint32_t>, kBlockMask + 1>;

  [[nodiscard]] std::atomic<std::uint32_t>* word(ChunkId id) const noexcept;
  [[nodiscard]] ChunkId new_id();

  ChunkMode initial_mode_ = ChunkMode::kRecord;
  std::uint32_t bucket_mask_;
  LazyArray<std::uint32_t> buckets_;  // record's number + 1
  Pool<Chunk> chunks_;
  Pool<ChunkSite> sites_;
  ChunkId next_id_ = 0;
  std::vector<ChunkId> free_ids_;
  std::uint64_t count_ = 0;
  LazyArray<std::atomic<Words*>> words_;
  std::vector<ChunkId> evicted_;
};

}  // namespace refrain::replay
