// Copies and fills, memory with and without the order of a stream.
#include <algorithm>

#include "test/sim/core/calls.h"
#include "test/sim/streams/objects.h"

namespace sim {
namespace {

/// From the first byte of a box to the last one.
std::size_t extent(const Box& box, std::size_t bytes, std::size_t height, std::size_t depth) {
  return (height - 1) * box.pitch + (depth - 1) * box.slice + bytes;
}

/// What a copy may name: host memory of both kinds, and memory of the device, whole.
Status check_side(const Box& box, std::size_t bytes, Side side, bool* pageable) {
  const Allocation* found = find_allocation(box.start);
  *pageable = found == nullptr;
  if (found != nullptr) {
    if (within(*found, box.start, bytes)) {
      return Status::kOk;
    }
    violation("a copy or fill beyond the end of the memory");
    return Status::kInvalidValue;
  }
  if (was_freed(box.start)) {
    violation("a copy or fill of freed memory");
    return Status::kInvalidValue;
  }
  return side == Side::kDevice ? Status::kInvalidValue : Status::kOk;
}

/// Of an H200: 16 KiB were read at once, 32 KiB were not.
constexpr std::size_t kReadAtOnce = (std::size_t{1} << 15U) - 1;

/// An H200 reads the source of a small copy from pinned memory during the call, if the copy's own stream has nothing to
/// do. What the legacy stream and the blocking ones wait for in each other does not count: so the program has to have
/// said what the copy comes after (test/gpu/order_rules.cu).
bool reads_at_once(const Task& task, const Stream& stream) {
  const auto type_of = [](const Box& box) { return find_allocation(box.start)->type; };
  if (stream.capture != nullptr || task.from_pageable || task.to_pageable ||
      task.bytes * task.height * task.depth > kReadAtOnce || type_of(task.from) != MemoryType::kHost ||
      type_of(task.to) != MemoryType::kDevice) {
    return false;
  }
  // Not is_done(): the program learns nothing by this.
  const auto done = [](const OperationRef& operation) { return operation == nullptr || operation->done; };
  const std::vector<OperationRef> before = before_next(stream);
  return done(stream.tail) && !std::all_of(before.begin(), before.end(), done);
}

}  // namespace

Status copy(const Copy& wanted, const void* stream_handle, bool per_thread, Returns returns) {
  Lock lock;
  Stream* stream = nullptr;
  Status status = find_stream(stream_handle, per_thread, &stream);
  if (status != Status::kOk || wanted.bytes == 0 || wanted.height == 0 || wanted.depth == 0) {
    return status;
  }
  Task task = copy_task(wanted.to, wanted.from, wanted.bytes, wanted.height, wanted.depth);
  const auto whole = [&](const Box& box) { return extent(box, wanted.bytes, wanted.height, wanted.depth); };
  status = check_side(wanted.to, whole(wanted.to), wanted.to_side, &task.to_pageable);
  if (status == Status::kOk) {
    status = check_side(wanted.from, whole(wanted.from), wanted.from_side, &task.from_pageable);
  }
  if (status == Status::kOk && returns != Returns::kAtOnce) {
    status = forbidden_in_captures();
  }
  if (status != Status::kOk) {
    return status;
  }
  if (stream->capture == nullptr && (task.from_pageable || reads_at_once(task, *stream))) {
    stage(task);
  }
  const bool only_read = returns == Returns::kWhenRead && task.from_pageable;
  if (only_read && stream->tail != nullptr && !wait_for(lock, stream->tail)) {
    return Status::kTimeout;  // before it reads, it waits for the stream
  }
  const bool wait = stream->capture == nullptr && ((returns != Returns::kAtOnce && !only_read) || task.to_pageable);
  status = put(lock, *stream, std::move(task));
  if (status == Status::kOk && wait) {
    const OperationRef copied = stream->tail;
    status = wait_for(lock, copied) ? status : Status::kTimeout;
  }
  return status;
}

Status fill(const Box& to, unsigned value, unsigned element, std::size_t count, std::size_t height,
            const void* stream_handle, bool per_thread) {
  Lock lock;
  Stream* stream = nullptr;
  Status status = find_stream(stream_handle, per_thread, &stream);
  if (status != Status::kOk || count == 0 || height == 0) {
    return status;
  }
  Task task = fill_task(to.start, &value, element, count * element);
  task.to = to;
  task.height = height;
  bool pageable = false;
  status = to.start % element != 0 ? Status::kInvalidValue
                                   : check_side(to, extent(to, task.bytes, height, 1), Side::kDevice, &pageable);
  return status != Status::kOk ? status : put(lock, *stream, std::move(task));
}

Status allocate_memory(std::size_t bytes, MemoryType type, Address* address) {
  const Lock lock;
  Context* context = nullptr;
  Status status = current(&context);
  if (status == Status::kOk) {
    status = forbidden_in_captures();
  }
  if (status != Status::kOk || bytes == 0) {
    return status != Status::kOk ? status : Status::kInvalidValue;
  }
  *address = allocate(context, bytes, type);
  return *address == 0 ? Status::kOutOfMemory : Status::kOk;
}

Status free_memory(const char* name, Address address) {
  Lock lock;
  if (address == 0) {
    return Status::kOk;
  }
  if (const Status status = forbidden_in_captures(); status != Status::kOk) {
    return status;
  }
  wait_for_device(lock);
  const Allocation* found = find_allocation(address);
  if (found == nullptr || found->start != address) {
    violation("%s of what was not allocated", name);
    return Status::kInvalidValue;
  }
  release(address);
  return Status::kOk;
}

}  // namespace sim
