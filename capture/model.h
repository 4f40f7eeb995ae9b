// A capture file as a program reads it: graphs, argument sets, what happened in which order.
// Made by read_capture() (capture/reader.h), which keeps the file open. Immutable afterwards: any thread may read it.
// Graphs and histories stay in the file until they are looked at, so memory does not grow with what is in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/capture_store.h"
#include "capture/definitions.h"
#include "capture/format.h"
#include "capture/graph.h"
#include "capture/recorder.h"

namespace refrain::capture {

/// Waits of materialised operations that lead out of the graph. (Waits inside it are internal waits;
/// node n has sequence number n + 1.)
/// … and the first event of each kind; equal ones are waits for one event of an occurrence, with the flags that they
/// had.
inline constexpr WaitRef kWaitEarlier = std::uint64_t{1} << 60U;  ///< of an operation before this stretch
inline constexpr WaitRef kWaitForeign = 1;                        ///< from elsewhere
[[nodiscard]] inline constexpr bool leads_out(WaitRef wait) noexcept {
  return !is_internal(wait);
}
[[nodiscard]] inline constexpr bool is_earlier(WaitRef wait) noexcept {
  return leads_out(wait) && (wait & kWaitEarlier) != 0;
}

/// How one argument (or number, or queue) of a node changed over all occurrences of its graph.
struct SlotStatistic {
  NodeIndex node = 0;
  std::uint32_t index = 0;  ///< of the argument, of the word, or of the queue
  format::SlotKind kind = format::SlotKind::kArgument;
  bool numeric = false;        ///< the deltas mean something
  std::uint64_t changes = 0;   ///< occurrences in which it differed from the occurrence before
  std::int64_t min_delta = 0;  ///< smallest and largest change; equal: constant stride
  std::int64_t max_delta = 0;
  std::uint32_t distinct = 0;  ///< different values seen; 0: too many to count
};

/// One graph of a capture. Only where it is in the file is kept in memory: what it holds is read when it is asked for,
/// and should be asked for once. Members that read throw Refused (capture/record_file.h) if what is in the file makes
/// no sense or has changed, or if it would take too much memory.
class StoredGraph {
 public:
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// Number of nodes.
  [[nodiscard]] std::uint32_t size() const noexcept { return nodes_; }
  /// Reads the graph with the first argument set. Handles in it belonged to the captured process.
  [[nodiscard]] Graph graph() const { return materialise(0); }
  /// Argument sets stored in full, at least 1. Further ones are only in `statistics`.
  [[nodiscard]] std::uint32_t argument_sets() const noexcept { return static_cast<std::uint32_t>(sets_.size()) + 1; }
  /// Reads the graph with another argument set (set < argument_sets()).
  [[nodiscard]] Graph materialise(std::uint32_t set) const;
  /// Reads how its arguments changed.
  [[nodiscard]] std::vector<SlotStatistic> statistics() const;

  // From the last statistics in the file; a killed process may have had more occurrences.
  std::uint64_t occurrences = 0;  ///< looked at for `statistics`
  std::uint64_t changed = 0;      ///< of these, with other arguments than the one before
  std::uint64_t not_stored = 0;   ///< of these, with an argument set that is not stored

 private:
  friend class CaptureReader;
  std::shared_ptr<CaptureStore> store_;
  RecordPlace place_;
  std::optional<RecordPlace> statistics_;
  std::vector<RecordPlace> sets_;  // sets 1 …
  std::uint32_t id_ = 0;
  std::uint32_t nodes_ = 0;
  std::uint32_t words_ = 0;  // of an argument array
};

/// One entry of a lane's history: a leaf (`body` = 0) is an occurrence of a graph, else a loop.
struct HistoryItem {
  std::uint32_t graph = 0;     ///< leaf: index in Capture::graphs
  std::uint32_t set = 0;       ///< leaf: argument set, or format::kSetNotStored
  std::uint32_t ended_by = 0;  ///< leaf: host call that ended it; see Capture::ended_by
  std::uint32_t body = 0;      ///< loop: how many of the items that follow are inside it
  std::uint64_t repeat = 0;    ///< times in a row
  std::uint64_t total = 0;     ///< over all loops around it
  std::uint64_t first_ns = 0;  ///< first submission, on the steady clock
  std::uint64_t last_ns = 0;   ///< last submission or cut
  std::uint64_t host_ns = 0;   ///< sum of the times in driver calls that do not wait (0 if not measured)
  std::uint64_t span_ns = 0;   ///< sum of the times from first submission to cut
};

/// What one lane did. Like graphs, it is read from the file when it is asked for, and may throw Refused then.
class LaneHistory {
 public:
  std::uint64_t lane = 0;
  /// Calls `visit` with one part of the history after the other, in order: whole loops, each before its body.
  void for_each_part(const std::function<void(std::span<const HistoryItem>)>& visit) const;
  /// All parts together. Only for short histories: memory is not bounded.
  [[nodiscard]] std::vector<HistoryItem> items() const;

