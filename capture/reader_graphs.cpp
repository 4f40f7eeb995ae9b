// Graphs and argument sets of a capture file, with everything checked that later code relies on.
#include <algorithm>
#include <cstring>

#include "capture/capture_reader.h"

namespace refrain::capture {
namespace {

using format::RecordType;

// Of the model and of what an analysis keeps.
constexpr std::uint64_t kBytesPerGraph = 768;

/// The record of a node with the arguments from `place` on. Returns their number.
std::size_t assemble(const OperationHeader& header, std::span<const WaitRef> waits, const std::uint64_t* place,
                     std::vector<std::uint64_t>& record) {
  const std::size_t comparable = (header.size - sizeof(header)) / 8 - waits.size();
  record.resize(header.size / 8);
  std::memcpy(record.data(), &header, sizeof(header));
  std::copy_n(place, comparable, record.data() + sizeof(header) / 8);
  std::copy(waits.begin(), waits.end(), record.data() + sizeof(header) / 8 + comparable);
  return comparable;
}

// The descriptors among the arguments must fit the sizes of their nodes.
void check_arguments(const RecordView& view, const CheckedGraph& graph, const std::uint64_t* arguments) {
  std::vector<std::uint64_t> record;
  const std::uint64_t* place = arguments + graph.queue_count;
  for (std::size_t node = 0; node < graph.headers.size(); ++node) {
    place += assemble(graph.headers[node], graph.waits[node], place, record);
    view.expect(OperationView::well_formed(std::as_bytes(std::span(record))), "an operation that is not well formed");
  }
}

Graph build(const CheckedGraph& checked, const std::uint64_t* arguments,
            const std::unordered_map<ObjectId, QueueInfo>& queues) {
  GraphBuilder builder;
  for (const std::uint64_t queue : std::span(arguments, checked.queue_count)) {
    if (const auto known = queues.find(queue); known != queues.end()) {
      builder.declare_queue(known->second);
    }
  }
  std::vector<std::uint64_t> record;
  const std::uint64_t* place = arguments + checked.queue_count;
  for (std::size_t node = 0; node < checked.headers.size(); ++node) {
    OperationHeader header = checked.headers[node];
    header.queue = arguments[header.queue];
    if (const auto known = queues.find(header.queue); known != queues.end()) {
      header.queue_handle = known->second.handle;
    }
    place += assemble(header, checked.waits[node], place, record);
    builder.add(OperationView(reinterpret_cast<const std::byte*>(record.data())));
  }
  return builder.finish();
}

/// Applies the differences of a set.
void apply(RecordView& record, const wire::ArgumentSet& content, std::vector<std::uint64_t>& arguments) {
  const std::size_t count = record.count(content.places());
  record.expect(count == record.count(content.differences()) && count <= arguments.size(),
                "an argument set with differences that belong nowhere");
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(i);
    place += content.places()->Get(index);
    record.expect(place < arguments.size(), "a difference outside its graph's arguments");
    arguments[place] += content.differences()->Get(index);
  }
}

}  // namespace

