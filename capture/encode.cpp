#include "capture/encode.h"

#include <algorithm>
#include <iterator>

#include "env/escape.h"
#include "format_generated.h"

namespace refrain::capture::encode {
namespace {

using flatbuffers::FlatBufferBuilder;

// Times are stored relative to the item before, which compresses to little.
std::vector<wire::HistoryItem> items_of(const std::vector<Folded>& folded) {
  std::vector<HistoryItem> flat;
  flatten(folded, flat);
  std::vector<wire::HistoryItem> items;
  items.reserve(flat.size());
  std::uint64_t before = 0;
  for (const HistoryItem& item : flat) {
    items.emplace_back(item.graph, item.set, item.ended_by, item.body, item.repeat, item.total,
                       static_cast<std::int64_t>(item.first_ns - before),
                       static_cast<std::int64_t>(item.last_ns - item.first_ns), item.host_ns, item.span_ns);
    before = item.first_ns;
  }
  return items;
}

}  // namespace

flatbuffers::Offset<flatbuffers::String> text_of(FlatBufferBuilder& builder, const std::string& text) {
  return builder.CreateString(env::shortened(text, format::kMaxText));
}

Payload meta(const std::string& writer, const std::string& command) {
  FlatBufferBuilder builder;
  const auto writer_text = text_of(builder, writer);
  const auto command_text = text_of(builder, command);
  return release(builder, wire::CreateMeta(builder, writer_text, command_text));
}

Payload code(const CodeInfo& code) {
  FlatBufferBuilder builder(code.bytes.size() + 256);
  const auto bytes = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(code.bytes.data()), code.bytes.size());
  return release(builder, wire::CreateCode(builder, code.id, static_cast<std::uint8_t>(code.kind), bytes));
}

Payload contents_references(std::span<const ContentsReference> references) {
  FlatBufferBuilder builder;
  std::vector<wire::ContentsReference> list;
  for (const ContentsReference& reference : references) {
    list.emplace_back(reference.buffer, reference.offset, reference.piece, 0);
  }
  return release(builder, wire::CreateContentsReferencesDirect(builder, &list));
}

Payload entry_points(std::span<const NamedEntryPoint> entry_points) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::EntryPoint>> list;
  for (const NamedEntryPoint& entry : entry_points) {
    const auto name = builder.CreateString(env::shortened(entry.name, format::kMaxCallName));
    list.push_back(wire::CreateEntryPoint(builder, entry.id, name));
  }
  return release(builder, wire::CreateEntryPointsDirect(builder, &list));
}

Payload graphs(std::span<const NewGraph> graphs) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Graph>> list;
  std::vector<wire::Node> nodes;
  std::vector<std::uint16_t> reasons;
  for (const NewGraph& graph : graphs) {
    nodes.clear();
    reasons.clear();
    if (std::ranges::any_of(graph.nodes, &NodeShape::reason)) {
      std::ranges::transform(graph.nodes, std::back_inserter(reasons), &NodeShape::reason);
    }
    for (const NodeShape& node : graph.nodes) {
      nodes.emplace_back(node.token, node.function, node.kind, node.flags, node.queue, node.words, node.argument_count,
                         node.waits, node.value_bytes);
    }
    list.push_back(wire::CreateGraphDirect(builder, graph.id, graph.fingerprint, graph.queue_count, &nodes,
                                           &graph.waits, &graph.arguments, &graph.outside,
                                           reasons.empty() ? nullptr : &reasons));
  }
  return release(builder, wire::CreateGraphsDirect(builder, &list));
}

Payload argument_sets(std::span<const NewArgumentSet> sets) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::ArgumentSet>> list;
  for (const NewArgumentSet& set : sets) {
    list.push_back(wire::CreateArgumentSetDirect(builder, set.graph, set.set, &set.places, &set.differences));
  }
  return release(builder, wire::CreateArgumentSetsDirect(builder, &list));
}

Payload statistics(std::span<const GraphFigures> figures) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::GraphStatistics>> list;
  std::vector<wire::SlotStatistic> slots;
  for (const GraphFigures& graph : figures) {
    slots.clear();
    for (const SlotStatistic& slot : graph.slots) {
      slots.emplace_back(slot.node, slot.index, slot.changes, slot.min_delta, slot.max_delta, slot.distinct,
                         static_cast<std::uint8_t>(slot.kind), slot.numeric);
    }
    list.push_back(wire::CreateGraphStatisticsDirect(builder, graph.graph, graph.occurrences, graph.changed,
                                                     graph.not_stored, &slots));
  }
  return release(builder, wire::CreateStatisticsDirect(builder, &list));
}

Payload history(const LaneNews& news) {
  FlatBufferBuilder builder;
  const auto closed = items_of(news.closed);
  const auto open = items_of(news.open);
  return release(builder, wire::CreateHistoryDirect(builder, news.lane, news.closed_before, &closed, &open));
}

Payload times(const CallBatch& batch) {
  FlatBufferBuilder builder;
  std::vector<wire::CallKind> kinds;
  kinds.reserve(batch.kinds.size());
  for (const CallKind& kind : batch.kinds) {
    kinds.emplace_back(kind.queue, kind.function, kind.entry_point, static_cast<std::uint16_t>(kind.kind),
                       kind.blocking ? 1 : 0);
  }
  return release(builder, wire::CreateTimesDirect(builder, batch.lane, batch.begin_ns, &kinds, &batch.what,
                                                  &batch.after_ns, &batch.took_ns, &batch.longer_ns));
}

Payload host_calls(std::span<const HostCallCount> counts) {
  FlatBufferBuilder builder;
  std::vector<wire::HostCall> list;
  for (const HostCallCount& count : counts) {
    list.emplace_back(count.entry_point, 0, count.cuts, count.idle);
  }
  return release(builder, wire::CreateHostCallsDirect(builder, &list));
}

Payload regions(std::span<const RegionUse> regions) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<wire::Region>> list;
  std::vector<wire::RegionGraph> graphs;
  for (const RegionUse& region : regions) {
    graphs.clear();
    for (const auto& [graph, times] : region.graphs) {
      graphs.emplace_back(graph, 0, times);
    }
    list.push_back(wire::CreateRegionDirect(builder, region.id, region.parent, region.name.c_str(), &graphs));
  }
  return release(builder, wire::CreateRegionsDirect(builder, &list));
}

}  // namespace refrain::capture::encode
