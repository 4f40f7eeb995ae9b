// A thread's own default stream, and what stands in for it.
//
// Only the thread itself can name that stream, but others must be able to submit what it holds: the one that watches
// the hold limit, or one that waits for the device. So what is held goes to a proxy stream, a stream of Refrain's own
// that is in order with the legacy default stream, too. The work of both is one sequence: only one of them is in use,
// and the other one waits for it before it is used. The thread alone changes that: to the proxy stream when it holds
// something, and back before a call of its own may submit to its stream or look at it. A program that waits for its
// stream waits for the one in use; in a loop that is replayed nothing ever changes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "layer/streams/objects.h"

namespace refrain::layer::streams {

/// Which default stream a function means by 0.
enum class DefaultStream : bool { kLegacy, kPerThread };

/// Handles up to here name default streams, in CUDA and in HIP: 0 the one that the function means, 1 and 2 the legacy
/// one and the calling thread's own.
inline constexpr std::uint64_t kDefaultHandles = 2;
[[nodiscard]] inline bool is_legacy(std::uint64_t handle, DefaultStream by_default) noexcept {
  return handle == 1 || (handle == 0 && by_default == DefaultStream::kLegacy);
}
[[nodiscard]] inline bool is_per_thread(std::uint64_t handle, DefaultStream by_default) noexcept {
  return handle <= kDefaultHandles && !is_legacy(handle, by_default);
}

/// StreamState::unholdable of a thread's own default stream: ask why_no_proxy().
inline constexpr char kThreadsOwn[] = "its stream is the thread's default stream, which other threads cannot name";

/// One for each thread's default stream in each context. Everything but the first two members is the owning thread's.
template <class Api>
struct ProxyStream {
  typename Api::ContextHandle context = Api::kNoContext;
  std::uint64_t context_number = 0;  ///< see L::context_number()

