// Host calls: calls that may observe or change anything end what is held.
#pragma once

#include <cerrno>
#include <concepts>
#include <utility>

#include "layer/report_signal.h"
#include "layer/streams/objects.h"
#include "layer/streams/stand_in.h"
#include "layer/waiting.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// Whom a call tells that destroys something: the engine, also one that gave up; null once it does nothing any more.
template <class L>
[[nodiscard]] replay::Engine* engine_with_threads() noexcept {
  replay::Engine* const found = L::any_engine();
  return found != nullptr && found->has_threads() ? found : nullptr;
}

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
    if (engine_ != nullptr) {
      std::exchange(engine_, nullptr)->lane().host_call_done(entry_point_, waited);
      if (waited) {
        StandIns<typename L::Api>::waited = true;
      }
    }
    if (held_error_ != 0) {
      status = static_cast<Status>(held_error_);
      L::on_held_error(status);
    } else if (status == L::Api::kSuccess) {
      L::on_success();
    }
    return status;
  }

 private:
  template <class Flush>
  HostCall(const replay::EntryPoint& entry_point, bool unknown, Flush&& flush) noexcept
      : entry_point_(entry_point), engine_(L::engine()) {
    if (engine_ != nullptr) {
      const NotCancelled during(engine_->anything_held());
      held_error_ = flush(*engine_);
      print_wanted_report(*engine_);
    } else if (replay::Engine* failed = L::any_engine(); failed != nullptr) {
      const NotCancelled during(failed->anything_held());
      held_error_ = failed->flush_all(entry_point);  // it may have given up while something was held
    }
    if (unknown) {
      leave_stand_in<L>();
    }
  }

  const replay::EntryPoint& entry_point_;
  replay::Engine* engine_;
  int held_error_ = 0;
};

/// For HOST stubs.
template <class L>
void flush_for_stub(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  // One that gave up may still hold something.
  if (replay::Engine* running = L::any_engine(); running != nullptr) {
    const NotCancelled during(running->anything_held());
    running->flush_all_silently(entry_point);
    print_wanted_report(*running);
  }
  leave_stand_in<L>();
  errno = saved_errno;
}

}  // namespace refrain::layer::streams
