// What happens before what: positions on chains. Each operation that starts gets the next position on a chain of
// operations that follow each other, and knows for each chain up to which position everything has happened before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sim {

/// An operation as a place in the order. Position 0: none.
struct Place {
  std::uint32_t chain = 0, position = 0;
  std::uint64_t number = 0;  ///< of the operation, for messages
};

class Past {
 public:
  [[nodiscard]] bool contains(const Place& place) const noexcept {
    return place.position == 0 || (place.chain < until_.size() && place.position <= until_[place.chain]);
  }
  [[nodiscard]] bool contains(const Past& other) const noexcept {
    for (std::size_t chain = 0; chain < other.until_.size(); ++chain) {
      if (other.until_[chain] > (chain < until_.size() ? until_[chain] : 0)) {
        return false;
      }
    }
    return true;
  }
  void merge(const Past& other) {
    if (until_.size() < other.until_.size()) {
      until_.resize(other.until_.size());
    }
    for (std::size_t chain = 0; chain < other.until_.size(); ++chain) {
      until_[chain] = std::max(until_[chain], other.until_[chain]);
    }
  }
  void add(const Place& place) {
    if (until_.size() <= place.chain) {
      until_.resize(place.chain + 1);
    }
    until_[place.chain] = std::max(until_[place.chain], place.position);
  }

 private:
  std::vector<std::uint32_t> until_;
};

/// The chains there are. Under the lock.
class Chains {
 public:
  /// The next place for an operation with this past: on a chain whose end it comes after, if there is one.
  Place next(const Past& past, std::uint64_t number) {
    Place found{0, 0, number};
    for (std::uint32_t chain = 0; chain < ends_.size(); ++chain) {
      if (past.contains({chain, ends_[chain], 0})) {
        found.chain = chain;
        found.position = ++ends_[chain];
        return found;
      }
    }
    found.chain = static_cast<std::uint32_t>(ends_.size());
    found.position = 1;
    ends_.push_back(1);
    return found;
  }

 private:
  std::vector<std::uint32_t> ends_;
};

}  // namespace sim