CheckedGraph checked_graph(RecordView& record, const wire::Graph& content) {
  const std::size_t nodes = record.count(content.nodes());
  record.expect(nodes > 0 && nodes <= format::kMaxStretch, "a graph without nodes or with too many");
  record.expect(content.queue_count() > 0 && content.queue_count() <= nodes, "a graph with a wrong number of queues");
  CheckedGraph graph;
  graph.words = record.count(content.arguments());
  graph.queue_count = content.queue_count();
  const std::size_t waits = record.count(content.waits());
  record.expect(graph.words >= graph.queue_count &&
                    format::stretch_bytes(nodes, graph.words - graph.queue_count, waits) <= format::kMaxStretchBytes,
                "a graph that is larger than graphs may be");
  const std::size_t outside = record.count(content.outside());
  const std::size_t reasons = record.count(content.reasons());
  record.expect(reasons == 0 || reasons == nodes, "reasons of more or fewer nodes than it has");
  std::size_t waits_used = 0;
  std::size_t outside_used = 0;
  std::uint64_t words_used = content.queue_count();
  for (std::size_t i = 0; i < nodes; ++i) {
    const wire::Node& node = *content.nodes()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(node.kind() < kOperationKindCount && node.queue() < content.queue_count(),
                  "a node of unknown kind or queue");
    record.expect(node.waits() <= 0xFFFF && node.waits() <= waits - waits_used,
                  "a node with more waits than are stored");
    record.expect(node.value_bytes() % 8 == 0, "a node with values of odd size");
    const std::uint64_t comparable =
        std::uint64_t{node.words()} + std::uint64_t{node.argument_count()} * 2 + node.value_bytes() / 8;
    words_used += comparable;
    record.expect(words_used <= graph.words, "a node with more arguments than are stored");
    OperationHeader& header = graph.headers.emplace_back();
    header.size = static_cast<std::uint32_t>(sizeof(header) + (comparable + node.waits()) * 8);
    header.kind = static_cast<OperationKind>(node.kind());
    header.flags = node.flags();
    header.token = node.token();
    header.sequence = i + 1;
    header.queue = node.queue();
    header.function = node.function();
    header.word_count = node.words();
    header.argument_count = node.argument_count();
    header.wait_count = static_cast<std::uint16_t>(node.waits());
    header.value_bytes = node.value_bytes();
    header.reason = reasons == 0 ? std::uint16_t{0} : content.reasons()->Get(static_cast<flatbuffers::uoffset_t>(i));
    auto& its_waits = graph.waits.emplace_back();
    for (std::uint32_t w = 0; w < node.waits(); ++w) {
      const std::int32_t wait = content.waits()->Get(static_cast<flatbuffers::uoffset_t>(waits_used++));
      record.expect(wait >= format::kWaitsForForeign && wait < static_cast<std::int32_t>(i),
                    "a node that waits for a later one");
      if (wait >= 0) {
        its_waits.push_back(kInternalWait | (static_cast<std::uint64_t>(wait) + 1));
        continue;
      }
      record.expect(outside == 0 || outside_used < outside, "a wait for an event that is not told");
      const std::uint32_t told =
          outside == 0 ? 0 : content.outside()->Get(static_cast<flatbuffers::uoffset_t>(outside_used++));
      its_waits.push_back(((wait == format::kWaitsForForeign ? kWaitForeign : kWaitEarlier) + told / 4) |
                          ((told & format::kOrderedOutside) != 0 ? kOrderedWait : 0) |
                          ((told & format::kRepeatedOutside) != 0 ? kRepeatedWait : 0));
    }
  }
  record.expect(outside_used == outside && waits_used == waits && words_used == graph.words,
                "a graph with parts that no node owns");
  graph.arguments = reinterpret_cast<const std::uint64_t*>(content.arguments()->Data());
  check_arguments(record, graph, graph.arguments);
  return graph;
}

void CaptureReader::take_graphs(RecordView& record) {
  const auto& content = record.root<wire::Graphs>();
  for (std::size_t i = 0, count = record.count(content.graphs()); i < count; ++i) {
    const wire::Graph& graph = *content.graphs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(graph.id() == capture_.graphs.size(), "graphs are not numbered one after the other");
    store_->charge(kBytesPerGraph);
    const CheckedGraph checked = checked_graph(record, graph);
    record.expect(std::ranges::all_of(checked.headers,
                                      [this](const OperationHeader& node) {
                                        return node.reason == 0 || capture_.reasons.contains(node.reason);
                                      }),
                  "a node with a reason that is not told");
    StoredGraph& stored = capture_.graphs.emplace_back();
    stored.store_ = store_;
    stored.place_ = place(i);
    stored.id_ = graph.id();
    stored.nodes_ = static_cast<std::uint32_t>(checked.headers.size());
    stored.words_ = static_cast<std::uint32_t>(checked.words);
  }
}

