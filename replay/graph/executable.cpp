#include "replay/graph/executable.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "replay/graph/discarder.h"
#include "replay/graph/partition.h"
#include "replay/layer_hooks.h"

namespace refrain::replay {

using capture::NodeIndex;
using capture::OperationKind;
using capture::OperationView;

void Occurrence::add(const OperationView& operation) {
  offsets.push_back(storage.size());
  const auto bytes = operation.bytes();
  storage.insert(storage.end(), bytes.begin(), bytes.end());
}

namespace {

/// Reorders the nodes of one part. Only orders that respect the edges come out.
std::vector<NodeIndex> ordered(const capture::Graph& graph, std::vector<NodeIndex> nodes, env::OrderChoice order) {
  if (order == env::OrderChoice::kSubmission || nodes.size() < 3) {
    return nodes;
  }
  std::vector<std::uint32_t> open(graph.size(), 0);
  std::vector<bool> inside(graph.size(), false);
  for (const NodeIndex node : nodes) {
    inside[node] = true;
  }
  std::vector<NodeIndex> ready;
  for (const NodeIndex node : nodes) {
    for (const NodeIndex before : graph.predecessors(node)) {
      open[node] += inside[before] ? 1 : 0;
    }
    if (open[node] == 0) {
      ready.push_back(node);
    }
  }
  const bool depth_first = order == env::OrderChoice::kDepthFirst;
  if (depth_first) {
    std::reverse(ready.begin(), ready.end());
  }
  std::vector<NodeIndex> result;
  std::size_t front = 0;
  while (front < ready.size()) {
    NodeIndex node = 0;
    if (depth_first) {
      node = ready.back();
      ready.pop_back();
    } else {
      node = ready[front++];
    }
    result.push_back(node);
    for (const NodeIndex after : graph.successors(node)) {
      if (inside[after] && --open[after] == 0) {
        ready.push_back(after);
      }
    }
  }
  return result;
}

const capture::QueueInfo* find_queue(const std::vector<capture::QueueInfo>& queues, capture::ObjectId id) {
  const auto found = std::find_if(queues.begin(), queues.end(), [id](const auto& queue) { return queue.id == id; });
  return found == queues.end() ? nullptr : &*found;
}

/// Numbers the events from outside that the operations of a graph wait for.
class OutsideNumbers {
 public:
  /// `first`: number of the graph's first operation in its lane.
  explicit OutsideNumbers(std::uint64_t first) : first_(first) {}

  /// To be asked for each operation, in their order.
  OutsideEvents of(const OperationView& operation) {
    OutsideEvents result;
    for (const capture::WaitRef wait : operation.waits()) {
      const bool internal = capture::is_internal(wait);
      if ((wait & capture::kOrderedWait) != 0 || (internal && capture::target_of(wait) >= first_)) {
        continue;
      }
      const capture::WaitRef event = capture::target_of(wait) | (internal ? capture::kInternalWait : 0);
      const auto [known, is_new] = numbers_.try_emplace(event, count_);
      if (is_new || (wait & capture::kRepeatedWait) == 0) {  // it may be another one when the graph is used
        known->second = count_++;
      }
      result.push_back(known->second);
    }
    return result;
  }

 private:
  std::uint64_t first_;
  std::uint32_t count_ = 0;
  std::unordered_map<capture::WaitRef, std::uint32_t> numbers_;
};

std::vector<capture::ObjectId> named_objects(const Occurrence& occurrence) {
  std::vector<capture::ObjectId> objects;
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    const OperationView operation = occurrence.operation(i);
    objects.push_back(operation.header().queue);
    if (operation.header().function != 0) {
      objects.push_back(operation.header().function);  // the layer lets go of kernels in the same way
    }
    for (const auto& argument : operation.arguments()) {
      if (argument.object != 0) {
        objects.push_back(argument.object);
      }
    }
  }
  std::sort(objects.begin(), objects.end());
  objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
  return objects;
}

}  // namespace

Executable::~Executable() {
  if (discarder_ == nullptr) {
    return;
  }
  Discarder::Buffers buffers;
  try {
    buffers.reserve(parts_.size());
    for (Part& part : parts_) {
      buffers.push_back(std::move(part.buffer));
    }
  } catch (...) {
    return;  // no memory: here
  }
  discarder_->discard(std::move(buffers));
}

