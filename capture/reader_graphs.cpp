// Graphs and argument sets of a capture file, with everything checked that later code relies on.
#include "capture/capture_reader.h"

namespace refrain::capture {

void CaptureReader::take_graph(const wire::Graph& told) {
  expect(told.id() == capture_.graphs.size(), "graphs are not numbered one after the other");
  const std::size_t nodes = aligned(told.nodes());
  expect(nodes > 0 && nodes <= format::kMaxStretch, "a graph without nodes or with too many");
  expect(told.queue_count() > 0 && told.queue_count() <= nodes, "a graph with a wrong number of queues");
  const std::uint64_t arguments = aligned(told.arguments());
  charge(sizeof(StoredGraph) + nodes * 256 + (arguments + size_of(told.waits())) * 24);

  StoredGraph graph;
  graph.id_ = told.id();
  graph.queues_ = queues_;
  graph.queue_count_ = told.queue_count();
  graph.headers_.resize(nodes * sizeof(OperationHeader));
  std::size_t waits_used = 0;
  std::uint64_t words_used = told.queue_count();
  for (std::size_t i = 0; i < nodes; ++i) {
    const wire::Node& node = *told.nodes()->Get(static_cast<flatbuffers::uoffset_t>(i));
    expect(node.kind() < kOperationKindCount && node.queue() < told.queue_count(), "a node of unknown kind or queue");
    expect(node.waits() <= 0xFFFF && node.waits() <= size_of(told.waits()) - waits_used,
           "a node with more waits than are stored");
    expect(node.value_bytes() % 8 == 0, "a node with values of odd size");
    const std::uint64_t comparable =
        std::uint64_t{node.words()} + std::uint64_t{node.argument_count()} * 2 + node.value_bytes() / 8;
    words_used += comparable;
    expect(words_used <= arguments, "a node with more arguments than are stored");
    OperationHeader header;
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
    std::memcpy(graph.headers_.data() + i * sizeof(header), &header, sizeof(header));
    auto& waits = graph.waits_.emplace_back();
    for (std::uint32_t w = 0; w < node.waits(); ++w) {
      const std::int32_t wait = told.waits()->Get(static_cast<flatbuffers::uoffset_t>(waits_used++));
      expect(wait >= format::kWaitsForForeign && wait < static_cast<std::int32_t>(i),
             "a node that waits for a later one");
      waits.push_back(wait == format::kWaitsForForeign   ? kWaitForeign
                      : wait == format::kWaitsForEarlier ? kWaitEarlier
                                                         : kInternalWait | (static_cast<std::uint64_t>(wait) + 1));
    }
  }
  expect(waits_used == size_of(told.waits()) && words_used == arguments, "a graph with parts that no node owns");
  graph.arguments_.assign(told.arguments()->begin(), told.arguments()->end());
  check_arguments(graph, graph.arguments_);
  graph.graph_ = graph.build(graph.arguments_);
  capture_.graphs.push_back(std::move(graph));
}

// The descriptors among the arguments must fit the sizes of their nodes.
void CaptureReader::check_arguments(const StoredGraph& graph, std::span<const std::uint64_t> arguments) const {
  std::vector<std::uint64_t> record;
  std::size_t place = graph.queue_count_;
  for (std::size_t node = 0; node < graph.waits_.size(); ++node) {
    OperationHeader header;
    std::memcpy(static_cast<void*>(&header), graph.headers_.data() + node * sizeof(header), sizeof(header));
    const std::size_t comparable = (header.size - sizeof(header)) / 8 - graph.waits_[node].size();
    record.assign(header.size / 8, 0);
    std::memcpy(record.data(), &header, sizeof(header));
    std::copy_n(arguments.begin() + static_cast<std::ptrdiff_t>(place), comparable,
                record.begin() + sizeof(header) / 8);
    expect(OperationView::well_formed(std::as_bytes(std::span(record))), "an operation that is not well formed");
    place += comparable;
  }
}

void CaptureReader::take_set(const wire::ArgumentSet& told) {
  expect(told.graph() < capture_.graphs.size(), "arguments of an unknown graph");
  StoredGraph& graph = capture_.graphs[told.graph()];
  expect(told.set() == graph.argument_sets() && told.set() < format::kMaxArgumentSets,
         "argument sets are not numbered one after the other");
  const std::size_t count = size_of(told.places());
  expect(count == aligned(told.differences()) && count <= graph.arguments_.size(),
         "an argument set with differences that belong nowhere");
  charge(count * sizeof(StoredGraph::Difference) + 64);
  std::vector<StoredGraph::Difference> differences;
  differences.reserve(count);
  std::vector<std::uint64_t> arguments = graph.arguments_;
  std::uint64_t place = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<flatbuffers::uoffset_t>(i);
    place += told.places()->Get(index);
    expect(place < arguments.size(), "a difference outside its graph's arguments");
    differences.push_back({static_cast<std::uint32_t>(place), told.differences()->Get(index)});
    arguments[place] += differences.back().value;
  }
  check_arguments(graph, arguments);
  graph.differences_.push_back(std::move(differences));
}

}  // namespace refrain::capture
