// A graph of the driver, made from recorded operations of one stream and launched on that stream.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/removals.h"
#include "backends/streams/event_pool.h"
#include "backends/streams/named_memory.h"
#include "backends/streams/operation.h"
#include "backends/streams/stream.h"
#include "env/mutex.h"

namespace refrain::backends {

template <class Api>
class StreamCommandBuffer;

/// The command buffers that exist. Whoever gives one up may do so long after its context was destroyed, when the
/// driver must not be asked about it any more: what it has of a context goes before the context does. Thread-safe.
template <class Api>
class LiveBuffers {
 public:
  /// May throw std::bad_alloc.
  void add(StreamCommandBuffer<Api>* buffer);
  /// Destroys what the buffer has of the driver.
  void remove(StreamCommandBuffer<Api>* buffer) noexcept;
  /// A context is about to be destroyed (kNoContext: any may be). `leave`: what it has goes with it, as a thread is
  /// inside the driver, with one of these buffers, for good.
  void context_gone(typename Api::ContextHandle context, bool leave) noexcept;

 private:
  env::Mutex mutex_;
  Removals removals_ REFRAIN_GUARDED_BY(mutex_);
  std::unordered_set<StreamCommandBuffer<Api>*> all_ REFRAIN_GUARDED_BY(mutex_);
};

/// What a command buffer needs of its backend.
template <class Api>
struct StreamParts {
  const typename Api::Driver& driver;
  EventPool<Api>& events;
  LiveBuffers<Api>& live;
  NamedMemory& memory;
  ExclusiveCallYield& exclusive_call_yield;
  env::StuckCheck& graph_maker;
};

/// Api::Node is one node with work: add(driver, graph, before, context, operation), change(driver, executable, context,
/// operation), handle(), empty() (the operation turned out to have no work).
template <class Api>
class StreamCommandBuffer final : public CommandBuffer {
 public:
  using DriverStatus = typename Api::Status;

  explicit StreamCommandBuffer(const StreamParts<Api>& parts) noexcept : parts_(parts) {}
  ~StreamCommandBuffer() override { parts_.live.remove(this); }
  StreamCommandBuffer(const StreamCommandBuffer&) = delete;
  StreamCommandBuffer& operator=(const StreamCommandBuffer&) = delete;

  // In this order, while the stream's context is current. May throw std::bad_alloc.
  /// Makes the graph.
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);
  /// At an IdleMoment.
  [[nodiscard]] DriverStatus instantiate() noexcept;
  /// What is to be uploaded, until end_recording(); null if nothing in it has work of its own.
  [[nodiscard]] typename Api::ExecHandle executable() const noexcept { return executable_; }
  void end_recording() noexcept { named_.reset(); }

  Status enqueue(std::span<const Event> waits, Event* done) noexcept override;
  Status update(std::span<const NodeUpdate> updates) noexcept override;
  bool run_before(capture::NodeIndex end) noexcept override;
  /// Always false: a graph may be launched, and changed for later launches, while it runs. (CUDA's
  /// driver takes as long to change a node of a running graph as of an idle one; HIP's runtime gives each
  /// change memory of its own.)
  [[nodiscard]] bool busy() const noexcept override { return false; }

 private:
  friend class LiveBuffers<Api>;
  /// Gives the graph back to the driver. Not while it is being recorded, launched or changed.
  void destroy() noexcept;
  /// The context is gone, and what the graph has of it.
  void forget() noexcept {
    graph_ = {};
    executable_ = {};
    broken_ = true;
  }

  struct Node {
    capture::NodeIndex index = 0;
    typename Api::Node node;
  };

  DriverStatus add_nodes(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);
  static bool begins_early([[maybe_unused]] const capture::OperationView& operation) {
    if constexpr (requires { &Api::link_early; }) {
      return Api::may_begin_early(operation);
    }
    return false;
  }
  DriverStatus link_early([[maybe_unused]] typename Api::NodeHandle from,
                          [[maybe_unused]] typename Api::NodeHandle to) {
    if constexpr (requires { &Api::link_early; }) {
      return Api::link_early(parts_.driver, graph_, from, to);
    }
    return Api::kNotSupported;
  }
  void let_others_in() const;
  bool find_memory(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                   std::vector<Allocation>* all);
  DriverStatus record_end(Event* done);
  [[nodiscard]] bool is_there() const noexcept {
    return stream_->id.load(std::memory_order_acquire) == stream_id_ && !broken_;
  }

