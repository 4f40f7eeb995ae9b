// The one stream of the process in which memory may be allocated and freed in another place than the program's:
// see ordered_memory.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/streams/captures.h"
#include "layer/streams/objects.h"
#include "replay/engine.h"

namespace refrain::layer::streams {

/// Thread-safe.
template <class L>
class OrderedStream {
 public:
  using Api = typename L::Api;
  using State = StreamState<Api>;

  static OrderedStream& the() noexcept {
    static Immortal<OrderedStream> one;
    return *one;
  }

  /// To be told of each call that allocates or frees in stream order, in whichever stream (null: nobody knows which),
  /// so that no other one has such memory unnoticed. True if it is this one from now on: no other had any, or what that
  /// one had is done.
  [[nodiscard]] bool is(const replay::Engine& running, const State* stream) noexcept {
    if (stream == nullptr || id_.load(std::memory_order_relaxed) != stream->slot.info.id) {
      if (id_.load(std::memory_order_relaxed) == kSeveral || !change(running, stream)) {
        return false;
      }
    }
    // What comes late would come behind work of others that is in order with it, and before more of that.
    return stream->stream.kind == backends::StreamKind::kNonBlocking || !stream->context->in_order();
  }
  /// The stream is about to be destroyed, and nothing is held.
  void ends(const replay::Engine& running, const State& stream) noexcept {
    const env::MutexLock guard(mutex_);
    if (stream_ != &stream.stream) {
      return;
    }
    const bool alone = id_.load(std::memory_order_relaxed) != kSeveral;
    if (!settled(running)) {
      part();
    } else if (alone) {
      none_has_any();
    } else {
      parting_.store(false, std::memory_order_relaxed);
    }
    stream_ = nullptr;
  }

  /// Allocates in stream order, at once. Where frees of the one stream may have come late, and others have such memory
  /// now, the driver must not have an allocation wait for one of them: `pool` is then told so, meanwhile.
  template <class Issue>
  typename Api::Status allocate(const std::uint64_t* pool, const State* stream, Issue&& issue) noexcept {
    if (!parting_.load(std::memory_order_relaxed)) [[likely]] {
      return issue();
    }
    const env::MutexLock guard(mutex_);
    if (const replay::Engine* const running = L::engine(); running != nullptr && settled(*running)) {
      parting_.store(false, std::memory_order_relaxed);
      return issue();
    }
    typename Api::Status status = Api::kSuccess;
    {
      const typename L::WithoutPoolWaits without(pool, stream == nullptr ? Api::kNoContext : stream->stream.context);
      status = issue();
    }
    return status == Api::kOutOfMemory ? issue() : status;
  }

  /// None has any.
  void begin_anew() noexcept {
    const env::MutexLock guard(mutex_);
    none_has_any();
    stream_ = nullptr;
  }

 private:
  static constexpr ObjectId kSeveral = ~ObjectId{0};

  [[gnu::noinline]] bool change(const replay::Engine& running, const State* stream) noexcept {
    const env::MutexLock guard(mutex_);
    const ObjectId before = id_.load(std::memory_order_relaxed);
    if (before == kSeveral) {
      return false;
    }
    if (stream == nullptr || (before != 0 && before != stream->slot.info.id && !settled(running))) {
      part();
      return false;
    }
    stream_ = &stream->stream;
    id_.store(stream->slot.info.id, std::memory_order_relaxed);
    return true;
  }
  void none_has_any() noexcept REFRAIN_REQUIRES(mutex_) {
    id_.store(0, std::memory_order_relaxed);
    parting_.store(false, std::memory_order_relaxed);
  }
  void part() noexcept REFRAIN_REQUIRES(mutex_) {
    id_.store(kSeveral, std::memory_order_relaxed);
    parting_.store(stream_ != nullptr, std::memory_order_relaxed);
  }
  /// Whether no free of its may stand, or come to stand, behind what waits for another stream.
  [[nodiscard]] bool settled(const replay::Engine& running) const noexcept REFRAIN_REQUIRES(mutex_) {
    // Whose own default stream its handle means depends on who asks.
    if (stream_ == nullptr || stream_->kind == backends::StreamKind::kPerThread || running.anything_trails()) {
      return false;
    }
    const env::MutexLock none_begins(Captures<L>::all().mutex);
    if (L::runtime().captures.load(std::memory_order_relaxed) != 0) {
      return false;  // the driver may not be asked
    }
    const auto& driver = L::runtime().driver;
    const typename Api::Scope scope(driver, stream_->context);
    return scope.status() == Api::kSuccess && Api::query_stream(driver, stream_->handle) == Api::kSuccess;
  }

  std::atomic<ObjectId> id_{0};
  std::atomic<bool> parting_{false};
  env::Mutex mutex_;                                                          ///< before the lanes' locks
  const backends::Stream<Api>* stream_ REFRAIN_GUARDED_BY(mutex_) = nullptr;  ///< null: it ended
};

}  // namespace refrain::layer::streams
