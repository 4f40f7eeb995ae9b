// What the parts of the host backend share. Included by backends/host only.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "backends/host/host_backend.h"
#include "env/mutex.h"

namespace refrain::backends::host {

/// A buffer, image or allocation. Kept alive by whoever may still use it.
struct Memory {
  explicit Memory(std::size_t bytes) : size(bytes), data(new std::byte[bytes]()) {}
  std::size_t size;
  std::unique_ptr<std::byte[]> data;
  std::size_t element = 0;  // images only
  std::array<std::size_t, 3> extent{};
  [[nodiscard]] std::span<std::byte> bytes() const { return {data.get(), size}; }
};

/// An operation with everything it names looked up: it can run however long after.
struct Prepared {
  std::vector<std::byte> record;
  std::vector<std::shared_ptr<Memory>> memory;  // per argument
  Kernel kernel;
  [[nodiscard]] capture::OperationView operation() const { return capture::OperationView(record.data()); }
};

/// Checks sizes and offsets. 0 or an Error.
int check(const Prepared& prepared);
/// Does the work. 0 or an Error.
int execute(const Prepared& prepared);

struct HostCommandBuffer::Command {
  Prepared prepared;
  std::vector<std::uint32_t> waits;
};

struct HostCommandBuffer::Commands {
  std::vector<Command> list;
};

struct Progress {
  bool done = false;
  bool failed = false;
};
using ProgressPointer = std::shared_ptr<Progress>;

struct HostBackend::State {
  struct EventEntry {
    std::uint32_t references = 1;
    ProgressPointer progress;
  };
  struct QueueState {
    bool in_order = true;
    ProgressPointer last;               // in-order
    std::vector<ProgressPointer> open;  // out-of-order: not known to be done
    ProgressPointer blocker;            // out-of-order: the last barrier
  };
  struct Work {
    capture::ObjectId queue = 0;
    std::optional<Prepared> operation;
    std::shared_ptr<const HostCommandBuffer::Commands> commands;
    std::shared_ptr<std::uint32_t> running;
    bool in_order = true;
    bool flushed = false;
    std::vector<ProgressPointer> after;  // order of the queue
    std::vector<ProgressPointer> waits;  // events: a failed one fails this work
    ProgressPointer progress;
  };
  struct Injection {
    std::uint64_t at = 0;
    int code = 0;
  };

  mutable env::Mutex mutex;
  env::ConditionVariable changed;

  Capabilities capabilities REFRAIN_GUARDED_BY(mutex);
  std::array<const char*, capture::kOperationKindCount> unrecordable REFRAIN_GUARDED_BY(mutex) = {};
  std::unordered_map<capture::FunctionId, Kernel> functions REFRAIN_GUARDED_BY(mutex);
  std::unordered_map<capture::Handle, std::shared_ptr<Memory>> memory REFRAIN_GUARDED_BY(mutex);
  std::map<std::uintptr_t, std::shared_ptr<Memory>> allocations REFRAIN_GUARDED_BY(mutex);
  std::vector<std::weak_ptr<Memory>> all_memory REFRAIN_GUARDED_BY(mutex);
  capture::Handle next_handle REFRAIN_GUARDED_BY(mutex) = 0x1000;
  std::unordered_map<Event, EventEntry> events REFRAIN_GUARDED_BY(mutex);
  Event next_event REFRAIN_GUARDED_BY(mutex) = 1;
  std::unordered_map<capture::ObjectId, QueueState> queues REFRAIN_GUARDED_BY(mutex);
  std::deque<Work> pending REFRAIN_GUARDED_BY(mutex);
  bool asynchronous REFRAIN_GUARDED_BY(mutex) = false;
  bool needs_flush REFRAIN_GUARDED_BY(mutex) = false;
  std::uint32_t seed REFRAIN_GUARDED_BY(mutex) = 0;
  std::mt19937 random REFRAIN_GUARDED_BY(mutex);
  std::size_t command_buffers REFRAIN_GUARDED_BY(mutex) = 0;

  std::array<std::uint64_t, kCallCount> counts REFRAIN_GUARDED_BY(mutex) = {};
  std::array<std::vector<Injection>, kCallCount> injections REFRAIN_GUARDED_BY(mutex);
  std::vector<LogEntry> log REFRAIN_GUARDED_BY(mutex);

  int count(Call call) REFRAIN_REQUIRES(mutex);
  int prepare(const capture::OperationView& operation, Prepared* result) const REFRAIN_REQUIRES(mutex);
  [[nodiscard]] std::shared_ptr<Memory> allocation_of(std::uint64_t pointer) const REFRAIN_REQUIRES(mutex);
  int resolve(std::span<const Event> waits, std::vector<ProgressPointer>* result) const REFRAIN_REQUIRES(mutex);
  /// Puts work behind what its queue holds, makes its event, and does it at once unless asynchronous.
  void submit(Work work, bool waits_for_queue, bool blocks_queue, Event* done) REFRAIN_REQUIRES(mutex);
  bool advance() REFRAIN_REQUIRES(mutex);
  void run(Work& work) REFRAIN_REQUIRES(mutex);
  void run_ready() REFRAIN_REQUIRES(mutex);
  void flush(capture::ObjectId queue) REFRAIN_REQUIRES(mutex);
  void wait_for(env::UniqueLock& lock, const Progress& progress) REFRAIN_REQUIRES(mutex);
  void track(const std::shared_ptr<Memory>& fresh) REFRAIN_REQUIRES(mutex);
};

}  // namespace refrain::backends::host
