#include "replay/graph/argument_changes.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::replay {

using capture::OperationView;

namespace {
constexpr std::size_t kPlacesRemembered = 64;  // limit
}  // namespace

void ArgumentChanges::add(std::span<const OperationView> operations) {
  if (last_.size() == operations.size()) {
    for (std::uint32_t index = 0; index < operations.size() && times_.size() < kPlacesRemembered; ++index) {
      compare(index, last_.operation(index), operations[index]);
    }
  }
  last_.clear();
  for (const OperationView& operation : operations) {
    last_.add(operation);
  }
}

void ArgumentChanges::compare(std::uint32_t index, const OperationView& before, const OperationView& now) {
  if (same_work(before, now) || before.arguments().size() != now.arguments().size()) {
    return;
  }
  bool found = false;
  for (std::uint32_t argument = 0; argument < now.arguments().size(); ++argument) {
    const auto old_value = before.value_of(argument);
    const auto new_value = now.value_of(argument);
    if (before.arguments()[argument].object != now.arguments()[argument].object ||
        !std::equal(old_value.begin(), old_value.end(), new_value.begin(), new_value.end())) {
      ++times_[{index, argument}];
      found = true;
    }
  }
  if (!found) {
    ++times_[{index, kNoArgument}];
  }
}

std::string ArgumentChanges::text() const {
  if (times_.empty()) {
    return "its arguments did not come back";
  }
  const auto most =
      std::max_element(times_.begin(), times_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto [operation, argument] = most->first;
  if (argument == kNoArgument) {
    return fmt::format("offsets or sizes of operation {} change each time", operation);
  }
  return fmt::format("argument {} of operation {} ({}) changes each time{}", argument, operation,
                     operation < last_.size() ? capture::name_of(last_.operation(operation).kind()) : "unknown",
                     times_.size() > 1 ? fmt::format(", and {} more", times_.size() - 1) : "");
}

std::size_t ArgumentChanges::release() noexcept {
  const std::size_t bytes = memory();
  last_ = {};  // clear() would keep the memory
  return bytes;
}

}  // namespace refrain::replay
