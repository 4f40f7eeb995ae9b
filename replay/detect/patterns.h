// What one lane's stream is known to be made of: patterns (stretches that repeat, either a whole period
// that wraps around or a piece between two branches), the edges by which the stream was seen to go from
// one to another, and an index to find one's place in them again. It is a trie with
// shared suffixes: the next token of the pattern is the prediction, the edges are the side table.
//
// Each pattern is divided into main chunks, and each main chunk into halves of halves (see left_part), so
// that wherever a pattern is entered or left, the stretch is covered by few chunks, the same ones each time
// at the same place. Chunks come into being when they are first needed. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "replay/detect/chunk.h"
#include "replay/detect/chunks.h"
#include "replay/detect/history.h"
#include "replay/detect/known_patterns.h"

namespace refrain::replay {

struct Range {
  std::uint32_t start = 0, end = 0;
  [[nodiscard]] std::uint32_t length() const noexcept { return end - start; }
  [[nodiscard]] bool contains(Range other) const noexcept { return start <= other.start && other.end <= end; }
  bool operator==(const Range&) const = default;
};

/// The first of the two parts that a range of more than one token is divided into: a power of two of
/// periods while it has several (`unit` tokens each), else a power of two of tokens.
Range left_part(Range range, std::uint32_t unit) noexcept;
/// Largest part in the division of `range` that starts at `start` and does not go beyond `end`.
Range part_within(Range range, std::uint32_t start, std::uint32_t end, std::uint32_t unit) noexcept;

/// `tokens`, whole rounds of a loop, divided into so many `pieces` as equal as can be, so that the same few chunks come
/// again and again; none is longer than `most`, and few are much shorter. `round`: the loop's tokens.
struct Rounds {
  std::uint32_t tokens = 0, pieces = 0;
  static Rounds of(std::uint32_t round, std::uint32_t most) noexcept;
  /// Where the piece ends that begins at `offset` (from the first one's beginning).
  [[nodiscard]] std::uint32_t end_of(std::uint32_t offset) const noexcept;
};

/// A stretch of a pattern without cuts, and by which lengths it is divided into main chunks.
struct Run {
  std::uint32_t start = 0, end = 0;
  std::uint32_t lengths = 0;  ///< number of the lengths, see PatternStore::use_lengths()
  bool after_cut = false, before_wait = false;
  bool ends_itself = false;  ///< its last operation is the cut behind it
};

struct Pattern {
  std::uint32_t id = kNoIndex;
  std::uint32_t length = 0;       ///< tokens it will have
  std::uint32_t built = 0;        ///< tokens it has so far
  std::uint32_t planned = 0;      ///< tokens that are already divided into main chunks
  std::uint32_t period = 0;       ///< it wraps around, and repeats itself after so many tokens; 0: it ends
  std::uint32_t unit = 0;         ///< period, if it was unrolled; else 0
  std::uint32_t inner = 0;        ///< tokens of a loop that goes round in it more than once; 0: none is known
  std::uint32_t next = kNoIndex;  ///< of a pattern that ends: the pattern that was seen to follow
  Range training;                 ///< if not empty: the part to be followed on its own at the next occasion
  Token* tokens = nullptr;
  std::uint64_t* prefix = nullptr;  ///< length + 1 hashes of the tokens before
  struct Spot {
    Range main;                     ///< the main chunk (or the host call) that the token belongs to
    std::uint32_t head = kNoIndex;  ///< first site that starts here
  };
  Spot* spots = nullptr;

  [[nodiscard]] bool complete() const noexcept { return built == length; }
  /// Offset as edges know it: in an unrolled pattern it does not matter in which period one is.
  [[nodiscard]] std::uint32_t phase(std::uint32_t offset) const noexcept { return unit != 0 ? offset % unit : offset; }
  /// The token at `offset` (which may be past the end of a pattern that wraps); null if unknown.
  [[nodiscard]] const Token* token_at(std::uint32_t offset) const noexcept {
    if (offset >= length && period != 0) {
      offset -= length;
    }
    return offset < built ? tokens + offset : nullptr;
  }

