// What every submission to a stream has in common: the protocol of replay/lane/lane.h.
#pragma once

#include <type_traits>

#include "layer/common/stable_names.h"
#include "layer/common/submission.h"
#include "layer/streams/host_call.h"
#include "layer/streams/objects.h"
#include "layer/streams/stream_table.h"

namespace refrain::layer::streams {

using capture::mix;

/// Who waits for it knows that the free is done, and may ask.
inline const char* const kBehindFree = "it comes behind a free in stream order, which is held";

template <class L>
using StatusOf = typename L::Api::Status;

/// Of the calling thread.
[[nodiscard, gnu::always_inline]] inline std::uint64_t current_stretch() noexcept {
  const replay::Lane* const lane = replay::Lane::current;
  return lane != nullptr ? lane->stretch() : 0;
}

/// A submission as far as all kinds are the same.
struct Call {
  const replay::EntryPoint& entry_point;
  OperationKind kind;
  Token token;  ///< of everything but the stream
  const char* unholdable = nullptr;
  bool blocks = false;        ///< returns only when the work is done
  std::uint64_t changes = 0;  ///< of a kernel: StateChanges::begun() before `state` was found
  std::uint64_t state = 0;    ///< what setters have set of its kernel: part of the token
  /// See replay::Submission. So do operations that somebody waits for whom no call of this thread shows: the host,
  /// another thread's stream, another device.
  bool ends = false;
};

// What takes `issue` is inlined everywhere: elsewhere the call's arguments would be written to memory first, for a
// function that is hardly ever called (an observed launch: 320 instructions instead of 275,
// test/bench/overhead/footprint).

/// Calls the driver without looking at the submission.
template <class L, class Issue>
[[gnu::always_inline]] inline StatusOf<L> issue_dormant(replay::Lane& lane, Issue&& issue) noexcept {
  lane.tick_dormant();
  leave_proxy<L>();
  return issue();
}

/// True while nothing may be looked at: the engine is not at work, or the application captures a stream (asking
/// the driver about a stream could then invalidate the capture).
template <class L>
[[nodiscard, gnu::always_inline]] inline bool passing() noexcept {
  return L::runtime().captures.load(std::memory_order_relaxed) != 0 || L::engine() == nullptr;
}

template <class L, class Issue>
[[gnu::always_inline]] inline StatusOf<L> pass_through(const replay::EntryPoint& entry_point, Issue&& issue) noexcept {
  return common::pass_through<Protocol<L>>(entry_point, false, issue);
}

/// See short_way(). `past()` is called before a submission that nobody looks at.
template <class L, class Issue, class Past>
[[gnu::always_inline]] inline bool short_way_past(const replay::EntryPoint& entry_point, StatusOf<L>* status,
                                                  Issue&& issue, bool may_block, Past&& past) noexcept {
  if (replay::Lane* lane = common::dormant_lane<Protocol<L>>(); lane != nullptr) {
    const NotCancelled during(may_block);
    *status = issue_dormant<L>(*lane, issue);
    return true;
  }
  if (passing<L>()) [[unlikely]] {
    const NotCancelled during(may_block);
    past();
    *status = pass_through<L>(entry_point, issue);
    return true;
  }
  return false;
}

/// The beginning of every submission: the short ways, on which nothing is looked at. False: go on. `may_block`: it may
/// wait for the device, where the thread must not be cancelled (NotCancelled).
template <class L, class Issue>
[[gnu::always_inline]] inline bool short_way(const replay::EntryPoint& entry_point, NamedStream<L> stream,
                                             StatusOf<L>* status, Issue&& issue, bool may_block = false) noexcept {
  return short_way_past<L>(entry_point, status, issue, may_block, [&] { PastStreams<L>::all().used(stream); });
}
/// The same for one that uses no memory.
template <class L, class Issue>
[[gnu::always_inline]] inline bool short_way(const replay::EntryPoint& entry_point, StatusOf<L>* status,
                                             Issue&& issue) noexcept {
  return short_way_past<L>(entry_point, status, issue, false, [] {});
}

/// What layer/common asks of a submission; the functions are those of submit().
template <class L, class Describe, class Issue, class After>
class Operation : public common::PlainOperation {
 public:
  using State = StreamState<typename L::Api>;
  using Status = StatusOf<L>;

  Operation(const Call& call, State& stream, const Describe& describe, const Issue& issue, const After& after) noexcept
      : call_(call), stream_(stream), describe_(describe), issue_(issue), after_(after) {}

