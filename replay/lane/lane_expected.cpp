// Submissions that are held without being looked at, because they are exactly what was expected. They are noted; when
// the chunk is complete it is launched, and the next one is expected. The matcher is told of all of them together as
// soon as anything else happens: until then it is behind.
#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "env/reserve.h"
#include "replay/lane/lane.h"
#include "replay/lane/lane_state.h"

namespace refrain::replay {

using capture::OperationView;

namespace {

// After n disappointments in a row nothing is expected for n * n submissions: arguments change there.
constexpr std::uint32_t kMostDisappointments = 32;
// Fewer left in the chunk are not worth finding out what they will be.
constexpr std::uint32_t kWorthExpecting = 2;
// So many that were launched are looked at together at most.
constexpr std::size_t kMostBehind = 1024;
/// Of the next record, fetched while the program does something else.
constexpr std::size_t kLine = 64, kFetched = 4;

Apart apart(std::span<QueueSlot* const> queues) noexcept {
  Apart result = Apart::kFromAll;
  for (const QueueSlot* queue : queues) {
    switch (queue->info.default_order) {
      case capture::DefaultOrder::kNone: break;
      case capture::DefaultOrder::kWithDefault: result = Apart::kFromAllButDefaults; break;
      case capture::DefaultOrder::kIsDefault: return Apart::kNo;
    }
  }
  return result;
}

}  // namespace

[[gnu::hot]] bool Lane::hold_expected(int* error, const Change* change) noexcept {
  // Only this thread begins to hold something here; others may end it.
  const std::uint32_t held = held_count_.load(std::memory_order_relaxed);
  // What others hold may have to come first. (Lanes are counted until they are empty: if this one still holds what it
  // held, which the lock tells, one lane is this one.)
  if ((engine_.held_lanes.load(std::memory_order_relaxed) != (held == 0 ? 0 : 1) && !is_apart()) || inside_lane ||
      !engine_.active.load(std::memory_order_relaxed)) {
    return false;
  }
  mutex_.lock();
  const std::byte* record = expected_.load(std::memory_order_relaxed);
  if (record == nullptr ||  // another thread has flushed
      ((change != nullptr || held == 0) && !begin_expected(change))) {
    mutex_.unlock();
    return false;
  }
  const bool attention = ++sequence_ >= attention_;
  const std::uint64_t started = attention ? attend() : 0;
  ++noted_;
  held_count_.store(held + 1, std::memory_order_relaxed);
  record += OperationView(record).header().size;
  *error = 0;
  if (record != expected_end_) {
    expected_.store(record, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kFetched; ++i) {
      __builtin_prefetch(record + i * kLine);
    }
  } else {
    if (!launch_expected()) {
      catch_up();
    }
    *error = std::exchange(state_->flush_error, 0);
  }
  if (held == 0 && engine_.gone.load(std::memory_order_seq_cst) != state_->expectation.gone) [[unlikely]] {
    // Something was changed while nobody could see yet that this lane holds something: what follows is looked at.
    catch_up();
  }
  if (attention) {
    attended(started);
  }
  mutex_.unlock();
  return true;
}

/// With the lock held, before a submission is noted that has other values, or while nothing is held. False if it has to
/// be looked at.
[[gnu::hot, gnu::noinline]] bool Lane::begin_expected(const Change* change) noexcept {
  const std::byte* const record = expected_.load(std::memory_order_relaxed);
  if (change != nullptr && !note_change(*change, record, OperationView(record).header().size)) {
    return false;
  }
  if (held_count_.load(std::memory_order_relaxed) == 0 && !hold_queues()) {
    state_->expectation.changed.clear();  // nothing but this one
    state_->expectation.changed_bytes.clear();
    return false;
  }
  return true;
}

/// With the lock held, while nothing is held: the first one of a chunk has come. False if it has to be looked at.
[[gnu::hot]] bool Lane::hold_queues() noexcept {
  State& state = *state_;
  const auto& queues = state.expectation.queues;
  // While nothing was held here, other threads did not have to tell this one what they did: another one's work may be
  // the newest in a queue, and what the record names may be gone, and its handle a new object's.
  if (!state_->context.hooks.may_hold() || engine_.gone.load(std::memory_order_relaxed) != state.expectation.gone ||
      std::any_of(queues.begin(), queues.end(),
                  [this](const QueueSlot* queue) { return queue->newest.load(std::memory_order_relaxed) != this; })) {
    return false;
  }
  for (QueueSlot* queue : queues) {
    Lane* nobody = nullptr;
    if (!queue->holder.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) {
      release_queues();
      return false;
    }
    add_held(queue);  // there is room
  }
  state.last_time_ns = now_ns();
  if (!state.stretch_open) {
    state.stretch_open = true;
    state.dormancy.stretch_begins(sequence_ + 1, state.hopeless());
  }
  if (!state.spans.open()) {
    state.spans.begin(state.last_time_ns);
    attention_ = next_attention();
  }
  begin_holding(sequence_ + 1, state.last_time_ns, 1);
  return true;
}

/// A submission that is timed in some way, or the one behind it. Returns when it began; 0 if that does not matter.
[[gnu::hot, gnu::noinline]] std::uint64_t Lane::attend() noexcept {
  State& state = *state_;
  state.came_back();
  if (state.tuner.app_clock_runs()) {
    state.tuner.app_time(sequence_, state.held_queues.size());
  }
  return begin_sample();
}

[[gnu::hot, gnu::noinline]] void Lane::attended(std::uint64_t started_ns) noexcept {
  State& state = *state_;
  if (started_ns != 0) {
    state.tuner.end_held(started_ns, held_count_.load(std::memory_order_relaxed) != 0);
  }
  state.leaves();
  attention_ = next_attention();
}

/// The number of the next submission that is timed, or 0 if what comes next is.
std::uint64_t Lane::next_attention() const noexcept {
  const State& state = *state_;
  return state.tuner.app_clock_runs() || state.spans.wants_outside() ? 0 : state.tuner.next_sample();
}

/// With the lock held. False if there is no memory.
[[gnu::hot, gnu::noinline]] bool Lane::note_change(const Change& change, const std::byte* record,
                                                   std::size_t size) noexcept {
  Expectation& expectation = state_->expectation;
  const std::size_t offset = expectation.changed_bytes.size();
  try {
    expectation.changed.reserve(expectation.changed.size() + 1);
    expectation.changed_bytes.resize(offset + size);
  } catch (...) {
    return false;
  }
  std::byte* const copy = expectation.changed_bytes.data() + offset;
  std::memcpy(copy, record, size);
  change.write(copy);
  expectation.changed.push_back({noted_, offset});
  return true;
}

[[gnu::hot]] void Lane::surprised() noexcept {
  if (inside_lane) {
    return;  // the driver calls the application: the lock is held
  }
  const std::lock_guard guard(mutex_);
  Expectation& expectation = state_->expectation;
  if (!expectation.met && noted_ == 0) {
    expectation.disappointments = std::min(expectation.disappointments + 1, kMostDisappointments);
    expectation.pause = expectation.disappointments * expectation.disappointments;
  }
}

/// With the lock held: finds out what will come, if that is possible.
[[gnu::hot, gnu::noinline]] void Lane::expect() noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  if (expectation.pause != 0) {
    --expectation.pause;
    return;
  }
  const Holding holding = state.matcher.holding();
  if (holding.count == 0 || holding.count != held_count_.load(std::memory_order_relaxed) ||
      holding.length - holding.count < kWorthExpecting) {
    return;
  }
  static_cast<void>(expect_rest(holding, state.held_queues));
}

