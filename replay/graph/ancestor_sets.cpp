#include "replay/graph/ancestor_sets.h"

#include <algorithm>
#include <bit>

#include "capture/operation.h"

namespace refrain::replay {
namespace {

constexpr std::uint64_t kMaxSteps = 200'000'000;  // limit: about two seconds
constexpr std::size_t kMaxPairs = 16'000'000;     // limit: 320 MB

std::uint64_t hash(std::uint32_t left, std::uint32_t right, std::uint32_t level) {
  return capture::mix(level, std::uint64_t{left} << 32U | right);
}

}  // namespace

AncestorSets::AncestorSets(std::uint32_t chains)
    : depth_(chains > 1 ? static_cast<std::uint32_t>(std::bit_width(chains - 1)) : 0), pairs_(1), table_(64) {}

AncestorSets::Id AncestorSets::intern(Id left, Id right, std::uint32_t level) {
  if (left == kEmpty && right == kEmpty) {
    return kEmpty;
  }
  if (pairs_.size() >= kMaxPairs) {
    exhausted_ = true;
    return kEmpty;
  }
  std::size_t slot = hash(left, right, level) & (table_.size() - 1);
  for (; table_[slot] != 0; slot = (slot + 1) & (table_.size() - 1)) {
    const Pair& pair = pairs_[table_[slot]];
    if (pair.left == left && pair.right == right && pair.level == level) {
      return table_[slot];
    }
  }
  const auto id = static_cast<Id>(pairs_.size());
  pairs_.push_back({left, right, level});
  table_[slot] = id;
  if (pairs_.size() * 2 > table_.size()) {
    grow();
  }
  return id;
}

void AncestorSets::grow() {
  table_.assign(table_.size() * 2, 0);
  for (std::size_t id = 1; id < pairs_.size(); ++id) {
    const Pair& pair = pairs_[id];
    std::size_t slot = hash(pair.left, pair.right, pair.level) & (table_.size() - 1);
    while (table_[slot] != 0) {
      slot = (slot + 1) & (table_.size() - 1);
    }
    table_[slot] = static_cast<Id>(id);
  }
}

AncestorSets::Id AncestorSets::join(Id a, Id b, std::uint32_t level) {
  if (a == b || b == kEmpty || exhausted_) {
    return a;
  }
  if (a == kEmpty) {
    return b;
  }
  if (level == 0) {
    return std::max(a, b);
  }
  if (++steps_ > kMaxSteps) {
    exhausted_ = true;
    return a;
  }
  const Pair x = pairs_[a];
  const Pair y = pairs_[b];
  const Id left = join(x.left, y.left, level - 1);
  const Id right = join(x.right, y.right, level - 1);
  if (left == x.left && right == x.right) {
    return a;
  }
  return left == y.left && right == y.right ? b : intern(left, right, level);
}

AncestorSets::Id AncestorSets::add(Id set, std::uint32_t chain, std::uint32_t position, std::uint32_t level) {
  if (level == 0) {
    return std::max(set, position);
  }
  if (exhausted_) {
    return set;
  }
  const Pair pair = set != kEmpty ? pairs_[set] : Pair{};
  const bool to_right = (chain >> (level - 1U) & 1U) != 0;
  const Id below = add(to_right ? pair.right : pair.left, chain, position, level - 1);
  return to_right ? intern(pair.left, below, level) : intern(below, pair.right, level);
}

std::uint32_t AncestorSets::reach(Id set, std::uint32_t chain) const {
  for (std::uint32_t level = depth_; level > 0 && set != kEmpty; --level) {
    set = (chain >> (level - 1U) & 1U) != 0 ? pairs_[set].right : pairs_[set].left;
  }
  return set;
}

}  // namespace refrain::replay
