#include "capture/model.h"

namespace refrain::capture {

std::string_view Capture::ended_by(std::uint32_t entry_point) const noexcept {
  if (entry_point == format::kEndedByLength) {
    return "length limit";
  }
  if (entry_point == format::kEndedByNothing) {
    return "end of capture";
  }
  const auto known = entry_points_.find(entry_point);
  return known != entry_points_.end() ? std::string_view(known->second) : "unknown host call";
}

std::string_view Capture::function_name(FunctionId function) const noexcept {
  const auto known = functions.find(function);
  return known != functions.end() ? std::string_view(known->second.name) : std::string_view();
}

void for_each_leaf(const LaneHistory& lane, const std::function<void(const HistoryItem&)>& visit) {
  lane.for_each_part([&](std::span<const HistoryItem> items) {
    for (const HistoryItem& item : items) {
      if (item.body == 0) {
        visit(item);
      }
    }
  });
}

}  // namespace refrain::capture
