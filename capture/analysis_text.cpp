// What an analysis says in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>

#include "capture/analysis.h"
#include "env/escape.h"
#include "env/kernel_name.h"

namespace refrain::capture {
namespace {

std::string submissions_text(std::uint64_t count) {
  return count == 1 ? "1 submission" : grouped(count) + " submissions";
}

// "clFinish" or "clFinish (900 times), clWaitForEvents (100 times)"
std::string ended_by_text(const Capture& capture, const std::map<std::uint32_t, std::uint64_t>& ended_by) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
  for (const auto& [call, runs] : ended_by) {
    order.emplace_back(runs, call);
  }
  std::sort(order.rbegin(), order.rend());
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < 3; ++i) {
    text += text.empty() ? "" : ", ";
    text += capture.ended_by(order[i].second);
    if (order.size() > 1) {
      text += " (" + times(order[i].first) + ")";
    }
  }
  return text + (order.size() > 3 ? " …" : "");
}

std::string graph_text(const Capture& capture, const Graph& graph, std::uint32_t number, const GraphUse& use) {
  return fmt::format("graph {}: {} of {} ({}), up to {}", number, times(use.runs), submissions_text(graph.size()),
                     label_of(capture, graph), ended_by_text(capture, use.ended_by));
}

/// What its author can do about it, whatever exactly was submitted.
std::string general_advice(const Finding& finding) {
  switch (finding.kind) {
    case Finding::Kind::kChanging:
      return "keep what changes in memory that stays where it is, and pass its address: this device cannot change "
             "arguments of what is recorded";
    case Finding::Kind::kTooShort:
      return "let more work gather before this call: wait more rarely, or once for several stretches";
    case Finding::Kind::kNotRepeated:
      return "nothing, if this is how the program begins and ends; else submit the same operations in the same order "
             "each time, so that they can be recognised";
    case Finding::Kind::kGraphable:
    case Finding::Kind::kFirstTimes:
    case Finding::Kind::kUnrecordable: break;  // those of the last two are where they are summed up
  }
  return {};
}

}  // namespace

std::vector<std::string> changes_text(const Capture& capture, const StoredGraph& stored, const Graph& graph) {
  std::vector<std::string> text;
  // The same argument of the same kernel is one line, however many nodes it is in.
  struct Line {
    SlotStatistic slot;
    std::uint64_t nodes = 1;
  };
  std::vector<Line> lines;
  std::map<std::pair<FunctionId, std::string>, std::size_t> known;
  for (const SlotStatistic& slot : stored.statistics()) {
    const auto [place, is_new] = known.try_emplace(
        {graph.operation(slot.node).header().function, subject_of(capture, graph, slot)}, lines.size());
    if (is_new) {
      lines.push_back({slot});
      continue;
    }
    Line& line = lines[place->second];
    ++line.nodes;
    line.slot.changes = std::max(line.slot.changes, slot.changes);
    line.slot.min_delta = std::min(line.slot.min_delta, slot.min_delta);
    line.slot.max_delta = std::max(line.slot.max_delta, slot.max_delta);
    line.slot.distinct =
        line.slot.distinct == 0 || slot.distinct == 0 ? 0 : std::max(line.slot.distinct, slot.distinct);
    line.slot.numeric = line.slot.numeric && slot.numeric;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.slot.changes > b.slot.changes; });
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, lines.size()); ++i) {
    text.push_back(describe(capture, stored, graph, lines[i].slot) +
                   (lines[i].nodes > 1 ? fmt::format(" ({} nodes)", lines[i].nodes) : ""));
  }
  if (lines.size() > kShown) {
    text.push_back(fmt::format("and {} more; see --graph {}", lines.size() - kShown, stored.id()));
  }
  return text;
}

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : grouped(count) + " times";
}

std::string subject_of(const Capture& capture, const Graph& graph, const SlotStatistic& slot) {
  if (slot.kind == format::SlotKind::kQueue) {
    return fmt::format("queue {}", slot.index);
  }
  const OperationView operation = graph.operation(slot.node);
  const std::string label = label_of(capture, operation);
  if (slot.kind == format::SlotKind::kWord) {
    static constexpr const char* kernel_words[] = {"dimensions",    "offset x",      "offset y",      "offset z",
                                                   "global size x", "global size y", "global size z", "local size x",
                                                   "local size y",  "local size z"};
    return operation.kind() == OperationKind::kKernel && slot.index < std::size(kernel_words)
               ? fmt::format("{} {}", label, kernel_words[slot.index])
               : fmt::format("{} number {}", label, slot.index);
  }
  const ArgumentDescriptor& argument = operation.arguments()[slot.index];
  switch (argument.kind) {
    case ArgumentKind::kBuffer: return fmt::format("{} argument {} (buffer)", label, slot.index);
    case ArgumentKind::kImage: return fmt::format("{} argument {} (image)", label, slot.index);
    case ArgumentKind::kSampler: return fmt::format("{} argument {} (sampler)", label, slot.index);
    case ArgumentKind::kPointer: return fmt::format("{} argument {} (pointer)", label, slot.index);
    case ArgumentKind::kHostPointer: return fmt::format("{} argument {} (host address)", label, slot.index);
    case ArgumentKind::kLocalMemory: return fmt::format("{} argument {} (local memory size)", label, slot.index);
    default: return fmt::format("{} argument {} ({}-byte value)", label, slot.index, argument.size);
  }
}

