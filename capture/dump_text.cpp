// --summary, --graph, --explain: for people.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <unordered_map>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

constexpr std::size_t kMaxRows = 10;
constexpr std::size_t kMaxFindings = 20;

template <typename... Arguments>
void line(std::string& text, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
  text += '\n';
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string date(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000U);
  std::tm parts{};
  char text[32] = "unknown date";
  if (::gmtime_r(&seconds, &parts) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts);
  }
  return text;
}

const char* behaviour(const GraphUse& use) {
  switch (use.arguments) {
    case Arguments::kOnce: return "once";
    case Arguments::kExact: return "exact";
    case Arguments::kInTurn: return "in turn";
    case Arguments::kChanging: return "changing";
  }
  return "";
}

void headline(std::string& text, const Capture& capture, const Analysis& analysis) {
  line(text, "{}: {} submissions in {} stretches, {} lane{}, {}", capture.file, grouped(analysis.submissions),
       grouped(analysis.stretches), capture.lanes.size(), capture.lanes.size() == 1 ? "" : "s",
       duration(static_cast<double>(analysis.last_ns - analysis.first_ns)));
}

/// Memory that has addresses, by address.
class Places {
 public:
  explicit Places(const Capture& capture) {
    for (const auto& [id, buffer] : capture.buffers) {
      if (buffer.address != 0) {
        buffers_.push_back(&buffer);
      }
    }
    std::ranges::sort(buffers_, {}, [](const BufferInfo* buffer) { return std::pair(buffer->address, buffer->id); });
  }
  /// "0x7f… = allocation 5 + 128 (device memory, 4.0 KiB)"; empty if nothing known is there. Of several that were
  /// there one after the other, the one that begins last.
  [[nodiscard]] std::string text(std::uint64_t address) const {
    auto at = std::ranges::upper_bound(buffers_, address, {}, &BufferInfo::address);
    for (int tries = 0; at != buffers_.begin() && tries < 64; ++tries) {
      const BufferInfo& buffer = **--at;
      if (address - buffer.address < buffer.size) {
        return fmt::format("{:#x} = allocation {} + {} ({}, {})", address, buffer.id, address - buffer.address,
                           place_of(buffer), size_text(buffer.size));
      }
    }
    return {};
  }

 private:
  std::vector<const BufferInfo*> buffers_;
};

std::string value_text(const ArgumentDescriptor& argument, std::span<const std::byte> value, const Capture& capture,
                       const Places& places) {
  const auto number = [&] {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value.data(), std::min<std::size_t>(value.size(), sizeof(bits)));
    return bits;
  };
  const auto object = [&](const char* noun) {
    std::string text = fmt::format("{} {}", noun, argument.object);
    if (const auto known = capture.buffers.find(argument.object);
        known != capture.buffers.end() && known->second.size != 0) {
      text += " (" + size_text(known->second.size) + ")";
    }
    return text;
  };
  switch (argument.kind) {
    case ArgumentKind::kUnset: return "not set";
    case ArgumentKind::kBuffer: return object("buffer");
    case ArgumentKind::kImage: return object("image");
    case ArgumentKind::kSampler: return object("sampler");
    case ArgumentKind::kLocalMemory:
      return (is_cuda(capture) ? "dynamic shared memory " : "local ") + size_text(argument.size);
    case ArgumentKind::kPointer: {
      const std::string place = places.text(number());
      return place.empty() ? fmt::format("pointer {:#x}", number()) : place;
    }
    case ArgumentKind::kHostPointer: return fmt::format("host address {:#x}", number());
    case ArgumentKind::kOtherHandle: return fmt::format("handle {:#x}", number());
    case ArgumentKind::kValue: break;
  }
  if (argument.size == 4) {  // may be either; people know which
    const auto bits = static_cast<std::uint32_t>(number());
    float real = 0;
    std::memcpy(&real, &bits, sizeof(real));
    return fmt::format("{} / {:g}f", static_cast<std::int32_t>(bits), real);
  }
  if (argument.size == 8) {
    const std::uint64_t bits = number();
    if (std::string place = places.text(bits); !place.empty()) {
      return place;
    }
    double real = 0;
    std::memcpy(&real, &bits, sizeof(real));
    return fmt::format("{} / {:g}", static_cast<std::int64_t>(bits), real);
  }
  if (argument.size < 8) {
    return std::to_string(number());
  }
  std::string text = std::to_string(argument.size) + " bytes:";
  for (std::size_t i = 0; i < std::min<std::size_t>(value.size(), 16); ++i) {
    text += fmt::format(" {:02x}", static_cast<unsigned>(value[i]));
  }
  return text + (value.size() > 16 ? " …" : "");
}

