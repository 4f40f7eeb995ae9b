// Host calls: calls that may observe or change anything end what is held.
#pragma once

#include <cerrno>
#include <concepts>
#include <cstring>
#include <utility>

#include "layer/report_signal.h"
#include "layer/streams/objects.h"
#include "layer/streams/stand_in.h"
#include "layer/waiting.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// An error of held work that a stub flushed: the stub cannot report it, the next typed call of the thread does.
template <class L>
struct PendingError {
  static inline thread_local int value __attribute__((tls_model("initial-exec"))) = 0;
};

/// Flushes what the call may observe, and reports it to the calling thread's lane.
template <class L>
class HostCall {
 public:
  using Status = typename L::Api::Status;

  /// A call that may observe anything: what every thread holds is flushed. `unknown`: it may itself submit work, or
  /// look at the thread's default stream.
  explicit HostCall(const replay::EntryPoint& entry_point, bool unknown = true) noexcept
      : HostCall(entry_point, unknown, [&](replay::Engine& running) { return running.flush_all(entry_point); }) {}

  /// A call that observes, of what other threads hold, only what `settle` flushes, and submits nothing.
  template <std::invocable<replay::Engine&> Settle>
  HostCall(const replay::EntryPoint& entry_point, Settle&& settle) noexcept
      : HostCall(entry_point, false, [&](replay::Engine& running) {
          const int error = running.flush_own(entry_point);
          settle(running);
          return error;
        }) {}

  /// Not done: the thread was cancelled while it waited.
  ~HostCall() {
    if (engine_ != nullptr) [[unlikely]] {
      engine_->lane().host_call_done(entry_point_, false);
    }
  }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  /// Ends the call. `waited`: it waited for the device. Returns what the application is to be told.
  Status done(Status status, bool waited) noexcept {
    if (engine_ == nullptr) {
      return status;
    }
    if (unknown_) {  // again: another thread may have learnt something of the order of streams during the call
      // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): with an engine there is a backend
      L::runtime().backend->order().forget();
    }
    std::exchange(engine_, nullptr)->lane().host_call_done(entry_point_, waited);
    const int pending = std::exchange(PendingError<L>::value, 0);
    const int held = held_error_ != 0 ? held_error_ : pending;
    if (held != 0) {
      status = static_cast<Status>(held);
      L::on_held_error(status);
    }
    return status;
  }

 private:
  template <class Flush>
  HostCall(const replay::EntryPoint& entry_point, bool unknown, Flush&& flush) noexcept
      : entry_point_(entry_point), engine_(L::engine()), unknown_(unknown) {
    if (engine_ != nullptr) {
      const NotCancelled during(engine_->anything_held());
      held_error_ = flush(*engine_);
      print_wanted_report(*engine_);
      if (unknown) {
        L::runtime().backend->order().forget();
      }
    } else if (replay::Engine* failed = L::any_engine(); failed != nullptr && failed->anything_held()) {
      failed->flush_all(entry_point);  // it gave up while something was held
    }
    if (L::runtime().backend != nullptr) {
      L::runtime().backend->links().settle_all();
      if (unknown) {
        leave_stand_in<L>();
      }
    }
  }

  const replay::EntryPoint& entry_point_;
  replay::Engine* engine_;
  bool unknown_;
  int held_error_ = 0;
};

/// Whether a function that nobody knows may go on working when it returns, as far as its name tells.
inline bool may_submit(const char* name) noexcept {
  for (const char* word : {"Async", "Launch", "Enqueue", "Batch", "Record", "Stream"}) {
    if (std::strstr(name, word) != nullptr) {
      return true;
    }
  }
  return false;
}

/// Whether one that may submit may have recorded an event of the program: those that allocate or free memory in stream
/// order cannot. (While one thread does that, another may know, and must be told, that its work is done.)
inline bool may_record(const char* name) noexcept {
  return std::strstr(name, "Alloc") == nullptr && std::strstr(name, "alloc") == nullptr &&
         std::strstr(name, "Free") == nullptr;
}

/// Whether a function may give a graph of the program's own a node that records an event. (Those that add other nodes
/// are no host calls.)
inline bool makes_record_node(const char* name) noexcept {
  return std::strstr(name, "GraphAdd") != nullptr;
}

/// For HOST stubs.
template <class L>
void flush_for_stub(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  // One that gave up may still hold something.
  replay::Engine* running = L::any_engine();
  if (running != nullptr && (running->active() || running->anything_held())) {
    const NotCancelled during(running->anything_held());
    if (const int error = running->flush_all(entry_point); error != 0) {
      PendingError<L>::value = error;
    }
    L::runtime().backend->links().settle_all();
    L::runtime().backend->order().forget();
    if (L::runtime().backend->links().any_end() && may_submit(entry_point.name)) {
      if (may_record(entry_point.name)) {
        L::runtime().backend->order().forget_ends();
      } else {
        L::runtime().backend->order().forget_stream_ends();
      }
    }
    if (makes_record_node(entry_point.name)) {
      L::runtime().backend->order().graphs_record_events();
    }
    print_wanted_report(*running);
  }
  leave_stand_in<L>();
  errno = saved_errno;
}

}  // namespace refrain::layer::streams
