// A graph of submissions: nodes are operations, edges are the orders the API guarantees.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/operation.h"

namespace refrain::capture {

using NodeIndex = std::uint32_t;
/// Structural hash: tokens and edges, not arguments. Equal fingerprints share one executable.
using Fingerprint = std::uint64_t;

enum class EdgeReason : std::uint8_t {
  kQueueOrder = 0,  ///< neighbours in an in-order queue
  kEvent = 1,       ///< wait list, or event record → event wait
  kBarrier = 2,     ///< barrier or marker without a wait list
  kExplicit = 3,    ///< added by hand (GraphBuilder::then, when_all)
};

/// "queue order", "event", "barrier", "explicit".
std::string_view name_of(EdgeReason reason) noexcept;

struct Edge {
  NodeIndex from = 0;
  NodeIndex to = 0;
  EdgeReason reason = EdgeReason::kQueueOrder;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Immutable once built, so it may be read from any thread. Nodes are numbered in submission order,
/// which is a topological order. (Only GraphBuilder::then from a later to an earlier node changes that:
/// see GraphBuilder::finish.) Edges are the transitive reduction, sorted by (to, from).
class Graph {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return offsets_.size(); }
  [[nodiscard]] bool empty() const noexcept { return offsets_.empty(); }
  [[nodiscard]] OperationView operation(NodeIndex node) const noexcept {
    return OperationView(storage_.data() + offsets_[node]);
  }
  [[nodiscard]] std::span<const Edge> edges() const noexcept { return edges_; }
  [[nodiscard]] std::span<const NodeIndex> predecessors(NodeIndex node) const noexcept {
    return {predecessors_.data() + predecessor_start_[node], predecessors_.data() + predecessor_start_[node + 1]};
  }
  [[nodiscard]] std::span<const NodeIndex> successors(NodeIndex node) const noexcept {
    return {successors_.data() + successor_start_[node], successors_.data() + successor_start_[node + 1]};
  }
  [[nodiscard]] std::span<const QueueInfo> queues() const noexcept { return queues_; }
  /// The queue of a node. Queues the builder did not know are given as in-order queues with that id.
  [[nodiscard]] const QueueInfo& queue_of(NodeIndex node) const noexcept { return queues_[queue_index_[node]]; }
  [[nodiscard]] Fingerprint fingerprint() const noexcept { return fingerprint_; }

 private:
  friend class GraphBuilder;
  std::vector<std::byte> storage_;
  std::vector<std::size_t> offsets_;
  std::vector<Edge> edges_;
  // Neighbours of all nodes one behind the other; those of node i lie between start[i] and start[i + 1].
  std::vector<NodeIndex> predecessors_, successors_;
  std::vector<std::uint32_t> predecessor_start_, successor_start_;
  std::vector<QueueInfo> queues_;
  std::vector<std::uint32_t> queue_index_;
  Fingerprint fingerprint_ = 0;
};

/// Builds one graph from operations in the order of their submission. Not thread-safe.
/// Edges come from in-order queues, internal waits (WaitRef with kInternalWait, matched by
/// `sequence`), and barriers or markers without a wait list. On out-of-order queues nothing else
/// orders two operations, as the API defines it. Waits for events from outside are not edges.
class GraphBuilder {
 public:
  /// Declares a queue; before its first operation. Operations may name queues that were never declared
  /// (see Graph::queue_of).
  void declare_queue(const QueueInfo& queue);
  /// Copies the record. Returns its node.
  NodeIndex add(const OperationView& operation);
  /// Adds an edge by hand, at any time before finish(). Fails (false, `error` names both nodes, nothing
  /// changed) if it would close a cycle or names a node that does not exist.
  bool then(NodeIndex before, NodeIndex after, std::string* error = nullptr);
  /// `after` comes after all of `befores`. Stops at the first edge that is refused; earlier ones stay.
  bool when_all(std::span<const NodeIndex> befores, NodeIndex after, std::string* error = nullptr);
  [[nodiscard]] std::size_t size() const noexcept { return offsets_.size(); }
  /// Completes the graph (edges reduced, fingerprint computed) and empties the builder.
  /// Linear in nodes and edges for in-order work. If edges by hand lead from later to earlier nodes,
  /// the graph's nodes are renumbered: a topological order that keeps the order of submission where it
  /// can. `numbers`, if given, receives the number in the graph for each node that add() returned.
  Graph finish(std::vector<NodeIndex>* numbers = nullptr);

 private:
  struct QueueState {
    std::vector<NodeIndex> open;  // out-of-order: work that no marker or barrier covers yet
    NodeIndex blocker = kNone;    // out-of-order: the last barrier that later work comes after
    NodeIndex last = kNone;       // in-order: the newest operation
  };
  static constexpr NodeIndex kNone = ~NodeIndex{0};

  std::uint32_t queue_index(const OperationView& operation);
  [[nodiscard]] NodeIndex node_of_sequence(std::uint64_t sequence) const;
  void add_default_order(std::uint32_t queue, NodeIndex node);
  void remember_sequence(std::uint64_t sequence, NodeIndex node);
  [[nodiscard]] bool reaches(NodeIndex from, NodeIndex to) const;
  [[nodiscard]] std::string describe(NodeIndex node) const;
  [[nodiscard]] std::vector<NodeIndex> topological_numbers() const;

  std::vector<std::byte> storage_;
  std::vector<std::size_t> offsets_;
  std::vector<QueueInfo> queues_;
  std::vector<QueueState> queue_states_;
  std::unordered_map<ObjectId, std::uint32_t> queue_numbers_;
  std::vector<std::uint32_t> queue_index_;
  std::vector<Edge> edges_;              // grouped by `to`, ascending
  std::vector<std::size_t> edge_start_;  // per node, into edges_
  std::vector<Edge> explicit_edges_;
  bool backward_edges_ = false;  // some explicit edge leads from a later to an earlier node
  // Sequence numbers rise in practice: then the vector is searched; the map is for when they do not.
  std::vector<std::uint64_t> sequences_;
  std::unordered_map<std::uint64_t, NodeIndex> sequence_nodes_;
  bool sequences_rise_ = true;
};

}  // namespace refrain::capture
