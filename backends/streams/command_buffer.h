// A graph of the driver, made from recorded operations and launched on a stream.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/streams/event_pool.h"
#include "backends/streams/named_memory.h"
#include "backends/streams/operation.h"
#include "backends/streams/stream.h"
#include "backends/streams/stream_links.h"

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
  /// A context is about to be destroyed (kNoContext: any may be).
  void context_gone(typename Api::ContextHandle context) noexcept;

 private:
  std::mutex mutex_;
  std::unordered_set<StreamCommandBuffer<Api>*> all_;
};

/// What a command buffer needs of its backend.
template <class Api>
struct StreamParts {
  const typename Api::Driver& driver;
  EventPool<Api>& events;
  StreamOrder<Api>& order;
  StreamLinks<Api>& links;
  LiveBuffers<Api>& live;
  NamedMemory& memory;
  RightOfWay& right_of_way;
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

  /// Makes the graph; `uploader` is that of the same context, which must be current. May throw std::bad_alloc.
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                typename Api::Uploader& uploader);

  Status enqueue(std::span<const Event> waits, Event* done) noexcept override;
  Status update(std::span<const NodeUpdate> updates) noexcept override;
  /// Always false: a graph may be launched, and changed for later launches, while it runs. (Measured on an H200
  /// with driver 580: changing a node of a running graph takes as long as of an idle one. HIP's runtime gives each
  /// change memory of its own.)
  [[nodiscard]] bool busy() const noexcept override { return false; }
  [[nodiscard]] bool ready() noexcept override;

 private:
  friend class LiveBuffers<Api>;
  /// Gives the graph back to the driver. Not while it is being recorded, launched or changed.
  void destroy() noexcept;

  struct Node {
    capture::NodeIndex index = 0;
    typename Api::Node node;
  };

  DriverStatus add_nodes(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);
  void let_others_in() const;
  bool find_memory(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                   std::vector<Allocation>* all);
  void choose_main() noexcept;
  DriverStatus join_before();
  DriverStatus record_end(Event* done);
  [[nodiscard]] bool before_launch(Stream<Api>* other) noexcept {
    return parts_.order.covers(*main_.stream, *other) ||
           Api::query_stream(parts_.driver, other->handle) == Api::kSuccess;
  }

  /// A stream whose work it contains.
  struct Member {
    Stream<Api>* stream = nullptr;
    capture::ObjectId id = 0;
  };

  StreamParts<Api> parts_;
  Member home_;                           ///< the stream of the first operation; never changes
  std::vector<Member> members_;           ///< all, home first; never change
  std::vector<Stream<Api>*> companions_;  ///< all but home; never change
  Member main_;                           ///< where it is launched next
  std::vector<Stream<Api>*> others_;      ///< all but that one
  std::vector<StreamPoint<Api>> before_;  ///< of each of the others, what the next launch comes after
  std::vector<Stream<Api>*> free_;        ///< with work that does not come after any of home's
  std::vector<Node> nodes_;               ///< with work of their own, by index
  typename Api::GraphHandle graph_ = {};
  typename Api::ExecHandle executable_ = {};  ///< null if nothing in it has work of its own
  bool broken_ = false;                       ///< an update failed halfway, or the context is gone
};

template <class Api>
void LiveBuffers<Api>::add(StreamCommandBuffer<Api>* buffer) {
  const std::lock_guard guard(mutex_);
  all_.insert(buffer);
}

template <class Api>
void LiveBuffers<Api>::remove(StreamCommandBuffer<Api>* buffer) noexcept {
  const std::lock_guard guard(mutex_);
  all_.erase(buffer);
  buffer->destroy();
}

template <class Api>
void LiveBuffers<Api>::context_gone(typename Api::ContextHandle context) noexcept {
  const std::lock_guard guard(mutex_);
  for (StreamCommandBuffer<Api>* buffer : all_) {
    if (context == Api::kNoContext || buffer->home_.stream->context == context) {
      buffer->destroy();
      buffer->broken_ = true;
    }
  }
}

template <class Api>
void StreamCommandBuffer<Api>::destroy() noexcept {
  // A running graph is freed by the driver when it is done.
  if (executable_ == nullptr && graph_ == nullptr) {
    return;
  }
  const typename Api::Scope scope(parts_.driver, home_.stream->context);
  if (executable_ != nullptr) {
    const RightOfWay::Claim claim(parts_.right_of_way);
    static_cast<void>(Api::destroy_executable(parts_.driver, std::exchange(executable_, nullptr)));
  }
  if (graph_ != nullptr) {
    static_cast<void>(Api::destroy_graph(parts_.driver, std::exchange(graph_, nullptr)));
  }
}

