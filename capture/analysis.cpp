#include "capture/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "env/region_sums.h"
#include "env/settings.h"

namespace refrain::capture {
namespace {

// An argument set must have come this often on average for its graph to be worth a variant of its own.
constexpr std::uint64_t kTurns = 3;

/// A copy.
bool names_pageable_memory(const OperationView& operation) {
  return (operation.kind() == OperationKind::kPointerCopy || operation.kind() == OperationKind::kPointerCopyRect) &&
         std::ranges::any_of(operation.arguments(),
                             [](const auto& argument) { return argument.kind == ArgumentKind::kHostPointer; });
}

Arguments behaviour(const GraphUse& use, bool some_not_stored) {
  if (use.runs <= 1) {
    return Arguments::kOnce;
  }
  if (some_not_stored || use.runs < kTurns * use.sets_used) {
    return use.sets_used <= 1 && !some_not_stored ? Arguments::kExact : Arguments::kChanging;
  }
  return use.sets_used <= 1 ? Arguments::kExact : Arguments::kInTurn;
}

/// Sums up what the graphs have in common.
class Collector {
 public:
  Collector(const Capture& capture, Analysis& result) : capture_(capture), result_(result) {}

  /// The graphs in order, each once.
  void look_at(std::uint32_t number, const Graph& graph) {
    const GraphUse& use = result_.graphs[number];
    const auto add = [&](Sum& sum, std::uint64_t submissions, bool waits = false) {
      sum.runs += use.runs;
      sum.submissions += submissions;
      sum.host_ns += waits ? 0 : part(use.host_ns, std::min(submissions, use.timed), use.timed);
      sum.weight_ns += part(use.host_ns, submissions, use.timed);
      note(sum, number);
    };
    Finding::Kind& kind = result_.kinds[number];
    if (use.replayed == 0 && use.arguments == Arguments::kOnce) {
      kind = Finding::Kind::kNotRepeated;
      add(unique_, use.submissions);
      return;
    }
    // What cannot be recorded is told by kind; the rest of the stretch on its own.
    std::map<Unrecordable, std::uint64_t> unrecordable;
    std::uint32_t work = 0;  // a flush is recorded, but gains nothing
    std::uint32_t in_part = 0, longest_part = 0;
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      const OperationView operation = graph.operation(node);
      if (const char* why = why_not_recordable(capture_, graph, node); why != nullptr) {
        const bool blocks = operation.has(kBlocking);
        const Unrecordable key{operation.kind(), blocks, blocks ? "" : why, advice_for(operation)};
        ++unrecordable[key];
        if (operation.kind() == OperationKind::kKernel) {
          note(unrecordable_[key], label_of(capture_, operation));
        }
        in_part = 0;
      } else if (operation.kind() != OperationKind::kFlush) {
        ++work;
        longest_part = std::max(longest_part, ++in_part);
        in_part = operation.has(kEndsHold) ? 0 : in_part;
      }
    }
    for (const auto& [operation, nodes] : unrecordable) {
      add(unrecordable_[operation], nodes * use.runs, operation.blocking);
    }
    if (use.replayed != 0) {
      result_.graphable.push_back(about(number, Finding::Kind::kGraphable, use.replayed));
    }
    const std::uint64_t left = std::uint64_t{use.recordable} * use.runs - use.replayed;
    const bool changing = use.arguments == Arguments::kChanging && !can_update(capture_);
    const bool short_parts = use.replayed == 0 && longest_part < shortest_;
    kind = use.replayed != 0                 ? Finding::Kind::kGraphable
           : use.recordable == 0             ? Finding::Kind::kUnrecordable
           : work < shortest_ || short_parts ? Finding::Kind::kTooShort
           : changing                        ? Finding::Kind::kChanging
                                             : Finding::Kind::kFirstTimes;
    if (left == 0) {
      return;
    }
    if (work < shortest_) {
      for (const auto& [call, runs] : use.ended_by) {
        Sum& sum = short_[call];
        sum.runs += runs;
        sum.submissions += part(left, runs, use.runs);
        const std::uint64_t host_ns = part(part(use.host_ns, left, use.timed), runs, use.runs);
        sum.host_ns += host_ns;
        sum.weight_ns += host_ns;
        note(sum, number);
      }
    } else if (short_parts) {
      add(short_parts_, left);
    } else if (changing) {
      result_.obstacles.push_back(about(number, Finding::Kind::kChanging, left));
    } else {
      add(first_, left);
    }
  }