  [[nodiscard]] const replay::EntryPoint& entry_point() const noexcept { return call_.entry_point; }
  [[nodiscard]] bool blocks() const noexcept { return call_.blocks; }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  replay::Submission look(replay::Engine& running) noexcept {
    changes_ = call_.kind == OperationKind::kKernel ? call_.changes : running.state_changes().begun();
    if (L::runtime().replays) {  // if not, nothing is ever held, or linked
      flush_holders(running, stream_);
    }
    const char* unholdable = call_.unholdable != nullptr ? call_.unholdable : stream_.unholdable;
    threads_own_ = stream_.unholdable == kThreadsOwn;
    if (threads_own_) [[unlikely]] {
      const bool asked = L::runtime().replays || L::runtime().recorder != nullptr;
      const char* const why_not = asked ? why_no_proxy<L>(stream_) : nullptr;
      unholdable = call_.unholdable != nullptr ? call_.unholdable : why_not;
    }
    seed_ = stream_.token_seed.load(std::memory_order_relaxed);
    token_ = mix(call_.token, seed_);
    return {token_, call_.kind, &stream_.slot, unholdable, call_.ends};
  }
  void decided(const replay::Lane& /*lane*/, replay::Verdict /*verdict*/, std::uint64_t number) noexcept {
    number_ = number;
  }
  void describe(capture::OperationWriter& writer, bool held) const {
    describe_(writer, token_, held);
    writer.header().state = seed_ ^ call_.state;
  }
  void record(const capture::OperationView& view) const noexcept {
    L::notify_recorder(stream_, call_.entry_point, view);
  }
  void begin_hold(const capture::OperationView& /*view*/) const noexcept {
    if (threads_own_) [[unlikely]] {
      use_proxy<L>(stream_);
    }
    after_(number_, true);
  }
  static Status held(int error) noexcept {
    const auto status = static_cast<Status>(error);
    L::on_hold(status);
    return status;
  }
  void begin_issue() const noexcept {
    if (threads_own_ && L::runtime().replays) [[unlikely]] {
      leave_proxy<L>();
    }
  }
  Status issue() const noexcept { return issue_(); }
  void issued(Status status) const noexcept {
    if (status == L::Api::kSuccess) {
      after_(number_, false);
    }
  }

 private:
  const Call& call_;
  State& stream_;
  const Describe& describe_;
  const Issue& issue_;
  const After& after_;
  std::uint64_t changes_ = 0;
  std::uint64_t number_ = 0;
  Token seed_ = 0, token_ = 0;
  bool threads_own_ = false;
};

/// `describe(writer, token, held)` writes the record up to finish(); it may throw. `issue()` calls the driver;
/// `after(sequence, held)` runs when the operation was issued without an error, or is held.
template <class L, class Describe, class Issue, class After>
StatusOf<L> submit(const Call& call, StreamState<typename L::Api>* stream, Describe&& describe, Issue&& issue,
                   After&& after) noexcept {
  replay::Engine* running = L::any_engine();  // if it gave up just now, the lane knows
  if (running == nullptr || stream == nullptr) [[unlikely]] {
    const NotCancelled during(call.blocks);
    return pass_through<L>(call.entry_point, issue);
  }
  Operation<L, std::remove_reference_t<Describe>, std::remove_reference_t<Issue>, std::remove_reference_t<After>>
      operation(call, *stream, describe, issue, after);
  return common::submit<Protocol<L>>(*running, operation);
}

template <class L, class Describe, class Issue>
StatusOf<L> submit(const Call& call, StreamState<typename L::Api>* stream, Describe&& describe,
                   Issue&& issue) noexcept {
  return submit<L>(call, stream, describe, issue, [](std::uint64_t, bool) {});
}

/// A submission that is counted, but never held.
template <class L, class Issue>
StatusOf<L> submit_unheld(const replay::EntryPoint& entry_point, OperationKind kind, const char* why,
                          typename L::Api::StreamHandle stream, DefaultStream by_default, Issue&& issue) noexcept {
  const NotCancelled during(true);  // some wait for the device, which is found out by calling them
  if (StatusOf<L> status = L::Api::kSuccess; short_way<L>(entry_point, {stream, by_default}, &status, issue)) {
    return status;
  }
  const Call call{entry_point, kind, mix(static_cast<Token>(kind), stable_name(entry_point)), why};
  return submit<L>(
      call, find_stream<L>(stream, by_default),
      [&](capture::OperationWriter& writer, Token token, bool) {
        writer.begin(capture::without_words(kind), token);
        writer.finish();
      },
      issue);
}

}  // namespace refrain::layer::streams
