// Graphs of tasks, and their executable copies. A launch takes the tasks as they are at that moment: an update of an
// executable copy in flight does not change what runs. Everything under the lock.
//
// A recorded command list is a graph, too: nodes in the order of the commands, edges where the list is in order or
// has barriers, signals per node.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "test/sim/core/schedule.h"

namespace sim {

struct Graph;
struct Node {
  Graph* graph = nullptr;
  Task task;
  Signals signals;
  OpenRef user;               ///< what else it belongs to while it is not done, such as its kernel object; or null
  std::vector<Node*> before;  ///< each once
  Node* early = nullptr;      ///< of them, a kernel before whose end it may begin
};
struct Graph {
  std::vector<Node*> nodes;  ///< in the order in which they were added; owned by the face's table of handles
};

struct ExecNode {
  const Node* node = nullptr;  ///< the one it is a copy of; only to be compared
  Task task;
  Signals signals;
  OpenRef user;
  std::vector<std::size_t> before;  ///< places in Exec::nodes
  std::optional<std::size_t> early;
  Task at_first;        ///< when it was made
  bool enabled = true;  ///< else it does nothing
};
struct Exec {
  std::vector<ExecNode> nodes;                  ///< in an order that respects the edges
  OperationRef last;                            ///< the end of its last launch
  OpenRef open = std::make_shared<OpenWork>();  ///< operations of launches
  [[nodiscard]] bool in_flight() const noexcept { return !open->numbers.empty(); }
};

/// Fills in a node of the face's. `before` may name a node twice.
void add_node(Graph& graph, Node& node, Task task, const std::vector<Node*>& before, Signals signals = {});
/// False if it is there already.
bool add_edge(Node& from, Node& to);
bool remove_edge(Node& from, Node& to);
/// Also removes its edges.
void remove_node(Node& node);

/// False if the edges close a cycle.
bool instantiate(const Graph& graph, Exec& exec);
/// Before it; see SIM_GRAPH_MEMORY.
void wait_for_graph_memory(Lock& lock);

/// What cuGraphExecUpdate and its like check: the same nodes in the same order, of the same kinds, with the same edges.
/// Takes over all tasks if so; false, and nothing changed, otherwise.
bool update_all(Exec& exec, const Graph& graph);

/// Null if `node` has no copy in there. Who changes its task calls spend_update().
ExecNode* find_copy(Exec& exec, const Node* node);
void spend_update() noexcept;

/// The task at `place` of `count` tasks, as SIM_WRONG says that the device does it. `task_at(place)`: what each is.
Task done_task(std::size_t place, std::size_t count, const std::function<const Task&(std::size_t)>& task_at,
               const Task& at_first);

/// Submits an instance of its own: all nodes, after all of `after`. The result is done when everything is.
/// Whether launches of one executable graph follow each other is the face's rule: it adds `exec.last` to `after`.
OperationRef launch(const Lock& lock, const OpenRef& open, Exec& exec, std::span<const OperationRef> after);

}  // namespace sim