  StreamParts<Api> parts_;
  std::optional<NamedMemory::Recording> named_;  ///< while it is being recorded
  Stream<Api>* stream_ = nullptr;
  capture::ObjectId stream_id_ = 0;
  typename Api::ContextHandle context_ = Api::kNoContext;  ///< the stream's, which may be another stream's record later
  std::vector<Node> nodes_;                                ///< with work of their own, by index
  typename Api::GraphHandle graph_ = {};
  typename Api::ExecHandle executable_ = {};  ///< null if nothing in it has work of its own
  bool broken_ = false;                       ///< an update failed halfway, or the context is gone
};

template <class Api>
void LiveBuffers<Api>::add(StreamCommandBuffer<Api>* buffer) {
  const env::MutexLock guard(mutex_);
  all_.insert(buffer);
}

template <class Api>
void LiveBuffers<Api>::remove(StreamCommandBuffer<Api>* buffer) noexcept {
  {
    const env::MutexLock guard(mutex_);
    all_.erase(buffer);
    removals_.begin();
  }
  buffer->destroy();
  const env::MutexLock guard(mutex_);
  removals_.end();
}

template <class Api>
void LiveBuffers<Api>::context_gone(typename Api::ContextHandle context, bool leave) noexcept {
  env::UniqueLock lock(mutex_);
  for (StreamCommandBuffer<Api>* buffer : all_) {
    if (context == Api::kNoContext || buffer->context_ == context) {
      if (!leave) {
        buffer->destroy();
      }
      buffer->forget();
    }
  }
  removals_.wait(lock);
}

template <class Api>
void StreamCommandBuffer<Api>::destroy() noexcept {
  // A running graph is freed by the driver when it is done.
  if (executable_ == nullptr && graph_ == nullptr) {
    return;
  }
  const typename Api::Scope scope(parts_.driver, context_);
  if (executable_ != nullptr) {
    const ExclusiveCallYield::Claim claim(parts_.exclusive_call_yield);
    static_cast<void>(Api::destroy_executable(parts_.driver, std::exchange(executable_, nullptr)));
  }
  if (graph_ != nullptr) {
    static_cast<void>(Api::destroy_graph(parts_.driver, std::exchange(graph_, nullptr)));
  }
}

template <class Api>
Status StreamCommandBuffer<Api>::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes) {
  stream_ = &Stream<Api>::of(graph.queue_of(nodes.front()).handle);
  context_ = stream_->context;
  stream_id_ = graph.queue_of(nodes.front()).id;
  parts_.live.add(this);
  // A program that allocates for each round of a loop has the memory at the same place again soon.
  constexpr std::chrono::milliseconds kPatience{20};
  named_.emplace(
      parts_.memory.record([&](std::vector<Allocation>* all) { return find_memory(graph, nodes, all); }, kPatience));
  if (!named_->good()) {
    return {Api::kInvalidHandle, "memory that it copies or fills was freed before the graph was made"};
  }
  DriverStatus status = Api::create_graph(parts_.driver, &graph_);
  if (status == Api::kSuccess) {
    status = add_nodes(graph, nodes);
  }
  if (status == Api::kSuccess) {
    let_others_in();
  }
  return {status};
}

template <class Api>
auto StreamCommandBuffer<Api>::instantiate() noexcept -> DriverStatus {
  if (nodes_.empty()) {
    return Api::kSuccess;
  }
  const ExclusiveCallYield::Claim claim(parts_.exclusive_call_yield);
  const DriverStatus status = Api::instantiate(parts_.driver, &executable_, graph_);
  if (status != Api::kSuccess) {
    executable_ = nullptr;
  }
  return status;
}

/// Between two calls for which the driver keeps its locks for long (for each node): a
/// thread that waits for them is woken too late to get them before the next call, and would wait for both.
/// Not worth it for a few nodes: a program may have thousands of short stretches.
template <class Api>
void StreamCommandBuffer<Api>::let_others_in() const {
  constexpr std::size_t kMany = 48;
  if (nodes_.size() >= kMany && !parts_.memory.awaited()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// What the copies and fills name. False if some of it is gone.
template <class Api>
bool StreamCommandBuffer<Api>::find_memory(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                                           std::vector<Allocation>* all) {
  for (const capture::NodeIndex index : nodes) {
    const capture::OperationView operation = graph.operation(index);
    const auto arguments = operation.arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].kind != capture::ArgumentKind::kPointer || capture::bytes_named(operation, i) == 0) {
        continue;
      }
      Allocation found;
      if (!Api::find_allocation(parts_.driver, operation.handle_of(i), &found)) {
        return false;
      }
      if (std::none_of(all->begin(), all->end(), [&](const Allocation& known) { return known.start == found.start; })) {
        all->push_back(found);
      }
    }
  }
  return true;
}

