#include "capture/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace refrain::capture {
namespace {

// An argument set must have come this often on average for its graph to be worth a variant of its own.
constexpr std::uint64_t kTurns = 3;

Arguments behaviour(const GraphUse& use, bool some_not_stored) {
  if (use.runs <= 1) {
    return Arguments::kOnce;
  }
  if (some_not_stored || use.runs < kTurns * use.sets_used) {
    return use.sets_used <= 1 && !some_not_stored ? Arguments::kExact : Arguments::kChanging;
  }
  return use.sets_used <= 1 ? Arguments::kExact : Arguments::kInTurn;
}

std::string times(std::uint64_t count) {
  return count == 1 ? "once" : grouped(count) + " times";
}

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

std::string graph_text(const Capture& capture, std::size_t number, const GraphUse& use) {
  const Graph& graph = capture.graphs[number].graph();
  return fmt::format("graph {}: {} of {} ({}), up to {}", number, times(use.runs), submissions_text(graph.size()),
                     label_of(capture, graph), ended_by_text(capture, use.ended_by));
}

class Collector {
 public:
  Collector(const Capture& capture, Analysis& result) : capture_(capture), result_(result) {}

  void run() {
    for (std::size_t i = 0; i < capture_.graphs.size(); ++i) {
      if (result_.graphs[i].runs != 0) {
        look_at(i);
      }
    }
    add_unrecordable();
    add_short();
    add_unique();
    const auto share = [&](Finding& finding) {
      finding.share = result_.submissions == 0
                          ? 0
                          : static_cast<double>(finding.submissions) / static_cast<double>(result_.submissions);
    };
    for (Finding& finding : result_.graphable) {
      share(finding);
      result_.graphable_share += finding.share;
    }
    std::for_each(result_.obstacles.begin(), result_.obstacles.end(), share);
    // Time in driver calls is what replay saves; where it was not measured, submissions stand for it.
    const bool timed = result_.host_ns != 0;
    const auto more = [timed](const Finding& a, const Finding& b) {
      return timed ? std::tie(a.host_ns, a.submissions) > std::tie(b.host_ns, b.submissions)
                   : a.submissions > b.submissions;
    };
    std::stable_sort(result_.graphable.begin(), result_.graphable.end(), more);
    std::stable_sort(result_.obstacles.begin(), result_.obstacles.end(), more);
  }

 private:
  struct Unrecordable {
    OperationKind kind;
    bool blocking;
    std::string_view why;
    auto operator<=>(const Unrecordable&) const = default;  // NOLINT(modernize-use-nullptr): none is there
  };
  struct Sum {
    std::uint64_t runs = 0, submissions = 0, host_ns = 0;
    std::set<std::size_t> graphs;
  };

  static std::uint64_t part(std::uint64_t whole, std::uint64_t nodes, std::uint64_t of) {
    return of == 0 ? 0 : static_cast<std::uint64_t>(static_cast<__uint128_t>(whole) * nodes / of);
  }

  void look_at(std::size_t number) {
    const GraphUse& use = result_.graphs[number];
    const Graph& graph = capture_.graphs[number].graph();
    const auto add = [&](Sum& sum, std::uint64_t nodes) {
      sum.runs += use.runs;
      sum.submissions += nodes * use.runs;
      sum.host_ns += part(use.host_ns, nodes, graph.size());
      sum.graphs.insert(number);
    };
    if (use.arguments == Arguments::kOnce) {
      add(unique_, graph.size());
      return;
    }
    // What cannot be recorded is told by kind; the rest of the stretch on its own.
    std::map<Unrecordable, std::uint64_t> unrecordable;
    std::uint32_t work = 0;  // a flush is recorded, but gains nothing
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      const OperationView operation = graph.operation(node);
      if (const char* why = why_not_recordable(operation); why != nullptr) {
        ++unrecordable[{operation.kind(), operation.has(kBlocking), why}];
      } else if (operation.kind() != OperationKind::kFlush) {
        ++work;
      }
    }
    std::uint64_t splitting = 0;
    for (const auto& [operation, nodes] : unrecordable) {
      add(unrecordable_[operation], nodes);
      splitting += operation.blocking ? 0 : nodes;
    }
    if (use.recordable == 0) {
      return;
    }
    if (work < kShortStretch) {
      for (const auto& [call, runs] : use.ended_by) {
        Sum& sum = short_[call];
        sum.runs += runs;
        sum.submissions += use.recordable * runs;
        sum.host_ns += part(part(use.host_ns, use.recordable, graph.size()), runs, use.runs);
        sum.graphs.insert(number);
      }
      return;
    }
    Finding finding;
    finding.submissions = std::uint64_t{use.recordable} * use.runs;
    finding.host_ns = part(use.host_ns, use.recordable, graph.size());
    finding.what = graph_text(capture_, number, use);
    if (splitting != 0) {
      finding.details.push_back(
          fmt::format("in parts: {} of its {} operations cannot be part of a command buffer", splitting, graph.size()));
    }
    if (use.arguments == Arguments::kChanging) {
      finding.kind = Finding::Kind::kChanging;
      tell_changes(capture_.graphs[number], finding);
      result_.obstacles.push_back(std::move(finding));
      return;
    }
    if (use.arguments == Arguments::kInTurn) {
      finding.details.push_back(
          fmt::format("{} argument sets that come again (REFRAIN_VARIANTS says how many are kept)", use.sets_used));
    } else {
      finding.details.push_back("repeats exactly " + times(use.runs));
    }
    result_.graphable.push_back(std::move(finding));
  }