/// At the end of a stretch, when nothing is held: finds out whether the next one begins with a chunk. Before the
/// program waits, when there is time.
[[gnu::hot]] void Lane::expect_first() noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  if (!expectation.possible || expectation.queues.empty() || expectation.pause != 0 || asleep_ != 0 ||
      held_count_.load(std::memory_order_relaxed) != 0) {
    return;
  }
  const Holding first = state.matcher.next_chunk();
  if (first.chunk == kNoChunk || !expect_rest(first, expectation.queues)) {
    return;
  }
  const capture::OperationKind kind = expected().kind();
  if (kind != capture::OperationKind::kKernel && kind != capture::OperationKind::kPointerFill) {
    expect_nothing();  // nobody compares others
  }
}

/// While nothing is held, and the matcher is not behind.
void Lane::expect_nothing() noexcept {
  expected_.store(nullptr, std::memory_order_relaxed);
}

/// With the lock held, when a chunk was launched that the matcher has not been told of: finds out whether another one
/// will follow. False if that is not known.
[[gnu::hot]] bool Lane::expect_next() noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  if (expectation.behind >= kMostBehind) {
    return false;
  }
  const Holding next = state.matcher.next_chunk();
  return next.chunk != kNoChunk && expect_rest(next, expectation.queues);
}

