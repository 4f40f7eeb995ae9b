// The instances of one graph: the same nodes with different arguments. Which one fits, which one is changed for new
// arguments, and which one goes.
// Not thread-safe: the graph's entry guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replay/graph/argument_hashes.h"
#include "replay/graph/executable.h"
#include "replay/runtime/state_changes.h"

namespace refrain::replay {

class GraphVariants {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};  // format

  [[nodiscard]] std::size_t size() const noexcept { return variants_.size(); }
  [[nodiscard]] bool empty() const noexcept { return variants_.empty(); }
  [[nodiscard]] Executable& operator[](std::size_t index) noexcept { return *variants_[index].executable; }

  /// The one with exactly these arguments, or kNone. May throw std::bad_alloc, like everything that takes operations.
  [[nodiscard]] std::size_t find(std::span<const capture::OperationView> operations);
  [[nodiscard]] bool known(std::uint64_t hash) const noexcept;
  /// The one that will be launched next if everything is as it was, or kNone.
  [[nodiscard]] std::size_t likeliest() const noexcept {
    return variants_.size() == 1 ? 0 : launched_ == kNone ? kNone : variants_[launched_].next;
  }
  /// Whether what setters have set is what this one was made with. Its operations are looked at once for each change.
  [[nodiscard]] bool is_current(std::size_t index, const StateChanges& changes, LayerHooks& hooks) noexcept {
    const std::uint64_t now = changes.count();
    return now != StateChanges::kUnderWay && (variants_[index].current_at == now || looks_current(index, now, hooks));
  }
  /// The one to change for the arguments that find() did not find: rather one whose own do not come back, of those the
  /// one in which the least has to be changed, and of those the one that was used longest ago. kNone if all of them
  /// still run and cannot be changed meanwhile.
  [[nodiscard]] std::size_t changeable() const noexcept;
  /// It has these arguments now. Returns their hashes, valid until the next find().
  const ArgumentHashes& changed(std::size_t index, std::span<const capture::OperationView> operations);
  /// Its arguments have come back.
  void hit(std::size_t index) noexcept { ++variants_[index].hits; }
  /// It is launched now; the next time, this one is predicted behind the one before.
  void launched(std::size_t index, std::uint64_t now) noexcept;

  /// If there are `most` already, the one that was used longest ago makes room, and is returned.
  std::unique_ptr<Executable> add(std::unique_ptr<Executable> executable, std::size_t most, std::uint64_t now);
  /// An update of it failed halfway, or its object is gone.
  void remove_dead();
  /// Those that name the object. Returns how many there were.
  std::size_t remove(capture::ObjectId object);
  void clear() noexcept;

  /// Whether one of them has not been used for `ns`.
  [[nodiscard]] bool unused_for(std::uint64_t ns, std::uint64_t now) const noexcept;
  [[nodiscard]] std::uint64_t last_used() const noexcept;
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  /// What is looked at to find one lies together: the instances themselves are only touched when they are used.
  struct Variant {
    std::unique_ptr<Executable> executable;
    ArgumentHashes hashes;
    std::uint64_t last_used = 0;    ///< time
    std::uint64_t last_launch = 0;  ///< number
    std::uint64_t hits = 0;         ///< launches with exactly these arguments since it got them by an update
    std::size_t next = kNone;       ///< the one that was launched after it last time
    std::uint64_t current_at = StateChanges::kUnderWay;
  };
  [[nodiscard]] bool looks_current(std::size_t index, std::uint64_t now, LayerHooks& hooks) noexcept;
  [[nodiscard]] bool comes_back(const Variant& variant) const noexcept;
  template <class Predicate>
  std::size_t remove_if(Predicate predicate);

  std::vector<Variant> variants_;
  std::size_t launched_ = kNone;  ///< last
  std::uint64_t launches_ = 0;
  ArgumentHashes asked_;  ///< of what find() was asked for last, if it had to know
};

}  // namespace refrain::replay
