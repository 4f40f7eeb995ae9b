// Streams by their handles, and what ends them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/streams/captures.h"
#include "layer/streams/host_call.h"
#include "layer/streams/inventory.h"
#include "layer/streams/objects.h"
#include "layer/streams/ordered_blocks.h"
#include "layer/streams/ordered_stream.h"
#include "layer/streams/past_streams.h"
#include "layer/streams/proxy_stream.h"

namespace refrain::layer::streams {

// Keys of default streams: no handle is an odd number or ends like this.
inline constexpr std::uint64_t kLegacyKey = 1;
inline constexpr std::uint64_t kPerThreadKey = 2;
inline constexpr std::uint64_t kForgottenKey = ~std::uint64_t{0};  ///< nobody looks for that

/// The key of the calling thread's default stream.
inline std::uint64_t per_thread_key(std::uint64_t context) noexcept {
  thread_local const char mark = 0;
  return capture::mix(context, reinterpret_cast<std::uint64_t>(&mark)) << 2U | kPerThreadKey;
}

/// What the calling thread looked for last. Records are never freed, and have other handles once they are forgotten.
template <class Api>
inline thread_local constinit StreamState<Api>* last_stream __attribute__((tls_model("initial-exec"))) = nullptr;

/// The record with this key; null if there is none. Most threads use one stream for a while.
template <class L>
[[nodiscard, gnu::always_inline]] inline StreamState<typename L::Api>* find_known_stream(std::uint64_t key) noexcept {
  StreamState<typename L::Api>*& last = last_stream<typename L::Api>;
  if (last != nullptr && last->handle.load(std::memory_order_acquire) == key) [[likely]] {
    return last;
  }
  StreamState<typename L::Api>* const known = L::objects().streams.find(key);
  last = known != nullptr ? known : last;
  return known;
}

/// The record of the stream that the calling thread means by `handle`; null if there is none.
template <class L>
[[nodiscard]] StreamState<typename L::Api>* find_known_stream(typename L::Api::StreamHandle handle,
                                                              DefaultStream by_default) noexcept {
  const auto value = handle_of(handle);
  return find_known_stream<L>(value > kDefaultHandles ? value : L::default_stream_key(handle, by_default));
}

[[nodiscard]] inline capture::DefaultOrder order_of(backends::StreamKind kind) noexcept {
  switch (kind) {
    case backends::StreamKind::kLegacy: return capture::DefaultOrder::kIsDefault;
    case backends::StreamKind::kBlocking:
    case backends::StreamKind::kPerThread: return capture::DefaultOrder::kWithDefault;
    case backends::StreamKind::kNonBlocking: break;
  }
  return capture::DefaultOrder::kNone;
}

/// To be called before work is submitted to `stream` or waited for: what other threads hold and must come first
/// is flushed.
template <class Api>
[[gnu::always_inline]] inline void flush_holders(replay::Engine& running, StreamState<Api>& stream) noexcept {
  running.flush_holder(stream.slot);
  if (running.anything_trails() && stream.slot.newest.load(std::memory_order_relaxed) != replay::Lane::current)
      [[unlikely]] {
    running.flush_others();  // another thread's frees: who waits for what comes behind knows that they are done
  }
  if (!running.anything_held() || stream.slot.info.default_order == capture::DefaultOrder::kNone) {
    return;
  }
  switch (stream.slot.info.default_order) {
    case capture::DefaultOrder::kNone: break;
    case capture::DefaultOrder::kIsDefault: running.flush_others(); break;
    case capture::DefaultOrder::kWithDefault:
      if (StreamState<Api>* legacy = stream.context->legacy.load(std::memory_order_acquire); legacy != nullptr) {
        running.flush_holder(legacy->slot);
      }
      break;
  }
}

/// L has, besides what objects.h lists, describe(stream, handle, kind) (fills in what the driver tells; false: the
/// handle is invalid), device_id(context, otherwise) (for the capture file), forget_functions(module) and
/// forget_contexts(); and for find_known_stream() default_stream_key(handle, by_default): what the calling thread's
/// default stream of that handle is registered by, 0 if the thread has no context.
template <class L>
class StreamTable {
 public:
  using Api = typename L::Api;
  using State = StreamState<Api>;

  /// The one of the process; never destroyed.
  static StreamTable& all() noexcept {
    static Immortal<StreamTable> table;
    return *table;
  }

