#include "replay/forecast/forecast.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "backends/chunk_sizes.h"
#include "env/settings.h"
#include "replay/detect/matcher.h"
#include "replay/forecast/planned_backend.h"
#include "replay/graph/graph_cache.h"
#include "replay/lane/handoff.h"
#include "replay/lane/occurrence_recorder.h"
#include "replay/layer_hooks.h"
#include "replay/policy/chunk_tuner.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {
namespace {

using capture::HistoryItem;
using capture::NodeIndex;
using capture::OperationView;

/// One of a capture's graphs, as it occurred with one set of arguments.
struct Stretch {
  capture::Graph graph;
  std::vector<bool> others;  ///< it is another one in sets that are not stored
  std::vector<bool> holdable;
};

/// Reads each once, as long as there is room.
class Stretches {
 public:
  explicit Stretches(const capture::Capture& capture) : capture_(capture) {}

  /// Valid until the next call. A set that is not stored is told as the first one; see is_another().
  [[nodiscard]] const Stretch& of(std::uint32_t graph, std::uint32_t set) {
    set = is_another(set) ? 0 : set;
    if (const auto known = known_.find({graph, set}); known != known_.end()) {
      return known->second;
    }
    if (nodes_ > kMostNodes) {
      nodes_ = 0;
      known_.clear();
    }
    nodes_ += size(graph);
    return known_.try_emplace({graph, set}, read(graph, set)).first->second;
  }
  /// A set that is not stored is another one each time.
  [[nodiscard]] static bool is_another(std::uint32_t set) noexcept { return set == capture::format::kSetNotStored; }
  [[nodiscard]] std::uint32_t size(std::uint32_t graph) const noexcept { return capture_.graphs[graph].size(); }

 private:
  static constexpr std::size_t kMostNodes = 1U << 15U;  // limit: of memory

  [[nodiscard]] Stretch read(std::uint32_t graph, std::uint32_t set) const {
    Stretch result;
    result.graph = capture_.graphs[graph].materialise(set);
    std::unordered_set<NodeIndex> changed;
    for (const capture::SlotStatistic& slot : capture_.graphs[graph].statistics()) {
      changed.insert(slot.node);
    }
    for (NodeIndex i = 0; i < result.graph.size(); ++i) {
      const bool held = result.graph.operation(i).has(capture::kBetween);
      result.others.push_back(changed.contains(i));
      result.holdable.push_back(held || capture::why_not_recordable(capture_, result.graph, i) == nullptr);
    }
    return result;
  }

  const capture::Capture& capture_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Stretch> known_;
  std::size_t nodes_ = 0;
};

/// A submission of the program that is played.
struct Submission {
  std::uint32_t graph = 0, set = 0;
  NodeIndex node = 0;
  std::uint64_t sequence = 0;  ///< in its lane
};

/// Who launches graphs of a capture keeps no promises.
class NoHooks final : public LayerHooks {
 public:
  void fulfil(const OperationView& /*operation*/, backends::Event /*event*/, int /*status*/) noexcept override {}
  bool retain_objects(const OperationView& /*operation*/) noexcept override { return true; }
  void release_objects(const OperationView& /*operation*/) noexcept override {}
  backends::Event acquire_event(capture::WaitRef /*wait*/) noexcept override { return backends::kNoEvent; }
  std::string function_name(capture::FunctionId /*function*/) noexcept override { return {}; }
};

env::Settings without_gate() {
  env::Settings settings;
  settings.gate = false;
  return settings;
}

/// The graphs that the engine has made so far, of all lanes.
class Graphs {
 public:
  Graphs(const capture::Capture& capture, Stretches& stretches)
      : backend_(capture), stretches_(stretches), updates_(capture::can_update(capture)), cache_(settings_, hooks_) {}

  [[nodiscard]] const env::Settings& settings() const noexcept { return settings_; }