[[gnu::hot]] bool Lane::has_room(const Room& room) const noexcept {
  const State& state = *state_;
  const Expectation& expectation = state.expectation;
  return state.held_bytes.capacity() - state.held_bytes.size() >= room.bytes &&
         state.held_offsets.capacity() - state.held_offsets.size() >= room.operations &&
         state.held_queues.capacity() >= room.queues && expectation.queues.capacity() >= room.queues &&
         expectation.launched.capacity() > expectation.launched.size();
}

[[gnu::noinline, gnu::cold]] bool Lane::make_room(const Room& room) noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  try {
    state.held_bytes.reserve(state.held_bytes.size() + room.bytes);
    state.held_offsets.reserve(state.held_offsets.size() + room.operations);
    state.held_queues.reserve(room.queues);
    expectation.queues.reserve(room.queues);
    expectation.launched.reserve(2 * (expectation.launched.size() + 1));
    return true;
  } catch (...) {
    return false;
  }
}

/// What other threads hold does not have to come first.
bool Lane::is_apart() const noexcept {
  switch (state_->expectation.apart) {
    case Apart::kNo: break;
    case Apart::kFromAllButDefaults: return engine_.held_defaults.load(std::memory_order_relaxed) == 0;
    case Apart::kFromAll: return true;
  }
  return false;
}

/// With the lock held, or while nothing is held: expects what is missing of the chunk, if all of it is in these queues.
[[gnu::hot]] bool Lane::expect_rest(const Holding& holding, std::span<QueueSlot* const> queues) noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  if (holding.chunk >= state.entries.size() || state.entries[holding.chunk] == nullptr) {
    return false;
  }
  const std::uint64_t gone = engine_.gone.load(std::memory_order_relaxed);  // before the entry is asked
  auto occurrence = state.entries[holding.chunk]->expected(engine_.changes, state_->context.hooks);
  if (occurrence == nullptr || occurrence->size() != holding.length) {
    return false;
  }
  for (const capture::QueueInfo& queue : occurrence->queues) {
    if (std::none_of(queues.begin(), queues.end(),
                     [&](const QueueSlot* known) { return known->info.id == queue.id; })) {
      return false;
    }
  }
  // Nobody else holds something for these queues while this lane does, or it would not have begun (hold_queues()).
  expectation.apart = apart(queues);
  const std::byte* const next = occurrence->storage.data() + occurrence->offsets[holding.count];
  const std::byte* const end = occurrence->storage.data() + occurrence->storage.size();
  // Nothing can go wrong later.
  const Room room{static_cast<std::size_t>(end - next), holding.length, queues.size()};
  if (!has_room(room) && !make_room(room)) {
    return false;
  }
  expectation.disappointments = expectation.met ? 0 : expectation.disappointments;
  expectation.met = false;
  expectation.occurrence = std::move(occurrence);
  expectation.chunk = holding.chunk;
  expectation.first = next;
  expectation.sequence = sequence_ + 1;
  expectation.gone = gone;
  expectation.changed.clear();
  expectation.changed_bytes.clear();
  expected_.store(next, std::memory_order_relaxed);
  expected_end_ = end;
  noted_ = 0;
  attention_ = next_attention();
  return true;
}

/// Nothing is expected any more, the matcher is told what was launched, and what was noted is held like everything
/// else. With the lock held, by any thread if something is held, else by the lane's own.
[[gnu::hot]] void Lane::catch_up() noexcept {
  if (expected_.load(std::memory_order_relaxed) == nullptr) {
    return;
  }
  expected_.store(nullptr, std::memory_order_relaxed);
  State& state = *state_;
  Expectation& expectation = state.expectation;
  const std::uint32_t count = std::exchange(noted_, 0);
  expectation.met = expectation.met || count != 0;
  // All of them first: whatever happens then, nothing is lost. There is room for them.
  std::uint64_t sequence = expectation.sequence;
  expectation.for_each_noted(count, [&](const OperationView& operation) {
    const auto bytes = operation.bytes();
    const std::size_t offset = state.held_bytes.size();
    state.held_bytes.resize(offset + bytes.size());
    std::memcpy(state.held_bytes.data() + offset, bytes.data(), bytes.size());
    auto& header = *reinterpret_cast<capture::OperationHeader*>(state.held_bytes.data() + offset);
    header.sequence = sequence++;
    header.time_ns = state.last_time_ns;
    header.promise = 0;
    header.host_ns = 0;
    state.held_offsets.push_back(offset);
  });
  expectation.changed.clear();
  expectation.changed_bytes.clear();
  try {
    look_at_launched();
    look_at_noted(count);
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());  // what is held then is submitted by the next host call
  }
}