/// One after the other, as the stream would run them. A kernel that may begin early follows the kernel in front of it
/// by an edge that says so. Its end does not tell of the end of that one: what comes next waits for both.
template <class Api>
auto StreamCommandBuffer<Api>::add_nodes(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes)
    -> DriverStatus {
  std::vector<typename Api::NodeHandle> before;  // whose ends the next node waits for; the newest last
  bool behind_kernel = false;
  for (const capture::NodeIndex index : nodes) {
    const capture::OperationView operation = graph.operation(index);
    const bool early = behind_kernel && begins_early(operation);
    Node node;
    node.index = index;
    DriverStatus status = node.node.add(
        parts_.driver, graph_, early ? std::span<const typename Api::NodeHandle>() : before, context_, operation);
    parts_.graph_maker.goes_on();
    if (status != Api::kSuccess) {
      return status;
    }
    if (node.node.empty()) {
      continue;
    }
    if (early) {
      status = link_early(before.back(), node.node.handle());
      if (status != Api::kSuccess) {
        return status;
      }
    } else {
      before.clear();
    }
    before.push_back(node.node.handle());
    behind_kernel = operation.kind() == capture::OperationKind::kKernel;
    nodes_.push_back(node);
  }
  return Api::kSuccess;
}

/// An event for the end of the graph just launched.
template <class Api>
auto StreamCommandBuffer<Api>::record_end(Event* done) -> DriverStatus {
  DriverStatus status = Api::kSuccess;
  NativeEvent<Api>* event = parts_.events.take(context_, &status);
  if (event == nullptr) {
    return status;
  }
  status = Api::record_event(parts_.driver, event->handle, stream_->handle);
  if (status == Api::kSuccess) {
    *done = event->as_event();
  } else {
    parts_.events.release(*event);
  }
  return status;
}

template <class Api>
[[gnu::hot]] Status StreamCommandBuffer<Api>::enqueue(std::span<const Event> waits, Event* done) noexcept {
  if (!is_there()) {
    return {Api::kInvalidHandle};
  }
  const typename Api::Scope scope(parts_.driver, context_);
  if (scope.status() != Api::kSuccess) {
    return {scope.status()};
  }
  for (const Event wait : waits) {
    if (const DriverStatus status = Api::wait_event(parts_.driver, stream_->handle, NativeEvent<Api>::of(wait).handle);
        status != Api::kSuccess) {
      return {status};
    }
  }
  if (executable_ != nullptr) {
    if (const DriverStatus status = Api::launch(parts_.driver, executable_, stream_->handle); status != Api::kSuccess) {
      return {status};
    }
  }
  // The work is submitted: from here on a failure must not make anybody submit it again. Without an event
  // those who asked for one wait on the host instead, which is slow and right.
  if (done != nullptr && record_end(done) != Api::kSuccess) {
    static_cast<void>(Api::synchronize(parts_.driver, stream_->handle));
  }
  return {};
}

template <class Api>
Status StreamCommandBuffer<Api>::update(std::span<const NodeUpdate> updates) noexcept {
  if (executable_ == nullptr || !is_there()) {
    return {Api::kInvalidHandle};
  }
  const typename Api::Scope scope(parts_.driver, context_);
  bool changed = false;
  auto node = nodes_.begin();
  for (const NodeUpdate& wanted : updates) {
    // Both are in the order of the part, nearly always.
    const auto found = std::find_if(node, nodes_.end(), [&](const Node& each) { return each.index == wanted.node; });
    node = found != nodes_.end() ? found : std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& each) {
      return each.index == wanted.node;
    });
    DriverStatus status = Api::kSuccess;  // no node: an operation without work
    if (node != nodes_.end()) {
      try {
        status = node->node.change(parts_.driver, executable_, context_, wanted.operation);
      } catch (...) {
        status = Api::kOutOfMemory;
      }
    }
    if (status != Api::kSuccess) {
      broken_ = changed;  // half of it is new: never to be launched again
      return {status};
    }
    changed = true;
  }
  return {};
}

template <class Api>
bool StreamCommandBuffer<Api>::run_before([[maybe_unused]] capture::NodeIndex end) noexcept {
  if constexpr (requires { &Api::set_enabled; }) {
    const typename Api::Scope scope(parts_.driver, context_);
    return is_there() && std::ranges::all_of(nodes_, [&](const Node& node) {
             return Api::set_enabled(parts_.driver, executable_, node.node.handle(), node.index < end);
           });
  }
  return false;
}

}  // namespace refrain::backends
