// --json and --trace: for programs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

using nlohmann::ordered_json;

std::string hex(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%016llx", static_cast<unsigned long long>(number));
  return text;
}

// Names come from the program: they may be anything but text.
std::string serialise(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

const char* name_of_kind(ArgumentKind kind) {
  static constexpr const char* names[] = {"unset",   "value",        "buffer",       "image", "sampler",
                                          "pointer", "local memory", "host pointer", "handle"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(names) ? names[index] : "unknown";
}

ordered_json argument_json(const ArgumentDescriptor& argument, std::span<const std::byte> value) {
  ordered_json json{{"kind", name_of_kind(argument.kind)}, {"size", argument.size}};
  if (argument.object != 0) {
    json["object"] = argument.object;
  }
  if (!value.empty()) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string bytes;
    for (const std::byte byte : value) {
      bytes += digits[static_cast<unsigned>(byte) >> 4U];
      bytes += digits[static_cast<unsigned>(byte) & 15U];
    }
    json["bytes"] = bytes;  // in the order of memory
  }
  return json;
}

ordered_json node_json(const Capture& capture, const Graph& graph, NodeIndex node) {
  const OperationView operation = graph.operation(node);
  ordered_json json{{"kind", std::string(name_of(operation.kind()))},
                    {"token", hex(operation.token())},
                    {"queue", graph.queue_of(node).id},
                    {"recordable", why_not_recordable(operation) == nullptr}};
  if (operation.kind() == OperationKind::kKernel) {
    json["function"] = hex(operation.header().function);
    json["name"] = std::string(capture.function_name(operation.header().function));
  }
  json["words"] = std::vector<std::uint64_t>(operation.words().begin(), operation.words().end());
  ordered_json arguments = ordered_json::array();
  for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
    arguments.push_back(argument_json(operation.arguments()[i], operation.value_of(i)));
  }
  json["arguments"] = std::move(arguments);
  return json;
}

const char* name_of_slot(format::SlotKind kind) {
  switch (kind) {
    case format::SlotKind::kArgument: return "argument";
    case format::SlotKind::kWord: return "word";
    case format::SlotKind::kQueue: return "queue";
  }
  return "unknown";
}

const char* name_of_arguments(Arguments arguments) {
  switch (arguments) {
    case Arguments::kOnce: return "once";
    case Arguments::kExact: return "exact";
    case Arguments::kInTurn: return "in turn";
    case Arguments::kChanging: return "changing";
  }
  return "unknown";
}

ordered_json graph_json(const Capture& capture, const Analysis& analysis, std::size_t number) {
  const StoredGraph& stored = capture.graphs[number];
  const Graph& graph = stored.graph();
  const GraphUse& use = analysis.graphs[number];
  ordered_json json{{"graph", number},
                    {"fingerprint", hex(graph.fingerprint())},
                    {"occurrences", use.runs},
                    {"submissions", use.submissions},
                    {"host_ns", use.host_ns},
                    {"span_ns", use.span_ns},
                    {"arguments", name_of_arguments(use.arguments)},
                    {"argument_sets", stored.argument_sets()}};
  ordered_json ended = ordered_json::array();
  for (const auto& [call, runs] : use.ended_by) {
    ended.push_back({{"call", std::string(capture.ended_by(call))}, {"count", runs}});
  }
  json["ended_by"] = std::move(ended);
  ordered_json nodes = ordered_json::array();
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    nodes.push_back(node_json(capture, graph, node));
  }
  json["nodes"] = std::move(nodes);
  ordered_json edges = ordered_json::array();
  for (const Edge& edge : graph.edges()) {
    edges.push_back({{"from", edge.from}, {"to", edge.to}, {"reason", std::string(name_of(edge.reason))}});
  }
  json["edges"] = std::move(edges);
  ordered_json changes = ordered_json::array();
  for (const SlotStatistic& slot : stored.statistics) {
    changes.push_back({{"node", slot.node},
                       {"slot", name_of_slot(slot.kind)},
                       {"index", slot.index},
                       {"changes", slot.changes},
                       {"distinct", slot.distinct},
                       {"numeric", slot.numeric},
                       {"min_delta", slot.min_delta},
                       {"max_delta", slot.max_delta},
                       {"text", describe(capture, stored, slot)}});
  }
  json["changes"] = std::move(changes);
  return json;
}

