#include "replay/graph/graph_label.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "capture/operation_kind.h"
#include "env/escape.h"
#include "env/kernel_name.h"

namespace refrain::replay {
namespace {

constexpr std::size_t kShown = 3;     // limit: different ones
constexpr std::size_t kLongest = 60;  // limit: of a name, in bytes

/// Orders work, but is none.
bool is_order(capture::OperationKind kind) noexcept {
  using enum capture::OperationKind;
  return kind == kEventRecord || kind == kEventWait || kind == kMarker || kind == kBarrier || kind == kFlush;
}

/// Whether memory is named by an address says nothing to people.
std::string kind_text(capture::OperationKind kind) {
  constexpr std::string_view kByAddress = "pointer ";
  std::string_view text = capture::name_of(kind);
  text.remove_prefix(text.starts_with(kByAddress) ? kByAddress.size() : 0);
  return std::string(text);
}

}  // namespace

void GraphLabel::learn(std::span<const capture::OperationView> operations) {
  if (!parts_.empty()) {
    return;
  }
  const bool any_work = std::ranges::any_of(operations, [](const auto& each) { return !is_order(each.kind()); });
  for (const capture::OperationView& operation : operations) {
    if (any_work && is_order(operation.kind())) {
      continue;
    }
    const capture::FunctionId function = operation.header().function;
    const auto known = std::ranges::find_if(
        parts_, [&](const Part& part) { return part.kind == operation.kind() && part.function == function; });
    if (known != parts_.end()) {
      ++known->count;
    } else {
      parts_.push_back({operation.kind(), function, 1});
    }
  }
}

std::string GraphLabel::text(LayerHooks& hooks) const {
  std::string text;
  for (const Part& part : std::span(parts_).first(std::min(parts_.size(), kShown))) {
    const std::string name = part.function != 0 ? env::short_name(hooks.function_name(part.function)) : std::string();
    text += text.empty() ? "" : ", ";
    text += name.empty() ? kind_text(part.kind) : env::shortened(name, kLongest);
    if (part.count > 1) {
      fmt::format_to(std::back_inserter(text), " x{}", part.count);
    }
  }
  if (parts_.size() > kShown) {
    fmt::format_to(std::back_inserter(text), " and {} more", parts_.size() - kShown);
  }
  return text;
}

}  // namespace refrain::replay
