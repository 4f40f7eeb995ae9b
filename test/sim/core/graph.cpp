#include "test/sim/core/graph.h"

#include <algorithm>

#include "test/sim/core/settings.h"

namespace sim {

void add_node(Graph& graph, Node& node, Task task, const std::vector<Node*>& before, Signals signals) {
  node.graph = &graph;
  node.task = std::move(task);
  node.task.bind();
  node.signals = std::move(signals);
  node.before.clear();
  for (Node* each : before) {
    add_edge(*each, node);
  }
  graph.nodes.push_back(&node);
}

bool add_edge(Node& from, Node& to) {
  if (std::find(to.before.begin(), to.before.end(), &from) != to.before.end()) {
    return false;
  }
  to.before.push_back(&from);
  return true;
}

bool remove_edge(Node& from, Node& to) {
  to.early = to.early == &from ? nullptr : to.early;
  return std::erase(to.before, &from) != 0;
}

void remove_node(Node& node) {
  for (Node* other : node.graph->nodes) {
    remove_edge(node, *other);
  }
  std::erase(node.graph->nodes, &node);
}

namespace {

bool copy_nodes(const Graph& graph, Exec& exec) {
  std::map<const Node*, std::size_t> places;
  std::vector<const Node*> left(graph.nodes.begin(), graph.nodes.end());
  exec.nodes.clear();
  while (!left.empty()) {
    const std::size_t known = exec.nodes.size();
    std::vector<const Node*> later;
    for (const Node* node : left) {
      ExecNode copy;
      copy.node = node;
      copy.task = copy.at_first = node->task;
      copy.signals = node->signals;
      copy.user = node->user;
      bool ready = true;
      for (const Node* before : node->before) {
        const auto place = places.find(before);
        ready = ready && place != places.end();
        if (ready) {
          copy.before.push_back(place->second);
          if (before == node->early) {
            copy.early = place->second;
          }
        }
      }
      if (ready) {
        if (!node->task.bound("is instantiated")) {
          return false;
        }
        places[node] = exec.nodes.size();
        exec.nodes.push_back(std::move(copy));
      } else {
        later.push_back(node);
      }
    }
    if (exec.nodes.size() == known) {
      return false;
    }
    left = std::move(later);
  }
  return true;
}

}  // namespace

namespace {

/// Of all launches of graphs.
const OpenRef& running_graphs() {
  static const auto& only = *new OpenRef(std::make_shared<OpenWork>());
  return only;
}

}  // namespace

void wait_for_graph_memory(Lock& lock) {
  if (settings().graph_memory) {
    static_cast<void>(wait_for_all(lock, running_graphs()));
  }
}

bool instantiate(const Graph& graph, Exec& exec) {
  spend(settings().costs.instantiate * static_cast<double>(graph.nodes.size()));
  return copy_nodes(graph, exec);
}

bool update_all(Exec& exec, const Graph& graph) {
  Exec changed;
  spend(settings().costs.update * static_cast<double>(graph.nodes.size()));
  if (!copy_nodes(graph, changed) || changed.nodes.size() != exec.nodes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < exec.nodes.size(); ++i) {
    if (changed.nodes[i].task.kind != exec.nodes[i].task.kind || changed.nodes[i].before != exec.nodes[i].before ||
        changed.nodes[i].early != exec.nodes[i].early) {
      return false;
    }
  }
  exec.nodes = std::move(changed.nodes);
  return true;
}

ExecNode* find_copy(Exec& exec, const Node* node) {
  const auto place =
      std::find_if(exec.nodes.begin(), exec.nodes.end(), [node](const ExecNode& each) { return each.node == node; });
  return place == exec.nodes.end() ? nullptr : &*place;
}

void spend_update() noexcept {
  spend(settings().costs.update);
}

Task done_task(std::size_t place, std::size_t count, const std::function<const Task&(std::size_t)>& task_at,
               const Task& at_first) {
  const std::string& kind = settings().wrong;
  Task task = task_at(place);
  if (kind.empty() || place != count / 2) {
    return task;
  }
  const bool kernel = task.kind == Task::Kind::kKernel;
  const bool moves = task.kind == Task::Kind::kCopy || task.kind == Task::Kind::kFill;
  if (kind == "skipped") {
    task = {};
  } else if (kind == "repeats" && place != 0) {
    task = task_at(place - 1);
  } else if (kind == "early" && place + 1 < count) {
    task = task_at(place + 1);
  } else if (kind == "stale" && kernel) {
    task.arguments = at_first.arguments;
  } else if (kind == "argument" && kernel && !task.arguments.empty()) {
    task.arguments.back() ^= std::byte{1};
  } else if (kind == "shape" && kernel && task.shape.block[0] > 1) {
    --task.shape.block[0];
  } else if (kind == "attribute" && kernel) {
    task.shape.set ^= 1;
  } else if (kind == "bytes" && moves && task.bytes > 1) {
    task.bytes /= 2;
  } else if (kind == "rows" && moves && task.height > 1) {
    --task.height;
  } else if (kind == "pattern" && task.kind == Task::Kind::kFill) {
    task.pattern.front() ^= std::byte{1};
  }
  return task;
}

namespace {

Task task_of(const Exec& exec, const ExecNode& node) {
  return done_task(
      static_cast<std::size_t>(&node - exec.nodes.data()), exec.nodes.size(),
      [&](std::size_t place) -> const Task& { return exec.nodes[place].task; }, node.at_first);
}

}  // namespace

OperationRef launch(const Lock& lock, const OpenRef& open, Exec& exec, std::span<const OperationRef> after) {
  std::vector<OpenRef> both = {open, exec.open};
  if (settings().graph_memory) {
    both.push_back(running_graphs());
  }
  spend(settings().costs.launch);
  const OperationRef start = schedule_node(lock, both, {}, after, {});
  std::vector<OperationRef> all;
  std::vector<std::vector<OperationRef>> ahead;  // what each of them comes after
  all.reserve(exec.nodes.size() + 1);
  for (const ExecNode& node : exec.nodes) {
    static_cast<void>(node.task.bound("is launched"));
    std::vector<OperationRef> before = {start};
    for (const std::size_t place : node.before) {
      if (place == node.early && may_overtake(node.task)) {
        before.insert(before.end(), ahead[place].begin(), ahead[place].end());
      } else {
        before.push_back(all[place]);
      }
    }
    ahead.push_back(before);
    std::vector<OpenRef> each = both;
    if (node.user != nullptr) {
      each.push_back(node.user);
    }
    all.push_back(
        schedule_node(lock, std::move(each), node.enabled ? task_of(exec, node) : Task{}, before, node.signals));
  }
  all.push_back(start);
  exec.last = schedule_node(lock, both, {}, all, {});
  return exec.last;
}

}  // namespace sim