  /// Makes the record of a stream that was seen for the first time. Null if the handle is invalid.
  State* adopt(std::uint64_t key, typename Api::StreamHandle handle, backends::StreamKind kind) noexcept;

  /// A setter of the stream was called; null: of one that could not be looked at.
  void attributes_set(State* stream) noexcept {
    const env::MutexLock guard(mutex_);
    if (stream == nullptr) {
      some_attributes_ = true;
      for (State* state : live_) {
        state->set.renew();
        has_attributes(*state);
      }
      return;
    }
    has_attributes(*stream);
  }
  /// What setters have set that concerns all streams.
  void set_around(std::uint64_t number) noexcept {
    const env::MutexLock guard(mutex_);
    around_ = number;
    for (State* state : live_) {
      seed(*state);
    }
  }

  /// Everything that is known of streams and kernels goes, and every graph: before `context` is destroyed
  /// (kNoContext: any may be).
  void forget_all(typename Api::ContextHandle context) noexcept;

  /// The call that destroys a stream.
  template <class Destroy>
  typename Api::Status destroy_stream(const replay::EntryPoint& entry_point, typename Api::StreamHandle handle,
                                      Destroy&& destroy) noexcept {
    HostCall<L> host_call(entry_point, false);
    State* stream = L::objects().streams.find(handle_of(handle));
    replay::Engine* running = engine_with_threads<L>();
    if (running == nullptr) {
      return host_call.done(destroy(), false);
    }
    running->something_gone();
    PastStreams<L>::all().destroyed(handle_of(handle));
    if (stream != nullptr) {
      {
        const env::MutexLock guard(mutex_);
        std::erase(live_, stream);
      }
      running->queue_gone(stream->slot);
      running->identity_gone(stream->slot.info.id);
    }
    typename Api::Status status = Api::kSuccess;
    {
      const typename backends::StreamBackend<typename L::Api>::NoRecording recording(*L::runtime().backend);
      if (stream != nullptr) {
        forget(stream, true);
      }
      status = destroy();
      if (status == Api::kSuccess) {
        no_capture_of<L>({handle_of(handle), DefaultStream::kLegacy});  // nobody can end it any more
      }
    }
    PastStreams<L>::all().adopt();
    return host_call.done(status, false);
  }

  /// The call that destroys a context, or resets a device.
  template <class Destroy>
  typename Api::Status destroy_context(const replay::EntryPoint& entry_point, typename Api::ContextHandle context,
                                       Destroy&& destroy) noexcept {
    const Freeing<L> memory;
    HostCall<L> host_call(entry_point);
    if (engine_with_threads<L>() != nullptr) {
      forget_all(context);
      ordered_blocks<L>().forget_all();
    }
    return host_call.done(destroy(), true);
  }

 private:
  void forget(State* stream, bool destroyed) noexcept;
  /// In verify mode: calls that nobody looks at use the context's default stream, whether or not it was ever seen.
  void watch_legacy(replay::Engine& running, ContextState<Api>& context) noexcept {
    if (!running.compares()) {
      return;
    }
    backends::Stream<Api>& stream = context.unseen_legacy;
    stream.handle = Api::legacy_stream();
    stream.context = context.handle;
    stream.kind = backends::StreamKind::kLegacy;
    capture::QueueInfo info;
    info.id = next_object_id();
    info.handle = handle_of(&stream);
    stream.id.store(info.id, std::memory_order_release);
    running.watch_queue(info);
  }
  /// Before the context goes (kNoContext: any may): its default stream is waited for, as far as that may be, and not
  /// asked for any more.
  void unwatch_legacy(replay::Engine& running, typename Api::ContextHandle context) noexcept {
    replay::QueueSlot slot;
    const auto take = [&] {
      const env::MutexLock guard(mutex_);
      slot.info.id = 0;
      for (auto& [handle, known] : contexts_) {
        if (slot.info.id == 0 && (context == Api::kNoContext || context == handle)) {
          slot.info.id = known->unseen_legacy.id.exchange(0);
          slot.info.handle = handle_of(&known->unseen_legacy);
        }
      }
      return slot.info.id != 0;
    };
    while (take()) {
      running.queue_gone(slot);
    }
  }