ordered_json finding_json(const Finding& finding) {
  static constexpr const char* kinds[] = {"graphable", "arguments change", "not recordable", "too short",
                                          "not repeated"};
  return {{"kind", kinds[static_cast<std::size_t>(finding.kind)]},
          {"what", finding.what},
          {"details", finding.details},
          {"submissions", finding.submissions},
          {"share", finding.share},
          {"host_ns", finding.host_ns}};
}

ordered_json lane_json(const Capture& capture, const LaneHistory& lane) {
  ordered_json items = ordered_json::array();
  for (const HistoryItem& item : lane.items) {
    ordered_json json{
        {"repeat", item.repeat}, {"total", item.total}, {"first_ns", item.first_ns}, {"last_ns", item.last_ns}};
    if (item.body != 0) {
      json["loop_of_next"] = item.body;
    } else {
      json["graph"] = item.graph;
      json["argument_set"] = item.set == format::kSetNotStored ? ordered_json(nullptr) : ordered_json(item.set);
      json["ended_by"] = std::string(capture.ended_by(item.ended_by));
      json["host_ns"] = item.host_ns;
      json["span_ns"] = item.span_ns;
    }
    items.push_back(std::move(json));
  }
  return {{"lane", lane.lane}, {"history", std::move(items)}};
}

/// Timeline: loops as slices around their first turn.
class Trace {
 public:
  explicit Trace(const Capture& capture) : capture_(capture) {}

  ordered_json run() {
    events_ = ordered_json::array();
    const std::string program = capture_.command.empty() ? "program" : capture_.command;
    events_.push_back(
        {{"ph", "M"}, {"name", "process_name"}, {"pid", capture_.process}, {"tid", 0}, {"args", {{"name", program}}}});
    for (const LaneHistory& lane : capture_.lanes) {
      events_.push_back({{"ph", "M"},
                         {"name", "thread_name"},
                         {"pid", capture_.process},
                         {"tid", lane.lane},
                         {"args", {{"name", "lane " + std::to_string(lane.lane)}}}});
      items(lane, 0, lane.items.size(), ~std::uint64_t{0}, true);
    }
    return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events_)}};
  }

 private:
  double microseconds(std::uint64_t time) const {
    // Times before the file was opened are possible and become negative.
    return static_cast<double>(static_cast<std::int64_t>(time - capture_.start_steady_ns)) / 1e3;
  }

  // Slices must not overlap their neighbours, and lie inside the loop around them.
  void items(const LaneHistory& lane, std::size_t begin, std::size_t end, std::uint64_t limit, bool outermost) {
    for (std::size_t i = begin; i < end;) {
      const HistoryItem& item = lane.items[i];
      const std::size_t next = i + item.body + 1;
      std::uint64_t stop = limit;
      if (next < end) {
        stop = std::min(stop, std::max(item.first_ns, lane.items[next].first_ns));
      }
      std::uint64_t last = item.last_ns;
      if (!outermost && item.body == 0 && item.total != 0) {
        // The times cover all turns of the loop: the first turn took about the mean.
        last = item.first_ns +
               static_cast<std::uint64_t>(static_cast<__uint128_t>(item.span_ns) * item.repeat / item.total);
      }
      last = std::clamp(last, item.first_ns, std::max(item.first_ns, stop));
      slice(lane, item, last);
      if (item.body != 0) {
        items(lane, i + 1, next, last, false);
      }
      i = next;
    }
  }

  void slice(const LaneHistory& lane, const HistoryItem& item, std::uint64_t last) {
    ordered_json arguments;
    std::string name;
    if (item.body != 0) {
      name = "loop x " + grouped(item.repeat);
      arguments = {{"turns", item.total}, {"shown inside", "the first turn"}};
    } else {
      const Graph& graph = capture_.graphs[item.graph].graph();
      name = "graph " + std::to_string(item.graph) + ": " + label(item.graph);
      if (item.repeat > 1) {
        name += ", x " + grouped(item.repeat);
      }
      arguments = {{"graph", item.graph},
                   {"argument set", item.set == format::kSetNotStored ? "not stored" : std::to_string(item.set)},
                   {"submissions each", graph.size()},
                   {"runs", item.total},
                   {"ended by", std::string(capture_.ended_by(item.ended_by))},
                   {"driver calls", duration(static_cast<double>(item.host_ns))},
                   {"mean length", duration(static_cast<double>(item.span_ns) /
                                            static_cast<double>(std::max<std::uint64_t>(1, item.total)))}};
    }
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"pid", capture_.process},
                       {"tid", lane.lane},
                       {"ts", microseconds(item.first_ns)},
                       {"dur", static_cast<double>(last - item.first_ns) / 1e3},
                       {"args", std::move(arguments)}});
  }

  const std::string& label(std::uint32_t graph) {
    auto& known = labels_[graph];
    if (known.empty()) {
      known = label_of(capture_, capture_.graphs[graph].graph());
    }
    return known;
  }

  const Capture& capture_;
  ordered_json events_;
  std::unordered_map<std::uint32_t, std::string> labels_;
};

}  // namespace

