// Host calls: calls that may observe or change anything end what is held. The same for every API.
//
// P is what an API's layer says of itself:
//
//   Status, kSuccess    what its calls return
//   Scope               lives as long as a call that may flush
//   engine()            the engine if it is at work; null: pass everything through
//   any_engine()        the engine, also one that gave up
//   flushed_may_call()  flushed() may call the driver although nothing is held
//   flushed(submits)    what the call may observe was submitted, and the driver is called next; `submits`: by a call
//                       that may itself submit work, or look at the thread's default queue
//   waited()            a call waited for the device
//   answer(own, reported)
//                       the driver said `own`, and the program is told `reported`: not the same if work that was held
//                       failed
#pragma once

#include <cerrno>
#include <concepts>
#include <utility>

#include "layer/report_signal.h"
#include "layer/waiting.h"
#include "replay/engine.h"

namespace refrain::layer::common {

/// The engine if it is at work.
[[nodiscard, gnu::always_inline]] inline replay::Engine* at_work(replay::Engine* found) noexcept {
  return found != nullptr && found->active() ? found : nullptr;
}

/// Whom a call tells that destroys something: the engine, also one that gave up; null once it does nothing any more.
template <class P>
[[nodiscard]] replay::Engine* engine_with_threads() noexcept {
  replay::Engine* const found = P::any_engine();
  return found != nullptr && found->has_threads() ? found : nullptr;
}

/// For a policy with nothing to say about some of this.
struct PlainProtocol {
  struct Scope {};
  static bool flushed_may_call() noexcept { return false; }
  static void flushed(bool /*submits*/) noexcept {}
  static void waited() noexcept {}
  template <class Status>
  static void answer(Status /*own*/, Status /*reported*/) noexcept {}
};

/// For calls that can only observe what their own thread holds.
inline void flush_no_other(replay::Engine& /*running*/) noexcept {}

/// Flushes what the call may observe, and reports it to the calling thread's lane.
template <class P>
class HostCall {
 public:
  using Status = typename P::Status;

  /// A call that may observe anything: what every thread holds is flushed. `submits`: see P::flushed().
  explicit HostCall(const replay::EntryPoint& entry_point, bool submits = true) noexcept
      : HostCall(entry_point, submits, [&](replay::Engine& running) { return running.flush_all(entry_point); }) {}

  /// A call that observes, of what other threads hold, only what `flush_others` flushes (not called if nothing is
  /// held), and submits nothing.
  template <std::invocable<replay::Engine&> FlushOthers>
  HostCall(const replay::EntryPoint& entry_point, FlushOthers&& flush_others) noexcept
      : HostCall(entry_point, false, [&](replay::Engine& running) {
          const int error = running.flush_own(entry_point);
          if (running.anything_held()) {
            flush_others(running);
          }
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

  /// Ends the call. `waited`: it waited for the device. Returns what the program is to be told: an error of its held
  /// work comes before the call's own.
  Status done(Status status, bool waited = false) noexcept {
    if (engine_ != nullptr) {
      std::exchange(engine_, nullptr)->lane().host_call_done(entry_point_, waited);
    }
    if (waited) {
      P::waited();
    }
    const Status reported = held_error_ != 0 ? static_cast<Status>(held_error_) : status;
    P::answer(status, reported);
    return reported;
  }

 private:
  template <class Flush>
  HostCall(const replay::EntryPoint& entry_point, bool submits, Flush&& flush) noexcept
      : entry_point_(entry_point), engine_(P::engine()) {
    replay::Engine* const running = engine_ != nullptr ? engine_ : P::any_engine();
    if (running == nullptr) {
      return;
    }
    const NotCancelled during(running->anything_held() || P::flushed_may_call());
    // One that gave up may still hold something, of which nobody knows what may observe it.
    held_error_ = engine_ != nullptr ? flush(*running) : running->flush_all(entry_point);
    P::flushed(submits);
    print_wanted_report(*running);
  }

  [[no_unique_address]] typename P::Scope scope_;
  const replay::EntryPoint& entry_point_;
  replay::Engine* engine_;
  int held_error_ = 0;
};

/// For stubs, which return what the driver says, and calls that return nothing: the thread's next call that can tells
/// an error of its held work.
template <class P>
void flush_for_stub(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  // One that gave up may still hold something.
  if (replay::Engine* running = P::any_engine(); running != nullptr) {
    const NotCancelled during(running->anything_held() || P::flushed_may_call());
    [[maybe_unused]] const typename P::Scope scope{};
    running->flush_all_silently(entry_point);
    P::flushed(true);
    print_wanted_report(*running);
  }
  errno = saved_errno;
}

}  // namespace refrain::layer::common