std::string shape_text(const OperationView& operation, bool cuda) {
  const auto words = operation.words();
  if (operation.kind() == OperationKind::kKernel && cuda) {
    const auto block = words.subspan(words::kLocal, 3);
    const auto groups = [&](std::size_t i) { return block[i] == 0 ? 0 : words[words::kGlobal + i] / block[i]; };
    return fmt::format("grid {}x{}x{}, block {}x{}x{}", groups(0), groups(1), groups(2), block[0], block[1], block[2]);
  }
  if (operation.kind() == OperationKind::kPointerCopy || operation.kind() == OperationKind::kPointerFill) {
    return fmt::format("{} bytes", words[0]);
  }
  if (operation.kind() == OperationKind::kPointerCopyRect || operation.kind() == OperationKind::kPointerFillRect) {
    const bool slices = operation.kind() == OperationKind::kPointerCopyRect && words[words::kSlices] != 1;
    return fmt::format("{} rows of {} bytes{}", words[words::kRows], words[words::kRowBytes],
                       slices ? fmt::format(" in {} slices", words[words::kSlices]) : "");
  }
  if (operation.kind() == OperationKind::kEventRecord) {
    return !words.empty() && words[0] != 0 ? "takes the time" : "";
  }
  if (operation.kind() == OperationKind::kKernel) {
    const auto extent = [&](int first) {
      const std::uint64_t dimensions = std::clamp<std::uint64_t>(words[words::kDimensions], 1, 3);
      std::string text;
      for (std::uint64_t i = 0; i < dimensions; ++i) {
        text += (i == 0 ? "" : "x") + std::to_string(words[first + i]);
      }
      return text;
    };
    return "global " + extent(words::kGlobal) +
           (words[words::kLocal] == 0 ? std::string(", local chosen by the driver")
                                      : ", local " + extent(words::kLocal));
  }
  if (words.empty()) {
    return {};
  }
  std::string text = "numbers";
  for (const std::uint64_t word : words) {
    text += " " + std::to_string(word);
  }
  return text;
}

std::string queue_text(const QueueInfo& queue, bool cuda) {
  if (!cuda) {
    return fmt::format("queue {} ({})", queue.id, queue.in_order ? "in order" : "out of order");
  }
  switch (queue.default_order) {
    case DefaultOrder::kIsDefault: return fmt::format("stream {} (the default stream)", queue.id);
    case DefaultOrder::kWithDefault: return fmt::format("stream {} (in order with the default stream)", queue.id);
    case DefaultOrder::kNone: break;
  }
  return fmt::format("stream {} (non-blocking)", queue.id);
}

void findings(std::string& text, const std::vector<Finding>& list, std::uint64_t host_ns) {
  std::size_t number = 0;
  std::uint64_t rest = 0;
  double rest_share = 0;
  for (const Finding& finding : list) {
    if (++number > kMaxFindings) {
      rest += finding.submissions;
      rest_share += finding.share;
      continue;
    }
    std::string time;
    if (host_ns != 0) {
      time = fmt::format(", {} in driver calls", duration(static_cast<double>(finding.host_ns)));
    }
    line(text, "{:3}. {:>7}  {} submissions{}", number, percent(finding.share), grouped(finding.submissions), time);
    line(text, "              {}", finding.what);
    for (const std::string& detail : finding.details) {
      line(text, "                {}", detail);
    }
  }
  if (rest != 0) {
    line(text, "     {:>7}  {} submissions in {} more, see --json", percent(rest_share), grouped(rest),
         list.size() - kMaxFindings);
  }
}

}  // namespace

std::string dump_summary(const Capture& capture, const Analysis& analysis) {
  std::string text;
  headline(text, capture, analysis);
  line(text, "  program   {} (process {}), {}", capture.command.empty() ? "unknown" : capture.command, capture.process,
       date(capture.start_realtime_ns));
  line(text, "  file      {}, {} records, written by {}", size_text(capture.file_bytes), capture.records,
       capture.writer.empty() ? "unknown" : capture.writer);
  for (const DeviceInfo& device : capture.devices) {
    line(text, "  device    {} on {} ({}); command buffers: {}", device.name, device.platform, device.driver,
         device.native.empty() ? "none" : device.native);
  }
  std::size_t contents = 0;
  for (const auto& [id, buffer] : capture.buffers) {
    contents += capture.has_contents(id) ? 1 : 0;
  }
  line(text, "  objects   {} programs, {} kernels, {} queues, {} buffers ({} with contents)", capture.code.size(),
       capture.functions.size(), capture.queues.size(), capture.buffers.size(), contents);
  if (analysis.host_ns != 0) {
    line(text, "  time      {} in driver calls", duration(static_cast<double>(analysis.host_ns)));
  }

  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < analysis.graphs.size(); ++i) {
    if (analysis.graphs[i].runs != 0) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return analysis.graphs[a].submissions > analysis.graphs[b].submissions;
  });
  line(text, "\n{} different graphs{}", order.size(), order.empty() ? "" : ":");
  if (!order.empty()) {
    line(text, "  {:>5} {:>7} {:>10} {:>6} {:>6}  {:<9} {}", "graph", "share", "runs", "nodes", "edges", "arguments",
         "what");
  }
  for (std::size_t i = 0; i < std::min(kMaxRows, order.size()); ++i) {
    const GraphUse& use = analysis.graphs[order[i]];
    const Graph& graph = capture.graphs[order[i]].graph();
    line(text, "  {:>5} {:>7} {:>10} {:>6} {:>6}  {:<9} {}", order[i],
         percent(share_of(use.submissions, analysis.submissions)), grouped(use.runs), graph.size(),
         graph.edges().size(), behaviour(use), label_of(capture, graph));
  }
  if (order.size() > kMaxRows) {
    line(text, "  … {} more", order.size() - kMaxRows);
  }

  auto calls = capture.host_calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const HostCallCount& a, const HostCallCount& b) { return a.cuts > b.cuts; });
  if (!calls.empty()) {
    line(text, "\nHost calls (a cut ends a stretch; idle: nothing had been submitted before it):");
    line(text, "  {:>10} {:>10}  {}", "cuts", "idle", "call");
  }
  for (std::size_t i = 0; i < std::min(kMaxRows, calls.size()); ++i) {
    line(text, "  {:>10} {:>10}  {}", grouped(calls[i].cuts), grouped(calls[i].idle),
         capture.ended_by(calls[i].entry_point));
  }
  line(text,
       "\n{} of all submissions repeat in a way that can be graphed. Why not the rest: --explain. One graph: "
       "--graph N.",
       percent(analysis.graphable_share));
  return text;
}

