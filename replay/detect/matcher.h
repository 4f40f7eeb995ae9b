// Recognises what repeats in one lane's stream of submissions and says, for each submission, whether
// to issue it, to hold it, or to launch what is held. Knows tokens only: no arguments, no driver.
//
// The lane keeps a queue of held operations, oldest first. feed() is told the newest submission and
// returns actions on that queue *including the newest*: after they are applied, whatever remains is
// held. So a submission that is simply to be issued comes back as {kIssue, 1}.
//
// Not thread-safe: one matcher per lane, called by that lane's thread (or under the lane's lock).
// Only set_mode() may be called from any thread at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capture/operation.h"

namespace refrain::replay {

using capture::Token;
using ChunkId = std::uint32_t;
inline constexpr ChunkId kNoChunk = ~ChunkId{0};

/// A chunk is a stretch of a repeating sequence that is submitted at once. It contains no cuts.
enum class ChunkMode : std::uint8_t {
  kTrack = 0,  ///< not built yet: its operations are issued, and reported so that it can be built
  kPass = 1,   ///< being built, declined or retired: its operations are issued, only counted
  kHold = 2,   ///< ready: its operations are held and launched together
};

struct Action {
  enum class Kind : std::uint8_t {
    kIssue,   ///< issue the `count` oldest held operations eagerly
    kLaunch,  ///< launch `chunk`, which is exactly the `count` oldest held operations
  };
  Kind kind = Kind::kIssue;
  std::uint32_t count = 0;
  ChunkId chunk = kNoChunk;
};

/// Where the newest operation stands in a chunk that is not held (kTrack or kPass).
struct Following {
  ChunkId chunk = kNoChunk;           ///< kNoChunk: in none
  std::uint32_t position = 0;         ///< of the newest operation in the chunk, from 0
  bool complete = false;              ///< it was the last one of the chunk
  ChunkMode mode = ChunkMode::kPass;  ///< the mode this occurrence was entered with
};

/// The chunk that everything held belongs to.
struct Holding {
  ChunkId chunk = kNoChunk;  ///< kNoChunk: nothing is held
  std::uint32_t count = 0;   ///< operations of it that are held: its first ones
  std::uint32_t length = 0;  ///< operations it has
};

/// One way to divide a stretch between two cuts into chunks.
struct ChunkLengths {
  std::uint32_t first = 8;   ///< operations in the first chunk after a cut
  std::uint32_t growth = 4;  ///< each following chunk is this much longer …
  std::uint32_t most = 128;  ///< … up to this
  std::uint32_t last = 0;  ///< operations in the last chunk before a wait, those before it longer; 0: what is left over
  friend bool operator==(const ChunkLengths&, const ChunkLengths&) = default;
};
/// Of a way that is not there.
inline constexpr ChunkLengths kNoLengths{0, 0, 0, 0};
/// Ways that can be known at once.
inline constexpr std::uint32_t kChunkWays = 4;
/// On one queue: the way that comes later than the others, see chunk_ways.h.
inline constexpr std::uint32_t kTimedWay = 3;

struct MatcherOptions {
  std::uint32_t chunk_first = 8;        ///< operations in the first chunk after a cut
  std::uint32_t chunk_growth = 4;       ///< each following chunk is this much longer …
  std::uint32_t chunk_cap = 128;        ///< … up to this; nothing is ever held beyond it
  std::uint32_t chunk_last = 0;         ///< operations in the last chunk before a wait; 0: what is left over
  std::uint32_t history = 1U << 16U;    ///< tokens remembered (bounds the longest period found)
  std::uint32_t max_nodes = 1U << 17U;  ///< bound on the trie; the least used chunks go first
  std::uint32_t min_chunk = 2;          ///< shorter stretches between cuts are not worth a chunk
};

struct MatcherStats {
  std::uint64_t operations = 0, cuts = 0;
  std::uint64_t launched_operations = 0, launches = 0;
  std::uint64_t promoted_periods = 0, chunks = 0;
  std::uint64_t promoted_variants = 0;  ///< pieces between two branches that were found to repeat
  std::uint32_t nodes = 0;              ///< tokens in all known sequences
  std::uint64_t side_exits = 0;         ///< held or followed sequences that did not continue as known
  std::uint32_t largest_hold = 0;
  std::uint64_t first_launch_at = 0;  ///< number of the operation (from 1) that completed the first launch
  std::size_t memory_bytes = 0;
};

class Matcher {
 public:
  explicit Matcher(const MatcherOptions& options);
  ~Matcher();
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// One submission. If `holdable` is false it is a cut that has a token: everything held leaves
  /// first, then it is issued itself. The span is valid until the next call.
  std::span<const Action> feed(Token token, bool holdable);
  /// A host call: everything held leaves. Part of the history, like a submission with token
  /// `identity` (give each entry point its own value; kHostCallToken if it does not matter). `waits`: the program may
  /// wait for what came before, so that chunks shrink towards it; always the same for one identity.
  std::span<const Action> cut(Token identity = capture::kHostCallToken, bool waits = true);
  /// Everything held was already submitted by somebody else (the watchdog, another lane), as if a
  /// host call had come, but without being part of the program: the history is not cut.
  /// What to do with the held operations is returned as for cut().
  std::span<const Action> expire();