const char* place_of(const BufferInfo& buffer) noexcept {
  if (buffer.address == 0 || buffer.description.empty()) {
    return "buffer";
  }
  switch (static_cast<MemoryPlace>(buffer.description[0])) {
    case MemoryPlace::kDevice: return "device memory";
    case MemoryPlace::kHost: return "pinned host memory";
    case MemoryPlace::kManaged: return "managed memory";
  }
  return "memory";
}

FindingText text_of(const Capture& capture, const Analysis& analysis, const Finding& finding) {
  if (!finding.graph) {
    FindingText told = finding.text;
    if (told.advice.empty()) {
      told.advice = general_advice(finding);
    }
    return told;
  }
  const StoredGraph& stored = capture.graphs[*finding.graph];
  const GraphUse& use = analysis.graphs[*finding.graph];
  const Graph graph = stored.graph();
  FindingText text;
  text.what = graph_text(capture, graph, *finding.graph, use);
  text.advice = general_advice(finding);
  std::uint64_t splitting = 0;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    const OperationView operation = graph.operation(node);
    splitting += why_not_recordable(capture, graph, node) != nullptr && !operation.has(kBlocking) ? 1 : 0;
  }
  if (splitting != 0) {
    text.details.push_back(
        fmt::format("in parts: {} of its {} operations cannot be part of a command buffer", splitting, graph.size()));
  }
  if (use.arguments == Arguments::kChanging) {
    const std::vector<std::string> changes = changes_text(capture, stored, graph);
    text.details.insert(text.details.end(), changes.begin(), changes.end());
    if (changes.empty()) {
      text.details.emplace_back("which arguments change is not known: the capture was cut short");
    }
  } else if (use.arguments == Arguments::kInTurn) {
    text.details.push_back(
        fmt::format("{} argument sets that come again (REFRAIN_VARIANTS says how many are kept)", use.sets_used));
  } else {
    text.details.push_back("repeats exactly " + times(use.runs));
  }
  return text;
}

std::string verdict_of(const Capture& capture, const Analysis& analysis) {
  if (analysis.submissions == 0) {
    return "nothing was submitted";
  }
  std::string text = fmt::format("{} of {} submissions repeat in a way that can be graphed",
                                 percent(analysis.graphable_share), grouped(analysis.submissions));
  const bool native = std::ranges::any_of(capture.devices, [](const auto& device) { return !device.native.empty(); });
  if (!capture.devices.empty() && !native) {
    text += ", but no device of this capture has command buffers";
  }
  const auto most = std::ranges::max_element(analysis.obstacles, {}, &Finding::submissions);
  if (most != analysis.obstacles.end()) {
    const std::string kind = most->graph ? std::string(name_of(most->kind)) + ": " : std::string();
    text += fmt::format("; most of the rest ({}): {}{}", percent(most->share), kind,
                        text_of(capture, analysis, *most).what);
  }
  return text;
}

namespace {

/// One end of a copy, for labels; null if it is not known.
const char* place_of(const Capture& capture, const ArgumentDescriptor& argument) {
  if (argument.kind == ArgumentKind::kHostPointer) {
    return "pageable host";
  }
  const auto found = capture.buffers.find(argument.object);
  if (found == capture.buffers.end() || found->second.address == 0 || found->second.description.empty()) {
    return nullptr;
  }
  switch (static_cast<MemoryPlace>(found->second.description[0])) {
    case MemoryPlace::kDevice: return "device";
    case MemoryPlace::kHost: return "host";
    case MemoryPlace::kManaged: return "managed";
  }
  return nullptr;
}

}  // namespace

std::string label_of(const Capture& capture, const OperationView& operation) {
  if (operation.kind() == OperationKind::kKernel) {
    const auto name = capture.function_name(operation.header().function);
    return name.empty() ? fmt::format("kernel {:016x}", operation.header().function)
                        : env::shortened(env::short_name(name), kMaxLabel);
  }
  if (operation.kind() == OperationKind::kPointerCopy && operation.arguments().size() == 2) {
    const char* to = place_of(capture, operation.arguments()[0]);
    const char* from = place_of(capture, operation.arguments()[1]);
    if (to != nullptr && from != nullptr) {
      return fmt::format("copy {} to {}", from, to);
    }
  }
  return std::string(name_of(operation.kind()));
}