  /// Null if there are too many.
  [[nodiscard]] std::shared_ptr<GraphEntry> entry_for(std::vector<Token> tokens) {
    auto entry = cache_.entry_for(std::move(tokens), updates_);
    if (cache_.take_sweep_due()) {
      cache_.sweep();
    }
    return entry;
  }
  /// A graph is ready as soon as it is wanted.
  void build(GraphEntry& entry, const Occurrence& occurrence) {
    std::string why;
    static_cast<void>(entry.built(Executable::build(occurrence, settings_, backend_, &why), why));
  }
  /// How many of the operations are in command buffers.
  std::size_t launch(GraphEntry& entry, const Occurrence& occurrence) {
    views_.clear();
    for (std::size_t i = 0; i < occurrence.size(); ++i) {
      views_.push_back(occurrence.operation(i));
    }
    const GraphLaunch launch = entry.launch({backend_, hooks_, window_}, views_, 0, true);
    if (launch.wants_build) {
      build(entry, occurrence);
    }
    return launch.launch == Launched::kDone ? launch.native : 0;
  }
  /// The record of a submission. In a capture the operations of each stretch are numbered from 1. Valid until the next
  /// call.
  OperationView record_of(const Submission& submission) {
    const Stretch& stretch = stretches_.of(submission.graph, submission.set);
    const auto bytes = stretch.graph.operation(submission.node).bytes();
    record_.assign(bytes.begin(), bytes.end());
    auto& header = *reinterpret_cast<capture::OperationHeader*>(record_.data());
    const OperationView record(record_.data());
    const std::uint64_t before = submission.sequence - header.sequence;
    header.sequence = submission.sequence;
    for (const capture::WaitRef& wait : record.waits()) {
      if (capture::is_internal(wait)) {
        const_cast<capture::WaitRef&>(wait) += before;
      }
    }
    if (Stretches::is_another(submission.set) && stretch.others[submission.node] && !record.comparable().empty()) {
      // What it was is not known, only that it was another one: the last value is the argument's that changes most
      // often.
      const std::span<const std::byte> place = record.comparable().last(sizeof(submission.sequence));
      std::memcpy(const_cast<std::byte*>(place.data()), &submission.sequence, sizeof(submission.sequence));
    }
    return record;
  }
  [[nodiscard]] const capture::QueueInfo& queue_of(const Submission& submission) {
    return stretches_.of(submission.graph, submission.set).graph.queue_of(submission.node);
  }

 private:
  const env::Settings settings_ = without_gate();
  PlannedBackend backend_;
  NoHooks hooks_;
  WindowEvents window_;
  Stretches& stretches_;
  const bool updates_;
  GraphCache cache_;
  std::vector<OperationView> views_;
  std::vector<std::byte> record_;
};

backends::ChunkSizes chunk_sizes(const capture::Capture& capture) {
  return backends::chunk_sizes_of(capture.devices.empty() ? "" : capture.devices.front().api);
}

/// One lane's program once more.
class LaneForecast {
 public:
  /// `budget`: submissions that may be played still.
  LaneForecast(const capture::Capture& capture, Stretches& stretches, Graphs& graphs,
               std::vector<std::uint64_t>& replayed, std::uint64_t& budget)
      : capture_(capture),
        stretches_(stretches),
        graphs_(graphs),
        replayed_(replayed),
        budget_(budget),
        matcher_(matcher_options(graphs.settings(), chunk_sizes(capture))),
        tuner_(graphs.settings(), chunk_sizes(capture), 0, matcher_, intervals_) {}
  ~LaneForecast() {
    for (const auto& entry : entries_) {
      if (entry != nullptr) {
        entry->unsubscribe(matcher_);
      }
    }
  }
  LaneForecast(const LaneForecast&) = delete;
  LaneForecast& operator=(const LaneForecast&) = delete;

  void play(std::span<const HistoryItem> items) {
    for (std::size_t i = 0; i < items.size();) {
      const HistoryItem& item = items[i];
      const auto body = items.subspan(i + 1, item.body);
      if (item.body == 0) {
        repeat(item.repeat, stretches_.size(item.graph), items.subspan(i, 1), [&] { stretch(item); });
      } else {
        repeat(item.repeat, length(body), body, [&] { play(body); });
      }
      i += 1 + item.body;
    }
  }

 private:
  /// So many submissions of a loop tell what becomes of the rest, if they are not less than kTurns turns.
  static constexpr double kEnough = 65'536;  // limit: of work
  static constexpr double kTurns = 16;       // limit: the same

  /// Submissions of `items`.
  [[nodiscard]] double length(std::span<const HistoryItem> items) const {
    double sum = 0;
    for (std::size_t i = 0; i < items.size();) {
      const HistoryItem& item = items[i];
      sum += static_cast<double>(item.repeat) *
             (item.body == 0 ? stretches_.size(item.graph) : length(items.subspan(i + 1, item.body)));
      i += 1 + item.body;
    }
    return sum;
  }

