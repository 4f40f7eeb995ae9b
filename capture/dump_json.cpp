// --json: for programs.
#include <algorithm>

#include "capture/dump_formats.h"
#include "capture/json_writer.h"

namespace refrain::capture {
namespace {

const char* name_of_kind(ArgumentKind kind) {
  static constexpr const char* names[] = {"unset",   "value",        "buffer",       "image", "sampler",
                                          "pointer", "local memory", "host pointer", "handle"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(names) ? names[index] : "unknown";
}

void write_argument(JsonWriter& json, const ArgumentDescriptor& argument, std::span<const std::byte> value) {
  json.begin_object();
  json.member("kind", name_of_kind(argument.kind));
  json.member("size", argument.size);
  if (argument.object != 0) {
    json.member("object", argument.object);
  }
  if (!value.empty()) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string bytes;
    for (const std::byte byte : value) {
      bytes += digits[static_cast<unsigned>(byte) >> 4U];
      bytes += digits[static_cast<unsigned>(byte) & 15U];
    }
    json.member("bytes", bytes);  // in the order of memory
  }
  json.end_object();
}

// The kernel's name is where "function" is told.
void write_node(JsonWriter& json, const Capture& capture, const Graph& graph, NodeIndex node) {
  const OperationView operation = graph.operation(node);
  json.begin_object();
  json.member("kind", name_of(operation.kind()));
  json.member_hex("token", operation.token());
  json.member("queue", graph.queue_of(node).id);
  const char* why = why_not_recordable(capture, graph, node);
  json.member("recordable", why == nullptr);
  if (why != nullptr) {
    json.member("why", why);
  }
  if (operation.kind() == OperationKind::kKernel) {
    json.member_hex("function", operation.header().function);
  }
  json.list("words", operation.words(), [&](std::uint64_t word) { json.value(word); });
  const auto values = operation.values();
  std::size_t offset = 0;
  json.list("arguments", operation.arguments(), [&](const ArgumentDescriptor& argument) {
    write_argument(json, argument, values.subspan(offset, argument.stored_bytes() == 0 ? 0 : argument.size));
    offset += argument.stored_bytes();
  });
  json.end_object();
}

const char* name_of_slot(format::SlotKind kind) {
  switch (kind) {
    case format::SlotKind::kArgument: return "argument";
    case format::SlotKind::kWord: return "word";
    case format::SlotKind::kQueue: return "queue";
  }
  return "unknown";
}

void write_graph(JsonWriter& json, const Capture& capture, const Analysis& analysis, const StoredGraph& stored) {
  const Graph graph = stored.graph();
  const GraphUse& use = analysis.graphs[stored.id()];
  json.begin_object();
  json.member("graph", stored.id());
  json.member_hex("fingerprint", graph.fingerprint());
  json.member("occurrences", use.runs);
  json.member("submissions", use.submissions);
  json.member("host_ns", use.host_ns);
  json.member("span_ns", use.span_ns);
  json.member("arguments", name_of(use.arguments));
  json.member("argument_sets", stored.argument_sets());
  json.list("ended_by", use.ended_by, [&](const auto& end) {
    json.begin_object();
    json.member("call", capture.ended_by(end.first));
    json.member("count", end.second);
    json.end_object();
  });
  json.key("nodes");
  json.begin_array();
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    write_node(json, capture, graph, node);
  }
  json.end_array();
  json.list("edges", graph.edges(), [&](const Edge& edge) {
    json.begin_object();
    json.member("from", edge.from);
    json.member("to", edge.to);
    json.member("reason", name_of(edge.reason));
    json.end_object();
  });
  json.list("changes", stored.statistics(), [&](const SlotStatistic& slot) {
    json.begin_object();
    json.member("node", slot.node);
    json.member("slot", name_of_slot(slot.kind));
    json.member("index", slot.index);
    json.member("changes", slot.changes);
    json.member("distinct", slot.distinct);
    json.member("numeric", slot.numeric);
    json.member("min_delta", slot.min_delta);
    json.member("max_delta", slot.max_delta);
    json.member("text", describe(capture, stored, graph, slot));
    json.end_object();
  });
  json.end_object();
}

void write_finding(JsonWriter& json, const Capture& capture, const Analysis& analysis, const Finding& finding) {
  static constexpr const char* kinds[] = {"graphable", "arguments change", "not recordable",
                                          "too short", "not repeated",     "first times"};
  const FindingText text = text_of(capture, analysis, finding);
  json.begin_object();
  json.member("kind", kinds[static_cast<std::size_t>(finding.kind)]);
  json.member("what", text.what);
  json.list("details", text.details, [&](const std::string& detail) { json.value(detail); });
  json.member("advice", text.advice);
  json.member("submissions", finding.submissions);
  json.member("share", finding.share);
  json.member("host_ns", finding.host_ns);
  json.end_object();
}

void write_item(JsonWriter& json, const Capture& capture, const HistoryItem& item) {
  json.begin_object();
  json.member("repeat", item.repeat);
  json.member("total", item.total);
  json.member("first_ns", item.first_ns);
  json.member("last_ns", item.last_ns);
  if (item.body != 0) {
    json.member("loop_of_next", item.body);
  } else {
    json.member("graph", item.graph);
    json.key("argument_set");
    if (item.set == format::kSetNotStored) {
      json.null();
    } else {
      json.value(item.set);
    }
    json.member("ended_by", capture.ended_by(item.ended_by));
    json.member("host_ns", item.host_ns);
    json.member("span_ns", item.span_ns);
  }
  json.end_object();
}

template <typename Map>
auto sorted_keys(const Map& map) {
  std::vector<typename Map::key_type> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) {
    keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

void write_objects(JsonWriter& json, const Capture& capture) {
  json.list("devices", capture.devices, [&](const DeviceInfo& device) {
    json.begin_object();
    json.member("id", device.id);
    json.member("api", device.api);
    json.member("platform", device.platform);
    json.member("name", device.name);
    json.member("driver", device.driver);
    json.member("command_buffers", device.native);
    json.end_object();
  });
  json.list("queues", sorted_keys(capture.queues), [&](ObjectId id) {
    const QueueInfo& queue = capture.queues.at(id);
    json.begin_object();
    json.member("id", id);
    json.member("context", queue.context);
    json.member("device", queue.device);
    json.member("in_order", queue.in_order);
    json.member("profiling", queue.profiling);
    json.member("default_order", static_cast<unsigned>(queue.default_order));
    json.end_object();
  });
  json.list("code", sorted_keys(capture.code), [&](CodeId id) {
    const StoredCode& code = capture.code.at(id);
    static constexpr const char* kinds[] = {"source", "binary", "intermediate", "builtin"};
    json.begin_object();
    json.member_hex("id", id);
    json.member("kind", kinds[static_cast<std::size_t>(code.kind)]);
    json.member("bytes", code.size);
    json.end_object();
  });
  json.list("functions", sorted_keys(capture.functions), [&](FunctionId id) {
    const FunctionInfo& function = capture.functions.at(id);
    json.begin_object();
    json.member_hex("id", id);
    json.member("name", function.name);
    json.member_hex("code", function.code);
    json.member("build_options", function.build_options);
    json.end_object();
  });
  json.list("buffers", sorted_keys(capture.buffers), [&](ObjectId id) {
    const BufferInfo& buffer = capture.buffers.at(id);
    json.begin_object();
    json.member("id", id);
    json.member("parent", buffer.parent);
    json.member("offset", buffer.offset);
    json.member("size", buffer.size);
    json.member("flags", buffer.flags);
    json.member("kind", buffer.is_image ? "image" : buffer.is_sampler ? "sampler" : place_of(buffer));
    json.member("address", buffer.address);
    json.member("contents", capture.has_contents(id));
    json.end_object();
  });
}

}  // namespace

void dump_json(const Capture& capture, const Analysis& analysis, DumpOutput& out) {
  JsonWriter json(out);
  json.begin_object();
  json.member("file", capture.file);
  json.member("writer", capture.writer);
  json.member("command", capture.command);
  json.member("process", capture.process);
  json.member("start_realtime_ns", capture.start_realtime_ns);
  json.member("start_steady_ns", capture.start_steady_ns);
  json.member("bytes", capture.file_bytes);
  json.member("records", capture.records);
  json.member("cut_short", capture.cut_short);
  json.member("submissions", analysis.submissions);
  json.member("stretches", analysis.stretches);
  json.member("graphable_share", analysis.graphable_share);
  write_objects(json, capture);
  json.list("graphs", capture.graphs, [&](const StoredGraph& graph) { write_graph(json, capture, analysis, graph); });
  json.list("lanes", capture.lanes, [&](const LaneHistory& lane) {
    json.begin_object();
    json.member("lane", lane.lane);
    json.key("history");
    json.begin_array();
    lane.for_each_part([&](std::span<const HistoryItem> items) {
      for (const HistoryItem& item : items) {
        write_item(json, capture, item);
      }
    });
    json.end_array();
    json.end_object();
  });
  json.list("host_calls", capture.host_calls, [&](const HostCallCount& call) {
    json.begin_object();
    json.member("call", capture.ended_by(call.entry_point));
    json.member("cuts", call.cuts);
    json.member("idle", call.idle);
    json.end_object();
  });
  json.list("regions", region_sums(capture), [&](const RegionSum& region) {
    json.begin_object();
    json.member("name", region.name);
    json.member("stretches", region.stretches);
    json.member("submissions", region.submissions);
    json.end_object();
  });
  json.key("explain");
  json.begin_array();
  for (const auto* findings : {&analysis.graphable, &analysis.obstacles}) {
    for (const Finding& finding : *findings) {
      write_finding(json, capture, analysis, finding);
    }
  }
  json.end_array();
  json.end_object();
}

}  // namespace refrain::capture
