#include "capture/graph.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

namespace refrain::capture {
namespace {

// Transitive reduction. `edges` are sorted by (to, from), each pair once, with from < to.
//
// Nodes are put on chains (paths in the graph's order); every node knows, for each chain, how far along it
// its ancestors reach. An edge u → v is redundant exactly if the ancestors of v's predecessors reach u.
// That costs edges × chains, and real programs have a handful of chains (their in-order queues). Chains
// are bounded: nodes that find none (very wide out-of-order work) are looked for by a backward search that
// never goes behind the oldest predecessor in question.
class Reduction {
 public:
  Reduction(std::size_t nodes, std::span<const Edge> edges) : edges_(edges), begin_(nodes + 1) {
    for (const Edge& edge : edges) {
      ++begin_[edge.to + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    chain_.resize(nodes);
    position_.resize(nodes);
  }

  std::vector<Edge> run() {
    std::vector<Edge> kept;
    kept.reserve(edges_.size());
    for (NodeIndex node = 0; node < chain_.size(); ++node) {
      const auto incoming = incoming_of(node);
      std::array<std::uint32_t, kMaxChains> reach{};
      for (const Edge& edge : incoming) {
        merge(reach, edge.from);
      }
      if (incoming.size() == 1) {
        kept.push_back(incoming[0]);
      } else if (!incoming.empty()) {
        keep_needed(incoming, reach, kept);
      }
      for (const Edge& edge : incoming) {
        if (chain_[edge.from] != kNoChain) {
          auto& far = reach[chain_[edge.from]];
          far = std::max(far, position_[edge.from]);
        }
      }
      place(node, incoming, reach);
    }
    return kept;
  }

 private:
  static constexpr std::size_t kMaxChains = 64;
  static constexpr std::uint8_t kNoChain = 0xFF;

  std::span<const Edge> incoming_of(NodeIndex node) const {
    return edges_.subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }

  void merge(std::array<std::uint32_t, kMaxChains>& reach, NodeIndex from) const {
    const std::uint32_t* row = rows_.data() + std::size_t{from} * stride_;
    for (std::size_t i = 0; i < stride_; ++i) {
      reach[i] = std::max(reach[i], row[i]);
    }
  }

  void keep_needed(std::span<const Edge> incoming, const std::array<std::uint32_t, kMaxChains>& reach,
                   std::vector<Edge>& kept) {
    NodeIndex oldest = ~NodeIndex{0};
    for (const Edge& edge : incoming) {
      if (chain_[edge.from] == kNoChain) {
        oldest = std::min(oldest, edge.from);
      }
    }
    if (oldest != ~NodeIndex{0}) {
      search(incoming, oldest);
    }
    for (const Edge& edge : incoming) {
      const std::uint8_t chain = chain_[edge.from];
      const bool redundant = chain != kNoChain ? reach[chain] >= position_[edge.from] : seen_[edge.from] == edge.to;
      if (!redundant) {
        kept.push_back(edge);
      }
    }
  }

  // Marks the ancestors, not older than `oldest`, of the predecessors of one node.
  void search(std::span<const Edge> incoming, NodeIndex oldest) {
    if (seen_.empty()) {
      seen_.resize(chain_.size());  // 0 is no mark: node 0 has no predecessors
    }
    const NodeIndex mark = incoming[0].to;
    todo_.clear();
    for (const Edge& edge : incoming) {
      todo_.push_back(edge.from);
    }
    while (!todo_.empty()) {
      const NodeIndex node = todo_.back();
      todo_.pop_back();
      for (const Edge& edge : incoming_of(node)) {
        if (edge.from >= oldest && seen_[edge.from] != mark) {
          seen_[edge.from] = mark;
          todo_.push_back(edge.from);
        }
      }
    }
  }

  void place(NodeIndex node, std::span<const Edge> incoming, const std::array<std::uint32_t, kMaxChains>& reach) {
    std::uint8_t chain = kNoChain;
    for (const Edge& edge : incoming) {
      const std::uint8_t candidate = chain_[edge.from];
      if (candidate != kNoChain && position_[edge.from] == length_[candidate]) {
        chain = candidate;
        break;
      }
    }
    for (std::size_t i = 0; chain == kNoChain && i < length_.size(); ++i) {
      if (reach[i] == length_[i]) {  // the end of that chain is an ancestor
        chain = static_cast<std::uint8_t>(i);
      }
    }
    if (chain == kNoChain && length_.size() < kMaxChains) {
      chain = static_cast<std::uint8_t>(length_.size());
      length_.push_back(0);
      if (length_.size() > stride_) {
        widen(node);
      }
    }
    chain_[node] = chain;
    position_[node] = chain == kNoChain ? 0 : ++length_[chain];
    rows_.insert(rows_.end(), reach.begin(), reach.begin() + static_cast<std::ptrdiff_t>(stride_));
  }

  void widen(std::size_t rows) {
    const std::size_t wider = std::min(kMaxChains, stride_ * 4);
    std::vector<std::uint32_t> fresh(rows * wider);
    for (std::size_t row = 0; row < rows; ++row) {
      std::copy_n(rows_.begin() + static_cast<std::ptrdiff_t>(row * stride_), stride_,
                  fresh.begin() + static_cast<std::ptrdiff_t>(row * wider));
    }
    rows_ = std::move(fresh);
    stride_ = wider;
  }

  std::span<const Edge> edges_;
  std::vector<std::size_t> begin_;
  std::vector<std::uint8_t> chain_;
  std::vector<std::uint32_t> position_;  // on its chain, from 1
  std::vector<std::uint32_t> length_;    // per chain
  std::vector<std::uint32_t> rows_;      // per node and chain: last position among strict ancestors
  std::size_t stride_ = 4;
  std::vector<NodeIndex> seen_, todo_;
};

}  // namespace

std::string_view name_of(EdgeReason reason) noexcept {
  switch (reason) {
    case EdgeReason::kQueueOrder: return "queue order";
    case EdgeReason::kEvent: return "event";
    case EdgeReason::kBarrier: return "barrier";
    case EdgeReason::kExplicit: return "explicit";
  }
  return "unknown";
}

void GraphBuilder::declare_queue(const QueueInfo& queue) {
  const auto [place, is_new] = queue_numbers_.try_emplace(queue.id, static_cast<std::uint32_t>(queues_.size()));
  if (is_new) {
    queues_.push_back(queue);
    queue_states_.emplace_back();
  }
}

std::uint32_t GraphBuilder::queue_index(const OperationView& operation) {
  const ObjectId id = operation.header().queue;
  if (!queue_index_.empty() && queues_[queue_index_.back()].id == id) {
    return queue_index_.back();
  }
  const auto found = queue_numbers_.find(id);
  if (found != queue_numbers_.end()) {
    return found->second;
  }
  QueueInfo unknown;
  unknown.id = id;
  unknown.handle = operation.header().queue_handle;
  declare_queue(unknown);
  return static_cast<std::uint32_t>(queues_.size() - 1);
}

NodeIndex GraphBuilder::node_of_sequence(std::uint64_t sequence) const {
  if (sequences_rise_) {
    const auto found = std::lower_bound(sequences_.begin(), sequences_.end(), sequence);
    return found != sequences_.end() && *found == sequence ? static_cast<NodeIndex>(found - sequences_.begin()) : kNone;
  }
  const auto found = sequence_nodes_.find(sequence);
  return found != sequence_nodes_.end() ? found->second : kNone;
}

void GraphBuilder::remember_sequence(std::uint64_t sequence, NodeIndex node) {
  if (sequences_rise_ && !sequences_.empty() && sequence <= sequences_.back()) {
    sequences_rise_ = false;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      sequence_nodes_[sequences_[i]] = static_cast<NodeIndex>(i);
    }
  }
  if (sequences_rise_) {
    sequences_.push_back(sequence);
  } else {
    sequence_nodes_[sequence] = node;
  }
}

NodeIndex GraphBuilder::add(const OperationView& operation) {
  const auto node = static_cast<NodeIndex>(offsets_.size());
  const std::uint32_t queue = queue_index(operation);
  QueueState& state = queue_states_[queue];
  edge_start_.push_back(edges_.size());

  if (queues_[queue].in_order) {
    if (state.last != kNone) {
      edges_.push_back({state.last, node, EdgeReason::kQueueOrder});
    }
    state.last = node;
  } else if (operation.kind() != OperationKind::kFlush) {  // a flush has no work that could be ordered
    if (operation.has(kWaitsForQueue)) {
      for (const NodeIndex before : state.open) {
        edges_.push_back({before, node, EdgeReason::kBarrier});
      }
      // Whoever waits for the queue later waits for this operation, and so for all it waited for.
      state.open.clear();
    }
    if (state.blocker != kNone) {
      edges_.push_back({state.blocker, node, EdgeReason::kBarrier});
    }
    state.open.push_back(node);
    if (operation.has(kBlocksQueue)) {
      state.blocker = node;
    }
  }
  if (queues_[queue].default_order != DefaultOrder::kNone) {
    add_default_order(queue, node);
  }
  for (const WaitRef wait : operation.waits()) {
    if (is_internal(wait)) {
      const NodeIndex before = node_of_sequence(target_of(wait));
      if (before != kNone) {
        edges_.push_back({before, node, EdgeReason::kEvent});
      }
    }
  }
  remember_sequence(operation.header().sequence, node);
  const auto bytes = operation.bytes();
  offsets_.push_back(storage_.size());
  storage_.insert(storage_.end(), bytes.begin(), bytes.end());
  queue_index_.push_back(queue);
  return node;
}

void GraphBuilder::add_default_order(std::uint32_t queue, NodeIndex node) {
  const QueueInfo& own = queues_[queue];
  const DefaultOrder wanted =
      own.default_order == DefaultOrder::kIsDefault ? DefaultOrder::kWithDefault : DefaultOrder::kIsDefault;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].default_order == wanted && queues_[i].context == own.context && queue_states_[i].last != kNone) {
      edges_.push_back({queue_states_[i].last, node, EdgeReason::kBarrier});
    }
  }
}

