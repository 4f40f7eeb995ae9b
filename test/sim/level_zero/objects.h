// What Level Zero's handles stand for. All of it is read and changed under the lock of the device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "test/sim/core/handles.h"
#include "test/sim/core/memory.h"
#include "test/sim/core/schedule.h"
#include "test/sim/level_zero/face.h"

namespace sim::level_zero {

struct Context {
  OpenRef open;
};

struct Module {
  Context* context = nullptr;
  Address variable = 0;  ///< 0: it has none
  unsigned kernels = 0;
};

struct KernelObject {
  Module* module = nullptr;
  const Kernel* kernel = nullptr;
  std::vector<std::byte> arguments;
  std::vector<bool> set;
  unsigned group[3] = {0, 0, 0};
  unsigned offset[3] = {0, 0, 0};
  ze_kernel_indirect_access_flags_t indirect = 0;
  ze_cache_config_flags_t cache = 0;
  std::uint32_t tag = 0;  ///< the driver's own setter
  OpenRef open;
  std::uint64_t serial = 0;  ///< never used again
};

struct RecordedGraph;

struct EventPool {
  Context* context = nullptr;
  std::vector<bool> used;
  ze_event_pool_flags_t flags = 0;
  bool counters = false;  ///< its events are counter-based
};

struct Event {
  EventPool* pool = nullptr;
  std::uint32_t index = 0;
  SignalRef signal;
  OperationRef counted;  ///< counter-based: the end of the last command that signals it; waits mean this one
  double started_ns = 0, done_ns = 0;  ///< of the device's clock
  std::uint64_t serial = 0;
  RecordedGraph* recording = nullptr;  ///< that is being recorded, and has a command that signals it
};

struct Fence;
struct Queue {
  Context* context = nullptr;
  std::uint32_t ordinal = 0;
  bool synchronous = false;
  ze_command_queue_flags_t flags = 0;
  ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
  OperationRef tail;
  OpenRef open;
  unsigned fences = 0;
};

struct Fence {
  Queue* queue = nullptr;
  bool used = false;  ///< given to a submission since it was made or reset
  OperationRef last;
};

/// Which command of a mutable list it is, and what of it may be changed.
struct Mutable {
  std::uint64_t id = 0;  ///< 0: none was asked for
  std::uint32_t mutations = 0;
};

/// One command of a list.
struct Command {
  enum class Order { kPlain, kBarrier, kWait };  ///< kWait: later commands come after it, it comes after no earlier one
  Order order = Order::kPlain;
  Task task;
  Task at_first;  ///< when it was appended
  KernelObject* kernel = nullptr;
  std::uint64_t kernel_serial = 0;
  std::vector<Event*> waits;
  Event* sets = nullptr;
  Event* resets = nullptr;
  std::vector<std::uint64_t> event_serials;  ///< of all these, in that order
  Mutable mutated;                           ///< in a mutable list
  std::vector<OperationRef> after;           ///< what else it comes after
};

/// Where the next command of a list, or of one execution of it, goes.
struct Chain {
  bool in_order = false;
  OperationRef barrier;             ///< what every next command comes after
  std::vector<OperationRef> since;  ///< what the next barrier comes after, too
  void clear() {
    barrier = nullptr;
    since.clear();
  }
};

struct List {
  Context* context = nullptr;
  std::uint32_t ordinal = 0;
  bool immediate = false, synchronous = false, closed = false;
  Chain chain;  ///< immediate lists
  std::vector<Command> commands;
  OpenRef open;
  bool is_mutable = false;
  bool updated = false;  ///< and not closed again
  Mutable next;          ///< of the next command
  std::uint64_t last_id = 0;
  std::uint32_t flags = 0, index = 0;  ///< as it was made
  ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL;
  RecordedGraph* recording = nullptr;  ///< what is appended goes there
};

/// Commands of immediate lists that were recorded instead of being submitted.
struct RecordedGraph {
  /// A list that took part.
  struct Lane {
    List* list = nullptr;  ///< while it is recorded
    bool in_order = false;
    std::size_t parent = 0;  ///< the lane from which it was forked; the first one has none
  };
  struct Entry {
    std::size_t lane = 0;
    Command command;
    std::vector<std::size_t> after;  ///< places of what its counter-based events meant
  };
  Context* context = nullptr;
  std::vector<Lane> lanes;
  std::vector<Entry> entries;
  std::uint32_t ordinal = 0;
  bool recording = false, broken = false;
  unsigned executables = 0;
  std::vector<std::pair<void (*)(void*), void*>> callbacks;  ///< for its end
};

struct ExecutableGraph {
  RecordedGraph* source = nullptr;
  OperationRef last;  ///< the end of its newest execution
  OpenRef open;
};

struct State {
  Handles<Context> contexts;
  Handles<Module> modules;
  Handles<KernelObject> kernels;
  Handles<EventPool> pools;
  Handles<Event> events;
  Handles<Queue> queues;
  Handles<Fence> fences;
  Handles<List> lists;
  Handles<RecordedGraph> graphs;
  Handles<ExecutableGraph> executables;
  std::uint64_t last_serial = 0;
  std::uint64_t set = 0;  ///< what was set for all launches
};
State& state() noexcept;

ze_driver_handle_t the_driver() noexcept;
ze_device_handle_t the_device() noexcept;
/// Whether there is such a group of queues, and whether it runs kernels.
bool valid_ordinal(std::uint32_t ordinal) noexcept;
bool runs_kernels(std::uint32_t ordinal) noexcept;

/// Null, and a violation that names `by`, if the handle is none (any more).
template <class T, class Handle>
T* find_or_complain(const Handles<T>& all, Handle handle, const char* by) {
  T* found = all.find(handle);
  if (found == nullptr) {
    violation("%s: a handle of what was destroyed, or never was", by);
  }
  return found;
}

/// Submits a command behind what `chain` holds. `open`: what it belongs to.
OperationRef put(const Lock& lock, Chain& chain, const Command& command, std::vector<OpenRef> open);
/// All of a closed list as one: from after `begin` to what it returns. Violations if it may not run now.
OperationRef put_list(const Lock& lock, List& list, const OperationRef& begin, std::vector<OpenRef> open,
                      const char* by);
/// Whether everything that a command names is still there.
bool complete(const Command& command, const char* by);
/// The graph into which a call goes that appends to `list` and waits for these events; null: none. An error if there
/// is more than one.
ze_result_t find_recording(const List& list, std::uint32_t count, ze_event_handle_t* waits, RecordedGraph** found);
/// Instead of submitting it.
ze_result_t record(RecordedGraph& graph, List& list, Command command, const char* by);
/// Events of a call, checked.
ze_result_t read_events(Command& command, ze_event_handle_t signal, std::uint32_t count, ze_event_handle_t* waits,
                        const char* by);
/// Counter-based events are for immediate lists that are in order, and nobody resets them.
ze_result_t check_counters(const Command& command, const List& list, const char* by);

}  // namespace sim::level_zero