  void tell_changes(const StoredGraph& graph, Finding& finding) const {
    // The same argument of the same kernel is one line, however many nodes it is in.
    struct Line {
      SlotStatistic slot;
      std::uint64_t nodes = 1;
    };
    std::vector<Line> lines;
    std::map<std::string, std::size_t> known;
    for (const SlotStatistic& slot : graph.statistics) {
      const auto [place, is_new] = known.try_emplace(subject_of(capture_, graph, slot), lines.size());
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
      finding.details.push_back(describe(capture_, graph, lines[i].slot) +
                                (lines[i].nodes > 1 ? fmt::format(" ({} nodes)", lines[i].nodes) : ""));
    }
    if (lines.size() > kShown) {
      finding.details.push_back(fmt::format("and {} more; see --graph {}", lines.size() - kShown, graph.id()));
    } else if (lines.empty()) {
      finding.details.emplace_back("which arguments change is not known: the capture was cut short");
    }
  }

  static std::string list_of(const std::set<std::size_t>& graphs) {
    std::string text = graphs.size() == 1 ? "graph " : "graphs ";
    std::size_t shown = 0;
    for (const std::size_t number : graphs) {
      if (shown == 8) {
        return text + fmt::format(" … ({} in all)", graphs.size());
      }
      text += (shown++ == 0 ? "" : ", ") + std::to_string(number);
    }
    return text;
  }

  void obstacle(Finding::Kind kind, std::string what, std::vector<std::string> details, const Sum& sum) {
    Finding finding;
    finding.kind = kind;
    finding.what = std::move(what);
    finding.details = std::move(details);
    finding.submissions = sum.submissions;
    finding.host_ns = sum.host_ns;
    result_.obstacles.push_back(std::move(finding));
  }

  void add_unrecordable() {
    for (const auto& [operation, sum] : unrecordable_) {
      obstacle(Finding::Kind::kUnrecordable,
               operation.blocking
                   ? fmt::format("blocking {}: the program waits for it; what follows is another stretch",
                                 name_of(operation.kind))
                   : fmt::format("{}: {}; it splits its stretch", name_of(operation.kind), operation.why),
               {fmt::format("{} in {}", times(sum.submissions), list_of(sum.graphs))}, sum);
    }
  }

  void add_short() {
    for (const auto& [call, sum] : short_) {
      const double mean =
          static_cast<double>(sum.submissions) / static_cast<double>(std::max<std::uint64_t>(1, sum.runs));
      obstacle(Finding::Kind::kTooShort,
               fmt::format("too short to pay: {:.1f} submissions on average before {}", mean, capture_.ended_by(call)),
               {fmt::format("{} cuts {}, in {}", capture_.ended_by(call), times(sum.runs), list_of(sum.graphs))}, sum);
    }
  }

  void add_unique() {
    if (unique_.runs != 0) {
      obstacle(Finding::Kind::kNotRepeated,
               unique_.runs == 1
                   ? std::string("not repeated: 1 stretch of submissions that occurs once")
                   : fmt::format("not repeated: {} stretches of submissions that occur once", grouped(unique_.runs)),
               {list_of(unique_.graphs)}, unique_);
    }
  }

  const Capture& capture_;
  Analysis& result_;
  std::map<Unrecordable, Sum> unrecordable_;
  std::map<std::uint32_t, Sum> short_;
  Sum unique_;
};

}  // namespace