  void finish() {
    add_unrecordable();
    add_short();
    add_unique();
    add_first();
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
      return timed ? std::tie(a.weight_ns, a.submissions) > std::tie(b.weight_ns, b.submissions)
                   : a.submissions > b.submissions;
    };
    std::stable_sort(result_.graphable.begin(), result_.graphable.end(), more);
    std::stable_sort(result_.obstacles.begin(), result_.obstacles.end(), more);
  }

 private:
  static constexpr std::size_t kListed = 8;
  static constexpr std::size_t kKernels = 3;
  struct Unrecordable {
    OperationKind kind;
    bool blocking;
    std::string_view why;  // of what does not block
    std::string_view advice;
    auto operator<=>(const Unrecordable&) const = default;  // NOLINT(modernize-use-nullptr): none is there
  };
  struct Sum {
    std::uint64_t runs = 0, submissions = 0, host_ns = 0, weight_ns = 0;
    std::vector<std::uint32_t> graphs;  // the first ones
    std::uint64_t graph_count = 0;
    std::vector<std::string> kernels;  // of what is not recorded: the first ones
  };

  static std::uint64_t part(std::uint64_t whole, std::uint64_t share, std::uint64_t of) {
    return of == 0 ? 0 : static_cast<std::uint64_t>(static_cast<__uint128_t>(whole) * share / of);
  }

  [[nodiscard]] Finding about(std::uint32_t graph, Finding::Kind kind, std::uint64_t submissions) const {
    const GraphUse& use = result_.graphs[graph];
    Finding finding;
    finding.kind = kind;
    finding.graph = graph;
    finding.submissions = submissions;
    finding.host_ns = finding.weight_ns = part(use.host_ns, submissions, use.timed);
    return finding;
  }

  static void note(Sum& sum, std::uint32_t graph) {
    ++sum.graph_count;
    if (sum.graphs.size() < kListed) {
      sum.graphs.push_back(graph);
    }
  }

  static void note(Sum& sum, const std::string& kernel) {
    if (sum.kernels.size() <= kKernels && std::ranges::find(sum.kernels, kernel) == sum.kernels.end()) {
      sum.kernels.push_back(kernel);
    }
  }

  /// "kernel stencil, axpy", "event record"
  static std::string name_of(OperationKind kind, const Sum& sum) {
    std::string text(capture::name_of(kind));
    for (std::size_t i = 0; i < std::min(sum.kernels.size(), kKernels); ++i) {
      text += (i == 0 ? " " : ", ") + sum.kernels[i];
    }
    return sum.kernels.size() > kKernels ? text + " …" : text;
  }

  static std::string list_of(const Sum& sum) {
    std::string text = sum.graph_count == 1 ? "graph " : "graphs ";
    for (std::size_t i = 0; i < sum.graphs.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(sum.graphs[i]);
    }
    return sum.graph_count > kListed ? text + fmt::format(" … ({} in all)", sum.graph_count) : text;
  }

  void obstacle(Finding::Kind kind, std::string what, std::vector<std::string> details, const Sum& sum,
                std::string advice = {}) {
    Finding finding;
    finding.kind = kind;
    finding.text = {std::move(what), std::move(details), std::move(advice)};
    finding.submissions = sum.submissions;
    finding.host_ns = sum.host_ns;
    finding.weight_ns = sum.weight_ns;
    result_.obstacles.push_back(std::move(finding));
  }