  /// True if the stretch ends behind the operation at `offset`, and not only because a cut follows.
  [[nodiscard]] bool ends_stretch(std::uint32_t offset) const noexcept;

  // The store's own:
  std::unique_ptr<std::byte[]> block;
  std::uint64_t source = 0, source_end = 0;
  std::uint32_t run_begin = 0;  ///< of the run being built
  std::uint32_t run_start = 0, run_target = 0;
  std::uint32_t run_grown = kNoIndex;  ///< where chunks have become as long as they may be; kNoIndex: nowhere yet
  bool after_cut = false;              ///< the first run stands behind a cut
  std::vector<Run> runs;               ///< complete ones, in order
  std::uint32_t lengths = 0;           ///< of all runs; kNoIndex: not all have the same
  std::uint32_t sites = kNoIndex;
  Pattern* newer = nullptr;
  Pattern* older = nullptr;
  std::uint64_t touched = 0;  ///< position of the history then; in use until the next newer one was
};

struct Place {
  Pattern* pattern = nullptr;
  std::uint32_t offset = 0;  ///< of the next token

  void wrap() noexcept {
    if (offset == pattern->length && pattern->period != 0) {
      offset = 0;
    }
  }
};

class PatternStore {
 public:
  PatternStore(const MatcherOptions& options, const History& history, ChunkTable& chunks);
  ~PatternStore();
  PatternStore(const PatternStore&) = delete;
  PatternStore& operator=(const PatternStore&) = delete;

  /// A pattern of what stands in the history from `source` on. `period` = 0: a stretch of `length`;
  /// else one period of a loop (`length` = `period`), of which two have been seen; `wraps_cuts` tells
  /// whether it contains a cut. `keep` is not evicted. Null if there is no room.
  /// Only the beginning is there at once; work() adds the rest.
  /// `inner`: see Pattern.
  Pattern* add(std::uint64_t source, std::uint32_t length, std::uint32_t period, bool wraps_cuts, const Pattern* keep,
               std::uint32_t inner = 0);
  /// Bounded work for each operation; only needed while busy().
  void work(const Pattern* keep);
  [[nodiscard]] bool busy() const noexcept { return !building_.empty() || !dead_.empty(); }

  [[nodiscard]] Pattern* find(std::uint32_t id) noexcept;
  /// Marks a pattern as used just now: the least recently used are evicted first.
  void touch(Pattern& pattern) noexcept;
  [[nodiscard]] bool empty() const noexcept { return newest_ == nullptr; }

  /// The place after the newest six values, if they occur in a pattern.
  [[nodiscard]] Place look_up() noexcept;

  /// From `offset` of `from`, `token` was seen to lead to `to` (the place after the token).
  void learn_edge(const Pattern& from, std::uint32_t offset, Token token, Place to);
  /// Where `token` leads from there; the place *of* the token. Counts, and divides main chunks where
  /// the stream often branches or joins.
  [[nodiscard]] Place follow_edge(Pattern& from, std::uint32_t offset, Token token) noexcept;

  /// Largest part of the main chunk's division that starts at `offset` (which must be planned).
  [[nodiscard]] static Range largest_part(const Pattern& pattern, std::uint32_t offset) noexcept {
    const Range main = pattern.spots[offset].main;
    return part_within(main, offset, main.end, pattern.unit);
  }
  /// The site for that part of the pattern (made if need be), or null if there are too many chunks.
  ChunkSite* site(Pattern& pattern, Range range);
  /// The same, or null if there is none yet.
  ChunkSite* find_site(Pattern& pattern, Range range) noexcept;

  /// The options' lengths are those with this number from now on.
  void use_lengths(std::uint32_t number) noexcept { lengths_ = number; }
  /// The cursor stands at `offset`, after a cut: what follows is divided by the lengths that hold now.
  void run_begins(Pattern& pattern, std::uint32_t offset) noexcept {
    if (pattern.lengths != lengths_) {
      divide_anew(pattern, offset);
    }
  }

