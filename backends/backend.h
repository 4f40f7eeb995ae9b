// Native command buffers behind one interface. One folder per API implements it; replay/ knows
// only this file.
//
// Locking: a Backend may be called from any thread at any time. A CommandBuffer is used by one
// thread at a time (the caller sees to it), but different ones may be used at once. No function
// throws; every function reports the driver's own error code.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/chunk_sizes.h"
#include "backends/exclusive_call_yield.h"
#include "backends/submission_pause.h"
#include "capture/graph.h"
#include "capture/operation.h"
#include "env/stuck_check.h"

namespace refrain::backends {

class AddressedMemory;
class MemoryInventory;

/// The driver's error code; 0 is success in every API Refrain knows.
struct [[nodiscard]] Status {
  int code = 0;
  const char* why = nullptr;  ///< where the code alone would say little: for users, with static lifetime
  bool later = false;         ///< of record(): it was no moment for it, and may be soon
  [[nodiscard]] bool ok() const noexcept { return code == 0; }
};

/// A native event. Whoever receives one owns one reference and gives it back with release_event().
using Event = std::uint64_t;
inline constexpr Event kNoEvent = 0;

/// Answer to "can this be part of a native command buffer?". `why` has static lifetime and is
/// written for users: "the device's command buffers have no image copies".
struct [[nodiscard]] Recordable {
  bool ok = true;
  const char* why = "";
};

struct Capabilities {
  bool native = false;            ///< command buffers exist for this queue at all
  const char* why_not = "";       ///< if not native; static lifetime
  bool out_of_order = false;      ///< may be recorded for out-of-order queues
  bool update_arguments = false;  ///< arguments of kernels can be changed after finalize
  bool update_sizes = false;      ///< so can how many groups a kernel has, and how much a copy by pointers copies
  bool update_functions = false;  ///< so can which kernel a node launches, among those with the same parameters
  bool simultaneous_use = false;  ///< may be enqueued again while it still runs
  /// What operations of different queues wait for is kept without events of Refrain's: the driver orders them, or the
  /// application's own events, which are issued or recorded like everything else. Parts of a graph then need no waits.
  bool keeps_order = false;
  std::uint32_t version = 0;  ///< as the extension gives it (major<<22 | minor<<12 | patch)
};

struct NodeUpdate {
  capture::NodeIndex node = 0;       ///< in the graph given to record()
  capture::OperationView operation;  ///< new arguments; same kind and argument layout, and same function unless
                                     ///< Capabilities::update_functions
};

/// A finalized command buffer, ready to be enqueued any number of times. It retains every object it
/// names (buffers, kernels, its queue). Destroying it while it runs is safe.
class CommandBuffer {
 public:
  virtual ~CommandBuffer() = default;
  /// Enqueues on the queue it was recorded for, after `waits`. If `done` is not null it receives an
  /// event for the completion of this submission. If an earlier submission still runs and the
  /// device cannot use one buffer twice at once, fails without side effects.
  virtual Status enqueue(std::span<const Event> waits, Event* done) noexcept = 0;
  /// Changes arguments for later submissions; never waits for the device. Fails without side
  /// effects if the backend cannot (Capabilities::update_arguments, …) or the layout differs.
  virtual Status update(std::span<const NodeUpdate> updates) noexcept = 0;
  /// For verify, while nothing of it runs: later submissions do the work of nodes below `end` only. False: the device
  /// cannot leave work out, and nobody knows what is done now.
  virtual bool run_before(capture::NodeIndex /*end*/) noexcept { return false; }
  /// True while a submission may still be running. Never waits.
  [[nodiscard]] virtual bool busy() const noexcept = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual ChunkSizes chunk_sizes() const noexcept { return {}; }
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// What users may want to know of the devices in use, a sentence each. May throw std::bad_alloc.
  [[nodiscard]] virtual std::vector<std::string> notes() { return {}; }

  [[nodiscard]] virtual Capabilities capabilities(const capture::QueueInfo& queue) noexcept = 0;
  virtual Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept = 0;

  /// False: an operation that it records, but whose arguments CommandBuffer::update() never changes.
  [[nodiscard]] virtual bool can_change(const capture::OperationView& /*operation*/) noexcept { return true; }

