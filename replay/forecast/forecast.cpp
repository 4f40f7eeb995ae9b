#include "replay/forecast/forecast.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_set>

#include "capture/analysis.h"
#include "env/settings.h"
#include "replay/detect/matcher.h"

namespace refrain::replay {
namespace {

using capture::HistoryItem;
using capture::NodeIndex;

/// What the matcher needs of a node, and who asks whether a graph of it exists.
struct Node {
  Token token = 0;
  std::uint64_t work = 0;  ///< equal: the same command of the same graph; see Graphs
  bool holdable = true;
};

/// The nodes of a capture's graphs.
class Graphs {
 public:
  explicit Graphs(const capture::Capture& capture) : capture_(capture), updates_(capture::can_update(capture)) {}

  /// Valid until the next call.
  [[nodiscard]] const std::vector<Node>& of(std::uint32_t graph, std::uint32_t set) {
    const auto [place, is_new] = known_.try_emplace({graph, updates_ ? 0 : set});
    if (!is_new && !is_new_each_time(set)) {
      return place->second;
    }
    if (held_ > kMostNodes) {
      held_ = 0;
      known_.clear();
      return of(graph, set);
    }
    held_ += is_new ? capture_.graphs[graph].size() : 0;
    place->second = read(graph, set);
    return place->second;
  }
  [[nodiscard]] std::uint32_t size(std::uint32_t graph) const noexcept { return capture_.graphs[graph].size(); }

 private:
  static constexpr std::size_t kMostNodes = 1U << 18U;  // limit: of memory

  [[nodiscard]] bool is_new_each_time(std::uint32_t set) const noexcept {
    return set == capture::format::kSetNotStored && !updates_;
  }
  [[nodiscard]] std::vector<Node> read(std::uint32_t graph, std::uint32_t set) {
    const capture::StoredGraph& stored = capture_.graphs[graph];
    const bool no_set = set == capture::format::kSetNotStored || updates_;
    const capture::Graph nodes = stored.materialise(no_set ? 0 : set);
    std::vector<Node> result(nodes.size());
    times_ += is_new_each_time(set) ? 1 : 0;
    for (NodeIndex i = 0; i < result.size(); ++i) {
      const capture::OperationView operation = nodes.operation(i);
      result[i] = {operation.token(), operation.token(), capture::why_not_recordable(nodes, i) == nullptr};
      if (!updates_) {
        const auto bytes = operation.comparable();
        result[i].work =
            capture::mix(operation.token(),
                         std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
        result[i].work = capture::mix(result[i].work, is_new_each_time(set) ? times_ : 0);
      }
    }
    return result;
  }

  const capture::Capture& capture_;
  const bool updates_;  ///< then what has other arguments is the same command all the same
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Node>> known_;
  std::size_t held_ = 0;
  std::uint64_t times_ = 0;
};

MatcherOptions options() {
  const env::Settings settings;
  MatcherOptions options;
  options.history = static_cast<std::uint32_t>(settings.history);
  options.min_chunk = static_cast<std::uint32_t>(settings.min_graph);
  return options;
}

/// One lane's program once more.
class LaneForecast {
 public:
  LaneForecast(Graphs& graphs, std::vector<std::uint64_t>& replayed, std::uint64_t& budget)
      : graphs_(graphs), replayed_(replayed), budget_(budget), matcher_(options()) {}

  void play(std::span<const HistoryItem> items) {
    for (std::size_t i = 0; i < items.size();) {
      const HistoryItem& item = items[i];
      const auto body = items.subspan(i + 1, item.body);
      if (item.body == 0) {
        repeat(item.repeat, items.subspan(i, 1), [&] { stretch(item); });
      } else {
        repeat(item.repeat, body, [&] { play(body); });
      }
      i += 1 + item.body;
    }
  }

 private:
  /// So many submissions of a loop tell what becomes of the rest, if they are not less than kTurns turns.
  static constexpr double kEnough = 65'536;  // limit: of work
  static constexpr double kTurns = 16;       // limit: the same

  struct Held {
    std::uint32_t graph = 0;
    std::uint64_t work = 0;
  };

  /// Submissions of one turn.
  [[nodiscard]] double length(std::span<const HistoryItem> items) const {
    double sum = 0;
    for (std::size_t i = 0; i < items.size();) {
      const HistoryItem& item = items[i];
      sum += static_cast<double>(item.repeat) *
             (item.body == 0 ? graphs_.size(item.graph) : length(items.subspan(i + 1, item.body)));
      i += 1 + item.body;
    }
    return sum;
  }