  /// After feed(): where the newest operation stands, if it was issued as part of a known chunk.
  [[nodiscard]] const Following& following() const noexcept;

  /// Number of operations held after the last call.
  [[nodiscard]] std::uint32_t held() const noexcept;
  /// Which ones, after feed().
  [[nodiscard]] Holding holding() const noexcept;
  /// Predicts the chunk that will be held after the current one (or next, if none is held) if the stream goes on as
  /// known; its `count` is 0. Each further call predicts one more. A caller may launch predicted chunks before it feeds
  /// their tokens, and must feed these before anything else. Predictions are valid until then.
  [[nodiscard]] Holding next_chunk() noexcept;
  /// What is held was launched already: for a caller that launched a predicted chunk and finds, after feeding its
  /// tokens, that another chunk is held, because something was learnt in between.
  void forget_held() noexcept;

  /// Called with the mode new chunks start with (default kTrack). The detection benchmark uses kHold.
  void set_initial_mode(ChunkMode mode) noexcept;
  /// Thread-safe; takes effect when the chunk is entered the next time.
  void set_mode(ChunkId chunk, ChunkMode mode) noexcept;
  [[nodiscard]] ChunkMode mode(ChunkId chunk) const noexcept;
  /// The tokens of a chunk; empty if it was evicted. Only on the lane's thread.
  [[nodiscard]] std::vector<Token> tokens_of(ChunkId chunk) const;
  /// Chunks evicted since the last call, whose ids are other chunks' from the next call to feed() or cut() on: who
  /// called set_mode() for them must not do so any more. Only on the lane's thread. A chunk named by an action is
  /// evicted in the next call to feed() or cut() at the earliest. May throw std::bad_alloc.
  std::vector<ChunkId> take_evicted();
  /// How many that would be.
  [[nodiscard]] std::size_t evicted() const noexcept;

  /// Says what way `way` of dividing stretches is; chunk_cap as it was given stays the bound. If it is the way that is
  /// used, or may be used again, what is known is divided anew where it comes again. Only on the lane's thread.
  void set_lengths(std::uint32_t way, const ChunkLengths& lengths) noexcept;
  /// What comes after a cut is divided in this way from now on. At first it is way 0, with the options' lengths.
  void use_lengths(std::uint32_t way) noexcept;

  /// Detection on or off (matching of known chunks goes on). Off when nothing seems to be gained.
  void set_detecting(bool on) noexcept;

  [[nodiscard]] MatcherStats stats() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> impl_;
};

}  // namespace refrain::replay