  /// All that is complete, and the edges between them, as data.
  [[nodiscard]] KnownPatterns known() const;
  /// The patterns that it made of such data, as many as there is room for.
  std::vector<const Pattern*> learn(const KnownPatterns& known);

  [[nodiscard]] std::uint32_t nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Anchor {
    std::uint32_t pattern;  // id + 1; 0: none
    std::uint32_t offset;
  };
  struct Edge {
    Token token;
    std::uint32_t from;  // id + 1; 0: none
    std::uint32_t from_offset;
    std::uint32_t to;
    std::uint32_t to_offset;
    std::uint32_t uses;
  };
  static constexpr std::uint32_t kMaxPatterns = 4096;  // limit
  static constexpr std::uint32_t kBurst = 256;         // limit: tokens added at once
  static constexpr std::uint32_t kPerOperation = 8;    // limit: the same, for each operation
  static constexpr std::uint32_t kWays = 4;            // format

  [[nodiscard]] std::uint32_t* slot_link(Pattern& pattern, Range range) noexcept;
  [[nodiscard]] bool is_forgotten(const Pattern& pattern) const noexcept;
  bool make_room(std::uint32_t nodes, const Pattern* keep);
  void evict(Pattern& pattern);
  Pattern* make(std::uint32_t length, std::uint32_t period, bool wraps_cuts, bool after_cut, const Pattern* keep,
                std::uint32_t inner);
  Pattern* add_known(const KnownPatterns::Pattern& known);
  void build(Pattern& pattern, std::uint32_t count);
  void append(Pattern& pattern, Token token, Cut cut);
  void emit_main(Pattern& pattern, std::uint32_t end);
  void emit_growing(Pattern& pattern, std::uint32_t end);
  void start_run(Pattern& pattern, std::uint32_t start, bool after_cut) noexcept;
  void next_target(Pattern& pattern, std::uint64_t target) noexcept;
  void finish_run(Pattern& pattern, std::uint32_t end, Cut cut);
  void emit_rest(Pattern& pattern, std::uint32_t begin, std::uint32_t end, bool before_wait);
  void shrink_towards(Pattern& pattern, std::uint32_t begin, std::uint32_t end);
  void divide_anew(Pattern& pattern, std::uint32_t offset) noexcept;
  void anchor(const Pattern& pattern, std::uint64_t gram, std::uint32_t offset);
  void anchor_wrap(const Pattern& pattern);
  void divide(Pattern& pattern, std::uint32_t offset);
  void unlink(Pattern& pattern) noexcept;
  [[nodiscard]] Edge* edges_of(std::uint32_t from, std::uint32_t offset, Token token) noexcept;
  [[nodiscard]] std::uint64_t hash_of(const Pattern& pattern, Range range) const noexcept {
    return pattern.prefix[range.end] - pattern.prefix[range.start] * powers_[range.length()];
  }

  const MatcherOptions& options_;
  const History& history_;
  ChunkTable& chunks_;
  std::vector<std::uint64_t> powers_;
  std::vector<std::unique_ptr<Pattern>> patterns_;  // by number, the low bits of the id
  std::vector<std::uint32_t> free_;
  std::deque<Pattern*> building_;
  std::deque<std::unique_ptr<Pattern>> dead_;  // their sites are being freed
  Pattern* newest_ = nullptr;
  Pattern* oldest_ = nullptr;
  std::uint32_t nodes_ = 0;
  std::size_t block_bytes_ = 0;
  std::uint32_t anchor_mask_ = 0, edge_mask_ = 0;
  std::uint32_t next_victim_ = 0;
  std::uint32_t lengths_ = 0;  ///< number of the lengths that hold now
  std::vector<std::uint32_t> generations_;
  LazyArray<Anchor> anchors_;
  LazyArray<Edge> edges_;
};

}  // namespace refrain::replay
