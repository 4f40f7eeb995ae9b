#include "capture/lane_writer.h"

#include <algorithm>

namespace refrain::capture {
namespace {

HistoryItem occurrence(GraphDeduplicator::Place place, std::span<const OperationView> operations,
                       std::uint32_t ended_by, std::uint64_t end_ns) {
  HistoryItem item;
  item.graph = place.graph;
  item.set = place.set;
  item.ended_by = ended_by;
  item.repeat = item.total = 1;
  item.first_ns = operations.front().header().time_ns;
  item.last_ns = std::max({item.first_ns, end_ns, operations.back().header().time_ns});
  item.span_ns = item.last_ns - item.first_ns;
  for (const OperationView& operation : operations) {
    item.host_ns += operation.has(kBlocking) ? 0 : operation.header().host_ns;  // a wait is no cost of submitting
  }
  return item;
}

}  // namespace

std::uint32_t HostCalls::number_of(const char* name) {
  // The same literal mostly; else the same text.
  const auto [known, is_new] = by_address_.try_emplace(name, 0);
  if (is_new) {
    const auto [entry, fresh] = by_name_.try_emplace(name, static_cast<std::uint32_t>(counts_.size()));
    if (fresh) {
      counts_.push_back({format::kFirstEntryPoint + entry->second, 0, 0});
      new_names_.push_back({counts_.back().entry_point, name});
    }
    known->second = entry->second;
  }
  return known->second;
}

void LaneWriter::operation(const OperationView& operation) {
  if (operation.bytes().size() > format::kMaxOperationBytes) {
    OperationHeader header = operation.header();
    header.size = sizeof(header);
    header.kind = OperationKind::kOther;
    header.word_count = header.argument_count = header.wait_count = 0;
    header.value_bytes = 0;
    return this->operation(OperationView(reinterpret_cast<const std::byte*>(&header)));
  }
  if (skips(operation.header().time_ns)) {
    if (operation.has(kBlocking)) {
      skipping_ = false;
      window_.skipped();
    }
    return;
  }
  ++submissions_;
  times_.submission(operation);
  splitter_.operation(operation);
  if (splitter_.open_count() == 1) {
    region_of_stretch_ = region_;
  }
  open_written_ = false;
  if (operation.has(kBlocking)) {
    // The program waits for it, so it ends the stretch as any other host call does.
    end_stretch(blocking_name_of(operation.kind()), operation.header().time_ns + operation.header().host_ns);
  }
}

void LaneWriter::host_call(const char* name, std::uint64_t time_ns) {
  if (std::exchange(skipping_, false)) {
    window_.skipped();
  } else if (has_open_stretch() || !window_.closed()) {
    times_.host_call(end_stretch(name, time_ns).entry_point, time_ns);
  }
}

void LaneWriter::cut(const char* why, std::uint64_t time_ns) {
  if (std::exchange(skipping_, false)) {
    window_.skipped();
  } else if (has_open_stretch()) {
    end_stretch(why, time_ns);
  }
}

/// A submission comes. A stretch is captured as a whole or not at all.
bool LaneWriter::skips(std::uint64_t now_ns) {
  skipping_ = skipping_ || (!has_open_stretch() && !window_.takes(now_ns));
  return skipping_;
}

HostCallCount& LaneWriter::end_stretch(const char* name, std::uint64_t time_ns) {
  const std::uint32_t number = calls_.number_of(name);
  HostCallCount& count = calls_.count(number);
  ++(splitter_.host_call(count.entry_point, time_ns) ? count.cuts : count.idle);
  return count;
}

void LaneWriter::stretch(std::span<const OperationView> operations, std::uint32_t ended_by, std::uint64_t end_ns) {
  const GraphDeduplicator::Place place = graphs_.add(operations);
  history_.add(occurrence(place, operations, ended_by, end_ns));
  if (region_of_stretch_ != nullptr) {
    regions_.add(*region_of_stretch_, place.graph);
  }
  changed_ = true;
}

void LaneWriter::take_news(bool with_open_stretch, std::vector<encode::LaneNews>& news) {
  const auto begin = [&] {
    encode::LaneNews& part = news.emplace_back();
    part.lane = stream_.lane();
    part.closed_before = closed_;
  };
  begin();
  std::size_t items = 0;
  for (Folded& folded : history_.take_closed()) {
    if (items >= format::kMaxOpenItems) {
      begin();
      items = 0;
    }
    items += folded.items;
    ++closed_;
    news.back().closed.push_back(std::move(folded));
  }
  news.back().open = history_.open();
  if (with_open_stretch && splitter_.open_count() != 0) {
    const auto operations = splitter_.open();
    Folded& leaf = news.back().open.emplace_back();
    leaf.item = occurrence(graphs_.add(operations, true), operations, format::kEndedByNothing,
                           operations.back().header().time_ns);
    open_written_ = true;
  }
  changed_ = false;
}

}  // namespace refrain::capture