std::unique_ptr<Executable> Executable::build(const Occurrence& occurrence, const env::Settings& settings,
                                              backends::Backend& backend, std::string* why, bool* later) {
  auto result = std::make_unique<Executable>();
  result->recorded_ = std::make_shared<Occurrence>(occurrence);
  const Occurrence& own = *result->recorded_;

  capture::GraphBuilder builder;
  for (const auto& queue : own.queues) {
    builder.declare_queue(queue);
  }
  OutsideNumbers numbers(own.operation(0).header().sequence);
  std::vector<PartGroup> groups(own.size(), 0);
  std::vector<OutsideEvents> outside(own.size());
  bool keeps_order = true;
  const char* cannot = "none of its operations can be recorded";
  for (std::size_t i = 0; i < own.size(); ++i) {
    const OperationView operation = own.operation(i);
    builder.add(operation);
    const auto* queue = find_queue(own.queues, operation.header().queue);
    if (queue == nullptr) {
      *why = "it uses a queue that is gone";
      return nullptr;
    }
    keeps_order = keeps_order && backend.capabilities(*queue).keeps_order;
    const backends::Recordable answer = backend.can_record(operation, *queue);
    if (answer.ok) {
      groups[i] = static_cast<PartGroup>(queue - own.queues.data()) + 1;
    } else {
      cannot = answer.why;
    }
    outside[i] = numbers.of(operation);
  }
  result->graph_ = builder.finish();
  const PartitionMode mode = settings.partition == env::PartitionChoice::kFewestParts ? PartitionMode::kFewestParts
                                                                                      : PartitionMode::kNoFalseWait;
  const BetweenGroups between = keeps_order ? BetweenGroups::kNodesWait : BetweenGroups::kPartsWait;
  const Partitioning partitioning = partition(result->graph_, groups, outside, mode, between);

  const std::size_t shortest = settings.min_graph;
  result->can_update_ = result->can_resize_ = result->can_change_functions_ =
      settings.updates == env::UpdateChoice::kAuto;
  std::vector<std::size_t> recorded;  // parts
  for (const replay::Part& planned : partitioning.parts) {
    Part part;
    part.nodes = ordered(result->graph_, planned.nodes, settings.order);
    part.queue = *find_queue(own.queues, own.operation(planned.nodes.front()).header().queue);
    std::size_t with_work = 0;
    bool native = false;
    for (const NodeIndex node : part.nodes) {
      const bool flush = own.operation(node).kind() == OperationKind::kFlush;
      part.flushes = part.flushes || flush;
      with_work += flush ? 0 : 1;
    }
    if (planned.native && with_work < shortest) {
      cannot = "none of its parts is long enough for a graph";
    } else if (planned.native) {
      const auto capabilities = backend.capabilities(part.queue);
      part.simultaneous = capabilities.simultaneous_use;
      result->can_update_ = result->can_update_ && capabilities.update_arguments;
      result->can_resize_ = result->can_resize_ && capabilities.update_sizes;
      result->can_change_functions_ = result->can_change_functions_ && capabilities.update_functions;
      native = true;
      recorded.push_back(result->parts_.size());
      result->native_nodes_ += part.nodes.size();
    }
    // Neighbouring parts of one in-order queue are in order already.
    for (const std::uint32_t before : planned.waits) {
      Part& other = result->parts_[before];
      if (!keeps_order && (other.queue.id != part.queue.id || !part.queue.in_order)) {
        part.waits.push_back(before);
        other.signals = true;
      }
    }
    result->plain_ = result->plain_ && native && part.waits.empty() && !part.flushes;
    result->parts_.push_back(std::move(part));
  }
  if (result->native_nodes_ == 0) {
    *why = cannot;
    return nullptr;
  }
  std::vector<std::span<const NodeIndex>> nodes;
  for (const std::size_t index : recorded) {
    nodes.emplace_back(result->parts_[index].nodes);
  }
  std::vector<std::unique_ptr<backends::CommandBuffer>> buffers(recorded.size());
  const auto status = backend.record_all(result->graph_, nodes, buffers);
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!status.ok() || buffers[i] == nullptr) {
      if (later != nullptr) {
        *later = status.later;
      }
      *why = status.why != nullptr ? status.why
                                   : std::string("the driver refused to record it (") +
                                         backend.error_name(status.code) + ", " + std::to_string(status.code) + ")";
      return nullptr;
    }
    result->parts_[recorded[i]].buffer = std::move(buffers[i]);
  }
  result->objects_ = named_objects(own);
  return result;
}