  void add_unrecordable() {
    for (const auto& [operation, sum] : unrecordable_) {
      obstacle(Finding::Kind::kUnrecordable,
               operation.blocking
                   ? fmt::format("blocking {}: the program waits for it; what follows is another stretch",
                                 name_of(operation.kind, sum))
                   : fmt::format("{}: {}; it splits its stretch", name_of(operation.kind, sum), operation.why),
               {fmt::format("{} in {}", times(sum.submissions), list_of(sum))}, sum, std::string(operation.advice));
    }
  }

  static const char* advice_for(const OperationView& operation) noexcept {
    if (operation.has(kBlocking)) {
      return "use the form that does not wait, and wait as late as possible";
    }
    return names_pageable_memory(operation) ? "copy from and to pinned memory"
                                            : "move it out of what repeats, or to its beginning or end";
  }

  void add_short() {
    for (const auto& [call, sum] : short_) {
      const double mean =
          static_cast<double>(sum.submissions) / static_cast<double>(std::max<std::uint64_t>(1, sum.runs));
      obstacle(Finding::Kind::kTooShort,
               fmt::format("too short to pay: {:.1f} submissions on average before {}", mean, capture_.ended_by(call)),
               {fmt::format("{} cuts {}, in {}", capture_.ended_by(call), times(sum.runs), list_of(sum))}, sum);
    }
    if (short_parts_.submissions != 0) {
      obstacle(
          Finding::Kind::kTooShort,
          fmt::format("too short to pay: fewer than {} submissions at a time between those that split their stretch",
                      shortest_),
          {list_of(short_parts_)}, short_parts_, "move what splits them out of what repeats, or bring it together");
    }
  }

  void add_unique() {
    if (unique_.runs != 0) {
      obstacle(Finding::Kind::kNotRepeated,
               unique_.runs == 1
                   ? std::string("not repeated: 1 stretch of submissions that occurs once")
                   : fmt::format("not repeated: {} stretches of submissions that occur once", grouped(unique_.runs)),
               {list_of(unique_)}, unique_);
    }
  }

  void add_first() {
    if (first_.submissions != 0) {
      obstacle(Finding::Kind::kFirstTimes,
               "the first times of what repeats: it is known, and a graph of it made, by then", {list_of(first_)},
               first_,
               "where a run is so short that this is much of it, keep what it learnt: refrain run --profile FILE");
    }
  }

  const Capture& capture_;
  Analysis& result_;
  const std::uint32_t shortest_ = static_cast<std::uint32_t>(env::Settings().min_graph);  ///< that a replay takes
  std::map<Unrecordable, Sum> unrecordable_;
  std::map<std::uint32_t, Sum> short_;  ///< by what ended the stretches
  Sum short_parts_;
  Sum unique_;
  Sum first_;
};

/// What an operation says of itself: for captures that tell no reasons.
const char* why_not_by_kind(const OperationView& operation, const QueueInfo& queue) noexcept {
  constexpr const char* kNoCommand = "command buffers have no such command";
  if (operation.has(kBlocking)) {
    return "the call blocks";
  }
  if (operation.has(kWantsEvent) && queue.profiling) {
    return "its event is profiled";
  }
  if (operation.has(kWaitsForQueue) && !queue.in_order) {
    return "it waits for everything in an out-of-order queue";
  }
  switch (operation.kind()) {
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerCopyRect:
      return names_pageable_memory(operation) ? "it names pageable host memory, which must not be read late" : nullptr;
    case OperationKind::kEventRecord: return takes_time(operation) ? "the event is made for measuring times" : nullptr;
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
    case OperationKind::kMigrate:
    case OperationKind::kPointerMigrate:
    case OperationKind::kEventWait: return nullptr;
    case OperationKind::kHostFunction:  // of CUDA or HIP, where it is named by two addresses
      return operation.arguments().size() == 2 && operation.arguments()[0].kind == ArgumentKind::kHostPointer
                 ? nullptr
                 : kNoCommand;
    default: return kNoCommand;
  }
}

}  // namespace