std::string dump_trace(const Capture& capture) {
  return serialise(Trace(capture).run(), 1);
}

std::string dump_json(const Capture& capture, const Analysis& analysis) {
  ordered_json json{{"file", capture.file},
                    {"writer", capture.writer},
                    {"command", capture.command},
                    {"process", capture.process},
                    {"start_realtime_ns", capture.start_realtime_ns},
                    {"start_steady_ns", capture.start_steady_ns},
                    {"bytes", capture.file_bytes},
                    {"records", capture.records},
                    {"cut_short", capture.cut_short},
                    {"submissions", analysis.submissions},
                    {"stretches", analysis.stretches},
                    {"graphable_share", analysis.graphable_share}};
  for (const DeviceInfo& device : capture.devices) {
    json["devices"].push_back({{"id", device.id},
                               {"api", device.api},
                               {"platform", device.platform},
                               {"name", device.name},
                               {"driver", device.driver},
                               {"command_buffers", device.native}});
  }
  const auto sorted = [](const auto& map) {
    std::vector<typename std::decay_t<decltype(map)>::key_type> keys;
    for (const auto& [key, value] : map) {
      keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  for (const auto id : sorted(capture.queues)) {
    const QueueInfo& queue = capture.queues.at(id);
    json["queues"].push_back({{"id", id},
                              {"context", queue.context},
                              {"device", queue.device},
                              {"in_order", queue.in_order},
                              {"profiling", queue.profiling},
                              {"default_order", static_cast<unsigned>(queue.default_order)}});
  }
  for (const auto id : sorted(capture.code)) {
    const StoredCode& code = capture.code.at(id);
    static constexpr const char* kinds[] = {"source", "binary", "intermediate", "builtin"};
    json["code"].push_back(
        {{"id", hex(id)}, {"kind", kinds[static_cast<std::size_t>(code.kind)]}, {"bytes", code.bytes.size()}});
  }
  for (const auto id : sorted(capture.functions)) {
    const FunctionInfo& function = capture.functions.at(id);
    json["functions"].push_back({{"id", hex(id)},
                                 {"name", function.name},
                                 {"code", hex(function.code)},
                                 {"build_options", function.build_options}});
  }
  for (const auto id : sorted(capture.buffers)) {
    const BufferInfo& buffer = capture.buffers.at(id);
    json["buffers"].push_back({{"id", id},
                               {"parent", buffer.parent},
                               {"offset", buffer.offset},
                               {"size", buffer.size},
                               {"flags", buffer.flags},
                               {"kind", buffer.is_image     ? "image"
                                        : buffer.is_sampler ? "sampler"
                                                            : place_of(buffer)},
                               {"address", buffer.address},
                               {"contents", capture.has_contents(id)}});
  }
  for (std::size_t i = 0; i < capture.graphs.size(); ++i) {
    json["graphs"].push_back(graph_json(capture, analysis, i));
  }
  for (const LaneHistory& lane : capture.lanes) {
    json["lanes"].push_back(lane_json(capture, lane));
  }
  for (const HostCallCount& call : capture.host_calls) {
    json["host_calls"].push_back(
        {{"call", std::string(capture.ended_by(call.entry_point))}, {"cuts", call.cuts}, {"idle", call.idle}});
  }
  for (const Finding& finding : analysis.graphable) {
    json["explain"].push_back(finding_json(finding));
  }
  for (const Finding& finding : analysis.obstacles) {
    json["explain"].push_back(finding_json(finding));
  }
  return serialise(json, 1);
}

}  // namespace refrain::capture