std::string subject_of(const Capture& capture, const StoredGraph& graph, const SlotStatistic& slot) {
  if (slot.kind == format::SlotKind::kQueue) {
    return fmt::format("queue {}", slot.index);
  }
  const OperationView operation = graph.graph().operation(slot.node);
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

const char* why_not_recordable(const OperationView& operation) noexcept {
  switch (operation.kind()) {
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerCopyRect:
      return std::ranges::any_of(operation.arguments(),
                                 [](const auto& argument) { return argument.kind == ArgumentKind::kHostPointer; })
                 ? "it names pageable host memory, which must not be read late"
                 : nullptr;
    case OperationKind::kEventRecord:
      return !operation.words().empty() && operation.words()[0] != 0 ? "the event is made for measuring times"
                                                                     : nullptr;
    case OperationKind::kKernel:
    case OperationKind::kCopyBuffer:
    case OperationKind::kCopyBufferRect:
    case OperationKind::kFillBuffer:
    case OperationKind::kCopyImage:
    case OperationKind::kFillImage:
    case OperationKind::kCopyBufferToImage:
    case OperationKind::kCopyImageToBuffer:
    case OperationKind::kPointerFill:
    case OperationKind::kPointerFillRect:
    case OperationKind::kMarker:
    case OperationKind::kBarrier:
    case OperationKind::kFlush:
    case OperationKind::kEventWait: return nullptr;
    default: return "command buffers have no such command";
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

bool is_cuda(const Capture& capture) noexcept {
  return std::ranges::any_of(capture.devices, [](const DeviceInfo& device) { return device.api == "cuda"; });
}

Analysis analyse(const Capture& capture) {
  Analysis result;
  result.graphs.resize(capture.graphs.size());
  std::vector<std::set<std::uint32_t>> sets(capture.graphs.size());
  bool any = false;
  for (const LaneHistory& lane : capture.lanes) {
    for_each_leaf(lane, [&](const HistoryItem& item) {
      GraphUse& use = result.graphs[item.graph];
      use.runs += item.total;
      use.host_ns += item.host_ns;
      use.span_ns += item.span_ns;
      use.ended_by[item.ended_by] += item.total;
      sets[item.graph].insert(item.set);
      result.first_ns = any ? std::min(result.first_ns, item.first_ns) : item.first_ns;
      result.last_ns = std::max(result.last_ns, item.last_ns);
      any = true;
    });
  }
  for (std::size_t i = 0; i < capture.graphs.size(); ++i) {
    GraphUse& use = result.graphs[i];
    const Graph& graph = capture.graphs[i].graph();
    use.submissions = use.runs * graph.size();
    use.sets_used = sets[i].size();
    use.arguments = behaviour(use, sets[i].contains(format::kSetNotStored));
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      use.recordable += why_not_recordable(graph.operation(node)) == nullptr ? 1 : 0;
    }
    result.submissions += use.submissions;
    result.stretches += use.runs;
    result.host_ns += use.host_ns;
  }
  Collector(capture, result).run();
  return result;
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
    return name.empty() ? fmt::format("kernel {:016x}", operation.header().function) : std::string(name);
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
  for (NodeIndex node = 0; node < graph.size(); ++node) {
    std::string label = label_of(capture, graph.operation(node));
    const auto known = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == label; });
    if (known != parts.end()) {
      ++known->second;
    } else {
      parts.emplace_back(std::move(label), 1);
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

std::string describe(const Capture& capture, const StoredGraph& graph, const SlotStatistic& slot) {
  if (slot.kind == format::SlotKind::kQueue) {
    return slot.distinct == 0 ? "another queue nearly every time" : fmt::format("{} queues in turn", slot.distinct);
  }
  bool address = false;
  if (slot.kind == format::SlotKind::kArgument) {
    const ArgumentKind kind = graph.graph().operation(slot.node).arguments()[slot.index].kind;
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
    how = fmt::format("changes by {:+} to {:+} (as an integer)", slot.min_delta, slot.max_delta);
  } else {
    how = "a different one nearly every time";
  }
  if (graph.occurrences > 1 && slot.changes + 1 < graph.occurrences) {
    how += fmt::format(", in {} of {} occurrences", grouped(slot.changes), grouped(graph.occurrences));
  }
  return subject_of(capture, graph, slot) + ": " + how;
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
