// Which instance of a graph is launched, which one is changed for new arguments, and when there is to be another one.
#include <algorithm>
#include <utility>

#include "replay/clock.h"
#include "replay/graph_entry.h"

namespace refrain::replay {

using capture::OperationView;

namespace {
constexpr std::uint64_t kUnusedNs = 1'000'000'000;  ///< an instance that may go for another one
constexpr std::uint32_t kBuildsToTry = 3;           ///< that fail
}  // namespace

/// Where arguments take turns, instances do. Null if none was launched before.
Executable* GraphEntry::expected() const noexcept {
  const Executable* next = nullptr;
  for (const auto& variant : variants_) {
    next = variant.get() == launched_ ? variant->next : next;
  }
  for (const auto& variant : variants_) {
    if (variant.get() == next) {
      return variant.get();
    }
  }
  return variants_.size() == 1 ? variants_.front().get() : nullptr;
}

/// Comparing is dear: arguments may have kilobytes, and those of two instances may differ in the last byte only. So
/// only the one that is expected is compared without further ado. `hash`: of the arguments, once it was needed, else 0.
Executable* GraphEntry::find(std::span<const OperationView> operations, std::uint64_t* hash) noexcept {
  Executable* const likely = expected();
  if (likely != nullptr && likely->matches(operations)) {
    return likely;
  }
  if (variants_.size() > (likely != nullptr ? 1U : 0U)) {
    *hash = arguments_hash(operations);
    for (const auto& variant : variants_) {
      if (variant.get() != likely && variant->hash() == *hash && variant->matches(operations)) {
        return variant.get();
      }
    }
  }
  return nullptr;
}

/// The instance to change: rather one whose arguments have not come back since it got them, and the one that was used
/// longest ago. Null if all of them still run and cannot be changed meanwhile.
Executable* GraphEntry::changeable() noexcept {
  Executable* best = nullptr;
  for (const auto& variant : variants_) {
    const auto order = [](const Executable& each) { return std::pair(each.hits != 0, each.last_used); };
    if ((best == nullptr || order(*variant) < order(*best)) && variant->available()) {
      best = variant.get();
    }
  }
  return best;
}

bool GraphEntry::come_back(std::uint64_t hash) noexcept {
  const std::size_t kept = std::min<std::uint64_t>(updated_count_, updated_to_.size());
  const bool seen = std::find(updated_to_.begin(), updated_to_.begin() + kept, hash) != updated_to_.begin() + kept;
  updated_to_[updated_count_++ % updated_to_.size()] = hash;
  return seen;
}

bool GraphEntry::room_for_variant() const noexcept {
  if (building_ != 0 || failed_variants_ >= kBuildsToTry) {
    return false;
  }
  if (variants_.size() < limits_.variants) {
    return true;
  }
  const std::uint64_t now = now_ns();
  return std::any_of(variants_.begin(), variants_.end(),
                     [now](const auto& variant) { return now > variant->last_used + kUnusedNs; });
}

}  // namespace refrain::replay
