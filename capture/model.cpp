#include "capture/model.h"

#include <algorithm>
#include <cstring>

namespace refrain::capture {

Graph StoredGraph::build(std::span<const std::uint64_t> arguments) const {
  GraphBuilder builder;
  for (const std::uint64_t queue : arguments.first(queue_count_)) {
    if (const auto known = queues_->find(queue); known != queues_->end()) {
      builder.declare_queue(known->second);
    }
  }
  std::vector<std::uint64_t> record;
  const std::uint64_t* place = arguments.data() + queue_count_;
  for (std::size_t node = 0; node < waits_.size(); ++node) {
    OperationHeader header;
    std::memcpy(static_cast<void*>(&header), headers_.data() + node * sizeof(header), sizeof(header));
    header.queue = arguments[header.queue];
    if (const auto known = queues_->find(header.queue); known != queues_->end()) {
      header.queue_handle = known->second.handle;
    }
    record.resize(header.size / 8);
    std::memcpy(record.data(), &header, sizeof(header));
    const std::size_t comparable = (header.size - sizeof(header)) / 8 - waits_[node].size();
    std::copy_n(place, comparable, record.data() + sizeof(header) / 8);
    std::copy(waits_[node].begin(), waits_[node].end(), record.data() + sizeof(header) / 8 + comparable);
    place += comparable;
    builder.add(OperationView(reinterpret_cast<const std::byte*>(record.data())));
  }
  return builder.finish();
}

Graph StoredGraph::materialise(std::uint32_t set) const {
  std::vector<std::uint64_t> arguments = arguments_;
  if (set > 0) {
    for (const Difference& difference : differences_.at(set - 1)) {
      arguments[difference.place] += difference.value;
    }
  }
  return build(arguments);
}

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
  for (const HistoryItem& item : lane.items) {
    if (item.body == 0) {
      visit(item);
    }
  }
}

}  // namespace refrain::capture