std::string GraphBuilder::describe(NodeIndex node) const {
  std::string text = "node " + std::to_string(node);
  if (node < offsets_.size()) {
    text += " (";
    text += name_of(OperationView(storage_.data() + offsets_[node]).kind());
    text += ")";
  }
  return text;
}

bool GraphBuilder::reaches(NodeIndex from, NodeIndex to) const {
  std::unordered_map<NodeIndex, std::vector<NodeIndex>> by_hand;
  for (const Edge& edge : explicit_edges_) {
    by_hand[edge.to].push_back(edge.from);
  }
  std::vector<bool> seen(offsets_.size());
  std::vector<NodeIndex> todo{to};
  const auto visit = [&](NodeIndex node) {
    if (!seen[node]) {
      seen[node] = true;
      todo.push_back(node);
    }
  };
  while (!todo.empty()) {
    const NodeIndex node = todo.back();
    todo.pop_back();
    if (node == from) {
      return true;
    }
    const std::size_t end = node + 1 < edge_start_.size() ? edge_start_[node + 1] : edges_.size();
    for (std::size_t i = edge_start_[node]; i < end; ++i) {
      visit(edges_[i].from);
    }
    if (const auto found = by_hand.find(node); found != by_hand.end()) {
      std::for_each(found->second.begin(), found->second.end(), visit);
    }
  }
  return false;
}

