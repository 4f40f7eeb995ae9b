// Splits a graph into parts that one native command buffer each can hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/graph.h"

namespace refrain::replay {

/// What merging is for. "Host" stands for every node that is no part of a command buffer (group 0).
enum class PartitionMode : std::uint8_t {
  /// Fewest parts without false waits: no node waits for a host node, or for a node of another group, that it does not
  /// depend on.
  kNoFalseWait = 0,
  /// Fewest parts whose order has no cycle. Waits for events from outside stay exact even here: who
  /// waits falsely for an event that the application sets later may wait forever.
  kFewestParts = 1,
};

/// Which nodes may share a part: nodes of the same group (a queue, say). 0: the node cannot be
/// recorded and is a part of its own.
using PartGroup = std::uint32_t;

struct Part {
  bool native = false;  ///< to be recorded; else one node issued eagerly
  PartGroup group = 0;
  std::vector<capture::NodeIndex> nodes;  ///< in an order that respects the edges
  std::vector<std::uint32_t> waits;       ///< parts that must complete before, reduced
};

struct Partitioning {
  std::vector<Part> parts;             ///< numbered in an order that respects `waits`
  std::vector<std::uint32_t> part_of;  ///< per node
  std::vector<std::uint32_t> tails;    ///< parts that nothing waits for: the graph is complete when these are
};

/// How parts of different groups come to wait for each other.
enum class BetweenGroups : std::uint8_t {
  kPartsWait,  ///< a part waits until another one is done
  /// What is recorded, and the driver, keep that order node by node: such an edge divides nothing.
  kNodesWait,
};

/// Events from outside the graph that a node waits for, by number, from 0 without gaps. Nodes may have a number in
/// common only if they wait for the same event whenever the graph is used.
using OutsideEvents = std::vector<std::uint32_t>;

/// Near linear in nodes and edges. `groups` has one entry per node of `graph`, and so has `waits_outside`, unless it is
/// empty. An event from outside is treated as if it were a host node before all that wait for it, so that no other
/// branch waits too.
/// With one group the number of parts is the smallest possible; with several it is the best of a few
/// orders in which the groups can take turns. Graphs whose dependencies are so tangled that they would
/// take seconds (none was ever seen) are split into single nodes.
Partitioning partition(const capture::Graph& graph, std::span<const PartGroup> groups,
                       std::span<const OutsideEvents> waits_outside, PartitionMode mode,
                       BetweenGroups between = BetweenGroups::kPartsWait);

}  // namespace refrain::replay
