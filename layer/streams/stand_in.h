// A thread's own default stream, and what stands in for it.
//
// Only the thread itself can name that stream, but others must be able to submit what it holds: the one that watches
// the hold limit, or one that waits for the device. So what is held goes to a stand-in, a stream of Refrain's own that
// is in order with the legacy default stream, too. The work of both is one sequence: only one of them is in use, and
// the other one waits for it before it is used. The thread alone changes that: to the stand-in when it holds something,
// and back before a call of its own may submit to its stream or look at it. A program that waits for its stream waits
// for the one in use; in a loop that is replayed nothing ever changes.
#pragma once

#include <atomic>
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

/// StreamState::unholdable of a thread's own default stream: ask why_no_stand_in().
inline constexpr char kThreadsOwn[] = "its stream is the thread's default stream, which other threads cannot name";

/// One for each thread's default stream in each context. Everything but the first two members is the owning thread's.
template <class Api>
struct StandIn {
  typename Api::ContextHandle context = Api::kNoContext;
  std::uint64_t context_number = 0;  ///< see L::context_number()

  typename Api::StreamHandle handle = {};   ///< none was made yet if it is null
  std::uint64_t owner = 0;                  ///< thread_number() of the thread
  std::uint64_t asked = 0;                  ///< submissions so far, until it is made
  bool in_use = false;                      ///< the newest work is in the stand-in
  StandIn* next_in_use = nullptr;           ///< another one of the same thread's
  backends::Stream<Api>* stream = nullptr;  ///< what it stands in for; of the last time that it was in use
  /// The switch back from the stand-in to the thread's own stream, until it is known to be complete.
  typename backends::StreamBackend<Api>::Handover left = {};
};

