// Operations that were submitted, and the threads that do them: any that is ready, whichever the seed says.
//
// An operation is ready when all operations it comes after are done, and all signals it waits for are set. Order is
// only what the face says here: an in-order queue is a face's last operation, handed in as `after` of the next one;
// a barrier is an empty task after everything of the queue; a host wait is wait_for().
//
// Two kinds of events:
//   - of CUDA and HIP: a record is an operation; who waits for the event waits for the record that came last before
//     the wait was submitted. An OperationRef is all that this needs.
//   - of Level Zero (and OpenCL user events): a Signal has a state, which commands and the host set and reset; who
//     waits looks at the state when it could run, so that the one who sets it may be submitted later.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "test/sim/core/order.h"
#include "test/sim/core/task.h"

namespace sim {

/// The one lock of the device: every call of a face holds it but while it waits, work runs without it. With SIM_LINGER
/// calls take their time before they take it and after they gave it up, so that other threads get in between.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  std::unique_lock<std::mutex> guard;
};

struct Operation;
using OperationRef = std::shared_ptr<Operation>;

struct Signal {
  bool set = false;
  Past past;                          ///< what had happened when it was set
  double set_ns = 0;                  ///< when, in virtual time
  unsigned users = 0;                 ///< operations not yet done that wait for it, set it or reset it
  std::vector<OperationRef> waiting;  ///< ready but for this
};
using SignalRef = std::shared_ptr<Signal>;

/// What an operation has to do with signals. All waits must be set at one moment for it to start; at its end it
/// resets `resets`, then sets `sets`.
struct Signals {
  std::vector<SignalRef> waits, sets, resets;
};

/// What is not done yet of a context, a queue, a command list: whatever is waited for as a whole. Shared with its
/// operations, so that the object it belongs to may go.
struct OpenWork {
  std::set<std::uint64_t> numbers;
  Past past;           ///< what was done of it
  double done_ns = 0;  ///< its last end in virtual time
};
using OpenRef = std::shared_ptr<OpenWork>;

struct Operation {
  Task task;
  Signals signals;
  std::uint64_t number = 0;  ///< from 1, in the order of submission
  unsigned missing = 0;      ///< operations before it that are not done
  bool running = false, done = false;
  bool node = false;                   ///< of a graph
  double started_ns = 0, done_ns = 0;  ///< of the device's clock; `started_ns` is not before what is known of it so far
  std::vector<OpenRef> open;
  std::vector<OperationRef> next;
  Past past;  ///< what happened before it, as far as that is known; with itself when it has started
};

/// Submits `task`, to run after all of `after` (nulls are left out). `open`: what it belongs to while it is not done.
/// `queue`: whatever tells queues apart, for messages.
OperationRef schedule(const Lock& lock, OpenRef open, Task task, std::span<const OperationRef> after,
                      Signals signals = {}, const void* queue = nullptr);
/// The same for what belongs to several things, such as a queue and the instance of a command list.
OperationRef schedule(const Lock& lock, std::vector<OpenRef> open, Task task, std::span<const OperationRef> after,
                      Signals signals = {}, const void* queue = nullptr);

/// Of a graph that is launched: costs what a node does.
OperationRef schedule_node(const Lock& lock, std::vector<OpenRef> open, Task task, std::span<const OperationRef> after,
                           Signals signals);

/// The host sets a signal, or resets it.
void set_signal(const Lock& lock, const SignalRef& signal);
void reset_signal(const Lock& lock, const SignalRef& signal);

/// Return when it is done, or set; false, with a violation, if nothing can end the wait any more: nothing runs, nothing
/// is ready, and nobody changed that for SIM_PATIENCE seconds. The lock is given up meanwhile. `operation` may be null.
bool wait_for(Lock& lock, const OperationRef& operation);
bool wait_for(Lock& lock, const SignalRef& signal);
/// Returns when all that is open now is done.
bool wait_for_all(Lock& lock, const OpenRef& open);
/// The same with an end: false if it is not done `nanoseconds` from now.
bool wait_at_most(Lock& lock, const OperationRef& operation, std::uint64_t nanoseconds);
bool wait_at_most(Lock& lock, const SignalRef& signal, std::uint64_t nanoseconds);

/// The answer to a query: whether it is done (null: yes) and the host may rely on it.
bool is_done(const Lock& lock, const OperationRef& operation);
bool is_set(const Lock& lock, const SignalRef& signal);
/// Starts the choices again from settings().seed, for configure().
void reseed();

/// Every query of whether something is done calls it first, and time goes on.
void poll(Lock& lock);

}  // namespace sim