/// What is to be done about these was done when they were launched.
[[gnu::hot]] void Lane::look_at_launched() {
  State& state = *state_;
  if (state.expectation.launched.empty()) {
    return;
  }
  for (const Expectation::Launched& chunk : state.expectation.launched) {
    for (const capture::Token token : std::span(chunk.entry->tokens()).subspan(chunk.first)) {
      state.spans.submitted(token, 0);
      static_cast<void>(state.matcher.feed(token, true));
    }
  }
  state.expectation.launched.clear();
  state.expectation.behind = 0;
  state.matcher.forget_held();  // it may have learnt something on the way that divides them otherwise
}

[[gnu::hot]] void Lane::look_at_noted(std::uint32_t count) {
  State& state = *state_;
  state.counters.submissions.add(count);
  state.counters.expected.add(count);
  bool changed = false;
  const std::byte* record = state.expectation.first;
  for (std::uint32_t i = 0; i < count; ++i) {
    const capture::OperationHeader& header = OperationView(record).header();
    state.spans.submitted(header.token, 0);
    for (const Action& action : state.matcher.feed(header.token, true)) {
      note_error(apply(action));
      changed = true;
    }
    record += header.size;
  }
  if (changed) {
    publish();
  }
}

/// With the lock held, when the last one of a chunk has come: makes state.views what is to be launched, of which the
/// first `older` are held, and the others were noted. They are left empty where none promises or waits for anything:
/// then the instance has all that is needed, and a chunk that is only noted is not looked at once more. False if
/// something is not what was expected.
[[gnu::hot]] bool Lane::view_expected(std::size_t older) {
  State& state = *state_;
  const Occurrence& occurrence = *state.expectation.occurrence;
  bool plain = true;
  state.views.clear();
  for (std::size_t i = 0; i < older; ++i) {
    state.views.emplace_back(state.held_bytes.data() + state.held_offsets[state.held_head + i]);
    if (!same_work(occurrence.operation(i), state.views[i])) {
      return false;
    }
    const capture::OperationHeader& header = state.views[i].header();
    plain = plain && header.promise == 0 && header.wait_count == 0;
  }
  if (plain) {
    state.views.clear();
    return true;
  }
  for (std::size_t i = older; i < occurrence.size(); ++i) {
    state.views.push_back(occurrence.operation(i));
  }
  return true;
}

/// With the lock held, when the last one of a chunk has come. If all of them are what was expected, they are launched
/// at once, and looked at later. False: they are to be looked at first.
[[gnu::hot]] bool Lane::launch_expected() noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  const Occurrence& occurrence = *expectation.occurrence;
  const std::size_t older = state.held_offsets.size() - state.held_head;
  if (!expectation.changed.empty() || older + noted_ != occurrence.size()) {
    return false;
  }
  const std::uint64_t filling_ns = older == 0 ? state.tuner.filling_time(state.last_time_ns, noted_) : 0;
  bool launched = false;
  try {
    if (!view_expected(older)) {
      return false;
    }
    std::shared_ptr<GraphEntry> entry = state.entries[expectation.chunk];
    GraphLaunch result;
    {
      const Inside guard;
      const env::UseReserve reserve;
      const SubmitContext context{state_->context.backend, state_->context.hooks, state.window};
      const Submitting submitting(*this);
      result = entry->launch_expected(context, occurrence, state.views, state.tuner.hold_cost_ns() * occurrence.size(),
                                      state.spans.proven(), state.last_time_ns);
      if (reserve.used()) [[unlikely]] {
        engine_.fail("out of memory while held work was submitted");
      }
    }
    launched = result.launch == Launched::kDone;
    if (!launched) {
      return false;
    }
    note_error(result.error);
    expected_.store(nullptr, std::memory_order_relaxed);
    const std::uint32_t noted = std::exchange(noted_, 0);
    expectation.met = true;
    if (expectation.queues != state.held_queues) {
      expectation.queues = state.held_queues;  // there is room
    }
    state.counters.submissions.add(noted);
    state.counters.expected.add(noted);
    popped(static_cast<std::uint32_t>(older));
    publish();
    count_launch(entry, result);
    expectation.launched.push_back({std::move(entry), older});
    expectation.behind += noted;
    if (filling_ns != 0) {
      state.tuner.note_filling_time(filling_ns, sequence_, state.counters.launches.get());
    }
    if (!expect_next()) {
      look_at_launched();
    }
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
  return launched;
}

}  // namespace refrain::replay
