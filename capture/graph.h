// A graph of submissions: nodes are operations, edges are the orders the API guarantees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
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

struct Edge {
  NodeIndex from = 0;
  NodeIndex to = 0;
  EdgeReason reason = EdgeReason::kQueueOrder;
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Immutable once built, so it may be read from any thread. Nodes are numbered in submission order,
/// which is a topological order. Edges are the transitive reduction, sorted by (to, from).
class Graph {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return offsets_.size(); }
  [[nodiscard]] bool empty() const noexcept { return offsets_.empty(); }
  [[nodiscard]] OperationView operation(NodeIndex node) const noexcept {
    return OperationView(storage_.data() + offsets_[node]);
  }
  [[nodiscard]] std::span<const Edge> edges() const noexcept { return edges_; }
  [[nodiscard]] std::span<const NodeIndex> predecessors(NodeIndex node) const noexcept {
    return predecessors_[node];
  }
  [[nodiscard]] std::span<const NodeIndex> successors(NodeIndex node) const noexcept {
    return successors_[node];
  }
  [[nodiscard]] std::span<const QueueInfo> queues() const noexcept { return queues_; }
  /// The queue of a node. Queues the builder did not know are given as in-order queues with that id.
  [[nodiscard]] const QueueInfo& queue_of(NodeIndex node) const noexcept {
    return queues_[queue_index_[node]];
  }
  [[nodiscard]] Fingerprint fingerprint() const noexcept { return fingerprint_; }

 private:
  friend class GraphBuilder;
  std::vector<std::byte> storage_;
  std::vector<std::size_t> offsets_;
  std::vector<Edge> edges_;
  std::vector<std::vector<NodeIndex>> predecessors_;
  std::vector<std::vector<NodeIndex>> successors_;
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
  /// Declares a queue. Operations may name queues that were never declared (see Graph::queue_of).
  void declare_queue(const QueueInfo& queue);
  /// Copies the record. Returns its node.
  NodeIndex add(const OperationView& operation);
  /// Adds an edge by hand. Fails (false, `error` names both nodes) if it would close a cycle or
  /// names a node that does not exist.
  bool then(NodeIndex before, NodeIndex after, std::string* error = nullptr);
  [[nodiscard]] std::size_t size() const noexcept;
  /// Completes the graph (edges reduced, fingerprint computed) and empties the builder.
  /// Linear in nodes and edges for in-order work.
  Graph finish();

 private:
  struct Pending;
  std::vector<std::byte> storage_;
  std::vector<std::size_t> offsets_;
  std::vector<QueueInfo> queues_;
  std::vector<Edge> explicit_edges_;
};

}  // namespace refrain::capture
