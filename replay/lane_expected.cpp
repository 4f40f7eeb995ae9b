// Submissions that are held without being looked at, because they are exactly what was expected. They are noted, and
// looked at together, when the chunk is complete or as soon as anything else happens.
#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "replay/lane.h"
#include "replay/lane_state.h"

namespace refrain::replay {

using capture::OperationView;

namespace {

// After n disappointments in a row nothing is expected for n * n submissions: arguments change there.
constexpr std::uint32_t kMostDisappointments = 32;
// Fewer left in the chunk are not worth finding out what they will be.
constexpr std::uint32_t kWorthExpecting = 2;
/// Of the next record, fetched while the program does something else.
constexpr std::size_t kLine = 64, kFetched = 4;

}  // namespace

bool Lane::hold_expected(int* error, const Change* change) noexcept {
  State& state = *state_;
  // What is timed takes the long way, and so does what comes behind it; and what others hold may have to come first.
  if (sequence_ + 1 >= state.next_timed || state.left_ns != 0 || inside_lane || !engine_.one_lane_holds()) {
    return false;
  }
  Expectation& expectation = state.expectation;
  state.mutex.lock();
  const std::byte* record = expected_.load(std::memory_order_relaxed);
  if (record == nullptr) {  // another thread has flushed
    state.mutex.unlock();
    return false;
  }
  const std::size_t size = OperationView(record).header().size;
  if (change != nullptr && !note_change(*change, record, size)) {
    state.mutex.unlock();
    return false;
  }
  state.came_back();
  ++sequence_;
  ++expectation.noted;
  expectation.met = true;
  held_count_.store(held_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  record += size;
  *error = 0;
  if (record != expectation.end) {
    expected_.store(record, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kFetched; ++i) {
      __builtin_prefetch(record + i * kLine);
    }
  } else {
    if (!launch_expected()) {
      catch_up();
    }
    *error = std::exchange(state.flush_error, 0);
  }
  state.leaves();
  state.mutex.unlock();
  return true;
}

/// With the lock held. False if there is no memory.
[[gnu::noinline]] bool Lane::note_change(const Change& change, const std::byte* record, std::size_t size) noexcept {
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
  expectation.changed.push_back({expectation.noted, offset});
  return true;
}

void Lane::surprised() noexcept {
  Expectation& expectation = state_->expectation;
  if (!expectation.met) {
    expectation.disappointments = std::min(expectation.disappointments + 1, kMostDisappointments);
    expectation.pause = expectation.disappointments * expectation.disappointments;
  }
}

/// With the lock held: finds out what will come, if that is possible.
[[gnu::noinline]] void Lane::expect() noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  if (expectation.pause != 0) {
    --expectation.pause;
    return;
  }
  const Holding holding = state.matcher.holding();
  if (holding.count == 0 || holding.count != held_count_.load(std::memory_order_relaxed) ||
      holding.length - holding.count < kWorthExpecting || holding.chunk >= state.entries.size() ||
      state.entries[holding.chunk] == nullptr) {
    return;
  }
  auto occurrence = state.entries[holding.chunk]->expected();
  if (occurrence == nullptr || occurrence->size() != holding.length) {
    return;
  }
  for (const capture::QueueInfo& queue : occurrence->queues) {
    if (std::none_of(state.held_queues.begin(), state.held_queues.end(),
                     [&](const QueueSlot* held) { return held->info.id == queue.id; })) {
      return;
    }
  }
  const std::byte* const next = occurrence->storage.data() + occurrence->offsets[holding.count];
  const std::byte* const end = occurrence->storage.data() + occurrence->storage.size();
  try {  // nothing can go wrong later
    state.held_bytes.reserve(state.held_bytes.size() + static_cast<std::size_t>(end - next));
    state.held_offsets.reserve(state.held_offsets.size() + holding.length);
  } catch (...) {
    return;
  }
  expectation.disappointments = expectation.met ? 0 : expectation.disappointments;
  expectation.met = false;
  expectation.occurrence = std::move(occurrence);
  expectation.chunk = holding.chunk;
  expectation.end = end;
  expectation.first = next;
  expectation.noted = 0;
  expectation.sequence = sequence_ + 1;
  expectation.changed.clear();
  expectation.changed_bytes.clear();
  expected_.store(next, std::memory_order_relaxed);
}

/// With the lock held, by any thread: nothing is expected any more, and what was noted is held like everything else.
void Lane::catch_up() noexcept {
  if (expected_.load(std::memory_order_relaxed) == nullptr) {
    return;
  }
  expected_.store(nullptr, std::memory_order_relaxed);
  State& state = *state_;
  Expectation& expectation = state.expectation;
  const std::uint32_t count = std::exchange(expectation.noted, 0);
  if (count == 0) {
    return;
  }
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
    look_at_noted(count, false);
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());  // what is held then is submitted by the next host call
  }
}

/// `launched`: they are submitted already.
void Lane::look_at_noted(std::uint32_t count, bool launched) {
  State& state = *state_;
  state.counters.submissions.add(count);
  state.counters.expected.add(count);
  bool changed = false;
  const std::byte* record = state.expectation.first;
  for (std::uint32_t i = 0; i < count; ++i) {
    const capture::OperationHeader& header = OperationView(record).header();
    state.spans.submitted(header.token, 0);
    for (const Action& action : state.matcher.feed(header.token, true)) {
      if (!launched) {
        note_error(apply(action));
        changed = true;
      }
    }
    record += header.size;
  }
  if (changed) {
    publish();
  }
}

/// With the lock held, when the last one of a chunk has come. If all of them are what was expected, they are launched
/// at once, and looked at while the device is at work. False: they are to be looked at first.
bool Lane::launch_expected() noexcept {
  State& state = *state_;
  Expectation& expectation = state.expectation;
  const Occurrence& occurrence = *expectation.occurrence;
  const std::size_t older = state.held_offsets.size() - state.held_head;
  if (!expectation.changed.empty() || older == 0 || older + expectation.noted != occurrence.size()) {
    return false;
  }
  bool launched = false;
  try {
    state.views.resize(occurrence.size());
    for (std::size_t i = 0; i < occurrence.size(); ++i) {
      const OperationView known = occurrence.operation(i);
      const bool noted = i >= older;
      state.views[i] = noted ? known : OperationView(state.held_bytes.data() + state.held_offsets[state.held_head + i]);
      // What the record of a noted one promises was promised long ago.
      if (noted ? known.header().promise != 0 || known.header().wait_count != 0 : !same_work(known, state.views[i])) {
        return false;
      }
    }
    const std::shared_ptr<GraphEntry> entry = state.entries[expectation.chunk];
    GraphEntry::LaunchResult result;
    {
      const Inside guard;
      const SubmitContext context{engine_.shared().backend, engine_.shared().hooks, state.window};
      result = entry->launch_expected(context, occurrence, state.views, state.hold_cost_ns * occurrence.size(),
                                      state.spans.proven());
    }
    launched = result.launch == GraphEntry::Launch::kDone;
    if (!launched) {
      return false;
    }
    note_error(result.error);
    expected_.store(nullptr, std::memory_order_relaxed);
    const std::uint32_t noted = std::exchange(expectation.noted, 0);
    popped(static_cast<std::uint32_t>(older));
    publish();
    count_launch(entry, result.excess_ns, result.saved_ns);
    look_at_noted(noted, true);
  } catch (const std::exception& failure) {
    engine_.fail(failure.what());
  }
  return launched;
}

}  // namespace refrain::replay
