// --graph N: nodes, arguments and edges of one graph, for people.
#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "capture/dump_formats.h"

namespace refrain::capture {
namespace {

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

std::string extent_text(const words::Kernel& shape, const words::Three& sizes) {
  const std::uint64_t dimensions = std::clamp<std::uint64_t>(shape.dimensions, 1, sizes.size());
  std::string text;
  for (std::uint64_t i = 0; i < dimensions; ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(sizes[i]);
  }
  return text;
}

std::string launch_text(const words::Kernel& shape, bool cuda) {
  const words::Three& block = shape.local;
  if (cuda) {
    const auto groups = [&](std::size_t i) { return block[i] == 0 ? 0 : shape.global[i] / block[i]; };
    return fmt::format("grid {}x{}x{}, block {}x{}x{}", groups(0), groups(1), groups(2), block[0], block[1], block[2]);
  }
  return "global " + extent_text(shape, shape.global) +
         (block[0] == 0 ? std::string(", local chosen by the driver") : ", local " + extent_text(shape, block));
}

std::string shape_text(const OperationView& operation, bool cuda) {
  switch (operation.kind()) {
    case OperationKind::kKernel: return launch_text(operation.as<words::Kernel>(), cuda);
    case OperationKind::kPointerCopy: return fmt::format("{} bytes", operation.as<words::PointerCopy>().bytes);
    case OperationKind::kPointerFill: return fmt::format("{} bytes", operation.as<words::PointerFill>().bytes);
    case OperationKind::kPointerCopyRect: {
      const auto& copy = operation.as<words::PointerCopyRect>();
      return fmt::format("{} rows of {} bytes{}", copy.rows, copy.row_bytes,
                         copy.slices != 1 ? fmt::format(" in {} slices", copy.slices) : "");
    }
    case OperationKind::kPointerFillRect: {
      const auto& fill = operation.as<words::PointerFillRect>();
      return fmt::format("{} rows of {} bytes", fill.rows, fill.row_bytes);
    }
    case OperationKind::kEventRecord: return takes_time(operation) ? "takes the time" : "";
    default: break;
  }
  const auto words = operation.words();
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

}  // namespace

void dump_graph(const Capture& capture, const Analysis& analysis, std::uint32_t number, DumpOutput& out) {
  const StoredGraph& stored = capture.graphs[number];
  const Graph graph = stored.graph();
  const GraphUse& use = analysis.graphs[number];
  out.line("graph {}: {} nodes, {} edges, fingerprint {:016x}", number, graph.size(), graph.edges().size(),
           graph.fingerprint());
  out.line("  {} occurrences, {} of all submissions, arguments: {}; {} argument sets stored", grouped(use.runs),
           percent(share_of(use.submissions, analysis.submissions)), name_of(use.arguments), stored.argument_sets());
  if (use.runs != 0) {
    out.line("  {} from first submission to cut on average",
             duration(static_cast<double>(use.span_ns) / static_cast<double>(use.runs)));
  }
  for (const auto& [call, runs] : use.ended_by) {
    out.line("  {} times ended by {}", grouped(runs), capture.ended_by(call));
  }
  std::unordered_multimap<NodeIndex, const SlotStatistic*> changes;
  const std::vector<SlotStatistic> statistics = stored.statistics();
  for (const SlotStatistic& slot : statistics) {
    if (slot.kind != format::SlotKind::kQueue) {
      changes.emplace(slot.node, &slot);
    } else {
      out.line("  {}", describe(capture, stored, graph, slot));
    }
  }
  const Places places(capture);
  const bool cuda = is_cuda(capture);
  out.blank();
  out.line("nodes");
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    const OperationView operation = graph.operation(node);
    const QueueInfo& queue = graph.queue_of(node);
    out.line("  {:4}  {}  {}", node, label_of(capture, operation), shape_text(operation, cuda));
    const char* why = why_not_recordable(capture, graph, node);
    out.line("        {}{}{}{}", queue_text(queue, cuda), operation.has(kBlocking) ? ", blocking" : "",
             why == nullptr ? "" : ", ", why == nullptr ? "" : why);
    const auto arguments = operation.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      out.line("        {:2}: {}", i, value_text(arguments[i], operation.value_of(i), capture, places));
    }
    for (const WaitRef wait : operation.waits()) {
      if (leads_out(wait)) {
        out.line("        waits for {}",
                 is_earlier(wait) ? "an operation before this graph" : "an event from elsewhere");
      }
    }
    const auto [begin, end] = changes.equal_range(node);
    for (auto slot = begin; slot != end; ++slot) {
      out.line("        changes: {}", describe(capture, stored, graph, *slot->second));
    }
  }
  out.blank();
  out.line("edges");
  for (const Edge& edge : graph.edges()) {
    out.line("  {:4} -> {:<4} {}", edge.from, edge.to, name_of(edge.reason));
  }
  // They were shortened above.
  std::set<FunctionId> listed;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    const FunctionId function = graph.operation(node).header().function;
    const auto name = capture.function_name(function);
    if (!name.empty() && name != label_of(capture, graph.operation(node)) && listed.insert(function).second) {
      if (listed.size() == 1) {
        out.blank();
        out.line("names in full");
      }
      out.line("  {:4}  {}", node, name);
    }
  }
}

}  // namespace refrain::capture
