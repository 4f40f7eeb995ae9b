// Graphs are instantiated while the device is idle and nobody submits.
//
// NVIDIA's driver now and then waits for running work when it instantiates a graph, and lets nobody launch meanwhile
// (test/gpu/busy_calls.cu). A kernel that runs may itself wait for what the application launches next: that would be
// for ever. So Refrain instantiates in a moment in which all streams are idle, and keeps everybody from submitting for
// as long as it takes: no longer than the driver would.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "backends/streams/stream.h"
#include "backends/submission_pause.h"
#include "env/mutex.h"

namespace refrain::backends {

/// Thread-safe.
template <class Api>
class IdleMoment {
  using Clock = std::chrono::steady_clock;

 public:
  IdleMoment(const typename Api::Driver& driver, SubmissionPause& submissions) noexcept
      : driver_(driver), submissions_(submissions) {}

  /// A stream that counts until it is destroyed, under StreamBackend::NoRecording.
  void watch(Stream<Api>& stream) noexcept {
    if (!stream.watched.exchange(true, std::memory_order_relaxed)) {
      try {
        const env::MutexLock guard(mutex_);
        streams_.push_back(&stream);
      } catch (...) {
        stream.watched.store(false, std::memory_order_relaxed);  // the next one asks again
      }
    }
  }

  /// It does not count any more: its record may be another one's.
  void forget(Stream<Api>& stream) noexcept {
    const env::MutexLock guard(mutex_);
    std::erase(streams_, &stream);
  }

  /// The stream is asked by another handle from now on. (A thread's own default stream: by what stands in for it.)
  void change_handle(Stream<Api>& stream, typename Api::StreamHandle handle) noexcept {
    const env::MutexLock guard(mutex_);
    stream.handle = handle;
  }

  /// True while somebody waits for such a moment: graphs would only keep the device busy.
  [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t waited_ns() const noexcept { return waited_ns_.load(std::memory_order_relaxed); }

  /// True for a while after no such moment came, each time for longer, and while the application captures: then none is
  /// waited for.
  [[nodiscard]] bool paused() noexcept {
    const env::MutexLock guard(mutex_);
    return captures_ != 0 || Clock::now() < paused_until_;
  }
  /// Calls `make()` in such a moment; false if none came, if it is paused, or `hurry()`. Like paused(), for one thread
  /// at a time.
  template <class Make, class Hurry>
  [[nodiscard]] bool use(Make&& make, Hurry&& hurry);

  /// The application captures streams, and the driver must not be asked about any, until the last of as many ends.
  void begin_capture() noexcept {
    const env::MutexLock guard(mutex_);
    ++captures_;
  }
  void end_capture() noexcept {
    const env::MutexLock guard(mutex_);
    --captures_;
  }

 private:
  [[nodiscard]] bool all_idle() noexcept;
  [[nodiscard]] bool idle_within(std::chrono::microseconds patience) noexcept;

  static constexpr std::chrono::milliseconds kFirstRest{1000}, kLongestRest{60'000};

  Clock::time_point paused_until_{};
  std::chrono::milliseconds rest_ = kFirstRest;
  const typename Api::Driver& driver_;
  SubmissionPause& submissions_;
  std::atomic<bool> wanted_{false};
  std::atomic<std::uint64_t> waited_ns_{0};
  env::Mutex mutex_;  ///< held while streams are asked
  std::uint32_t captures_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::vector<Stream<Api>*> streams_ REFRAIN_GUARDED_BY(mutex_);
};

template <class Api>
template <class Make, class Hurry>
bool IdleMoment<Api>::use(Make&& make, Hurry&& hurry) {
  if (paused()) {
    return false;
  }
  constexpr std::chrono::milliseconds kPatience{100};
  // Kernels that are launched one by one take less. Submissions may wait for that long in vain: each time for longer,
  // and half of the time at most.
  std::chrono::microseconds soon{200};
  constexpr std::chrono::microseconds kLongest{1600};
  struct Open {
    SubmissionPause& submissions;
    ~Open() { submissions.open(); }
  };
  wanted_.store(true, std::memory_order_relaxed);
  const Clock::time_point start = Clock::now();
  const auto over = [&] {
    wanted_.store(false, std::memory_order_relaxed);
    waited_ns_.fetch_add(static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count()),
                         std::memory_order_relaxed);
  };
  Clock::time_point next_try = start;  // at once: no graph is launched until then
  bool hurried = false;
  while (!(hurried = hurry()) && Clock::now() < start + kPatience) {
    // A device that always has something to do is idle soon if it gets nothing more.
    const bool idle = all_idle();
    if (idle || Clock::now() > next_try) {
      const Open open{submissions_};
      if (submissions_.close(soon) && idle_within(soon)) {
        over();
        rest_ = kFirstRest;
        make();
        return true;
      }
      soon = idle ? soon : std::min(2 * soon, kLongest);
      next_try = Clock::now() + soon;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  over();
  // Graphs are not launched while a moment is waited for, and submissions were kept waiting: that must not go on.
  if (!hurried) {
    paused_until_ = Clock::now() + rest_;
    rest_ = std::min(2 * rest_, kLongestRest);
  }
  return false;
}

template <class Api>
bool IdleMoment<Api>::idle_within(std::chrono::microseconds patience) noexcept {
  const Clock::time_point until = Clock::now() + patience;
  while (!all_idle()) {
    if (Clock::now() > until) {
      return false;
    }
  }
  return true;
}

template <class Api>
bool IdleMoment<Api>::all_idle() noexcept {
  const env::MutexLock guard(mutex_);
  std::erase_if(streams_, [](const Stream<Api>* stream) { return stream->id.load(std::memory_order_acquire) == 0; });
  return captures_ == 0 && std::all_of(streams_.begin(), streams_.end(), [&](const Stream<Api>* stream) {
           // Only its own thread can ask a thread's own default stream.
           const bool threads_own =
               stream->kind == StreamKind::kPerThread && stream->handle == Api::per_thread_stream();
           const typename Api::Scope scope(driver_, stream->context);
           return threads_own || Api::query_stream(driver_, stream->handle) != Api::kNotReady;
         });
}

}  // namespace refrain::backends
