// What a capture means: how often each graph ran, whether it could be replayed, and what keeps it from it.
// The common ground of `refrain dump`'s summary, explanation and JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/model.h"

namespace refrain::capture {

/// How the arguments of a graph behave over its occurrences.
enum class Arguments : std::uint8_t {
  kOnce,      ///< it occurred once
  kExact,     ///< always the same
  kInTurn,    ///< a few sets that come again and again
  kChanging,  ///< mostly new ones
};

/// "exact", "in turn" …
const char* name_of(Arguments arguments) noexcept;

struct GraphUse {
  std::uint64_t runs = 0;
  std::uint64_t submissions = 0;  ///< nodes times runs
  std::uint64_t host_ns = 0;      ///< in driver calls that do not wait; 0 if not measured
  std::uint64_t timed = 0;        ///< submissions of which that is the sum: all but those that wait
  std::uint64_t span_ns = 0;
  std::uint64_t sets_used = 0;  ///< different argument sets seen in the history
  Arguments arguments = Arguments::kOnce;
  std::uint32_t recordable = 0;                     ///< nodes that may be held back and be part of a command buffer
  std::uint64_t replayed = 0;                       ///< submissions that would be, says the forecast
  std::map<std::uint32_t, std::uint64_t> ended_by;  ///< runs by what ended them
};

/// What is told about a finding.
struct FindingText {
  std::string what;                  ///< a line: the stretches it is about
  std::vector<std::string> details;  ///< lines: which argument, which host call …
  std::string advice;                ///< a sentence: what its author can do; empty: nothing, or nothing is to be done
};

/// One answer to "why is this not replayed?", or (`graphable`) what could be.
struct Finding {
  enum class Kind : std::uint8_t { kGraphable, kChanging, kUnrecordable, kTooShort, kNotRepeated, kFirstTimes };
  Kind kind = Kind::kGraphable;
  std::optional<std::uint32_t> graph;  ///< the only one it is about: its text is made when it is shown
  FindingText text;                    ///< of the others
  std::uint64_t submissions = 0;
  /// Its part of what was measured of the stretches; 0: not measured, as with calls that wait.
  std::uint64_t host_ns = 0;
  std::uint64_t weight_ns =
      0;             ///< by which findings are ordered: the same, or what as many calls take that do not wait
  double share = 0;  ///< of all submissions, 0 … 1
};

struct Analysis {
  std::vector<GraphUse> graphs;      ///< as Capture::graphs
  std::vector<Finding::Kind> kinds;  ///< of each: can be graphed, or what keeps most of it from that
  std::uint64_t submissions = 0, stretches = 0;
  std::uint64_t host_ns = 0;  ///< in driver calls that do not wait; 0 if not measured
  std::uint64_t first_ns = 0, last_ns = 0;
  std::vector<Finding> graphable;  ///< largest first
  std::vector<Finding> obstacles;  ///< what would gain most first
  double graphable_share = 0;
};

/// A region that the program named: stretches that began there, or in regions inside it.
struct RegionSum {
  void add_inside(const RegionSum& other) noexcept {
    stretches += other.stretches;
    submissions += other.submissions;
  }

  std::uint32_t id = 0, parent = 0;  ///< RegionUse's
  std::string name;                  ///< with those around it: "step/forward"
  std::uint64_t stretches = 0;
  std::uint64_t submissions = 0;
};
/// Sorted by name, so that each stands behind what is around it.
std::vector<RegionSum> region_sums(const Capture& capture);

/// What the findings come to for one graph.
struct GraphVerdict {
  Finding::Kind kind = Finding::Kind::kNotRepeated;
  std::uint64_t gain_ns = 0;  ///< time in driver calls that replays would take the place of: what can be gained at most
};
/// As Capture::graphs.
std::vector<GraphVerdict> verdicts_of(const Analysis& analysis);

/// "can be graphed", "arguments change" …
const char* name_of(Finding::Kind kind) noexcept;

/// Names of kernels are cut to this many bytes wherever they are not told in full.
inline constexpr std::size_t kMaxLabel = 200;

/// Says of each graph (as Capture::graphs) how many of its submissions would be replayed: replay/forecast/forecast.h,
/// which this folder does not know. May throw Refused.
using Forecast = std::function<std::vector<std::uint64_t>(const Capture&)>;

/// Looks at one graph after the other. Throws Refused if the file makes no sense or takes too much memory.
Analysis analyse(const Capture& capture, const Forecast& forecast);
/// Which arguments of a graph change, and how: a line each, the first ones.
std::vector<std::string> changes_text(const Capture& capture, const StoredGraph& stored, const Graph& graph);
/// Reads the graph that the finding is about, if there is one.
FindingText text_of(const Capture& capture, const Analysis& analysis, const Finding& finding);

/// The answer in a line: how much of it can be graphed, and what keeps most of the rest from that.
std::string verdict_of(const Capture& capture, const Analysis& analysis);

/// Why the operation is submitted at once, and never part of a command buffer ("command buffers have no such command"):
/// as the layer said, or by its kind where the capture does not tell that. Null if it may be. `queue` is its own. Lives
/// as long as the capture.
const char* why_not_recordable(const Capture& capture, const OperationView& operation, const QueueInfo& queue) noexcept;
/// The same of a node.
inline const char* why_not_recordable(const Capture& capture, const Graph& graph, NodeIndex node) noexcept {
  return why_not_recordable(capture, graph.operation(node), graph.queue_of(node));
}

/// "device memory", "pinned host memory", "managed memory" or, where the API has no such kinds, "buffer".
const char* place_of(const BufferInfo& buffer) noexcept;
/// True if a device of the capture can change the arguments of what is recorded.
bool can_update(const Capture& capture) noexcept;
/// True if the capture was made of a CUDA program: words are those of CUDA's users then.
bool is_cuda(const Capture& capture) noexcept;

/// "stencil x10, residual": what a graph does, shortened.
std::string label_of(const Capture& capture, const Graph& graph);
/// Kernel name as people call it (env/kernel_name.h, at most kMaxLabel bytes) or kind.
std::string label_of(const Capture& capture, const OperationView& operation);
/// "stencil argument 2 (4-byte value)"
std::string subject_of(const Capture& capture, const Graph& graph, const SlotStatistic& slot);
/// "stencil argument 2 (4-byte value): +10 each time"
/// `stored` is where `graph` is from.
std::string describe(const Capture& capture, const StoredGraph& stored, const Graph& graph, const SlotStatistic& slot);
/// 0.123 → "12.3 %"
std::string percent(double share);
/// 0 of nothing.
double share_of(std::uint64_t part, std::uint64_t whole);
/// "once", "3 times"
std::string times(std::uint64_t count);
/// 12345678 → "12 345 678"
std::string grouped(std::uint64_t number);
/// "12.3 ms"
std::string duration(double nanoseconds);
/// "4.0 KiB"
std::string size_text(std::uint64_t bytes);

}  // namespace refrain::capture