bool is_changeable(const OperationView& operation) noexcept {
  switch (operation.kind()) {
    case OperationKind::kKernel:
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerFill:
    case OperationKind::kHostFunction: return true;
    default: return operation.find<capture::words::PointerPrefetchTo>() != nullptr;
  }
}

bool Executable::matches(std::span<const OperationView> operations) const noexcept {
  if (dead_ || operations.size() != recorded_->size()) {
    return false;
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!same_work(recorded_->operation(i), operations[i])) {
      return false;
    }
  }
  return true;
}

namespace {

/// True if two operations of one kind differ in nothing but sizes that a node can be given anew. A copy of nothing has
/// no node.
bool only_sizes_differ(const OperationView& known, const OperationView& now) noexcept {
  if (const auto* const kernel = known.find<capture::words::Kernel>(); kernel != nullptr) {
    const auto& other = now.as<capture::words::Kernel>();
    return kernel->dimensions == other.dimensions && kernel->offset == other.offset && kernel->local == other.local;
  }
  if (const auto* const copy = known.find<capture::words::PointerCopy>(); copy != nullptr) {
    const auto& other = now.as<capture::words::PointerCopy>();
    return copy->blocking == other.blocking && copy->bytes != 0 && other.bytes != 0;
  }
  return false;
}

/// What the device can change in a node.
struct Changeable {
  bool values, sizes, functions;
};

/// True if the operation differs from the recorded one in nothing but what a node can be given anew. Functions of one
/// token may stand for each other, if they have the same parameters.
bool only_values_differ(const OperationView& known, const OperationView& now, const Changeable& can) noexcept {
  const auto& a = known.header();
  const auto& b = now.header();
  if (!is_changeable(known) || a.kind != b.kind ||
      (a.function != b.function && !(can.functions && a.token == b.token)) || a.queue != b.queue ||
      a.word_count != b.word_count || a.argument_count != b.argument_count || a.value_bytes != b.value_bytes ||
      (!std::equal(known.words().begin(), known.words().end(), now.words().begin()) &&
       !(can.sizes && only_sizes_differ(known, now)))) {
    return false;
  }
  if (!can.values) {
    return std::ranges::equal(std::as_bytes(known.arguments()), std::as_bytes(now.arguments())) &&
           std::ranges::equal(known.values(), now.values());
  }
  const auto before = known.arguments();
  const auto after = now.arguments();
  return std::equal(before.begin(), before.end(), after.begin(),
                    [](const auto& x, const auto& y) { return x.kind == y.kind && x.size == y.size; });
}

bool same_objects(const OperationView& a, const OperationView& b) noexcept {
  if (a.header().function != b.header().function) {
    return false;
  }
  const auto x = a.arguments();
  const auto y = b.arguments();
  return std::equal(x.begin(), x.end(), y.begin(), [](const auto& s, const auto& t) { return s.object == t.object; });
}

}  // namespace

bool Executable::update(std::span<const OperationView> operations) noexcept {
  if (dead_ || !(can_update_ || can_resize_) || operations.size() != recorded_->size()) {
    return false;
  }
  try {
    updates_.resize(parts_.size());
    std::size_t total = 0;
    objects_changed_ = false;
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      updates_[index].clear();
      for (const NodeIndex node : parts_[index].nodes) {
        const OperationView known = recorded_->operation(node);
        if (same_work(known, operations[node])) {
          continue;
        }
        if (!only_values_differ(known, operations[node], {can_update_, can_resize_, can_change_functions_})) {
          return false;
        }
        objects_changed_ = objects_changed_ || !same_objects(known, operations[node]);
        updates_[index].push_back({node, operations[node]});
        total += known.kind() == OperationKind::kHostFunction ? 0 : 1;
      }
    }
    bool begun = false;
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      if (updates_[index].empty() || parts_[index].buffer == nullptr) {
        continue;
      }
      if (!parts_[index].buffer->update(updates_[index]).ok()) {
        dead_ = begun;  // some parts are new, others old
        return false;
      }
      begun = true;
    }
    if (std::exchange(lent_, false)) {  // what was lent stays as it is
      recorded_ = std::make_shared<Occurrence>(*recorded_);
    }
    for (const auto& part : updates_) {
      for (const backends::NodeUpdate& change : part) {
        std::byte* const place = recorded_->storage.data() + recorded_->offsets[change.node];
        auto& header = *reinterpret_cast<capture::OperationHeader*>(place);
        header.function = change.operation.header().function;
        header.function_handle = change.operation.header().function_handle;
        const auto fresh = change.operation.comparable();
        std::memcpy(place + sizeof(header), fresh.data(), fresh.size());
      }
    }
    changed_ = total;
    if (objects_changed_) {
      objects_ = named_objects(*recorded_);
    }
    return true;
  } catch (...) {
    dead_ = true;
    return false;
  }
}

