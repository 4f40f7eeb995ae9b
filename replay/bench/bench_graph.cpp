#include "replay/bench/bench_graph.h"

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

// Nothing of it is repeated: between map and unmap memory is the program's alone, and what it wrote is in the contents.
bool maps(const OperationView& operation) {
  return operation.kind() == OperationKind::kMap || operation.kind() == OperationKind::kUnmap;
}

// Why an operation cannot be repeated outside the captured process; null if it can. `done`: the device says so of what
// means something in its API alone.
const char* why_not_repeatable(const OperationView& operation, bool addresses_known, bool done) {
  if (maps(operation)) {
    return nullptr;
  }
  if (operation.kind() == OperationKind::kUnknown) {
    return "only the captured program itself can do this";
  }
  for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
    switch (argument.kind) {
      case ArgumentKind::kUnset: return "it has an argument that was never set";
      case ArgumentKind::kPointer:
        if (!addresses_known) {
          return "it names shared virtual memory, which captures do not hold";
        }
        break;
      case ArgumentKind::kOtherHandle:
        if (!done) {
          return "it names an object that captures do not hold (a queue or pipe)";
        }
        break;
      case ArgumentKind::kHostPointer:
        if (operation.kind() != OperationKind::kReadBuffer && operation.kind() != OperationKind::kWriteBuffer &&
            operation.kind() != OperationKind::kPointerCopy) {
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
    case OperationKind::kPointerCopy:
    case OperationKind::kPointerFill:
    case OperationKind::kPointerCopyRect:
    case OperationKind::kPointerFillRect:
    case OperationKind::kMarker:
    case OperationKind::kBarrier:
    case OperationKind::kFlush:
    case OperationKind::kEventRecord:
    case OperationKind::kEventWait: return nullptr;
    case OperationKind::kPointerMigrate:
    case OperationKind::kOther:
      if (done) {
        return nullptr;
      }
      [[fallthrough]];
    default: return "only the captured program itself can do this";
  }
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
  std::unique_ptr<BenchGraph> made(new BenchGraph(device, capture));
  const capture::Graph old = stored.graph();
  if (old.empty()) {
    *why = "it has no nodes";
    return nullptr;
  }
  for (NodeIndex node = 0; node < old.size(); ++node) {
    const OperationView operation = old.operation(node);
    if (const char* reason = why_not_repeatable(operation, made->addresses_.any(), device.does(operation));
        reason != nullptr) {
      *why = describe(node, operation) + ": " + reason;
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
  made->stand_ins_.resize(old.size());
  for (NodeIndex node = 0; node < old.size(); ++node) {
    if (maps(old.operation(node))) {
      made->stand_ins_[node] = 1;
      made->stand_in(old.operation(node), node, &record);
    } else if (!made->translate(old.operation(node), node, &record, why)) {
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
      if (code == capture.code.end() || code->second.size == 0) {
        *why = describe(node, operation) + ": the capture does not hold the kernel's code";
        return false;
      }
      const capture::Handle handle =
          device_.make_function(function->second, code->second.kind, capture.read_code(code->first), why);
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
    for_each_address(operation, [&](std::size_t, std::uint64_t word) { addresses_.use(word); });
  }
  return make_regions(capture, max_bytes, why);
}

bool BenchGraph::make_regions(const capture::Capture& capture, std::uint64_t max_bytes, std::string* why) {
  for (BenchAddresses::Region& region : addresses_.join()) {
    if (region.size > max_bytes || bytes_ + region.size > max_bytes) {
      *why = "the graph needs more memory than --max-memory-mb allows";
      return false;
    }
    capture::BufferInfo wanted = capture.buffers.at(region.buffers.front());
    wanted.size = region.size;
    region.made = device_.make_memory(wanted, 0, why);
    if (region.made == 0) {
      return false;
    }
    bytes_ += region.size;
    BenchMemory& memory = memory_.emplace_back();
    memory.object = region.buffers.back();
    memory.handle = region.made;
    memory.kind = ArgumentKind::kPointer;
    memory.start.resize(region.size);
    for (const capture::ObjectId buffer : region.buffers) {
      memory.pieces.push_back({buffer, capture.buffers.at(buffer).address - region.address});
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
    memory_.push_back(
        {object, handle, kind, std::vector<std::byte>(parent == 0 ? size : 0), parent != 0, {{object, 0}}});
  }
  return true;
}

// A marker does nothing but wait for the same.
void BenchGraph::stand_in(const OperationView& from, NodeIndex node, std::vector<std::byte>* to) {
  capture::RecordBytes record;
  capture::OperationWriter writer(record);
  capture::OperationHeader& header = writer.begin(OperationKind::kMarker, from.token());
  header.queue = from.header().queue;
  header.queue_handle = queue_of_id_[from.header().queue].handle;
  header.sequence = node + 1;
  for (const capture::WaitRef wait : from.waits()) {
    writer.wait(wait);
  }
  writer.finish();
  const auto bytes = std::as_bytes(std::span(record));
  to->assign(bytes.begin(), bytes.end());
  note_waits(from, node);
}

bool BenchGraph::translate(const OperationView& from, NodeIndex node, std::vector<std::byte>* to, std::string* why) {
  const auto bytes = from.bytes();
  to->assign(bytes.begin(), bytes.end());
  auto* header = reinterpret_cast<capture::OperationHeader*>(to->data());
  header->queue_handle = queue_of_id_[header->queue].handle;
  header->promise = 0;
  header->sequence = node + 1;
  header->function_handle = from.kind() == OperationKind::kKernel ? functions_[header->function] : 0;
  if (addresses_.any() && !relocate(addresses_, from, to->data(), why)) {
    *why = describe(node, from) + ": " + *why;
    return false;
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
      const bool by_pointer = from.kind() == OperationKind::kPointerCopy;
      const bool reads = by_pointer ? i == 0 : from.kind() == OperationKind::kReadBuffer;
      const std::uint64_t size =
          by_pointer ? from.as<capture::words::PointerCopy>().bytes : from.as<capture::words::TransferBuffer>().bytes;
      if (size > bytes_) {
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
  device_.adapt(to);
  if (!device_.fits(OperationView(to->data()), why)) {
    *why = describe(node, from) + ": " + *why;
    return false;
  }
  note_waits(from, node);
  return true;
}

void BenchGraph::note_waits(const OperationView& from, NodeIndex node) {
  for (const capture::WaitRef wait : from.waits()) {
    const std::uint64_t sequence = capture::target_of(wait);
    if (capture::is_internal(wait) && sequence >= 1 && sequence <= node) {
      const auto before = static_cast<NodeIndex>(sequence - 1);
      event_waits_[node].push_back(before);
      signals_[before] = 1;
    }
  }
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
    // In the order in which they were allocated, so that the latest contents of an address win.
    bool any = false;
    for (const BenchMemory::Piece& piece : memory.pieces) {
      if (capture.has_contents(piece.object)) {
        any = true;
        // The file describes BufferInfo::size bytes; for images that may not be known, then it is what we made.
        const std::size_t here = memory.start.size() - piece.offset;
        const std::size_t described = capture.buffers.at(piece.object).size;
        const std::span<std::byte> place = std::span(memory.start).subspan(piece.offset);
        if (described <= here && described != 0) {
          if (!capture.read_contents(piece.object, place.first(described), why)) {
            return false;
          }
          continue;
        }
        std::vector<std::byte> whole(std::max(here, described));
        std::ranges::copy(place, whole.begin());
        if (!capture.read_contents(piece.object, whole, why)) {
          return false;
        }
        std::copy_n(whole.begin(), here, place.begin());
      }
    }
    made_up_ += any ? 0 : 1;
  }
  return true;
}

}  // namespace refrain::replay