  typename Api::StreamHandle handle = {};   ///< none was made yet if it is null
  std::uint64_t owner = 0;                  ///< thread_number() of the thread
  std::uint64_t asked = 0;                  ///< submissions so far, until it is made
  bool in_use = false;                      ///< the newest work is in the proxy stream
  ProxyStream* next_in_use = nullptr;       ///< another one of the same thread's
  backends::Stream<Api>* stream = nullptr;  ///< what it stands in for; of the last time that it was in use
  /// The switch back from the proxy stream to the thread's own stream, until it is known to be complete.
  typename backends::StreamBackend<Api>::Handover left = {};
};

/// Of the calling thread.
template <class Api>
struct ProxyStreams {
  static inline thread_local ProxyStream<Api>* in_use __attribute__((tls_model("initial-exec"))) = nullptr;
  /// The one that the thread switched back from last, where that may not be complete yet.
  static inline thread_local ProxyStream<Api>* left __attribute__((tls_model("initial-exec"))) = nullptr;
  static inline thread_local bool waited __attribute__((tls_model("initial-exec"))) = false;  ///< by a call since then
  /// What was waited for, or asked after and done, came after everything that the proxy stream held.
  static inline thread_local bool done __attribute__((tls_model("initial-exec"))) = false;
};

/// A number that no other thread of the process ever had.
inline std::uint64_t thread_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  thread_local std::uint64_t number = 0;
  if (number == 0) {
    number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return number;
}

// L has, besides what objects.h lists, current_context() (of the calling thread) and context_number(context): the same
// as long as it lives, and never again; 0 if that is not known.

template <class L>
[[nodiscard]] bool is_current(const ProxyStream<typename L::Api>& proxy) noexcept {
  return L::current_context() == proxy.context && L::context_number(proxy.context) == proxy.context_number;
}

/// For the calling thread's default stream in its current context; null if it may have none. Never freed: if another
/// thread makes Refrain forget the stream (a context may have gone), the one that was in use still is.
template <class L>
[[nodiscard]] ProxyStream<typename L::Api>* new_proxy(typename L::Api::ContextHandle context) {
  const std::uint64_t number = L::context_number(context);
  return number == 0 ? nullptr : new ProxyStream<typename L::Api>{context, number};
}

/// The proxy stream that is in use for the default stream that the calling thread has in its current context, or null.
template <class L>
[[nodiscard]] ProxyStream<typename L::Api>* proxy_in_use() noexcept {
  ProxyStream<typename L::Api>* found = ProxyStreams<typename L::Api>::in_use;
  while (found != nullptr && !is_current<L>(*found)) {
    found = found->next_in_use;
  }
  return found;
}

/// Why nothing of the calling thread's default stream can be held just now; null: it can, and `stream.stream.handle` is
/// the proxy stream.
template <class L>
[[nodiscard, gnu::noinline]] const char* why_no_proxy(StreamState<typename L::Api>& stream) noexcept {
  using Api = typename L::Api;
  // So often a stream is used before it gets one: threads that hardly do anything need none.
  constexpr std::uint64_t kOftenEnough = 64;
  ProxyStream<Api>* const proxy = stream.proxy;
  if (proxy == nullptr) {
    return kThreadsOwn;
  }
  if (stream.stream.attributes.load(std::memory_order_relaxed)) {
    return "its stream is the thread's default stream, and has attributes, which what stands in for it has not";
  }
  if (proxy->owner != thread_number()) {
    // A thread that ended had it, and the same place in memory.
    if (proxy->handle != typename Api::StreamHandle{} &&
        Api::query_stream(L::runtime().driver, proxy->handle) == Api::kNotReady) {
      return "its stream is the thread's default stream, whose proxy stream is busy with work of a thread that ended";
    }
    proxy->owner = thread_number();
    proxy->in_use = false;
  }
  if (proxy->handle == typename Api::StreamHandle{}) {
    if (++proxy->asked < kOftenEnough) {
      return "its stream is the thread's default stream, and was hardly used yet";
    }
    if (!L::runtime().replays) {
      return nullptr;  // a capture, in which nothing is held
    }
    const backends::ExclusiveCallYield::Claim claim(L::runtime().backend->exclusive_call_yield());
    if (Api::create_blocking_stream(L::runtime().driver, &proxy->handle) != Api::kSuccess) {
      proxy->handle = {};
      stream.proxy = nullptr;  // it is not tried again
      return kThreadsOwn;
    }
    L::runtime().backend->idle_moment().change_handle(stream.stream, proxy->handle);
  }
  return nullptr;
}

/// The calling thread holds something of its default stream.
template <class L>
void use_proxy(StreamState<typename L::Api>& stream) noexcept {
  using Api = typename L::Api;
  ProxyStream<Api>& proxy = *stream.proxy;
  proxy.stream = &stream.stream;
  if (proxy.in_use) {
    return;
  }
  auto before = L::runtime().backend->follow(proxy.context, Api::per_thread_stream(), proxy.handle);
  L::runtime().backend->give_back(&before);
  proxy.in_use = true;
  proxy.next_in_use = ProxyStreams<Api>::in_use;
  ProxyStreams<Api>::in_use = &proxy;
}

template <class L>
[[gnu::noinline]] void leave_current_proxy() noexcept {
  using Api = typename L::Api;
  ProxyStream<Api>* const proxy = proxy_in_use<L>();
  if (proxy == nullptr) {
    return;  // those that are in use belong to other contexts
  }
  L::runtime().backend->give_back(&proxy->left);
  proxy->left = L::runtime().backend->follow(proxy->context, proxy->handle, Api::per_thread_stream());
  ProxyStreams<Api>::left = proxy;
  ProxyStreams<Api>::waited = false;
  ProxyStreams<Api>::done = false;
  proxy->in_use = false;
  ProxyStream<Api>** place = &ProxyStreams<Api>::in_use;
  while (*place != proxy) {
    place = &(*place)->next_in_use;
  }
  *place = proxy->next_in_use;
}

/// Before a call of the thread's that may submit to its default stream, or look at it, when nothing of it is held any
/// more.
template <class L>
[[gnu::always_inline]] inline void leave_proxy() noexcept {
  if (ProxyStreams<typename L::Api>::in_use != nullptr) [[unlikely]] {
    leave_current_proxy<L>();
  }
}

/// See before_question() (waits.h).
template <class L>
[[gnu::noinline]] void close_left_proxy() noexcept {
  using Api = typename L::Api;
  ProxyStream<Api>& proxy = *ProxyStreams<Api>::left;
  ProxyStreams<Api>::waited = false;
  // It is a matter of microseconds if the work in front of it is done, unless the machine is so busy that the driver's
  // own threads are late.
  const auto patience = std::chrono::milliseconds(ProxyStreams<Api>::done ? 1000 : 5);
  if (is_current<L>(proxy) && L::runtime().backend->close(&proxy.left, patience)) {
    ProxyStreams<Api>::left = nullptr;
  }
}

/// In a child, whose only thread is the calling one: nothing of the driver's works there.
template <class Api>
void forget_proxies() noexcept {
  ProxyStreams<Api>::in_use = nullptr;
  ProxyStreams<Api>::left = nullptr;
}

/// What the calling thread means by `handle`, for a call that waits for the stream or asks for it, and nothing else.
template <class L>
[[nodiscard]] typename L::Api::StreamHandle waited_for(typename L::Api::StreamHandle handle,
                                                       DefaultStream by_default) noexcept {
  if (ProxyStreams<typename L::Api>::in_use == nullptr || !is_per_thread(handle_of(handle), by_default)) {
    return handle;
  }
  const ProxyStream<typename L::Api>* const proxy = proxy_in_use<L>();
  return proxy != nullptr ? proxy->handle : handle;
}

}  // namespace refrain::layer::streams