template <class Api>
Status StreamCommandBuffer<Api>::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                                        typename Api::Uploader& uploader) {
  for (const capture::NodeIndex node : nodes) {
    Stream<Api>* stream = &Stream<Api>::of(graph.queue_of(node).handle);
    if (std::none_of(members_.begin(), members_.end(), [&](const Member& member) { return member.stream == stream; })) {
      members_.push_back({stream, graph.queue_of(node).id});
    }
  }
  home_ = main_ = members_.front();
  for (const Member& member : members_) {
    if (member.stream != home_.stream) {
      companions_.push_back(member.stream);
    }
  }
  others_ = companions_;
  before_.resize(others_.size());
  parts_.live.add(this);
  // A program that allocates for each round of a loop has the memory at the same place again soon.
  constexpr int kTries = 20;
  const auto find = [&](std::vector<Allocation>* all) { return find_memory(graph, nodes, all); };
  NamedMemory::Recording named = parts_.memory.record(find);
  for (int i = 1; i < kTries && !named.good() && !parts_.memory.awaited(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    named = parts_.memory.record(find);
  }
  if (!named.good()) {
    return {Api::kInvalidHandle, "memory that it copies or fills was freed before the graph was made"};
  }
  DriverStatus status = Api::create_graph(parts_.driver, &graph_);
  if (status == Api::kSuccess) {
    status = add_nodes(graph, nodes);
  }
  if (status != Api::kSuccess || nodes_.empty()) {
    return {status};
  }
  let_others_in();
  {
    const RightOfWay::Claim claim(parts_.right_of_way);
    status = Api::instantiate(parts_.driver, &executable_, graph_);
  }
  if (status != Api::kSuccess) {
    executable_ = nullptr;
    return {status};
  }
  let_others_in();
  // The first launch would have to wait for this.
  status = uploader.upload(parts_.driver, executable_, parts_.right_of_way);
  named.end();
  const DriverStatus waited = uploader.wait(parts_.driver, parts_.right_of_way);
  return {status != Api::kSuccess ? status : waited};
}

/// Between two calls for which the driver keeps its locks for long (on an H200, driver 580, about 1 us a node each): a
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

/// Event records and waits become edges: what comes after one comes after all that it comes after.
template <class Api>
auto StreamCommandBuffer<Api>::add_nodes(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes)
    -> DriverStatus {
  std::vector<std::vector<typename Api::NodeHandle>> made(graph.size());
  std::vector<bool> inside(graph.size(), false);
  std::vector<bool> after_home(graph.size(), false);
  for (const capture::NodeIndex index : nodes) {
    std::vector<typename Api::NodeHandle> before;
    for (const capture::NodeIndex predecessor : graph.predecessors(index)) {
      if (inside[predecessor]) {
        before.insert(before.end(), made[predecessor].begin(), made[predecessor].end());
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    inside[index] = true;
    Stream<Api>* stream = &Stream<Api>::of(graph.queue_of(index).handle);
    const auto predecessors = graph.predecessors(index);
    after_home[index] =
        stream == home_.stream || std::any_of(predecessors.begin(), predecessors.end(),
                                              [&](auto predecessor) { return after_home[predecessor]; });
    const capture::OperationView operation = graph.operation(index);
    if (has_work(operation) && !after_home[index] && std::find(free_.begin(), free_.end(), stream) == free_.end()) {
      free_.push_back(stream);
    }
    Node node;
    node.index = index;
    if (has_work(operation)) {
      const DriverStatus status = node.node.add(parts_.driver, graph_, before, home_.stream->context, operation);
      if (status != Api::kSuccess) {
        return status;
      }
    }
    if (node.node.empty()) {
      made[index] = std::move(before);
    } else {
      made[index] = {node.node.handle()};
      nodes_.push_back(node);
    }
  }
  return Api::kSuccess;
}

/// The graph is launched at home, or on the stream that all others are linked to: at home it would have to wait for an
/// event then where nothing needs to be waited for.
template <class Api>
[[gnu::hot]] void StreamCommandBuffer<Api>::choose_main() noexcept {
  if (others_.empty()) {
    return;
  }
  const Stream<Api>* const leader = parts_.links.leader_of(*home_.stream, companions_);
  if (leader == main_.stream) {
    return;
  }
  const auto chosen = std::find_if(members_.begin(), members_.end(),
                                   [leader](const Member& member) { return member.stream == leader; });
  *std::find(others_.begin(), others_.end(), chosen->stream) = main_.stream;
  main_ = *chosen;
}

template <class Api>
[[gnu::hot]] bool StreamCommandBuffer<Api>::ready() noexcept {
  if (others_.empty()) {
    return true;
  }
  choose_main();
  if (main_.stream->id.load(std::memory_order_acquire) != main_.id) {
    return true;  // enqueue() says what is wrong
  }
  const typename Api::Scope scope(parts_.driver, home_.stream->context);
  if (!std::all_of(others_.begin(), others_.end(), [this](Stream<Api>* other) { return before_launch(other); })) {
    return false;
  }
  // What comes after nothing of home's must not wait for what main has unfinished: a host function, say, that ends only
  // when the program has seen the other stream's work. (Elsewhere than on its home a graph is only launched if all
  // others are behind that stream anyway.)
  Stream<Api>& main = *main_.stream;
  return std::all_of(free_.begin(), free_.end(),
                     [&](Stream<Api>* other) {
                       return other == &main || parts_.order.covers(*other, main) ||
                              parts_.links.is_behind(*other, main);
                     }) ||
         Api::query_stream(parts_.driver, main.handle) == Api::kSuccess;
}

/// Work of other streams that is not known to come before the launch is waited for.
template <class Api>
[[gnu::hot]] auto StreamCommandBuffer<Api>::join_before() -> DriverStatus {
  for (Stream<Api>* other : others_) {
    if (before_launch(other)) {
      continue;
    }
    DriverStatus status = Api::kSuccess;
    NativeEvent<Api>* event = parts_.events.take(home_.stream->context, &status);
    if (event == nullptr) {
      return status;
    }
    status = Api::record_event(parts_.driver, event->handle, other->handle);
    if (status == Api::kSuccess) {
      status = Api::wait_event(parts_.driver, main_.stream->handle, event->handle);
    }
    parts_.events.release(*event);
    if (status != Api::kSuccess) {
      return status;
    }
  }
  return Api::kSuccess;
}

/// An event for the end of the graph just launched.
template <class Api>
auto StreamCommandBuffer<Api>::record_end(Event* done) -> DriverStatus {
  DriverStatus status = Api::kSuccess;
  NativeEvent<Api>* event = parts_.events.take(home_.stream->context, &status);
  if (event == nullptr) {
    return status;
  }
  const StreamPoint<Api> point = parts_.order.now(*main_.stream);
  status = Api::record_event(parts_.driver, event->handle, main_.stream->handle);
  if (status == Api::kSuccess) {
    parts_.links.ended(*main_.stream, *event, point);
    *done = event->as_event();
  } else {
    parts_.events.release(*event);
  }
  return status;
}

template <class Api>
[[gnu::hot]] Status StreamCommandBuffer<Api>::enqueue(std::span<const Event> waits, Event* done) noexcept {
  choose_main();
  if (broken_ || main_.stream->id.load(std::memory_order_acquire) != main_.id) {
    return {Api::kInvalidHandle};
  }
  const typename Api::Scope scope(parts_.driver, home_.stream->context);
  if (scope.status() != Api::kSuccess) {
    return {scope.status()};
  }
  parts_.links.settle_for(*main_.stream, others_);
  for (const Event wait : waits) {
    if (const DriverStatus status =
            Api::wait_event(parts_.driver, main_.stream->handle, NativeEvent<Api>::of(wait).handle);
        status != Api::kSuccess) {
      return {status};
    }
  }
  // What other threads submit from here on is not waited for.
  std::ranges::transform(others_, before_.begin(), [this](Stream<Api>* other) { return parts_.order.now(*other); });
  if (const DriverStatus status = join_before(); status != Api::kSuccess) {
    return {status};
  }
  if (executable_ != nullptr) {
    if (const DriverStatus status = Api::launch(parts_.driver, executable_, main_.stream->handle);
        status != Api::kSuccess) {
      return {status};
    }
  }
  const std::uint64_t tail = StreamOrder<Api>::submitted(*main_.stream);
  // The work is submitted: from here on a failure must not make anybody submit it again. Without an event
  // those who asked for one wait on the host instead, which is slow and right.
  if (done != nullptr && record_end(done) != Api::kSuccess) {
    static_cast<void>(Api::synchronize(parts_.driver, main_.stream->handle));
  }
  parts_.links.link(*main_.stream, tail, others_, before_);
  return {};
}

template <class Api>
Status StreamCommandBuffer<Api>::update(std::span<const NodeUpdate> updates) noexcept {
  if (broken_ || executable_ == nullptr || home_.stream->id.load(std::memory_order_acquire) != home_.id) {
    return {Api::kInvalidHandle};
  }
  const typename Api::Scope scope(parts_.driver, home_.stream->context);
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
        status = node->node.change(parts_.driver, executable_, home_.stream->context, wanted.operation);
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

}  // namespace refrain::backends