const char* why_not_recordable(const Capture& capture, const OperationView& operation,
                               const QueueInfo& queue) noexcept {
  if (operation.has(kRecordable)) {
    return nullptr;
  }
  if (const auto told = capture.reasons.find(operation.header().reason); told != capture.reasons.end()) {
    return told->second.text.c_str();
  }
  const char* why = why_not_by_kind(operation, queue);
  return why == nullptr && operation.has(kAtOnce) ? "it is never held: a report (refrain run --mode observe) says why"
                                                  : why;
}

bool is_cuda(const Capture& capture) noexcept {
  return std::ranges::any_of(capture.devices, [](const DeviceInfo& device) { return device.api == "cuda"; });
}

bool can_update(const Capture& capture) noexcept {
  return std::ranges::any_of(capture.devices, &DeviceInfo::updates);
}

Analysis analyse(const Capture& capture, const Forecast& forecast) {
  static_assert(format::kMaxArgumentSets == 64, "one bit for each");
  constexpr std::uint64_t kBytesPerEnd = 64;  // of a map's node
  Analysis result;
  result.graphs.resize(capture.graphs.size());
  result.kinds.resize(capture.graphs.size());
  std::vector<std::uint64_t> sets(capture.graphs.size());
  std::vector<bool> not_stored(capture.graphs.size());
  bool any = false;
  for (const LaneHistory& lane : capture.lanes) {
    for_each_leaf(lane, [&](const HistoryItem& item) {
      GraphUse& use = result.graphs[item.graph];
      use.runs += item.total;
      use.host_ns += item.host_ns;
      use.span_ns += item.span_ns;
      const auto [end, is_new] = use.ended_by.try_emplace(item.ended_by, 0);
      capture.charge(is_new ? kBytesPerEnd : 0);
      end->second += item.total;
      if (item.set == format::kSetNotStored) {
        not_stored[item.graph] = true;
      } else {
        sets[item.graph] |= std::uint64_t{1} << item.set;
      }
      result.first_ns = any ? std::min(result.first_ns, item.first_ns) : item.first_ns;
      result.last_ns = std::max(result.last_ns, item.last_ns);
      any = true;
    });
  }
  const std::vector<std::uint64_t> replayed = forecast(capture);
  Collector collector(capture, result);
  for (std::uint32_t i = 0; i < capture.graphs.size(); ++i) {
    GraphUse& use = result.graphs[i];
    use.submissions = use.runs * capture.graphs[i].size();
    use.sets_used = static_cast<std::uint64_t>(std::popcount(sets[i])) + (not_stored[i] ? 1 : 0);
    use.arguments = behaviour(use, not_stored[i]);
    result.submissions += use.submissions;
    result.stretches += use.runs;
    result.host_ns += use.host_ns;
    const Graph graph = capture.graphs[i].graph();
    for (NodeIndex node = 0; node < graph.size(); ++node) {
      use.timed += graph.operation(node).has(kBlocking) ? 0 : use.runs;
      use.recordable += why_not_recordable(capture, graph, node) == nullptr ? 1 : 0;
    }
    use.replayed = std::min(replayed[i], use.recordable * use.runs);
    if (use.runs != 0) {
      collector.look_at(i, graph);
    }
  }
  collector.finish();
  return result;
}

std::vector<GraphVerdict> verdicts_of(const Analysis& analysis) {
  std::vector<GraphVerdict> verdicts(analysis.graphs.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    verdicts[i].kind = analysis.kinds[i];
  }
  for (const Finding& finding : analysis.graphable) {
    verdicts[*finding.graph].gain_ns = finding.host_ns;
  }
  return verdicts;
}

std::vector<RegionSum> region_sums(const Capture& capture) {
  std::vector<RegionSum> result;
  for (const RegionUse& region : capture.regions) {
    RegionSum& own = result.emplace_back();
    own.id = region.id;
    own.parent = region.parent;
    own.name = region.name;
    for (const auto& [graph, times] : region.graphs) {
      own.stretches += times;
      own.submissions += times * capture.graphs[graph].size();
    }
  }
  env::add_up(result);
  return result;
}

}  // namespace refrain::capture