bool GraphBuilder::then(NodeIndex before, NodeIndex after, std::string* error) {
  const auto refuse = [&](const std::string& why) {
    if (error != nullptr) {
      *error = "cannot put " + describe(before) + " before " + describe(after) + ": " + why;
    }
    return false;
  };
  if (before >= size() || after >= size()) {
    return refuse("the graph has " + std::to_string(size()) + " nodes");
  }
  // Edges that only lead forward close no cycle, so nothing needs to be searched.
  if (before == after || ((before > after || backward_edges_) && reaches(after, before))) {
    return refuse("that would close a cycle");
  }
  backward_edges_ = backward_edges_ || before > after;
  explicit_edges_.push_back({before, after, EdgeReason::kExplicit});
  return true;
}

bool GraphBuilder::when_all(std::span<const NodeIndex> befores, NodeIndex after, std::string* error) {
  return std::all_of(befores.begin(), befores.end(), [&](NodeIndex before) { return then(before, after, error); });
}

std::vector<NodeIndex> GraphBuilder::topological_numbers() const {
  std::vector<NodeIndex> numbers(size());
  if (!backward_edges_) {
    std::iota(numbers.begin(), numbers.end(), NodeIndex{0});
    return numbers;
  }
  std::vector<std::vector<NodeIndex>> next(size());
  std::vector<std::uint32_t> missing(size());
  for (const auto* list : {&edges_, &explicit_edges_}) {
    for (const Edge& edge : *list) {
      next[edge.from].push_back(edge.to);
      ++missing[edge.to];
    }
  }
  std::priority_queue<NodeIndex, std::vector<NodeIndex>, std::greater<>> ready;
  for (NodeIndex node = 0; node < size(); ++node) {
    if (missing[node] == 0) {
      ready.push(node);
    }
  }
  for (NodeIndex number = 0; !ready.empty(); ++number) {
    const NodeIndex node = ready.top();
    ready.pop();
    numbers[node] = number;
    for (const NodeIndex after : next[node]) {
      if (--missing[after] == 0) {
        ready.push(after);
      }
    }
  }
  return numbers;
}

