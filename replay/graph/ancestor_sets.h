// Sets of ancestors in a directed acyclic graph, for every node, exact and cheap to compare.
//
// The members of interest are put on chains (each member is an ancestor of the next on its chain), so
// a set is known by how far it reaches on every chain, and a union is a maximum per chain. In-order
// queues need one chain each. The maxima are the leaves of a binary tree whose equal subtrees are
// stored once: sets that differ little share nearly everything, and two sets are equal exactly if
// their ids are.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain::replay {

class AncestorSets {
 public:
  using Id = std::uint32_t;
  static constexpr Id kEmpty = 0;  // format

  /// For sets over `chains` chains.
  explicit AncestorSets(std::uint32_t chains);

  [[nodiscard]] Id join(Id a, Id b) { return join(a, b, depth_); }
  /// The set that also reaches to `position` (from 1) on `chain`.
  [[nodiscard]] Id add(Id set, std::uint32_t chain, std::uint32_t position) {
    return add(set, chain, position, depth_);
  }
  /// How far the set reaches on `chain`; 0: not at all.
  [[nodiscard]] std::uint32_t reach(Id set, std::uint32_t chain) const;
  /// True once the work or memory exceeded what any sensible graph needs; results are wrong from then on.
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }

 private:
  struct Pair {
    Id left, right;
    std::uint32_t level;
  };
  // Level 0: the id is the position itself. Higher levels: index into pairs_, 0 for the empty set.
  Id join(Id a, Id b, std::uint32_t level);
  Id add(Id set, std::uint32_t chain, std::uint32_t position, std::uint32_t level);
  Id intern(Id left, Id right, std::uint32_t level);
  void grow();

  std::uint32_t depth_ = 0;
  std::vector<Pair> pairs_;
  std::vector<Id> table_;  // open addressing; 0 is free
  std::uint64_t steps_ = 0;
  bool exhausted_ = false;
};

/// Places members of a graph on chains. Call visit() for all nodes in topological order.
class Chains {
 public:
  explicit Chains(std::size_t nodes) : newest_(nodes, kNone), chain_(nodes), position_(nodes) {}

  /// `predecessors`: any range of node numbers.
  template <typename Range>
  void visit(std::uint32_t node, const Range& predecessors, bool member) {
    std::uint32_t newest = kNone;
    for (const std::uint32_t before : predecessors) {
      const std::uint32_t candidate = position_[before] != 0 ? before : newest_[before];
      if (candidate != kNone && (newest == kNone || !is_end(newest))) {
        newest = candidate;
      }
    }
    newest_[node] = newest;
    if (!member) {
      return;
    }
    if (newest != kNone && is_end(newest)) {
      chain_[node] = chain_[newest];
    } else {
      chain_[node] = static_cast<std::uint32_t>(length_.size());
      length_.push_back(0);
    }
    position_[node] = ++length_[chain_[node]];
  }

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(length_.size()); }
  [[nodiscard]] std::uint32_t chain_of(std::uint32_t node) const noexcept { return chain_[node]; }
  /// From 1; 0 for nodes that are no members.
  [[nodiscard]] std::uint32_t position_of(std::uint32_t node) const noexcept { return position_[node]; }
  [[nodiscard]] std::uint32_t length_of(std::uint32_t chain) const noexcept { return length_[chain]; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};  // format
  [[nodiscard]] bool is_end(std::uint32_t member) const noexcept {
    return position_[member] == length_[chain_[member]];
  }

  std::vector<std::uint32_t> newest_;  // per node: some member among its strict ancestors
  std::vector<std::uint32_t> chain_, position_;
  std::vector<std::uint32_t> length_;  // per chain
};

}  // namespace refrain::replay