 private:
  friend class CaptureReader;
  std::shared_ptr<CaptureStore> store_;
  std::vector<RecordPlace> closed_;
  std::optional<RecordPlace> open_;
  std::uint64_t outermost_ = 0;  // of the closed items
};

/// What was called.
struct CallKind {
  ObjectId queue = 0;                          ///< of a submission
  FunctionId function = 0;                     ///< of a kernel
  std::uint32_t entry_point = 0;               ///< of a host call; see Capture::ended_by. 0: a submission
  OperationKind kind = OperationKind::kOther;  ///< of a submission
  bool blocking = false;                       ///< a submission that the program waited for
  [[nodiscard]] bool is_host_call() const noexcept { return entry_point != 0; }
  friend auto operator<=>(const CallKind&, const CallKind&) = default;  // NOLINT(modernize-use-nullptr): none is there
};

/// One call, from its begin to its end on the host, on the steady clock.
struct TimedCall {
  CallKind what;
  std::uint64_t begin_ns = 0, end_ns = 0;
};

/// The calls of one lane whose times are in the file: the first ones of the capture. Read when they are asked for; may
/// throw Refused then.
class LaneCalls {
 public:
  std::uint64_t lane = 0;
  std::uint64_t count = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;  ///< of all of them together
  /// In order; none begins before the one in front of it has ended.
  void for_each(const std::function<void(const TimedCall&)>& visit) const;

 private:
  friend class CaptureReader;
  std::shared_ptr<CaptureStore> store_;
  std::vector<RecordPlace> places_;
};

struct HostCallCount {
  std::uint32_t entry_point = 0;
  std::uint64_t cuts = 0;  ///< times it ended a stretch
  std::uint64_t idle = 0;  ///< times nothing had been submitted before it
};

/// What began in one of the program's regions, and in none inside it.
struct RegionUse {
  std::uint32_t id = 0;
  std::uint32_t parent = 0;  ///< the region around it, which comes before it; 0: none
  std::uint32_t depth = 0;   ///< regions around it, and itself
  std::string name;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> graphs;  ///< index in Capture::graphs → stretches
};

struct StoredCode {
  CodeId id = 0;
  CodeKind kind = CodeKind::kSource;
  std::size_t size = 0;  ///< bytes; see Capture::read_code()
  RecordPlace place;
};

class Capture : public KnownDefinitions {
 public:
  std::string file;
  std::string writer, command;
  std::uint64_t file_bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t start_realtime_ns = 0, start_steady_ns = 0, process = 0;
  /// Why reading stopped before the end of the file; empty if it did not. What was read is good.
  std::string cut_short;
  bool damaged = false;  ///< and that is not because the program was killed

  std::unordered_map<CodeId, StoredCode> code;
  std::vector<StoredGraph> graphs;
  std::vector<LaneHistory> lanes;
  std::vector<LaneCalls> calls;  ///< of each lane of which times are told
  std::vector<HostCallCount> host_calls;
  std::vector<RegionUse> regions;  ///< as they were first entered

  /// Name of the host call, or "length limit", "end of capture".
  [[nodiscard]] std::string_view ended_by(std::uint32_t entry_point) const noexcept;
  /// Kernel name or "" if unknown.
  [[nodiscard]] std::string_view function_name(FunctionId function) const noexcept;

  /// See RecordFile::why_not_trusted().
  [[nodiscard]] std::string why_not_trusted() const { return store_->file().why_not_trusted(); }
  /// Reads a program. Empty if the file does not hold it. Throws Refused if the file has changed.
  [[nodiscard]] std::vector<std::byte> read_code(CodeId code) const;
  /// Counts memory that is taken to show this capture; throws Refused if it is too much.
  void charge(std::uint64_t bytes) const { store_->charge(bytes); }

  /// True if the file holds contents of this buffer.
  [[nodiscard]] bool has_contents(ObjectId buffer) const noexcept { return contents_.contains(buffer); }
  /// Reads what is stored of a buffer's contents from the file into `into` (BufferInfo::size bytes; the
  /// rest stays as it is). False and `error` if the file has changed or cannot be read.
  bool read_contents(ObjectId buffer, std::span<std::byte> into, std::string* error) const;

  Capture() = default;
  Capture(Capture&&) = default;
  Capture& operator=(Capture&&) = default;

 private:
  friend class CaptureReader;
  struct Piece {
    std::uint64_t position = 0;  // of the record in the file
    std::uint64_t offset = 0;    // in the buffer
    std::uint64_t size = 0;
    std::uint32_t number = 0;  // of the record
  };
  std::shared_ptr<CaptureStore> store_;
  std::unordered_map<ObjectId, std::vector<Piece>> contents_;  // several may have the same record
  std::unordered_map<std::uint32_t, std::string> entry_points_;
};

/// Calls `visit` for every leaf of a lane, in order. Throws what LaneHistory does.
void for_each_leaf(const LaneHistory& lane, const std::function<void(const HistoryItem&)>& visit);

}  // namespace refrain::capture
