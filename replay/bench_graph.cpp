#include "replay/bench_graph.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace refrain::replay {
namespace {

using capture::ArgumentKind;
using capture::NodeIndex;
using capture::OperationKind;
using capture::OperationView;

bool has_handle(ArgumentKind kind) {
  return kind == ArgumentKind::kBuffer || kind == ArgumentKind::kImage || kind == ArgumentKind::kSampler;
}

// Why an operation cannot be repeated outside the captured process; null if it can.
const char* why_not_repeatable(const OperationView& operation) {
  for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
    switch (argument.kind) {
      case ArgumentKind::kUnset: return "it has an argument that was never set";
      case ArgumentKind::kPointer: return "it names shared virtual memory, which captures do not hold";
      case ArgumentKind::kOtherHandle: return "it names an object that captures do not hold (a queue or pipe)";
      case ArgumentKind::kHostPointer:
        if (operation.kind() != OperationKind::kReadBuffer && operation.kind() != OperationKind::kWriteBuffer) {
          return "it names host memory of the captured program";
        }
        break;
      default: break;
    }
  }
  switch (operation.kind()) {
    case OperationKind::kKernel:
    case OperationKind::kCopyBuffer:
    case OperationKind::kCopyBufferRect:
    case OperationKind::kFillBuffer:
    case OperationKind::kCopyImage:
    case OperationKind::kFillImage:
    case OperationKind::kCopyBufferToImage:
    case OperationKind::kCopyImageToBuffer:
    case OperationKind::kReadBuffer:
    case OperationKind::kWriteBuffer:
    case OperationKind::kMigrate:
    case OperationKind::kMarker:
    case OperationKind::kBarrier:
    case OperationKind::kFlush: return nullptr;
    default: return "only the captured program itself can do this";
  }
}

std::string describe(NodeIndex node, const OperationView& operation) {
  return "node " + std::to_string(node) + " (" + std::string(capture::name_of(operation.kind())) + ")";
}

// Whole numbers below `limit`, one per 4 bytes, the same on every run. Small, so that kernels which use them
// as indices are likely to stay within their buffers.
void make_up(std::span<std::byte> into, std::uint64_t seed, std::uint32_t limit) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::size_t at = 0; at < into.size(); at += 4) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto value = static_cast<std::uint32_t>((state >> 33U) % limit);
    std::memcpy(into.data() + at, &value, std::min<std::size_t>(4, into.size() - at));
  }
}

}  // namespace

std::unique_ptr<BenchGraph> BenchGraph::rebuild(const capture::Capture& capture, const capture::StoredGraph& stored,
                                                backends::StandaloneDevice& device, std::uint64_t max_bytes,
                                                std::string* why) {
  std::unique_ptr<BenchGraph> made(new BenchGraph(device));
  const capture::Graph& old = stored.graph();
  if (old.empty()) {
    *why = "it has no nodes";
    return nullptr;
  }
  for (NodeIndex node = 0; node < old.size(); ++node) {
    if (const char* reason = why_not_repeatable(old.operation(node)); reason != nullptr) {
      *why = describe(node, old.operation(node)) + ": " + reason;
      return nullptr;
    }
  }
  if (!made->make_objects(capture, old, max_bytes, why)) {
    return nullptr;
  }
  capture::GraphBuilder builder;
  for (const capture::QueueInfo& queue : made->queues_) {
    builder.declare_queue(queue);
  }
  std::vector<std::byte> record;
  made->event_waits_.resize(old.size());
  made->signals_.resize(old.size());
  for (NodeIndex node = 0; node < old.size(); ++node) {
    if (!made->translate(old.operation(node), node, &record, why)) {
      return nullptr;
    }
    builder.add(OperationView(record.data()));
  }
  made->graph_ = builder.finish();
  if (!made->fill(capture, why)) {
    return nullptr;
  }
  return made;
}

