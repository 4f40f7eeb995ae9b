// The instances of one graph: the same nodes with different arguments. Which one fits, which one is changed for new
// arguments, and which one goes.
// Not thread-safe: the graph's entry guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "replay/executable.h"

namespace refrain::replay {

class GraphVariants {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  [[nodiscard]] std::size_t size() const noexcept { return variants_.size(); }
  [[nodiscard]] bool empty() const noexcept { return variants_.empty(); }
  [[nodiscard]] Executable& operator[](std::size_t index) noexcept { return *variants_[index].executable; }

  /// The one with exactly these arguments, or kNone. `hash`: of the arguments, once it was needed, else 0.
  [[nodiscard]] std::size_t find(std::span<const capture::OperationView> operations, std::uint64_t* hash);
  [[nodiscard]] bool known(std::uint64_t hash) const noexcept;
  /// The one that will be launched next if everything is as it was, or kNone.
  [[nodiscard]] std::size_t expected() const noexcept {
    return variants_.size() == 1 ? 0 : launched_ == kNone ? kNone : variants_[launched_].next;
  }
  /// The one to change: rather one whose arguments have not come back since it got them, and the one that was used
  /// longest ago. kNone if all of them still run and cannot be changed meanwhile.
  [[nodiscard]] std::size_t changeable() const noexcept;
  /// It has new arguments. `hash`: theirs, or 0. Returns it.
  std::uint64_t changed(std::size_t index, std::uint64_t hash) noexcept;
  /// Its arguments have come back.
  void hit(std::size_t index) noexcept { ++variants_[index].hits; }
  /// It is launched now; the next time, this one is expected behind the one before.
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
    std::uint64_t hash = 0;  ///< of its arguments
    std::uint64_t last_used = 0;
    std::uint64_t hits = 0;    ///< launches with exactly these arguments since it got them by an update
    std::size_t next = kNone;  ///< the one that was launched after it last time
  };
  template <class Predicate>
  std::size_t remove_if(Predicate predicate);

  std::vector<Variant> variants_;
  std::size_t launched_ = kNone;  ///< last
};

}  // namespace refrain::replay