// What a set changes is only looked at together with its graph.
void CaptureReader::take_sets(RecordView& record) {
  const auto& content = record.root<wire::ArgumentSets>();
  for (std::size_t i = 0, count = record.count(content.sets()); i < count; ++i) {
    const wire::ArgumentSet& set = *content.sets()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(set.graph() < capture_.graphs.size(), "arguments of an unknown graph");
    StoredGraph& graph = capture_.graphs[set.graph()];
    record.expect(set.set() == graph.argument_sets() && set.set() < format::kMaxArgumentSets,
                  "argument sets are not numbered one after the other");
    store_->charge(2 * sizeof(RecordPlace));
    graph.sets_.push_back(place(i));
  }
}

void CaptureReader::take_statistics(RecordView& record) {
  const auto& content = record.root<wire::Statistics>();
  for (std::size_t i = 0, count = record.count(content.graphs()); i < count; ++i) {
    const auto& figures = *content.graphs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    record.expect(figures.graph() < capture_.graphs.size(), "statistics of an unknown graph");
    StoredGraph& graph = capture_.graphs[figures.graph()];
    const std::size_t slots = record.count(figures.slots());
    record.expect(slots <= graph.words_ && slots <= format::kMaxStatistics, "statistics of more values than there are");
    graph.occurrences = figures.occurrences();
    graph.changed = figures.changed();
    graph.not_stored = figures.not_stored();
    graph.statistics_ = place(i);
  }
}

Graph StoredGraph::materialise(std::uint32_t set) const {
  AgainRead<wire::Graphs> graphs(*store_, place_, RecordType::kGraphs);
  const CheckedGraph checked = checked_graph(graphs.view(), graphs.at(graphs.root().graphs(), place_.index));
  const CaptureStore::Loan loan(*store_, 3 * (std::uint64_t{nodes_} * sizeof(OperationHeader) + checked.words * 8));
  if (set == 0) {
    return build(checked, checked.arguments, store_->queues);
  }
  std::vector<std::uint64_t> arguments(checked.arguments, checked.arguments + checked.words);
  AgainRead<wire::ArgumentSets> sets(*store_, sets_.at(set - 1), RecordType::kArguments);
  apply(sets.view(), sets.at(sets.root().sets(), sets_[set - 1].index), arguments);
  check_arguments(sets.view(), checked, arguments.data());
  return build(checked, arguments.data(), store_->queues);
}

std::vector<SlotStatistic> StoredGraph::statistics() const {
  std::vector<SlotStatistic> result;
  if (!statistics_) {
    return result;
  }
  std::vector<OperationHeader> headers;
  std::uint32_t queue_count = 0;
  {
    AgainRead<wire::Graphs> graphs(*store_, place_, RecordType::kGraphs);
    CheckedGraph checked = checked_graph(graphs.view(), graphs.at(graphs.root().graphs(), place_.index));
    headers = std::move(checked.headers);
    queue_count = checked.queue_count;
  }
  AgainRead<wire::Statistics> statistics(*store_, *statistics_, RecordType::kStatistics);
  RecordView& record = statistics.view();
  const auto& figures = statistics.at(statistics.root().graphs(), statistics_->index);
  const std::size_t count = record.count(figures.slots());
  for (std::size_t s = 0; s < count; ++s) {
    const auto& slot = *figures.slots()->Get(static_cast<flatbuffers::uoffset_t>(s));
    record.expect(slot.kind() <= static_cast<std::uint8_t>(format::SlotKind::kQueue), "a statistic of unknown kind");
    SlotStatistic& copy = result.emplace_back();
    copy.node = slot.node();
    copy.index = slot.index();
    copy.kind = static_cast<format::SlotKind>(slot.kind());
    copy.numeric = slot.numeric();
    copy.changes = slot.changes();
    copy.min_delta = slot.min_delta();
    copy.max_delta = slot.max_delta();
    copy.distinct = slot.distinct();
    record.expect(copy.node < headers.size(), "a statistic of an unknown node");
    const OperationHeader& header = headers[copy.node];
    const std::uint32_t bound = copy.kind == format::SlotKind::kArgument ? header.argument_count
                                : copy.kind == format::SlotKind::kWord   ? header.word_count
                                                                         : queue_count;
    record.expect(copy.index < bound, "a statistic of an unknown argument");
  }
  return result;
}

}  // namespace refrain::capture