bool BenchGraph::make_objects(const capture::Capture& capture, const capture::Graph& stored, std::uint64_t max_bytes,
                              std::string* why) {
  for (NodeIndex node = 0; node < stored.size(); ++node) {
    const OperationView operation = stored.operation(node);
    const auto& header = operation.header();
    if (!queue_of_id_.contains(header.queue)) {
      capture::QueueInfo made;
      if (!device_.make_queue(stored.queue_of(node), &made, why)) {
        return false;
      }
      queue_of_id_[header.queue] = made;
      queues_.push_back(made);
    }
    if (operation.kind() == OperationKind::kKernel && !functions_.contains(header.function)) {
      const auto function = capture.functions.find(header.function);
      const auto code =
          function != capture.functions.end() ? capture.code.find(function->second.code) : capture.code.end();
      if (code == capture.code.end() || code->second.bytes.empty()) {
        *why = describe(node, operation) + ": the capture does not hold the kernel's code";
        return false;
      }
      const capture::Handle handle =
          device_.make_function(function->second, code->second.kind, code->second.bytes, why);
      if (handle == 0) {
        *why = describe(node, operation) + ": " + *why;
        return false;
      }
      functions_[header.function] = handle;
    }
    for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
      const capture::ArgumentDescriptor& argument = operation.arguments()[i];
      if (!has_handle(argument.kind) || (argument.object == 0 && operation.handle_of(i) == 0)) {
        continue;
      }
      if (!make_memory(capture, argument.object, argument.kind, max_bytes, 0, why)) {
        *why = describe(node, operation) + ", argument " + std::to_string(i) + ": " + *why;
        return false;
      }
    }
  }
  return true;
}

bool BenchGraph::make_memory(const capture::Capture& capture, capture::ObjectId object, ArgumentKind kind,
                             std::uint64_t max_bytes, int depth, std::string* why) {
  if (handles_.contains(object)) {
    return true;
  }
  const auto found = capture.buffers.find(object);
  if (object == 0 || found == capture.buffers.end()) {
    *why = "the capture does not describe the object";
    return false;
  }
  const capture::BufferInfo& info = found->second;
  if (info.is_image != (kind == ArgumentKind::kImage) || info.is_sampler != (kind == ArgumentKind::kSampler)) {
    *why = "the capture describes the object as something else";
    return false;
  }
  capture::Handle parent = 0;
  if (info.parent != 0) {
    const auto whole = capture.buffers.find(info.parent);
    if (depth > 3 || whole == capture.buffers.end()) {
      *why = "the capture does not describe the object that it is a part of";
      return false;
    }
    const ArgumentKind whole_kind = whole->second.is_image ? ArgumentKind::kImage : ArgumentKind::kBuffer;
    if (!make_memory(capture, info.parent, whole_kind, max_bytes, depth + 1, why)) {
      return false;
    }
    parent = handles_[info.parent];
  }
  // Start contents are kept on the host as well, and so are those of two runs to compare.
  if (info.size > max_bytes || bytes_ + info.size > max_bytes) {
    *why = "the graph needs more memory than --max-memory-mb allows";
    return false;
  }
  const capture::Handle handle = device_.make_memory(info, parent, why);
  if (handle == 0) {
    return false;
  }
  handles_[object] = handle;
  if (kind != ArgumentKind::kSampler) {
    const std::uint64_t size = backend_.size_of(kind, handle);
    if (size == 0 || size > max_bytes || bytes_ + size > max_bytes) {
      *why = size == 0 ? "its size is not known" : "the graph needs more memory than --max-memory-mb allows";
      return false;
    }
    if (parent == 0) {
      bytes_ += size;
    }
    memory_.push_back({object, handle, kind, std::vector<std::byte>(parent == 0 ? size : 0), parent != 0});
  }
  return true;
}

bool BenchGraph::translate(const OperationView& from, NodeIndex node, std::vector<std::byte>* to, std::string* why) {
  const auto bytes = from.bytes();
  to->assign(bytes.begin(), bytes.end());
  auto* header = reinterpret_cast<capture::OperationHeader*>(to->data());
  header->queue_handle = queue_of_id_[header->queue].handle;
  header->promise = 0;
  header->sequence = node + 1;
  if (from.kind() == OperationKind::kKernel) {
    header->function_handle = functions_[header->function];
  }
  std::size_t at = static_cast<std::size_t>(from.values().data() - bytes.data());
  for (std::size_t i = 0; i < from.arguments().size(); ++i) {
    const capture::ArgumentDescriptor& argument = from.arguments()[i];
    std::uint64_t handle = 0;
    bool replace = false;
    if (has_handle(argument.kind) && argument.object != 0) {
      handle = handles_[argument.object];
      replace = true;
    } else if (argument.kind == ArgumentKind::kHostPointer) {
      // The program's memory is gone; what was written from it is made up, what was read is compared.
      const bool reads = from.kind() == OperationKind::kReadBuffer;
      const std::uint64_t size = from.words()[1];
      if (from.words()[1] > bytes_) {
        *why = describe(node, from) + ": it transfers more than the buffer holds";
        return false;
      }
      auto host = std::make_unique<HostMemory>();
      host->node = node;
      host->bytes.resize(size);
      host->compared = reads;
      if (!reads) {
        make_up(host->bytes, node + 1, 16);
      }
      handle = reinterpret_cast<std::uint64_t>(host->bytes.data());
      host_.push_back(std::move(host));
      replace = true;
    }
    if (replace) {
      if (argument.size != sizeof(handle)) {
        *why = describe(node, from) + ": an argument has the wrong size";
        return false;
      }
      std::memcpy(to->data() + at, &handle, sizeof(handle));
    }
    at += argument.stored_bytes();
  }
  for (const capture::WaitRef wait : from.waits()) {
    const std::uint64_t sequence = wait & ~capture::kInternalWait;
    if ((wait & capture::kInternalWait) != 0 && sequence >= 1 && sequence <= node) {
      const auto before = static_cast<NodeIndex>(sequence - 1);
      event_waits_[node].push_back(before);
      signals_[before] = 1;
    }
  }
  return true;
}