std::string label_of(const Capture& capture, const Graph& graph) {
  constexpr std::size_t kShown = 4;
  std::vector<std::pair<std::string, std::size_t>> parts;
  std::unordered_map<std::string, std::size_t> numbers;
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    std::string label = label_of(capture, graph.operation(node));
    const auto [known, is_new] = numbers.try_emplace(label, parts.size());
    if (is_new) {
      parts.emplace_back(std::move(label), 1);
    } else {
      ++parts[known->second].second;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, parts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + parts[i].first;
    if (parts[i].second > 1) {
      text += " x" + std::to_string(parts[i].second);
    }
  }
  return parts.size() > kShown ? text + fmt::format(" and {} more", parts.size() - kShown) : text;
}

namespace {
/// What a value is as a float, where that is likelier than an integer: its exponent is one that people calculate with.
/// (Integers that small are no such floats, and of large ones few are.)
template <class Float>
std::optional<double> as_float(std::span<const std::byte> bytes) {
  Float value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  const double size = std::abs(static_cast<double>(value));
  return value == 0 || (size > 1e-12 && size < 1e12) ? std::optional<double>(value) : std::nullopt;
}

/// "changes: 0.98, 0.953, 0.921 … (as floats)", of those that are stored; empty: it is no float.
std::string floats_of(const StoredGraph& stored, const SlotStatistic& slot) {
  constexpr std::uint32_t kShown = 3;
  std::string text;
  bool any = false;
  for (std::uint32_t set = 0; set < std::min(stored.argument_sets(), kShown); ++set) {
    const Graph graph = stored.materialise(set);
    const OperationView operation = graph.operation(slot.node);
    const auto bytes = operation.value_of(slot.index);
    if (operation.arguments()[slot.index].kind != ArgumentKind::kValue || (bytes.size() != 4 && bytes.size() != 8)) {
      return {};
    }
    const std::optional<double> value = bytes.size() == 4 ? as_float<float>(bytes) : as_float<double>(bytes);
    if (!value) {
      return {};
    }
    any = any || *value != 0;
    text += fmt::format("{}{:.3g}", set == 0 ? "changes: " : ", ", *value);
  }
  return any ? text + " … (as floats)" : std::string();
}
}  // namespace

std::string describe(const Capture& capture, const StoredGraph& stored, const Graph& graph, const SlotStatistic& slot) {
  if (slot.kind == format::SlotKind::kQueue) {
    return slot.distinct == 0 ? "another queue nearly every time" : fmt::format("{} queues in turn", slot.distinct);
  }
  bool address = false;
  if (slot.kind == format::SlotKind::kArgument) {
    const ArgumentKind kind = graph.operation(slot.node).arguments()[slot.index].kind;
    address = kind == ArgumentKind::kPointer || kind == ArgumentKind::kHostPointer;
  }
  std::string how;
  if (slot.numeric && slot.min_delta == slot.max_delta) {
    how = fmt::format("{:+} each time", slot.min_delta);
  } else if (slot.distinct != 0) {
    how = fmt::format("{} different ones in turn", slot.distinct);
  } else if (slot.numeric && slot.kind == format::SlotKind::kWord) {
    how = fmt::format("changes by {:+} to {:+}", slot.min_delta, slot.max_delta);
  } else if (slot.numeric && !address) {
    const std::string floats = floats_of(stored, slot);
    how = floats.empty() ? fmt::format("changes by {:+} to {:+} (as an integer)", slot.min_delta, slot.max_delta)
                         : floats;
  } else {
    how = "a different one nearly every time";
  }
  if (stored.occurrences > 1 && slot.changes + 1 < stored.occurrences) {
    how += fmt::format(", in {} of {} occurrences", grouped(slot.changes), grouped(stored.occurrences));
  }
  return subject_of(capture, graph, slot) + ": " + how;
}

const char* name_of(Arguments arguments) noexcept {
  switch (arguments) {
    case Arguments::kOnce: return "once";
    case Arguments::kExact: return "exact";
    case Arguments::kInTurn: return "in turn";
    case Arguments::kChanging: return "changing";
  }
  return "unknown";
}

const char* name_of(Finding::Kind kind) noexcept {
  switch (kind) {
    case Finding::Kind::kGraphable: return "can be graphed";
    case Finding::Kind::kChanging: return "arguments change";
    case Finding::Kind::kUnrecordable: return "not recordable";
    case Finding::Kind::kTooShort: return "too short";
    case Finding::Kind::kNotRepeated: return "not repeated";
    case Finding::Kind::kFirstTimes: return "first times";
  }
  return "unknown";
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3; place -= 3) {
    text.insert(place - 3, " ");
  }
  return text;
}

std::string duration(double nanoseconds) {
  if (nanoseconds < 1e3) {
    return fmt::format("{:.0f} ns", nanoseconds);
  }
  if (nanoseconds < 1e6) {
    return fmt::format("{:.1f} us", nanoseconds / 1e3);
  }
  if (nanoseconds < 1e9) {
    return fmt::format("{:.1f} ms", nanoseconds / 1e6);
  }
  return fmt::format("{:.1f} s", nanoseconds / 1e9);
}

std::string size_text(std::uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace refrain::capture