  void seed(State& state) const noexcept REFRAIN_REQUIRES(mutex_) {
    const std::uint64_t own = state.set.number();
    Token seed = own == 0 ? state.role_seed : capture::mix(state.role_seed, own);
    seed = around_ == 0 ? seed : capture::mix(seed ^ 1U, around_);
    state.stream.state.store(seed, std::memory_order_release);
    state.token_seed.store(seed, std::memory_order_release);
  }
  void has_attributes(State& state) const noexcept REFRAIN_REQUIRES(mutex_) {
    state.stream.attributes.store(true, std::memory_order_relaxed);
    seed(state);
  }

  env::Mutex mutex_;
  std::uint64_t around_ REFRAIN_GUARDED_BY(mutex_) = 0;
  bool some_attributes_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< of streams that nobody has seen
  std::map<typename Api::ContextHandle, std::unique_ptr<ContextState<Api>>> contexts_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t numbers_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< of contexts, given so far
  std::vector<State*> live_ REFRAIN_GUARDED_BY(mutex_);
};

template <class L>
auto StreamTable<L>::adopt(std::uint64_t key, typename Api::StreamHandle handle, backends::StreamKind kind) noexcept
    -> State* {
  replay::Engine* running = L::engine();
  State* made = running == nullptr ? nullptr : L::objects().streams.make();
  if (made == nullptr) {
    return nullptr;
  }
  if (!L::describe(made->stream, handle, kind)) {
    L::objects().streams.recycle(made);
    return nullptr;
  }
  try {
    env::UniqueLock guard(mutex_);
    if (State* other = L::objects().streams.find(key); other != nullptr) {
      L::objects().streams.recycle(made);
      return other;
    }
    auto& context = contexts_[made->stream.context];
    if (context == nullptr) {
      context = std::make_unique<ContextState<Api>>();
      context->handle = made->stream.context;
      context->id = next_object_id();
      context->number = ++numbers_;
    }
    if (context->unseen_legacy.id.load(std::memory_order_relaxed) == 0) {
      watch_legacy(*running, *context);
    }
    made->context = context.get();
    capture::QueueInfo& info = made->slot.info;
    info.id = next_object_id();
    info.handle = handle_of(&made->stream);
    info.context = context->id;
    info.device = L::device_id(made->stream.context, context->id);
    // The default stream is the same one in every run, whoever comes first.
    info.role = made->stream.kind == backends::StreamKind::kLegacy ? 0 : ++context->roles;
    info.default_order = order_of(made->stream.kind);
    made->stream.id.store(info.id, std::memory_order_release);
    made->role_seed =
        capture::mix(capture::mix(context->number, info.role), static_cast<std::uint64_t>(made->stream.kind));
    made->stream.attributes.store(some_attributes_, std::memory_order_relaxed);
    seed(*made);
    if (made->stream.kind == backends::StreamKind::kPerThread) {
      made->unholdable = kThreadsOwn;
      made->proxy = new_proxy<L>(made->stream.context);
    }
    running->adopt_queue(made->slot);
    if (!made->slot.capabilities.native) {
      made->unholdable = made->slot.capabilities.why_not;
    }
    live_.push_back(made);
    if (!L::objects().streams.insert(made, key)) {
      live_.pop_back();
      return nullptr;
    }
    const bool was_in_order = context->in_order();
    if (made->stream.kind == backends::StreamKind::kLegacy) {
      context->legacy.store(made, std::memory_order_release);
    }
    if (info.default_order == capture::DefaultOrder::kWithDefault) {
      context->others_in_order.store(true);
    }
    const bool begins = context->in_order() && !was_in_order;
    guard.unlock();
    if (begins && running->anything_held()) {
      // Until now frees in these streams could come late: see ordered_memory.h.
      running->lane().flush(false);
      running->flush_others();
    }
    return made;
  } catch (...) {
    return nullptr;
  }
}

/// Under NoRecording, after everything held was flushed. `destroyed`: the program may not use the stream any more,
/// so that its record may be another one's (but not if it has a proxy stream, which a thread may have in use still).
/// Else another thread may be using both right now.
template <class L>
void StreamTable<L>::forget(State* stream, bool destroyed) noexcept {
  if (const replay::Engine* const running = L::engine(); running != nullptr) {
    OrderedStream<L>::the().ends(*running, *stream);
  }
  L::objects().streams.erase(stream);
  stream->handle.store(kForgottenKey, std::memory_order_relaxed);
  if (State* expected = stream; stream->stream.kind == backends::StreamKind::kLegacy) {
    stream->context->legacy.compare_exchange_strong(expected, nullptr);
  }
  stream->stream.id.store(0, std::memory_order_release);
  {
    // Who asks the driver about it, for a capture, has the answer; nobody asks any more.
    const env::MutexLock asked(Captures<L>::all().mutex);
  }
  L::runtime().backend->idle_moment().forget(stream->stream);
  if (destroyed && stream->proxy == nullptr) {
    L::objects().streams.recycle(stream);
  }
}

template <class L>
void StreamTable<L>::forget_all(typename Api::ContextHandle context) noexcept {
  L::forget_functions(kAnyModule);
  L::forget_contexts();
  std::vector<State*> gone;
  {
    const env::MutexLock guard(mutex_);
    gone.swap(live_);
  }
  replay::Engine* running = engine_with_threads<L>();
  if (running != nullptr) {
    running->something_gone();
    for (State* stream : gone) {
      running->queue_gone(stream->slot);
      running->identity_gone(stream->slot.info.id);
    }
    unwatch_legacy(*running, context);
  }
  const typename backends::StreamBackend<typename L::Api>::NoRecording recording(*L::runtime().backend);
  for (State* stream : gone) {
    forget(stream, stream->stream.context == context);
  }
  L::runtime().backend->context_gone(context);
}

/// Streams that were never seen, and default streams.
template <class L>
[[nodiscard]] StreamState<typename L::Api>* find_other_stream(typename L::Api::StreamHandle handle,
                                                              DefaultStream by_default) noexcept {
  using backends::StreamKind;
  StreamTable<L>& table = StreamTable<L>::all();
  const auto value = handle_of(handle);
  if (value > kDefaultHandles) {
    return table.adopt(value, handle, StreamKind::kBlocking);
  }
  const std::uint64_t key = L::default_stream_key(handle, by_default);
  auto* known = key != 0 ? find_known_stream<L>(key) : nullptr;
  if (known != nullptr || key == 0) [[likely]] {
    return known;
  }
  return is_legacy(value, by_default) ? table.adopt(key, L::Api::legacy_stream(), StreamKind::kLegacy)
                                      : table.adopt(key, L::Api::per_thread_stream(), StreamKind::kPerThread);
}

/// The record of a stream; made on first sight. Null if it cannot be known (no context, an invalid handle).
template <class L>
[[nodiscard, gnu::always_inline]] inline StreamState<typename L::Api>* find_stream(typename L::Api::StreamHandle handle,
                                                                                   DefaultStream by_default) noexcept {
  // Those of default streams are not registered by their own handles, 0, 1 and 2, but by larger keys.
  auto* known = find_known_stream<L>(handle_of(handle));
  return known != nullptr ? known : find_other_stream<L>(handle, by_default);
}

/// Whether `known` is the default stream that the calling thread means by `handle`.
template <class L>
[[nodiscard]] bool is_default_stream(const backends::Stream<typename L::Api>& known,
                                     typename L::Api::StreamHandle handle, DefaultStream by_default) noexcept {
  if (is_legacy(handle_of(handle), by_default)) {
    return known.kind == backends::StreamKind::kLegacy && L::current_context() == known.context;
  }
  if (known.kind != backends::StreamKind::kPerThread) {
    return false;
  }
  const auto* proxy = proxy_in_use<L>();
  return proxy != nullptr && proxy->stream == &known;
}

/// The call that unloads code. `module`: its handle, or kAnyModule.
template <class L, class Unload>
typename L::Api::Status unload(const replay::EntryPoint& entry_point, std::uint64_t module, Unload&& call) noexcept {
  const Freeing<L> variables;
  HostCall<L> host_call(entry_point, false);
  replay::Engine* running = engine_with_threads<L>();
  if (running == nullptr) {
    return host_call.done(call(), false);
  }
  running->something_gone();
  L::forget_functions(module);
  const typename backends::StreamBackend<typename L::Api>::NoRecording recording(*L::runtime().backend);
  L::runtime().backend->memory().changed();  // its variables go with it
  return host_call.done(call(), false);
}

}  // namespace refrain::layer::streams