bool BenchGraph::fill(const capture::Capture& capture, std::string* why) {
  std::uint64_t smallest = ~std::uint64_t{0};
  for (const BenchMemory& memory : memory_) {
    if (!memory.part) {
      smallest = std::min<std::uint64_t>(smallest, memory.start.size());
    }
  }
  const auto limit = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(smallest / 16, 1, 256));
  for (BenchMemory& memory : memory_) {
    if (memory.part) {
      continue;
    }
    make_up(memory.start, memory.object, limit);
    if (!capture.has_contents(memory.object)) {
      ++made_up_;
      continue;
    }
    // The file describes BufferInfo::size bytes; for images that may not be known, then it is what we made.
    const auto described = capture.buffers.at(memory.object).size;
    std::vector<std::byte> whole(std::max<std::size_t>(memory.start.size(), described));
    if (!capture.read_contents(memory.object, whole, why)) {
      return false;
    }
    std::copy_n(whole.begin(), memory.start.size(), memory.start.begin());
  }
  return true;
}

std::string BenchGraph::failure(NodeIndex node, const char* doing, int code) const {
  return std::string(doing) + " failed with " + backend_.error_name(code) + " at " +
         describe(node, graph_.operation(node));
}

bool BenchGraph::finish(std::string* why) {
  for (const capture::QueueInfo& queue : queues_) {
    (void)backend_.flush(queue);
  }
  for (const capture::QueueInfo& queue : queues_) {
    if (const backends::Status status = backend_.finish(queue); !status.ok()) {
      *why = std::string("waiting for the device failed with ") + backend_.error_name(status.code);
      return false;
    }
  }
  return true;
}

namespace {

// Events of one run, given back at its end.
class RunEvents {
 public:
  RunEvents(backends::Backend& backend, std::size_t count) : backend_(backend), events_(count) {}
  ~RunEvents() {
    for (const backends::Event event : events_) {
      if (event != backends::kNoEvent) {
        backend_.release_event(event);
      }
    }
  }
  RunEvents(const RunEvents&) = delete;
  RunEvents& operator=(const RunEvents&) = delete;
  backends::Event* at(std::size_t index) { return &events_[index]; }
  template <typename Range>
  std::span<const backends::Event> list(const Range& indices) {
    list_.clear();
    for (const auto index : indices) {
      if (events_[index] != backends::kNoEvent) {
        list_.push_back(events_[index]);
      }
    }
    return list_;
  }

 private:
  backends::Backend& backend_;
  std::vector<backends::Event> events_;
  std::vector<backends::Event> list_;
};

}  // namespace

bool BenchGraph::run_eagerly(std::string* why) {
  bool ok = true;
  RunEvents events(backend_, graph_.size());
  for (NodeIndex node = 0; ok && node < graph_.size(); ++node) {
    const auto waits = events.list(event_waits_[node]);
    const backends::Status status =
        backend_.issue(graph_.operation(node), waits, signals_[node] != 0 ? events.at(node) : nullptr);
    if (!status.ok()) {
      *why = failure(node, "eager execution", status.code);
      ok = false;
    }
  }
  std::string other;
  const bool finished = finish(ok ? why : &other);
  return ok && finished;
}

bool BenchGraph::run_natively(const BenchPlan& plan, std::string* why) {
  bool ok = true;
  RunEvents events(backend_, plan.pieces.size());
  for (std::size_t i = 0; ok && i < plan.pieces.size(); ++i) {
    const BenchPlan::Piece& piece = plan.pieces[i];
    const auto waits = events.list(piece.waits);
    backends::Event* done = piece.signals ? events.at(i) : nullptr;
    const backends::Status status = piece.buffer != nullptr
                                        ? piece.buffer->enqueue(waits, done)
                                        : backend_.issue(graph_.operation(piece.nodes[0]), waits, done);
    if (!status.ok()) {
      *why = failure(piece.nodes[0], "native replay", status.code);
      ok = false;
    }
  }
  std::string other;
  const bool finished = finish(ok ? why : &other);
  return ok && finished;
}

