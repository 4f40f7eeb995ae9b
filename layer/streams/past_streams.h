// Streams that the program uses while nobody looks at what it submits: beside captures of its own. Verify mode compares
// memory, and puts it back, only when all work has ended, and so must know them.
#pragma once

#include <algorithm>
#include <vector>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/streams/objects.h"
#include "layer/streams/proxy_stream.h"

namespace refrain::layer::streams {

template <class L>
class StreamTable;

/// A stream as a call names it.
template <class L>
struct NamedStream {
  typename L::Api::StreamHandle handle;
  DefaultStream by_default;
};

/// In verify mode: those that were not adopted yet. Thread-safe.
template <class L>
class PastStreams {
 public:
  using Api = typename L::Api;

  /// The one of the process; never destroyed.
  static PastStreams& all() noexcept {
    static Immortal<PastStreams> streams;
    return *streams;
  }

  /// Work for the stream passes. The driver may not be asked about it now. Nothing may be locked.
  [[gnu::noinline]] void used(NamedStream<L> stream) noexcept {
    replay::Engine* const running = L::engine();
    if (running == nullptr || !running->compares()) {
      return;
    }
    const std::uint64_t name = handle_of(stream.handle);
    const std::uint64_t key = name > kDefaultHandles ? name : L::default_stream_key(stream.handle, stream.by_default);
    if (key == 0 || L::objects().streams.find(key) != nullptr) {
      return;
    }
    Used used{key, stream.handle, backends::StreamKind::kBlocking, Api::kNoContext};
    if (name <= kDefaultHandles) {
      const bool legacy = is_legacy(name, stream.by_default);
      used.handle = legacy ? Api::legacy_stream() : Api::per_thread_stream();
      used.kind = legacy ? backends::StreamKind::kLegacy : backends::StreamKind::kPerThread;
      used.context = L::current_context();
    }
    try {
      const env::MutexLock guard(mutex_);
      if (std::ranges::find(used_, key, &Used::key) == used_.end()) {
        used_.push_back(used);
      }
    } catch (const std::exception&) {
      running->cannot_know("the host has no memory to remember the program's streams");
    }
    adopt();  // should the capture have ended meanwhile
  }

  /// After a capture, where all may be flushed: they are known from now on, but for other threads' own ones.
  void adopt() noexcept {
    replay::Engine* const running = L::engine();
    if (running == nullptr || !running->compares() || L::runtime().captures.load() != 0) {
      return;
    }
    std::vector<Used> taken;
    {
      const env::MutexLock guard(mutex_);
      const auto others = std::partition(used_.begin(), used_.end(), [](const Used& each) {
        return each.kind == backends::StreamKind::kPerThread && L::objects().streams.find(each.key) == nullptr;
      });
      try {
        taken.assign(others, used_.end());
      } catch (const std::exception&) {
        return;  // they are still not known
      }
      used_.erase(others, used_.end());
    }
    for (const Used& each : taken) {
      const typename Api::Scope scope(L::runtime().driver,
                                      each.context != Api::kNoContext ? each.context : L::current_context());
      if (L::objects().streams.find(each.key) == nullptr &&
          StreamTable<L>::all().adopt(each.key, each.handle, each.kind) == nullptr) {
        running->cannot_know(kGone);
      }
    }
  }

  /// The stream is destroyed: its work goes on, and nobody can ask for it.
  void destroyed(std::uint64_t handle) noexcept {
    const env::MutexLock guard(mutex_);
    if (std::erase_if(used_, [handle](const Used& each) { return each.key == handle; }) != 0) {
      if (replay::Engine* const running = L::engine(); running != nullptr) {
        running->cannot_know(kGone);
      }
    }
  }

  /// See replay::LayerHooks::why_not_all_queues().
  [[nodiscard]] const char* why_not_all() noexcept {
    if (L::runtime().captures.load() != 0) {
      return "the program captures a stream, and nobody may ask about others meanwhile";
    }
    const env::MutexLock guard(mutex_);
    std::erase_if(used_, [](const Used& each) { return L::objects().streams.find(each.key) != nullptr; });
    return used_.empty() ? nullptr : "a stream that was used beside a capture is not known yet";
  }

 private:
  static constexpr const char* kGone = "a stream that was used beside a capture was destroyed before it was known";

  struct Used {
    std::uint64_t key;  ///< in Objects::streams
    typename Api::StreamHandle handle;
    backends::StreamKind kind;
    typename Api::ContextHandle context;  ///< of a default stream
  };

  env::Mutex mutex_;
  std::vector<Used> used_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::layer::streams
