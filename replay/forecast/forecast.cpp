#include "replay/forecast/forecast.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "env/settings.h"
#include "replay/detect/matcher.h"
#include "replay/forecast/planned_backend.h"
#include "replay/graph/executable.h"
#include "replay/policy/chunk_tuner.h"

namespace refrain::replay {
namespace {

using capture::HistoryItem;
using capture::NodeIndex;
using capture::OperationView;

std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// One of a capture's graphs, as it occurred with one set of arguments.
struct Stretch {
  capture::Graph graph;
  std::vector<std::uint64_t> work;  ///< of each node: equal for what one node of a graph can do
  std::vector<bool> others;         ///< it is another one in sets that are not stored, and cannot be changed
  std::vector<bool> holdable;
};

/// Reads each once, as long as there is room.
class Stretches {
 public:
  explicit Stretches(const capture::Capture& capture) : capture_(capture), updates_(capture::can_update(capture)) {}

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
      const OperationView operation = result.graph.operation(i);
      const bool fixed = !updates_ || !is_changeable(operation);
      result.work.push_back(capture::mix(operation.token(), fixed ? hash_of(operation.comparable()) : 0));
      result.others.push_back(fixed && changed.contains(i));
      result.holdable.push_back(capture::why_not_recordable(result.graph, i) == nullptr);
    }
    return result;
  }

  const capture::Capture& capture_;
  const bool updates_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Stretch> known_;
  std::size_t nodes_ = 0;
};

/// A submission of the program that is played.
struct Submission {
  std::uint32_t graph = 0, set = 0;
  NodeIndex node = 0;
  Token token = 0;
  std::uint64_t work = 0;
  std::uint64_t sequence = 0;  ///< in its lane
};

/// The graphs that the engine has made so far.
class Graphs {
 public:
  Graphs(const capture::Capture& capture, Stretches& stretches) : backend_(capture), stretches_(stretches) {}

  /// A chunk was submitted: the engine has a graph for it from then on. How many of its submissions are in its command
  /// buffers.
  template <class Chunk>
  std::size_t make(const Chunk& chunk, std::size_t count) {
    bool is_new = false;
    return find(chunk, count, &is_new);
  }
  /// The same, if there was one before; else 0, and it is made.
  template <class Chunk>
  std::size_t use(const Chunk& chunk, std::size_t count) {
    bool is_new = false;
    const std::size_t native = find(chunk, count, &is_new);
    return is_new ? 0 : native;
  }

 private:
  static constexpr std::size_t kMost = 1U << 18U;  // limit: of memory

  template <class Chunk>
  std::size_t find(const Chunk& chunk, std::size_t count, bool* is_new) {
    std::uint64_t tokens = count, works = count;
    for (std::size_t i = 0; i < count; ++i) {
      tokens = capture::mix(tokens, chunk[i].token);
      works = capture::mix(works, chunk[i].work);
    }
    if (made_.size() >= kMost) {
      made_.clear();
      native_.clear();
    }
    *is_new = made_.insert(works).second;
    // How it is divided does not depend on arguments.
    const auto [known, unknown] = native_.try_emplace(tokens, 0);
    if (unknown) {
      known->second = build(chunk, count);
    }
    return known->second;
  }

  template <class Chunk>
  std::size_t build(const Chunk& chunk, std::size_t count) {
    Occurrence occurrence;
    for (std::size_t i = 0; i < count; ++i) {
      add(occurrence, chunk[i]);
    }
    std::string why;
    const auto executable = Executable::build(occurrence, settings_, backend_, &why, nullptr);
    return executable == nullptr ? 0 : executable->native_nodes();
  }

  /// In a capture the operations of each stretch are numbered from 1.
  void add(Occurrence& occurrence, const Submission& submission) {
    const Stretch& stretch = stretches_.of(submission.graph, submission.set);
    const capture::QueueInfo& queue = stretch.graph.queue_of(submission.node);
    if (std::ranges::find(occurrence.queues, queue.id, &capture::QueueInfo::id) == occurrence.queues.end()) {
      occurrence.queues.push_back(queue);
    }
    occurrence.add(stretch.graph.operation(submission.node));
    auto* header = reinterpret_cast<capture::OperationHeader*>(occurrence.storage.data() + occurrence.offsets.back());
    const std::uint64_t before = submission.sequence - header->sequence;
    header->sequence = submission.sequence;
    for (const capture::WaitRef& wait : OperationView(reinterpret_cast<const std::byte*>(header)).waits()) {
      if (capture::is_internal(wait) && wait != capture::kWaitEarlier) {
        const_cast<capture::WaitRef&>(wait) += before;
      }
    }
  }