std::optional<BenchPlan> BenchGraph::plan(std::uint32_t chunk, PartitionMode mode, std::string* why) {
  std::vector<PartGroup> groups(graph_.size());
  const char* reason = "";
  bool any = false;
  for (NodeIndex node = 0; node < graph_.size(); ++node) {
    const capture::QueueInfo& queue = graph_.queue_of(node);
    const backends::Recordable answer = backend_.can_record(graph_.operation(node), queue);
    if (answer.ok) {
      const auto place = std::ranges::find(queues_, queue.id, &capture::QueueInfo::id);
      groups[node] = 1 + static_cast<PartGroup>(place - queues_.begin());
      any = true;
    } else {
      reason = answer.why;
    }
  }
  if (!any) {
    *why = std::string("nothing of it can be recorded here: ") + reason;
    return std::nullopt;
  }
  const Partitioning partitioning = partition(graph_, groups, {}, mode);
  BenchPlan plan;
  std::vector<std::uint32_t> last_piece(partitioning.parts.size());
  for (std::size_t i = 0; i < partitioning.parts.size(); ++i) {
    const Part& part = partitioning.parts[i];
    const std::size_t step = part.native && chunk != 0 ? chunk : part.nodes.size();
    for (std::size_t at = 0; at < part.nodes.size(); at += step) {
      BenchPlan::Piece& piece = plan.pieces.emplace_back();
      const std::span<const NodeIndex> nodes(part.nodes.data() + at, std::min(step, part.nodes.size() - at));
      piece.nodes.assign(nodes.begin(), nodes.end());
      const auto number = static_cast<std::uint32_t>(plan.pieces.size() - 1);
      // Work of one in-order queue needs no events.
      const auto wait_for = [&](std::uint32_t before) {
        const capture::QueueInfo& mine = graph_.queue_of(nodes[0]);
        if (!mine.in_order || graph_.queue_of(plan.pieces[before].nodes[0]).id != mine.id) {
          plan.pieces[before].signals = true;
          plan.pieces[number].waits.push_back(before);
        }
      };
      if (at == 0) {
        for (const std::uint32_t wait : part.waits) {
          wait_for(last_piece[wait]);
        }
      } else {
        wait_for(number - 1);
      }
      if (part.native) {
        if (const backends::Status status = backend_.record(graph_, nodes, &plan.pieces[number].buffer); !status.ok()) {
          *why = failure(nodes[0], "recording", status.code);
          return std::nullopt;
        }
        ++plan.native_pieces;
      }
      last_piece[i] = number;
    }
  }
  return plan;
}

bool BenchGraph::reset(std::string* why) {
  for (const BenchMemory& memory : memory_) {
    if (memory.part) {
      continue;
    }
    if (const backends::Status status = backend_.write(queues_[0], memory.kind, memory.handle, memory.start);
        !status.ok()) {
      *why = "writing the start contents of object " + std::to_string(memory.object) + " failed with " +
             backend_.error_name(status.code);
      return false;
    }
  }
  for (const auto& host : host_) {
    if (host->compared) {
      std::ranges::fill(host->bytes, std::byte{0});
    }
  }
  return true;
}

bool BenchGraph::contents(std::vector<std::vector<std::byte>>* all, std::string* why) {
  all->clear();
  for (const BenchMemory& memory : memory_) {
    if (memory.part) {
      continue;
    }
    auto& bytes = all->emplace_back(memory.start.size());
    if (const backends::Status status = backend_.read(queues_[0], memory.kind, memory.handle, bytes); !status.ok()) {
      *why = "reading object " + std::to_string(memory.object) + " failed with " + backend_.error_name(status.code);
      return false;
    }
  }
  for (const auto& host : host_) {
    if (host->compared) {
      all->push_back(host->bytes);
    }
  }
  return true;
}

std::string BenchGraph::name_of_content(std::size_t index) const {
  for (const BenchMemory& memory : memory_) {
    if (!memory.part && index-- == 0) {
      return (memory.kind == ArgumentKind::kImage ? "image " : "buffer ") + std::to_string(memory.object);
    }
  }
  for (const auto& host : host_) {
    if (host->compared && index-- == 0) {
      return "what node " + std::to_string(host->node) + " reads";
    }
  }
  return "object";
}

}  // namespace refrain::replay