std::string dump_explain(const Capture& capture, const Analysis& analysis) {
  std::string text;
  headline(text, capture, analysis);
  const bool native = std::any_of(capture.devices.begin(), capture.devices.end(),
                                  [](const DeviceInfo& device) { return !device.native.empty(); });
  if (!capture.devices.empty() && !native) {
    line(text, "No device of this capture has command buffers: nothing can be replayed natively on it.");
  }
  line(text, "\nCan be graphed: {} of all submissions", percent(analysis.graphable_share));
  findings(text, analysis.graphable, analysis.host_ns);
  if (analysis.obstacles.empty()) {
    if (analysis.submissions != 0) {
      line(text, "\nNothing else was submitted.");
    }
    return text;
  }
  line(text, "\nWhat keeps the rest from being replayed, by what would gain most:");
  findings(text, analysis.obstacles, analysis.host_ns);
  return text;
}

std::string dump_graph(const Capture& capture, const Analysis& analysis, std::uint32_t number) {
  const StoredGraph& stored = capture.graphs[number];
  const Graph& graph = stored.graph();
  const GraphUse& use = analysis.graphs[number];
  std::string text;
  line(text, "graph {}: {} nodes, {} edges, fingerprint {:016x}", number, graph.size(), graph.edges().size(),
       graph.fingerprint());
  line(text, "  {} occurrences, {} of all submissions, arguments: {}; {} argument sets stored", grouped(use.runs),
       percent(share_of(use.submissions, analysis.submissions)), behaviour(use), stored.argument_sets());
  if (use.runs != 0) {
    line(text, "  {} from first submission to cut on average",
         duration(static_cast<double>(use.span_ns) / static_cast<double>(use.runs)));
  }
  for (const auto& [call, runs] : use.ended_by) {
    line(text, "  {} times ended by {}", grouped(runs), capture.ended_by(call));
  }
  std::unordered_multimap<NodeIndex, const SlotStatistic*> changes;
  for (const SlotStatistic& slot : stored.statistics) {
    if (slot.kind != format::SlotKind::kQueue) {
      changes.emplace(slot.node, &slot);
    } else {
      line(text, "  {}", describe(capture, stored, slot));
    }
  }
  const Places places(capture);
  const bool cuda = is_cuda(capture);
  line(text, "\nnodes");
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    const OperationView operation = graph.operation(node);
    const QueueInfo& queue = graph.queue_of(node);
    line(text, "  {:4}  {}  {}", node, label_of(capture, operation), shape_text(operation, cuda));
    const char* why = why_not_recordable(operation);
    line(text, "        {}{}{}{}", queue_text(queue, cuda), operation.has(kBlocking) ? ", blocking" : "",
         why == nullptr ? "" : ", ", why == nullptr ? "" : why);
    const auto arguments = operation.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      line(text, "        {:2}: {}", i, value_text(arguments[i], operation.value_of(i), capture, places));
    }
    for (const WaitRef wait : operation.waits()) {
      if (wait == kWaitEarlier || wait == kWaitForeign) {
        line(text, "        waits for {}",
             wait == kWaitEarlier ? "an operation before this graph" : "an event from elsewhere");
      }
    }
    const auto [begin, end] = changes.equal_range(node);
    for (auto slot = begin; slot != end; ++slot) {
      line(text, "        changes: {}", describe(capture, stored, *slot->second));
    }
  }
  line(text, "\nedges");
  for (const Edge& edge : graph.edges()) {
    line(text, "  {:4} -> {:<4} {}", edge.from, edge.to, name_of(edge.reason));
  }
  return text;
}

}  // namespace refrain::capture
