// Memory that is allocated and freed in the order of streams. A stream that frees some gets it again at once, in its
// order, if addresses come back (SIM_SEED).
#include <algorithm>
#include <deque>
#include <map>

#include "test/sim/core/calls.h"
#include "test/sim/core/settings.h"
#include "test/sim/streams/objects.h"

namespace sim {
namespace {

struct Pools {
  char first = 0;
  std::deque<char> others;  // never given back: no handle comes again
  const void* current = &first;
  std::map<const void*, bool> made{{&first, true}};  ///< whether an allocation may wait for a free in another stream
};
Pools& pools() noexcept {
  static Pools& all = *new Pools;
  return all;
}

/// What the next allocation like this gets; null: new memory.
Allocation* freed_before(std::size_t bytes, const void* pool, const Stream* stream) {
  if (!reuses_addresses()) {
    return nullptr;
  }
  Allocation* other = nullptr;
  for (Allocation* each : allocations_in_order()) {
    if (each->freed_in != nullptr && each->pool == pool && rounded(each->bytes) == rounded(bytes)) {
      if (each->freed_in == stream) {
        return each;
      }
      other = settings().pool_waits && pools().made[pool] ? each : nullptr;
    }
  }
  return other;
}

}  // namespace

Status make_pool(const void** pool) {
  const Lock lock;
  *pool = &pools().others.emplace_back();
  pools().made[*pool] = true;
  return Status::kOk;
}

Status destroy_pool(const void* pool) {
  const Lock lock;
  if (pool == &pools().first || pools().made.erase(pool) == 0) {
    return Status::kInvalidValue;
  }
  pools().current = pools().current == pool ? &pools().first : pools().current;
  return Status::kOk;
}

Status use_pool(const void* pool) {
  const Lock lock;
  if (!pools().made.contains(pool)) {
    return Status::kInvalidValue;
  }
  pools().current = pool;
  return Status::kOk;
}

bool* waits_of(const void* pool) noexcept {
  const auto found = pools().made.find(pool);
  return found == pools().made.end() ? nullptr : &found->second;
}

const void* current_pool() noexcept {
  return pools().current;
}

const void* default_pool() noexcept {
  return &pools().first;
}

std::size_t used_of(const void* pool) {
  std::size_t used = 0;
  for (const Allocation* each : allocations_in_order()) {
    used += each->freed_in == nullptr && (pool == nullptr || each->pool == pool) ? each->bytes : 0;
  }
  return used;
}

Status allocate_in_order(std::size_t bytes, const void* pool, const void* stream_handle, bool per_thread,
                         Address* address) {
  Lock lock;
  Stream* stream = nullptr;
  if (const Status status = find_stream(stream_handle, per_thread, &stream); status != Status::kOk) {
    return status;
  }
  pool = pool == nullptr ? pools().current : pool;
  if (bytes == 0 || !pools().made.contains(pool)) {
    return Status::kInvalidValue;
  }
  const bool captured = stream->capture != nullptr;
  if (!captured && (bytes > settings().pool || used_of(nullptr) > settings().pool - bytes)) {
    return Status::kOutOfMemory;
  }
  Allocation* const again = captured ? nullptr : freed_before(bytes, pool, stream);
  std::vector<OperationRef> after;
  if (again != nullptr) {
    *address = again->start;
    after.push_back(again->freed_by);
    allocate_again(stream->context, *address, bytes);
  } else {
    *address = allocate(stream->context, bytes, MemoryType::kDevice);
  }
  if (*address == 0) {
    return Status::kOutOfMemory;
  }
  if (!captured) {
    auto* const made = const_cast<Allocation*>(find_allocation(*address));
    made->in_order = true;
    made->pool = pool;
  }
  Task task;
  task.to.start = *address;
  task.bytes = bytes;
  return put(lock, *stream, std::move(task), after);
}

Status free_in_order(Address address, const void* stream_handle, bool per_thread) {
  Lock lock;
  Stream* stream = nullptr;
  if (const Status status = find_stream(stream_handle, per_thread, &stream); status != Status::kOk) {
    return status;
  }
  const Allocation* found = find_allocation(address);
  if (found == nullptr || found->start != address || found->freed_in != nullptr) {
    violation("a free in stream order of what was not allocated");
    return Status::kInvalidValue;
  }
  Task task;
  task.kind = Task::Kind::kFree;
  task.to.start = address;
  const bool in_order = found->in_order && stream->capture == nullptr;
  const unsigned long long id = found->id;
  task.to_id = in_order ? id : 0;
  const Status status = put(lock, *stream, std::move(task));
  // Unless it is done already.
  auto* const freed = const_cast<Allocation*>(find_allocation(address));
  if (status == Status::kOk && in_order && freed != nullptr && freed->id == id) {
    freed->freed_in = stream;
    freed->freed_by = stream->tail;
  }
  return status;
}

}  // namespace sim