Graph GraphBuilder::finish(std::vector<NodeIndex>* numbers) {
  const std::size_t nodes = size();
  const std::vector<NodeIndex> number = topological_numbers();
  edges_.insert(edges_.end(), explicit_edges_.begin(), explicit_edges_.end());
  if (backward_edges_) {
    for (Edge& edge : edges_) {
      edge.from = number[edge.from];
      edge.to = number[edge.to];
    }
  }
  const auto before = [](const Edge& a, const Edge& b) {
    return std::tie(a.to, a.from, a.reason) < std::tie(b.to, b.from, b.reason);
  };
  if (!std::is_sorted(edges_.begin(), edges_.end(), before)) {
    std::sort(edges_.begin(), edges_.end(), before);
  }
  edges_.erase(std::unique(edges_.begin(), edges_.end(),
                           [](const Edge& a, const Edge& b) { return a.to == b.to && a.from == b.from; }),
               edges_.end());

  Graph graph;
  graph.edges_ = Reduction(nodes, edges_).run();
  graph.storage_ = std::move(storage_);
  graph.offsets_.resize(nodes);
  graph.queue_index_.resize(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    graph.offsets_[number[node]] = offsets_[node];
    graph.queue_index_[number[node]] = queue_index_[node];
  }
  graph.queues_ = std::move(queues_);

  graph.predecessor_start_.resize(nodes + 1);
  graph.successor_start_.resize(nodes + 1);
  for (const Edge& edge : graph.edges_) {
    ++graph.predecessor_start_[edge.to + 1];
    ++graph.successor_start_[edge.from + 1];
  }
  std::partial_sum(graph.predecessor_start_.begin(), graph.predecessor_start_.end(), graph.predecessor_start_.begin());
  std::partial_sum(graph.successor_start_.begin(), graph.successor_start_.end(), graph.successor_start_.begin());
  graph.predecessors_.reserve(graph.edges_.size());
  graph.successors_.resize(graph.edges_.size());
  std::vector<std::uint32_t> fill(graph.successor_start_.begin(), graph.successor_start_.end());
  for (const Edge& edge : graph.edges_) {
    graph.predecessors_.push_back(edge.from);
    graph.successors_[fill[edge.from]++] = edge.to;
  }

  std::vector<std::uint64_t> shape;
  shape.reserve(1 + nodes + graph.edges_.size());
  shape.push_back(nodes);
  for (NodeIndex node = 0; node < nodes; ++node) {
    shape.push_back(graph.operation(node).token());
  }
  for (const Edge& edge : graph.edges_) {
    shape.push_back(std::uint64_t{edge.from} << 32U | edge.to);
  }
  graph.fingerprint_ = XXH3_64bits(shape.data(), shape.size() * sizeof(shape[0]));

  if (numbers != nullptr) {
    *numbers = number;
  }
  *this = GraphBuilder();
  return graph;
}

}  // namespace refrain::capture
