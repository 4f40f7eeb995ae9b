#include "replay/graph/graph_variants.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "replay/layer_hooks.h"
#include "replay/tuning.h"

namespace refrain::replay {

using capture::OperationView;

/// Comparing is dear: arguments may have kilobytes, and those of two instances may differ in the last byte only. So
/// only the one that is predicted is compared without further ado: where arguments take turns, instances do.
std::size_t GraphVariants::find(std::span<const OperationView> operations) {
  asked_.clear();
  const std::size_t likely = likeliest();
  if (likely != kNone && variants_[likely].executable->matches(operations)) {
    return likely;
  }
  if (variants_.size() <= (likely != kNone ? 1U : 0U)) {
    return kNone;
  }
  asked_.compute(operations);
  for (std::size_t index = 0; index < variants_.size(); ++index) {
    const Variant& variant = variants_[index];
    if (variant.hashes.whole() == asked_.whole() && index != likely && variant.executable->matches(operations)) {
      return index;
    }
  }
  return kNone;
}

bool GraphVariants::known(std::uint64_t hash) const noexcept {
  return std::any_of(variants_.begin(), variants_.end(),
                     [hash](const Variant& variant) { return variant.hashes.whole() == hash; });
}

[[gnu::cold, gnu::noinline]] bool GraphVariants::looks_current(std::size_t index, std::uint64_t now,
                                                               LayerHooks& hooks) noexcept {
  const Executable& executable = *variants_[index].executable;
  for (std::size_t i = 0; i < executable.size(); ++i) {
    if (!hooks.is_current(executable.operation(i))) {
      return false;
    }
  }
  variants_[index].current_at = now;
  return true;
}

/// An instance whose arguments were used within a few rounds through all instances keeps them.
bool GraphVariants::comes_back(const Variant& variant) const noexcept {
  return variant.hits != 0 && launches_ - variant.last_launch <= tuning::kNoChance * variants_.size();
}

std::size_t GraphVariants::changeable() const noexcept {
  // Where most arguments take turns, and a few are new each time, that is the one that is predicted.
  const std::size_t likely = likeliest();
  if (likely != kNone && !comes_back(variants_[likely])) {
    const Executable& executable = *variants_[likely].executable;
    if (variants_[likely].hashes.differing(asked_) * 2 <= executable.size() && executable.available()) {
      return likely;
    }
  }
  const auto order = [this](const Variant& each) {
    return std::tuple(comes_back(each), each.hashes.differing(asked_), each.last_launch);
  };
  std::size_t best = kNone;
  auto best_order = order({});
  for (std::size_t index = 0; index < variants_.size(); ++index) {
    const auto mine = order(variants_[index]);
    if ((best == kNone || mine < best_order) && variants_[index].executable->available()) {
      best = index;
      best_order = mine;
    }
  }
  return best;
}

const ArgumentHashes& GraphVariants::changed(std::size_t index, std::span<const OperationView> operations) {
  if (!asked_.known()) {
    asked_.compute(operations);
  }
  Variant& variant = variants_[index];
  variant.hashes = asked_;
  variant.hits = 0;
  return asked_;
}

[[gnu::hot]] void GraphVariants::launched(std::size_t index, std::uint64_t now) noexcept {
  variants_[index].last_used = now;
  variants_[index].last_launch = ++launches_;
  if (launched_ != kNone) {
    variants_[launched_].next = index;
  }
  launched_ = index;
}

std::unique_ptr<Executable> GraphVariants::add(std::unique_ptr<Executable> executable, std::size_t most,
                                               std::uint64_t now) {
  Variant added;
  std::vector<OperationView> operations;
  for (std::size_t i = 0; i < executable->size(); ++i) {
    operations.push_back(executable->operation(i));
  }
  added.hashes.compute(operations);
  added.last_used = now;
  added.last_launch = launches_;
  added.hits = variants_.empty() ? 0 : 1;  // of several, not the first to be changed
  added.executable = std::move(executable);
  if (variants_.size() < most) {
    variants_.push_back(std::move(added));
    return nullptr;
  }
  const auto oldest = std::min_element(variants_.begin(), variants_.end(),
                                       [](const auto& a, const auto& b) { return a.last_used < b.last_used; });
  std::swap(*oldest, added);  // its place in the turns is the new one's: a wrong guess at the most
  return std::move(added.executable);
}

template <class Predicate>
std::size_t GraphVariants::remove_if(Predicate predicate) {
  const std::size_t removed =
      std::erase_if(variants_, [&](const Variant& each) { return predicate(*each.executable); });
  if (removed != 0) {  // others have these numbers now
    launched_ = kNone;
    for (Variant& variant : variants_) {
      variant.next = kNone;
    }
  }
  return removed;
}

void GraphVariants::remove_dead() {
  remove_if([](const Executable& executable) { return executable.dead(); });
}

std::size_t GraphVariants::remove(capture::ObjectId object) {
  return remove_if([object](const Executable& executable) {
    return std::binary_search(executable.objects().begin(), executable.objects().end(), object);
  });
}

void GraphVariants::clear() noexcept {
  variants_.clear();
  launched_ = kNone;
}

bool GraphVariants::unused_for(std::uint64_t ns, std::uint64_t now) const noexcept {
  return std::any_of(variants_.begin(), variants_.end(),
                     [&](const Variant& variant) { return now > variant.last_used + ns; });
}

std::uint64_t GraphVariants::last_used() const noexcept {
  std::uint64_t newest = 0;
  for (const Variant& variant : variants_) {
    newest = std::max(newest, variant.last_used);
  }
  return newest;
}

std::size_t GraphVariants::memory() const noexcept {
  std::size_t bytes = 0;
  for (const Variant& variant : variants_) {
    bytes += variant.executable->memory();
  }
  return bytes;
}

}  // namespace refrain::replay
