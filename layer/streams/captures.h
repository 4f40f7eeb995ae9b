// Which streams the program captures: meanwhile nothing is held, and the driver is not asked about streams.
#pragma once

#include <compare>
#include <cstdint>
#include <set>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/streams/proxy_stream.h"

namespace refrain::layer::streams {

/// A stream, whichever of its names the program used: a thread's own default stream has the same handle in all threads.
struct CapturedStream {
  CapturedStream(std::uint64_t name, DefaultStream by_default) noexcept
      : handle(is_legacy(name, by_default) ? 1 : name) {
    static thread_local char mark;
    if (is_per_thread(name, by_default)) {
      handle = kDefaultHandles;
      thread = &mark;
    }
  }
  auto operator<=>(const CapturedStream&) const = default;  // NOLINT(modernize-use-nullptr): none is there

  std::uint64_t handle;
  const void* thread = nullptr;
};

/// Streams that the application captures.
template <class L>
struct Captures {
  env::Mutex mutex;  ///< while it is held none begins, and no stream is destroyed
  std::set<CapturedStream> streams REFRAIN_GUARDED_BY(mutex);

  /// Never destroyed.
  static Captures& all() noexcept {
    static Immortal<Captures> captures;
    return *captures;
  }
};

/// Counts captures under way, for those who submit and for those who ask the driver.
template <class L>
void capture_begins() noexcept {
  L::runtime().captures.fetch_add(1, std::memory_order_seq_cst);
  if (L::runtime().backend != nullptr) {
    L::runtime().backend->idle_moment().begin_capture();
  }
}
template <class L>
void capture_ends() noexcept {
  if (L::runtime().backend != nullptr) {
    L::runtime().backend->idle_moment().end_capture();
  }
  L::runtime().captures.fetch_sub(1, std::memory_order_relaxed);
}

/// It was ended, or its stream is gone.
template <class L>
void no_capture_of(const CapturedStream& stream) noexcept {
  Captures<L>& captures = Captures<L>::all();
  const env::MutexLock guard(captures.mutex);
  if (captures.streams.erase(stream) != 0) {
    capture_ends<L>();
  }
}

}  // namespace refrain::layer::streams