/// Of the calling thread.
template <class Api>
struct StandIns {
  static inline thread_local StandIn<Api>* in_use __attribute__((tls_model("initial-exec"))) = nullptr;
  /// The one that the thread switched back from last, where that may not be complete yet.
  static inline thread_local StandIn<Api>* left __attribute__((tls_model("initial-exec"))) = nullptr;
  static inline thread_local bool waited __attribute__((tls_model("initial-exec"))) = false;  ///< by a call since then
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
[[nodiscard]] bool is_current(const StandIn<typename L::Api>& stand_in) noexcept {
  return L::current_context() == stand_in.context && L::context_number(stand_in.context) == stand_in.context_number;
}

/// For the calling thread's default stream in its current context; null if it may have none. Never freed: if another
/// thread makes Refrain forget the stream (a context may have gone), the one that was in use still is.
template <class L>
[[nodiscard]] StandIn<typename L::Api>* new_stand_in(typename L::Api::ContextHandle context) {
  const std::uint64_t number = L::context_number(context);
  return number == 0 ? nullptr : new StandIn<typename L::Api>{context, number};
}

/// The stand-in that is in use for the default stream that the calling thread has in its current context, or null.
template <class L>
[[nodiscard]] StandIn<typename L::Api>* stand_in_in_use() noexcept {
  StandIn<typename L::Api>* found = StandIns<typename L::Api>::in_use;
  while (found != nullptr && !is_current<L>(*found)) {
    found = found->next_in_use;
  }
  return found;
}

/// Why nothing of the calling thread's default stream can be held just now; null: it can, and `stream.stream.handle` is
/// the stand-in.
template <class L>
[[nodiscard, gnu::noinline]] const char* why_no_stand_in(StreamState<typename L::Api>& stream) noexcept {
  using Api = typename L::Api;
  // So often a stream is used before it gets one: threads that hardly do anything need none.
  constexpr std::uint64_t kOftenEnough = 64;
  StandIn<Api>* const stand_in = stream.stand_in;
  if (stand_in == nullptr) {
    return kThreadsOwn;
  }
  if (stream.stream.attributes.load(std::memory_order_relaxed)) {
    return "its stream is the thread's default stream, and has attributes, which what stands in for it has not";
  }
  if (stand_in->owner != thread_number()) {
    // A thread that ended had it, and the same place in memory.
    if (stand_in->handle != typename Api::StreamHandle{} &&
        Api::query_stream(L::runtime().driver, stand_in->handle) == Api::kNotReady) {
      return "its stream is the thread's default stream, whose stand-in is busy with work of a thread that ended";
    }
    stand_in->owner = thread_number();
    stand_in->in_use = false;
  }
  if (stand_in->handle == typename Api::StreamHandle{}) {
    if (++stand_in->asked < kOftenEnough) {
      return "its stream is the thread's default stream, and was hardly used yet";
    }
    const backends::RightOfWay::Claim claim(L::runtime().backend->right_of_way());
    if (Api::create_blocking_stream(L::runtime().driver, &stand_in->handle) != Api::kSuccess) {
      stand_in->handle = {};
      stream.stand_in = nullptr;  // it is not tried again
      return kThreadsOwn;
    }
    L::runtime().backend->idle_moment().change_handle(stream.stream, stand_in->handle);
  }
  return nullptr;
}

/// The calling thread holds something of its default stream.
template <class L>
void use_stand_in(StreamState<typename L::Api>& stream) noexcept {
  using Api = typename L::Api;
  StandIn<Api>& stand_in = *stream.stand_in;
  stand_in.stream = &stream.stream;
  if (stand_in.in_use) {
    return;
  }
  auto before = L::runtime().backend->follow(stand_in.context, Api::per_thread_stream(), stand_in.handle);
  L::runtime().backend->give_back(&before);
  stand_in.in_use = true;
  stand_in.next_in_use = StandIns<Api>::in_use;
  StandIns<Api>::in_use = &stand_in;
}

template <class L>
[[gnu::noinline]] void leave_current_stand_in() noexcept {
  using Api = typename L::Api;
  StandIn<Api>* const stand_in = stand_in_in_use<L>();
  if (stand_in == nullptr) {
    return;  // those that are in use belong to other contexts
  }
  L::runtime().backend->give_back(&stand_in->left);
  stand_in->left = L::runtime().backend->follow(stand_in->context, stand_in->handle, Api::per_thread_stream());
  StandIns<Api>::left = stand_in;
  StandIns<Api>::waited = false;
  stand_in->in_use = false;
  StandIn<Api>** place = &StandIns<Api>::in_use;
  while (*place != stand_in) {
    place = &(*place)->next_in_use;
  }
  *place = stand_in->next_in_use;
}

/// Before a call of the thread's that may submit to its default stream, or look at it, when nothing of it is held any
/// more.
template <class L>
[[gnu::always_inline]] inline void leave_stand_in() noexcept {
  if (StandIns<typename L::Api>::in_use != nullptr) [[unlikely]] {
    leave_current_stand_in<L>();
  }
}

/// See before_question() (waits.h).
template <class L>
[[gnu::noinline]] void close_left_stand_in() noexcept {
  using Api = typename L::Api;
  StandIn<Api>& stand_in = *StandIns<Api>::left;
  StandIns<Api>::waited = false;
  if (is_current<L>(stand_in) && L::runtime().backend->close(&stand_in.left)) {
    StandIns<Api>::left = nullptr;
  }
}

/// In a child, whose only thread is the calling one: nothing of the driver's works there.
template <class Api>
void forget_stand_ins() noexcept {
  StandIns<Api>::in_use = nullptr;
  StandIns<Api>::left = nullptr;
}

/// What the calling thread means by `handle`, for a call that waits for the stream or asks for it, and nothing else.
template <class L>
[[nodiscard]] typename L::Api::StreamHandle waited_for(typename L::Api::StreamHandle handle,
                                                       DefaultStream by_default) noexcept {
  if (StandIns<typename L::Api>::in_use == nullptr || !is_per_thread(handle_of(handle), by_default)) {
    return handle;
  }
  const StandIn<typename L::Api>* const stand_in = stand_in_in_use<L>();
  return stand_in != nullptr ? stand_in->handle : handle;
}

/// The stream of the driver's in which the calling thread's newest work of `stream` is.
template <class L>
[[nodiscard]] typename L::Api::StreamHandle handle_in_use(const StreamState<typename L::Api>& stream) noexcept {
  return stream.stand_in != nullptr && !stream.stand_in->in_use ? L::Api::per_thread_stream() : stream.stream.handle;
}

}  // namespace refrain::layer::streams