  const env::Settings settings_;
  PlannedBackend backend_;
  Stretches& stretches_;
  std::unordered_set<std::uint64_t> made_;                 ///< by what they do
  std::unordered_map<std::uint64_t, std::size_t> native_;  ///< by tokens: submissions in command buffers
};

/// One lane's program once more.
class LaneForecast {
 public:
  /// `budget`: submissions that may be played still.
  LaneForecast(Stretches& stretches, Graphs& graphs, std::vector<std::uint64_t>& replayed, std::uint64_t& budget)
      : stretches_(stretches),
        graphs_(graphs),
        replayed_(replayed),
        budget_(budget),
        matcher_(matcher_options(env::Settings(), {})) {}

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
    const std::uint64_t salt = Stretches::is_another(item.set) ? sequence_ + 1 : 0;
    bool blocks = false;
    for (NodeIndex node = 0; node < size; ++node) {
      const Stretch& stretch = stretches_.of(item.graph, item.set);
      const OperationView operation = stretch.graph.operation(node);
      blocks = operation.has(capture::kBlocking);
      feed({item.graph, item.set, node, operation.token(),
            capture::mix(stretch.work[node], stretch.others[node] ? salt : 0), ++sequence_},
           stretch.holdable[node]);
    }
    // What blocks is no host call besides.
    if (item.ended_by >= capture::format::kFirstEntryPoint && !blocks) {
      apply(matcher_.cut(capture::mix(item.ended_by, 1)));
      followed_.clear();
    }
  }

  void feed(const Submission& submission, bool holdable) {
    held_.push_back(submission);
    apply(matcher_.feed(submission.token, holdable));
    follow(submission);
  }

  /// A chunk that is followed from its beginning to its end is a graph from then on.
  void follow(const Submission& submission) {
    const Following following = matcher_.following();
    if (following.chunk == kNoChunk || following.position != followed_.size()) {
      followed_.clear();
    }
    if (following.chunk == kNoChunk || following.position != followed_.size()) {
      return;  // its beginning was not followed
    }
    followed_.push_back(submission);
    if (following.complete) {
      const std::size_t native = graphs_.make(followed_, followed_.size());
      if (following.mode == ChunkMode::kRecord) {
        matcher_.set_mode(following.chunk, native == 0 ? ChunkMode::kBypass : ChunkMode::kHold);
      }
      followed_.clear();
    }
  }

  void apply(std::span<const Action> actions) {
    for (const Action& action : actions) {
      if (action.kind == Action::Kind::kLaunch) {
        // Those in command buffers are as good as evenly spread.
        const std::size_t native = graphs_.use(held_, action.count);
        for (std::size_t i = 0; i < action.count; ++i) {
          replayed_[held_[i].graph] += native * (i + 1) / action.count - native * i / action.count;
        }
      }
      held_.erase(held_.begin(), held_.begin() + action.count);
    }
  }

  Stretches& stretches_;
  Graphs& graphs_;
  std::vector<std::uint64_t>& replayed_;
  std::uint64_t& budget_;
  Matcher matcher_;
  std::deque<Submission> held_;       ///< as the lane's: what is not issued or launched yet
  std::vector<Submission> followed_;  ///< of the chunk that is followed
  std::uint64_t sequence_ = 0;
};

}  // namespace

std::vector<std::uint64_t> forecast(const capture::Capture& capture) {
  std::uint64_t budget = 1U << 24U;  // limit: of work
  std::vector<std::uint64_t> replayed(capture.graphs.size());
  Stretches stretches(capture);
  Graphs graphs(capture, stretches);
  for (const capture::LaneHistory& lane : capture.lanes) {
    LaneForecast program(stretches, graphs, replayed, budget);
    lane.for_each_part([&](std::span<const HistoryItem> items) { program.play(items); });
  }
  return replayed;
}

}  // namespace refrain::replay