[[gnu::hot]] bool Executable::available() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return part.buffer == nullptr || part.simultaneous || !part.buffer->busy();
  });
}

bool Executable::runs() const noexcept {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.buffer != nullptr && part.buffer->busy(); });
}

int Executable::launch(const SubmitContext& context, std::span<const OperationView> operations, bool* failed) {
  *failed = false;
  const std::uint64_t first = operations.front().header().sequence;
  auto& done = done_;  // one event a part; more after a failure
  done.resize(parts_.size());
  int first_error = 0;
  for (std::size_t index = 0; index < parts_.size(); ++index) {
    const Part& part = parts_[index];
    WaitList waits(context.backend);
    for (const std::uint32_t before : part.waits) {
      for (const backends::Event event : done[before]) {
        waits.borrow(event);
      }
    }
    bool promised = false;
    for (const NodeIndex node : part.nodes) {
      const capture::OperationHeader& header = operations[node].header();
      if (header.wait_count != 0) {
        waits.add(context, operations[node], first);
      }
      promised = promised || header.promise != 0;
    }
    const bool wants_event = part.signals || promised;
    backends::Status status{0};
    if (part.buffer != nullptr) {
      backends::Event event = backends::kNoEvent;
      status = part.buffer->enqueue(waits.events(), wants_event ? &event : nullptr);
      if (status.ok()) {
        if (promised) {
          for (const NodeIndex node : part.nodes) {
            keep_promise(context, operations[node], event, 0);
          }
        }
        if (event != backends::kNoEvent) {
          done[index].push_back(event);
        }
      }
    }
    if (part.buffer == nullptr || !status.ok()) {
      // Issued one by one.
      *failed = *failed || !status.ok();
      for (const NodeIndex node : part.nodes) {
        const OperationView& operation = operations[node];
        if (operation.kind() == OperationKind::kFlush) {
          continue;
        }
        backends::Event event = backends::kNoEvent;
        WaitList all(context.backend);
        for (const backends::Event wait : waits.events()) {
          all.borrow(wait);
        }
        for (const capture::WaitRef wait : operation.waits()) {
          const std::uint64_t sequence = capture::target_of(wait);
          if (capture::is_internal(wait) && sequence >= first) {
            all.borrow(context.window.find(sequence));
          }
        }
        status = context.backend.issue(operation, all.events(), wants_event ? &event : nullptr);
        first_error = first_error != 0 ? first_error : status.code;
        keep_promise(context, operation, event, status.code);
        if (event != backends::kNoEvent) {
          done[index].push_back(event);
        }
      }
    }
    if (part.flushes) {
      static_cast<void>(context.backend.flush(part.queue).ok());
    }
  }
  for (auto& events : done) {
    for (const backends::Event event : events) {
      context.backend.release_event(event);
    }
    events.clear();
  }
  return first_error;
}

[[gnu::hot]] int Executable::launch_plain(const SubmitContext& context, bool* failed) {
  *failed = false;
  if (!plain_) {
    std::vector<OperationView> operations;
    for (std::size_t i = 0; i < size(); ++i) {
      operations.push_back(operation(i));
    }
    return launch(context, operations, failed);
  }
  int first_error = 0;
  for (const Part& part : parts_) {
    if (part.buffer->enqueue({}, nullptr).ok()) [[likely]] {
      continue;
    }
    *failed = true;
    for (const NodeIndex node : part.nodes) {
      const int error = context.backend.issue(operation(node), {}, nullptr).code;
      first_error = first_error != 0 ? first_error : error;
    }
  }
  return first_error;
}

bool Executable::run_before(std::size_t end) noexcept {
  return std::ranges::all_of(parts_, [end](const Part& part) {
    return part.buffer != nullptr && part.buffer->run_before(static_cast<NodeIndex>(end));
  });
}

std::size_t Executable::memory() const noexcept {
  // A recorded node costs a command object and a kernel object in the driver: 2 KiB is a fair guess.
  return recorded_->storage.size() * 2 + native_nodes_ * 2048;
}

}  // namespace refrain::replay