  /// Records `nodes` of `graph` (all of one queue, in an order that respects the edges) and
  /// finalizes. Every kernel node gets a private kernel object with the record's arguments. Slow;
  /// called on a background thread.
  virtual Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                        std::unique_ptr<CommandBuffer>* result) noexcept = 0;
  /// The same for several command buffers of one graph: what is cheaper together is done together. On failure none of
  /// `results` is of use.
  virtual Status record_all(const capture::Graph& graph, std::span<const std::span<const capture::NodeIndex>> parts,
                            std::span<std::unique_ptr<CommandBuffer>> results) noexcept {
    Status status;
    for (std::size_t i = 0; i < parts.size() && status.ok(); ++i) {
      status = record(graph, parts[i], &results[i]);
    }
    return status;
  }

  /// In nanoseconds, what record() waited so far until the program gave it an occasion.
  [[nodiscard]] virtual std::uint64_t record_waited_ns() noexcept { return 0; }
  /// False while command buffers had better not be enqueued, and operations be issued instead.
  [[nodiscard]] virtual bool may_replay() noexcept { return true; }

  /// Issues one operation now with the arguments in the record, as the application's call would
  /// have, waiting for `waits` (the record's own waits are not looked at). Kernels are launched
  /// through a private kernel object, so the application's own arguments stay as they are. `done` may stay kNoEvent
  /// where the operation records an event of the application's own.
  virtual Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept = 0;

  /// Makes sure that everything issued to the queue so far will run without further calls.
  virtual Status flush(const capture::QueueInfo& queue) noexcept = 0;
  /// Waits for everything issued to the queue so far.
  virtual Status finish(const capture::QueueInfo& queue) noexcept = 0;

  /// The same, but not beyond `until`: false then. `held`: all that was issued to it, this backend issued.
  virtual bool finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point /*until*/,
                         bool /*held*/) noexcept {
    return finish(queue).ok();
  }

  virtual void retain_event(Event event) noexcept = 0;
  virtual void release_event(Event event) noexcept = 0;
  /// True if complete (or failed); never waits.
  [[nodiscard]] virtual bool complete(Event event) noexcept = 0;

  /// Whether records name all the memory that operations use, as handles that the next three functions take. False:
  /// kernels are given addresses, which look like any other argument, and verify cannot put back what they change.
  [[nodiscard]] virtual bool names_memory() const noexcept { return true; }
  /// Memory that kernels reach by address all the same, where they are given a pointer; null: there is none that
  /// anybody knows. read() and write() take the address of an allocation for its handle.
  [[nodiscard]] virtual MemoryInventory* shared_memory() noexcept { return nullptr; }
  /// For verify where records do not name all memory; null: it cannot be compared. One check at a time.
  [[nodiscard]] virtual AddressedMemory* addressed_memory() noexcept { return nullptr; }
  /// Reads or writes the whole content of a buffer or image, waiting for it (verify and bench).
  /// The caller made sure that nothing else uses it. `handle` is the native handle.
  [[nodiscard]] virtual std::uint64_t size_of(capture::ArgumentKind kind, capture::Handle handle) noexcept = 0;
  virtual Status read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
                      std::span<std::byte> into) noexcept = 0;
  virtual Status write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
                       std::span<const std::byte> from) noexcept = 0;

  /// The application has dropped its last use of a function: private objects kept for issue() go.
  virtual void forget_function(capture::FunctionId function) noexcept = 0;

  /// The driver's name for an error code, e.g. "CL_OUT_OF_RESOURCES". Static lifetime.
  [[nodiscard]] virtual const char* error_name(int code) const noexcept = 0;

  /// Gives back to the driver what command buffers that are gone could not give back because they ran, as far as it has
  /// ended. The driver may never return from that: for threads of Refrain's own.
  virtual void give_back() noexcept {}
  /// Whether there is any of that. Thread-safe.
  [[nodiscard]] virtual bool has_to_give_back() const noexcept { return false; }

  /// Claimed by the backend where its driver needs that, and given by whoever submits.
  [[nodiscard]] ExclusiveCallYield& exclusive_call_yield() noexcept { return exclusive_call_yield_; }
  /// Closed by the backend where nobody may submit, and entered by whoever does.
  [[nodiscard]] SubmissionPause& submission_pause() noexcept { return submission_pause_; }
  /// Of the thread that makes graphs: the backend says when a call has returned, the engine when one begins.
  [[nodiscard]] env::StuckCheck& graph_maker() noexcept { return graph_maker_; }

 private:
  env::StuckCheck graph_maker_{"making a graph: it is left alone, and no more are made"};
  ExclusiveCallYield exclusive_call_yield_;
  SubmissionPause submission_pause_{graph_maker_};
};

}  // namespace refrain::backends
