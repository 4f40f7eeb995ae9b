// Histories of a capture file: checked when the file is read, read again when they are looked at.
#include <algorithm>

#include "capture/capture_reader.h"

namespace refrain::capture {

using format::RecordType;

std::vector<HistoryItem> checked_items(RecordView& record,
                                       const flatbuffers::Vector<const wire::HistoryItem*>* content) {
  const std::size_t count = record.count(content);
  std::vector<HistoryItem> items;
  items.reserve(count);
  std::vector<std::size_t> ends;  // of the loops around the item
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& item = *content->Get(static_cast<flatbuffers::uoffset_t>(i));
    while (!ends.empty() && ends.back() == i) {
      ends.pop_back();
    }
    const std::size_t end = ends.empty() ? count : ends.back();
    record.expect(item.body() < end - i, "a loop that is longer than what is around it");
    if (item.body() != 0) {
      record.expect(item.body() < format::kMaxLoopItems, "a loop with too many items");
      ends.push_back(i + item.body() + 1);
      record.expect(ends.size() <= format::kMaxHistoryDepth, "too many loops within loops");
    }
    record.expect(item.repeat() > 0 && item.repeat() <= item.total(), "an occurrence that never happened");
    HistoryItem& copy = items.emplace_back();
    copy.graph = item.graph();
    copy.set = item.set();
    copy.ended_by = item.ended_by();
    copy.body = item.body();
    copy.repeat = item.repeat();
    copy.total = item.total();
    copy.first_ns = before + static_cast<std::uint64_t>(item.first_ns());
    copy.last_ns = copy.first_ns + static_cast<std::uint64_t>(item.last_ns());
    copy.host_ns = item.host_ns();
    copy.span_ns = item.span_ns();
    before = copy.first_ns;
  }
  return items;
}

void CaptureReader::check_items(RecordView& record, const std::vector<HistoryItem>& items) const {
  for (const HistoryItem& item : items) {
    if (item.body != 0) {
      continue;
    }
    record.expect(item.graph < capture_.graphs.size(), "an occurrence of an unknown graph");
    record.expect(item.set == format::kSetNotStored || item.set < capture_.graphs[item.graph].argument_sets(),
                  "an occurrence with unknown arguments");
    record.expect(item.ended_by < format::kFirstEntryPoint || capture_.entry_points_.contains(item.ended_by),
                  "an occurrence that an unknown host call ended");
  }
}

LaneHistory& CaptureReader::lane_of(std::uint64_t lane) {
  const auto [known, is_new] = lane_numbers_.try_emplace(lane, capture_.lanes.size());
  if (is_new) {
    store_->charge(256);
    LaneHistory& history = capture_.lanes.emplace_back();
    history.lane = lane;
    history.store_ = store_;
  }
  return capture_.lanes[known->second];
}

void CaptureReader::take_history(RecordView& record) {
  const auto& content = record.root<wire::History>();
  LaneHistory& lane = lane_of(content.lane());
  record.expect(content.closed_before() == lane.outermost_, "a part of the lane's history is missing");
  const auto closed = checked_items(record, content.closed());
  check_items(record, closed);
  check_items(record, checked_items(record, content.open()));
  if (!closed.empty()) {
    store_->charge(2 * sizeof(RecordPlace));
    lane.closed_.push_back(place());
  }
  for (std::size_t i = 0; i < closed.size(); i += closed[i].body + std::size_t{1}) {
    ++lane.outermost_;
  }
  lane.open_ = place();
}

void LaneHistory::for_each_part(const std::function<void(std::span<const HistoryItem>)>& visit) const {
  const auto part = [&](const RecordPlace& place, bool open) {
    std::vector<HistoryItem> items;
    {
      AgainRead<wire::History> history(*store_, place, RecordType::kHistory);
      items = checked_items(history.view(), open ? history.root().open() : history.root().closed());
    }
    const CaptureStore::Loan loan(*store_, items.size() * sizeof(HistoryItem));
    if (!items.empty()) {
      visit(items);
    }
  };
  for (const RecordPlace& place : closed_) {
    part(place, false);
  }
  if (open_) {
    part(*open_, true);
  }
}

std::vector<HistoryItem> LaneHistory::items() const {
  std::vector<HistoryItem> all;
  for_each_part([&](std::span<const HistoryItem> part) { all.insert(all.end(), part.begin(), part.end()); });
  return all;
}

}  // namespace refrain::capture
