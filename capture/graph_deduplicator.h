// Recognises stretches of submissions it has seen before: same graph? same arguments? And keeps, per graph,
// what changed from one occurrence to the next. The writer's side of deduplication.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/format.h"
#include "capture/graph.h"
#include "capture/model.h"

namespace refrain::capture {

/// The structure of a node: everything that is not an argument. As in format.fbs, struct Node.
struct NodeShape {
  std::uint64_t token = 0, function = 0;
  std::uint16_t kind = 0, flags = 0;
  std::uint32_t queue = 0;
  std::uint16_t words = 0, argument_count = 0;
  std::uint32_t waits = 0, value_bytes = 0;
  std::uint16_t in_order = 0;  ///< and default order, of the node's queue: they decide about edges
  std::uint16_t reason = 0;    ///< OperationHeader's
};
static_assert(sizeof(NodeShape) == 40);

struct NewGraph {
  std::uint32_t id = 0;
  Fingerprint fingerprint = 0;
  std::uint32_t queue_count = 0;
  std::vector<NodeShape> nodes;
  std::vector<std::int32_t> waits;
  std::vector<std::uint32_t> outside;
  std::vector<std::uint64_t> arguments;
};

struct NewArgumentSet {
  std::uint32_t graph = 0, set = 0;
  std::vector<std::uint32_t> places;  ///< distances from the one before
  std::vector<std::uint64_t> differences;
};

struct GraphFigures {
  std::uint32_t graph = 0;
  std::uint64_t occurrences = 0, changed = 0, not_stored = 0;
  std::vector<SlotStatistic> slots;
};

/// Not thread-safe. Memory is bounded: graphs not seen for long are forgotten (and told anew, under a new
/// number, should they come back).
class GraphDeduplicator {
 public:
  struct Place {
    std::uint32_t graph = 0;
    std::uint32_t set = 0;
  };

  explicit GraphDeduplicator(std::size_t max_bytes = std::size_t{64} << 20U) : max_bytes_(max_bytes) {}

  void declare_queue(const QueueInfo& queue) { queues_.try_emplace(queue.id, queue); }
  /// One occurrence. With `provisional` nothing is counted: the stretch may still grow.
  Place add(std::span<const OperationView> operations, bool provisional = false);

  std::vector<NewGraph> take_graphs() {
    news_bytes_ = 0;
    return std::exchange(new_graphs_, {});
  }
  std::vector<NewArgumentSet> take_sets() { return std::exchange(new_sets_, {}); }
  /// Figures that are worth writing: of graphs whose occurrences have doubled since they were last
  /// written, or with `all` of every graph that has new ones.
  std::vector<GraphFigures> take_figures(bool all);
  [[nodiscard]] bool has_news() const noexcept { return !new_graphs_.empty() || !new_sets_.empty(); }
  /// Bytes waiting in take_graphs() and take_sets().
  [[nodiscard]] std::size_t news_bytes() const noexcept { return news_bytes_; }

 private:
  struct Hash128 {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Hash128&, const Hash128&) = default;
  };
  struct HashOf {
    std::size_t operator()(const Hash128& hash) const noexcept { return hash.low; }
  };
  struct Slot {
    SlotStatistic figures;
    std::uint32_t place = 0, count = 0;  // words in the argument array
    std::uint32_t value = 0;             // the word that is the number, if numeric
    std::uint32_t width = 0;             // its bytes
    std::uint32_t seen_count = 0;
    std::array<std::uint64_t, 4> seen{};  // hashes of different values
    std::uint64_t stamp = 0;              // last occurrence in which a change was counted
  };
  struct State {
    std::uint32_t id = 0;
    std::vector<NodeShape> nodes;
    std::vector<std::int32_t> waits;
    std::vector<std::uint32_t> outside;
    std::vector<std::uint64_t> first, last;  // argument arrays
    Hash128 last_hash;
    std::unordered_map<Hash128, std::uint32_t, HashOf> sets;
    std::uint32_t set_count = 1;
    std::size_t set_words = 0;
    std::uint64_t occurrences = 0, changed = 0, not_stored = 0, figures_at = 0;
    std::uint32_t queue_count = 0;
    std::vector<Slot> slots;             // made at the first change
    std::vector<std::uint32_t> slot_of;  // per word of the argument array
    std::size_t bytes = 0;
    std::uint64_t key = 0;
    std::list<State*>::iterator used;
  };

  void describe(std::span<const OperationView> operations);
  [[nodiscard]] std::uint32_t number_of_outside(WaitRef wait);
  State& find(std::span<const OperationView> operations);
  void make_slots(State& state) const;
  void count_changes(State& state);
  std::uint32_t store_set(State& state, const Hash128& hash);
  void charge(State& state, std::size_t bytes);
  static GraphFigures figures_of(const State& state);
  void forget_old(const State& keep);

  std::size_t max_bytes_;
  std::size_t bytes_ = 0, news_bytes_ = 0;
  std::uint32_t next_id_ = 0;
  std::unordered_map<ObjectId, QueueInfo> queues_;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<State>> states_;
  std::list<State*> used_;  // newest first
  std::vector<NewGraph> new_graphs_;
  std::vector<NewArgumentSet> new_sets_;
  std::vector<GraphFigures> orphaned_;  // of graphs that were forgotten
  // The occurrence at hand.
  std::vector<NodeShape> nodes_;
  std::vector<std::int32_t> waits_;
  std::vector<std::uint32_t> outside_;
  std::unordered_map<WaitRef, std::uint32_t> outside_events_;
  std::vector<std::uint64_t> arguments_;
  std::vector<ObjectId> stretch_queues_;
};

}  // namespace refrain::capture