  /// `turn` plays `items` (of a leaf: once) and is called as often as is needed. From the second half of those turns
  /// the others are reckoned.
  template <class Turn>
  void repeat(std::uint64_t times, std::span<const HistoryItem> items, const Turn& turn) {
    const double each =
        std::max(1.0, items.front().body == 0 && items.size() == 1 ? graphs_.size(items.front().graph) : length(items));
    const auto wanted = static_cast<std::uint64_t>(std::max(kTurns, kEnough / each));
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
    const std::uint64_t half = played - played / 2;
    for (const auto& [graph, count] : before) {
      const auto more = static_cast<__uint128_t>(replayed_[graph] - count) * (times - played) / half;
      replayed_[graph] += static_cast<std::uint64_t>(more);
    }
  }

  void stretch(const HistoryItem& item) {
    const std::uint64_t size = graphs_.size(item.graph);
    if (budget_ < size) {
      return;  // not known
    }
    budget_ -= size;
    bool blocks = false;
    for (const Node& node : graphs_.of(item.graph, item.set)) {
      feed(item.graph, node);
      blocks = !node.holdable;
    }
    // What blocks is no host call besides.
    if (item.ended_by >= capture::format::kFirstEntryPoint && !blocks) {
      apply(matcher_.cut(capture::mix(item.ended_by, 1)));
      recorded_.clear();
    }
  }

  void feed(std::uint32_t graph, const Node& node) {
    queue_.push_back({graph, node.work});
    apply(matcher_.feed(node.token, node.holdable));
    follow(node.work);
  }

  /// A chunk that was followed to its end is a graph from then on.
  void follow(std::uint64_t work) {
    const Following& following = matcher_.following();
    if (following.chunk == kNoChunk || following.position != recorded_.size()) {
      recorded_.clear();
    }
    if (following.chunk == kNoChunk || following.position != recorded_.size()) {
      return;  // its beginning was not followed
    }
    recorded_.push_back(work);
    if (following.complete) {
      make_graph(recorded_);
      recorded_.clear();
      if (following.mode == ChunkMode::kRecord) {
        matcher_.set_mode(following.chunk, ChunkMode::kHold);
      }
    }
  }

  void apply(std::span<const Action> actions) {
    for (const Action& action : actions) {
      if (action.kind == Action::Kind::kLaunch) {
        work_.clear();
        for (std::uint32_t i = 0; i < action.count; ++i) {
          work_.push_back(queue_[i].work);
        }
        if (!make_graph(work_)) {
          for (std::uint32_t i = 0; i < action.count; ++i) {
            ++replayed_[queue_[i].graph];
          }
        }
      }
      queue_.erase(queue_.begin(), queue_.begin() + action.count);
    }
  }

  /// False if there was one for this already.
  bool make_graph(const std::vector<std::uint64_t>& works) {
    std::uint64_t identity = 0;
    for (const std::uint64_t work : works) {
      identity = capture::mix(identity, work);
    }
    constexpr std::size_t kMostGraphs = 1U << 18U;  // limit: of memory
    if (made_.size() >= kMostGraphs) {
      made_.clear();
    }
    return made_.insert(identity).second;
  }

  Graphs& graphs_;
  std::vector<std::uint64_t>& replayed_;
  std::uint64_t& budget_;
  Matcher matcher_;
  std::deque<Held> queue_;                  ///< as the lane's: what is not issued or launched yet
  std::vector<std::uint64_t> recorded_;     ///< of the chunk that is followed
  std::vector<std::uint64_t> work_;         ///< of the chunk that is launched
  std::unordered_set<std::uint64_t> made_;  ///< graphs, by what they do
};

}  // namespace

std::vector<std::uint64_t> forecast(const capture::Capture& capture) {
  std::uint64_t budget = 1U << 24U;  // limit: of work
  std::vector<std::uint64_t> replayed(capture.graphs.size());
  Graphs graphs(capture);
  for (const capture::LaneHistory& lane : capture.lanes) {
    LaneForecast program(graphs, replayed, budget);
    lane.for_each_part([&](std::span<const HistoryItem> items) { program.play(items); });
  }
  return replayed;
}

}  // namespace refrain::replay