  /// Calls `turn`, which submits `each` of the graphs in `items`, as often as is needed. From the second half of these
  /// turns the others are reckoned.
  template <class Turn>
  void repeat(std::uint64_t times, double each, std::span<const HistoryItem> items, const Turn& turn) {
    const auto wanted = static_cast<std::uint64_t>(std::max(kTurns, kEnough / std::max(1.0, each)));
    const std::uint64_t played = std::min(times, wanted);
    std::map<std::uint32_t, std::uint64_t> before;
    for (std::uint64_t i = 0; i < played; ++i) {
      if (i == played / 2 && played < times) {
        for (const HistoryItem& item : items) {
          if (item.body == 0) {
            before[item.graph] = replayed_[item.graph];
          }
        }
      }
      turn();
    }
    const std::uint64_t half = std::max<std::uint64_t>(1, played - played / 2);
    for (const auto& [graph, count] : before) {
      const auto more = static_cast<__uint128_t>(replayed_[graph] - count) * (times - played) / half;
      replayed_[graph] += static_cast<std::uint64_t>(more);
    }
  }

  void stretch(const HistoryItem& item) {
    const std::uint32_t size = stretches_.size(item.graph);
    if (budget_ < size) {
      return;  // not known
    }
    budget_ -= size;
    bool blocks = false;
    for (NodeIndex node = 0; node < size; ++node) {
      const Stretch& stretch = stretches_.of(item.graph, item.set);
      const OperationView operation = stretch.graph.operation(node);
      blocks = operation.has(capture::kBlocking);
      feed({item.graph, item.set, node, ++sequence_}, operation, stretch.holdable[node]);
    }
    // What blocks is no host call besides.
    if (item.ended_by >= capture::format::kFirstEntryPoint && !blocks) {
      const std::string_view why = capture_.ended_by(item.ended_by);
      apply(why == kHandedOff || why == kStopped ? matcher_.cut(kHandoff, false) : matcher_.cut());
      occurrences_.abort();
    }
  }

  void feed(const Submission& submission, const OperationView& operation, bool holdable) {
    held_.push_back(submission);
    if (apply(matcher_.feed(operation.token(), holdable, operation.has(capture::kEndsHold)))) {
      follow(submission);
    }
  }

  /// What is issued is looked at as the lanes' CurrentSubmission does.
  void follow(const Submission& submission) {
    const Following following = matcher_.following();
    if (following.chunk == kNoChunk) {
      occurrences_.abort();
    } else if (following.mode == ChunkMode::kRecord) {
      if (occurrences_.add(following, graphs_.record_of(submission), graphs_.queue_of(submission), 0)) {
        complete(following.chunk);
      }
    } else if (following.complete && following.mode == ChunkMode::kBypass) {
      if (const auto& its = entry(following.chunk)) {
        its->bypassed();
      }
    }
  }

  void complete(ChunkId chunk) {
    const auto its = entry(chunk);
    if (its == nullptr) {
      matcher_.set_mode(chunk, ChunkMode::kBypass);
      return;
    }
    const Occurrence& occurrence = occurrences_.occurrence();
    std::vector<OperationView> views;
    for (std::size_t i = 0; i < occurrence.size(); ++i) {
      views.push_back(occurrence.operation(i));
    }
    if (its->recorded(views, 0, true) == GraphEntry::Wish::kBuild) {
      graphs_.build(*its, occurrence);
    }
  }

  /// As ChunkGraphs::entry().
  const std::shared_ptr<GraphEntry>& entry(ChunkId chunk) {
    if (chunk >= entries_.size()) {
      entries_.resize(std::size_t{chunk} + 1);
    }
    if (entries_[chunk] != nullptr && entries_[chunk]->gone()) {
      forget(chunk);
    }
    if (entries_[chunk] == nullptr) {
      for (const ChunkId evicted : matcher_.take_evicted()) {
        forget(evicted);
        occurrences_.forget(evicted);
      }
      if (auto tokens = matcher_.tokens_of(chunk); !tokens.empty()) {
        entries_[chunk] = graphs_.entry_for(std::move(tokens));
      }
      if (entries_[chunk] != nullptr) {
        entries_[chunk]->subscribe(matcher_, chunk);
      }
    }
    return entries_[chunk];
  }
  void forget(ChunkId chunk) {
    if (chunk < entries_.size() && entries_[chunk] != nullptr) {
      entries_[chunk]->unsubscribe(matcher_, chunk);
      entries_[chunk] = nullptr;
    }
  }

  /// True if the newest submission was issued by itself.
  bool apply(std::span<const Action> actions) {
    bool issued = false;
    for (const Action& action : actions) {
      issued = action.kind == Action::Kind::kIssue;
      if (!issued) {
        launch(action);
      }
      held_.erase(held_.begin(), held_.begin() + action.count);
    }
    return issued && held_.empty();
  }

  void launch(const Action& action) {
    const auto its = entry(action.chunk);
    if (its == nullptr) {
      return;
    }
    launched_.clear();
    for (std::size_t i = 0; i < action.count; ++i) {
      launched_.add(graphs_.record_of(held_[i]));
      const capture::QueueInfo& queue = graphs_.queue_of(held_[i]);
      if (std::ranges::find(launched_.queues, queue.id, &capture::QueueInfo::id) == launched_.queues.end()) {
        launched_.queues.push_back(queue);
      }
    }
    // Those in command buffers are as good as evenly spread.
    const std::size_t native = graphs_.launch(*its, launched_);
    for (std::size_t i = 0; i < action.count; ++i) {
      replayed_[held_[i].graph] += native * (i + 1) / action.count - native * i / action.count;
    }
  }

  const capture::Capture& capture_;
  Stretches& stretches_;
  Graphs& graphs_;
  std::vector<std::uint64_t>& replayed_;
  std::uint64_t& budget_;
  Matcher matcher_;
  IntervalTrial intervals_;
  ChunkTuner tuner_;  ///< has the matcher divide stretches as it does before anything is known of a program's pace
  std::vector<std::shared_ptr<GraphEntry>> entries_;  ///< by ChunkId
  OccurrenceRecorder occurrences_;
  std::deque<Submission> held_;  ///< as the lane's: what is not issued or launched yet
  Occurrence launched_;          ///< reused
  std::uint64_t sequence_ = 0;
};

/// A history, from its first submission to its last cut.
struct Thread {
  const capture::LaneHistory* history = nullptr;
  std::uint64_t first_ns = 0, last_ns = 0;
  bool ended = false;  ///< it was told that the thread ended
};

Thread thread_of(const capture::Capture& capture, const capture::LaneHistory& history) {
  Thread result{&history};
  bool any = false;
  for_each_leaf(history, [&](const HistoryItem& item) {
    result.first_ns = any ? result.first_ns : item.first_ns;
    result.last_ns = item.last_ns;
    result.ended = capture.ended_by(item.ended_by) == kThreadEnds;
    any = true;
  });
  return result;
}

}  // namespace

std::vector<std::uint64_t> forecast(const capture::Capture& capture) {
  std::uint64_t budget = 1U << 24U;  // limit: of work
  std::vector<std::uint64_t> replayed(capture.graphs.size());
  Stretches stretches(capture);
  Graphs graphs(capture, stretches);
  // A thread goes on with the lane of one that has ended, as in LaneRegistry.
  struct Lane : LaneForecast {
    using LaneForecast::LaneForecast;
    std::uint64_t idle_since = 0;
    bool idle = false;
  };
  std::vector<Thread> threads;
  for (const capture::LaneHistory& history : capture.lanes) {
    threads.push_back(thread_of(capture, history));
  }
  std::ranges::stable_sort(threads, {}, &Thread::first_ns);
  std::deque<Lane> lanes;
  for (const Thread& thread : threads) {
    auto lane =
        std::ranges::find_if(lanes, [&](const Lane& each) { return each.idle && each.idle_since <= thread.first_ns; });
    if (lane == lanes.end()) {
      lanes.emplace_back(capture, stretches, graphs, replayed, budget);
      lane = lanes.end() - 1;
    }
    lane->idle = thread.ended;
    lane->idle_since = thread.last_ns;
    thread.history->for_each_part([&](std::span<const HistoryItem> items) { lane->play(items); });
  }
  return replayed;
}

}  // namespace refrain::replay
