#include "replay/lane/prediction.h"

#include <cstring>
#include <exception>
#include <utility>

#include "replay/lane/inside.h"
#include "replay/runtime/clock.h"
#include "replay/tuning.h"

namespace refrain::replay {

using capture::OperationView;

namespace {

// limit: so many that were launched are told to the matcher together at most.
constexpr std::size_t kMostBehind = 1024;

}  // namespace

Prediction::Prediction(const Parts& parts, bool possible) noexcept
    : front_(parts.context.state),
      context_(parts.context),
      lane_(parts.lane),
      held_(parts.held),
      matcher_(parts.matcher),
      graphs_(parts.graphs),
      submitter_(parts.submitter),
      intervals_(parts.intervals),
      tuner_(parts.tuner),
      dormancy_(parts.dormancy),
      counters_(parts.counters),
      possible_(possible) {}

[[gnu::hot]] bool Prediction::accept(int* error, const Change* change) noexcept {
  // Only this thread begins to hold something here; others may end it.
  const std::uint32_t held = front_.held.load(std::memory_order_relaxed);
  const EngineState& engine = *front_.engine;
  // What others hold may have to come first. (Lanes are counted until they are empty: if this one still holds what it
  // held, which the lock tells, one lane is this one.)
  if ((engine.held_lanes.load(std::memory_order_acquire) != (held == 0 ? 0 : 1) && !may_hold_beside()) || inside_lane ||
      !engine.active.load(std::memory_order_relaxed)) {
    return false;
  }
  front_.lock.lock();
  const std::byte* record = front_.predicted.load(std::memory_order_relaxed);
  if (record == nullptr ||  // another thread has flushed
      ((change != nullptr || held == 0) && !begin(change))) {
    front_.lock.unlock();
    return false;
  }
  const bool sampled = ++front_.sequence >= front_.next_sample;
  const std::uint64_t started = sampled ? begin_sample() : 0;
  ++front_.accepted;
  front_.held.store(held + 1, std::memory_order_relaxed);
  record += OperationView(record).header().size;
  *error = 0;
  if (record != front_.predicted_end) {
    constexpr std::size_t kFetched = 4;  // format: lines of the next record, while the program does something else
    front_.predicted.store(record, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kFetched; ++i) {
      __builtin_prefetch(record + i * kLine);
    }
  } else {
    *error = complete();
  }
  if (sampled) {
    end_sample(started);
  }
  front_.lock.unlock();
  return true;
}

/// Before a submission is accepted that has other values, or while nothing is held. False if it has
/// to be looked at.
[[gnu::hot, gnu::noinline]] bool Prediction::begin(const Change* change) noexcept {
  if (change != nullptr && !note_change(*change)) {
    return false;
  }
  if (held_.count() == 0 && !begin_chunk()) {
    forget_changes();  // nothing but this one
    return false;
  }
  return true;
}

/// While nothing is held: the first one of a chunk has come. False if it has to be looked at.
[[gnu::hot]] bool Prediction::begin_chunk() noexcept {
  // While nothing was held here, other threads did not have to tell this one what they did: another one's work may be
  // the newest in a queue, and what the record names may be gone, and its handle a new object's.
  if (!context_.hooks.may_hold() || front_.engine->gone.load(std::memory_order_relaxed) != gone_ ||
      std::any_of(queues_.begin(), queues_.end(),
                  [this](const QueueSlot* queue) { return queue->newest.load(std::memory_order_relaxed) != lane_; })) {
    return false;
  }
  for (QueueSlot* queue : queues_) {
    if (!held_.claim(*queue, lane_)) {  // there is room
      held_.release_queues();
      return false;
    }
  }
  const std::uint64_t now = now_ns();
  held_.set_time(now);
  dormancy_.stretch_begins(front_.sequence + 1, counters_.hopeless());
  if (!intervals_.open()) {
    intervals_.begin(now);
  }
  front_.next_sample = 0;  // for end_sample()
  held_.begin(front_.sequence + 1, now, 1);
  return true;
}

/// The first one of a chunk, and one that is timed in some way, or the one behind it. Returns when it began; 0 if that
/// does not matter.
[[gnu::hot, gnu::noinline]] std::uint64_t Prediction::begin_sample() noexcept {
  intervals_.pause_app_clock();
  if (tuner_.app_clock_runs()) {
    tuner_.app_time(front_.sequence, held_.queues().size());
  }
  return tuner_.is_sample(front_.sequence) ? tuner_.begin_sample(front_.sequence) : 0;
}

[[gnu::hot, gnu::noinline]] void Prediction::end_sample(std::uint64_t started_ns) noexcept {
  if (front_.engine->gone.load(std::memory_order_seq_cst) != gone_) [[unlikely]] {
    // Something was changed, while nobody could see yet that this lane holds something perhaps: what follows is looked
    // at.
    drain();
  }
  if (started_ns != 0) {
    tuner_.end_held(started_ns, held_.count() != 0);
  }
  intervals_.resume_app_clock();
  front_.next_sample = next_sample();
}

/// The number of the next submission that is timed, or 0 if what comes next is.
std::uint64_t Prediction::next_sample() const noexcept {
  return tuner_.app_clock_runs() || intervals_.wants_outside() ? 0 : tuner_.next_sample();
}

/// False if there is no memory.
[[gnu::hot, gnu::noinline]] bool Prediction::note_change(const Change& change) noexcept {
  const auto record = next().bytes();
  const std::size_t offset = changed_bytes_.size();
  try {
    changed_.reserve(changed_.size() + 1);
    changed_bytes_.resize(offset + record.size());
  } catch (...) {
    return false;
  }
  std::byte* const copy = changed_bytes_.data() + offset;
  std::memcpy(copy, record.data(), record.size());
  change.write(copy);
  changed_.push_back({front_.accepted, offset});
  return true;
}

void Prediction::mispredicted() noexcept {
  if (inside_lane) {
    return;  // the driver calls the application, with the lock taken
  }
  const HasLaneLock guard(front_.lock);
  if (!met_ && front_.accepted == 0) {
    // After n misses in a row nothing is predicted for n * n submissions: arguments change there.
    misses_ = std::min(misses_ + 1, tuning::kMostMisses);
    pause_ = misses_ * misses_;
  }
}

[[gnu::hot, gnu::noinline]] void Prediction::predict_rest() noexcept {
  if (!possible_) {
    return;
  }
  if (pause_ != 0) {
    --pause_;
    return;
  }
  const Holding holding = matcher_.holding();  // behind the last one but one there is nothing to be saved
  if (holding.count != 0 && holding.count == held_.count() && holding.length - holding.count > 1) {
    predict(holding, held_.queues());
  }
}

/// Before the program waits, when there is time.
[[gnu::hot]] void Prediction::predict_first() noexcept {
  const IsLaneOwner owner;
  if (!possible_ || queues_.empty() || pause_ != 0 || dormancy_.is_dormant() || held_.any()) {
    return;
  }
  const Holding first = matcher_.next_chunk();
  if (first.chunk == kNoChunk || !predict(first, queues_)) {
    return;
  }
  const capture::OperationKind kind = next().kind();
  if (kind != capture::OperationKind::kKernel && kind != capture::OperationKind::kPointerFill) {
    clear();  // nobody compares others
  }
}

/// When a chunk was launched that the matcher has not been told of: predicts the one behind it.
/// False if that is not known.
[[gnu::hot]] bool Prediction::predict_next() noexcept {
  if (behind_ >= kMostBehind) {
    return false;
  }
  const Holding next = matcher_.next_chunk();
  return next.chunk != kNoChunk && predict(next, queues_);
}

/// False if there is no memory.
[[gnu::noinline, gnu::cold]] bool Prediction::make_room(const HeldOperations::Room& room) noexcept {
  try {
    held_.make_room(room);
    queues_.reserve(room.queues);
    launched_.reserve(2 * (launched_.size() + 1));
    return true;
  } catch (...) {
    return false;
  }
}

Prediction::CrossThreadHold Prediction::cross_thread_hold(std::span<QueueSlot* const> queues) noexcept {
  CrossThreadHold result = CrossThreadHold::kFromAll;
  for (const QueueSlot* queue : queues) {
    switch (queue->info.default_order) {
      case capture::DefaultOrder::kNone: break;
      case capture::DefaultOrder::kWithDefault: result = CrossThreadHold::kFromAllButDefaults; break;
      case capture::DefaultOrder::kIsDefault: return CrossThreadHold::kNo;
    }
  }
  return result;
}

/// What other threads hold does not have to come first.
bool Prediction::may_hold_beside() const noexcept {
  switch (cross_thread_hold_) {
    case CrossThreadHold::kNo: break;
    case CrossThreadHold::kFromAllButDefaults: return front_.engine->held_defaults.load(std::memory_order_acquire) == 0;
    case CrossThreadHold::kFromAll: return true;
  }
  return false;
}

/// Predicts what is missing of the chunk, if all of it is in these
/// queues.
[[gnu::hot]] bool Prediction::predict(const Holding& holding, std::span<QueueSlot* const> queues) noexcept {
  const auto& entry = graphs_.known(holding.chunk);
  if (entry == nullptr) {
    return false;
  }
  const std::uint64_t gone = front_.engine->gone.load(std::memory_order_acquire);  // before the entry is asked
  if (front_.engine->stopped.load(std::memory_order_relaxed)) [[unlikely]] {
    return false;
  }
  auto occurrence = entry->predicted(context_.state.changes, context_.hooks);
  if (occurrence == nullptr || occurrence->size() != holding.length) {
    return false;
  }
  for (const capture::QueueInfo& queue : occurrence->queues) {
    if (std::none_of(queues.begin(), queues.end(),
                     [&](const QueueSlot* known) { return known->info.id == queue.id; })) {
      return false;
    }
  }
  const std::byte* const next = occurrence->storage.data() + occurrence->offsets[holding.count];
  const std::byte* const end = occurrence->storage.data() + occurrence->storage.size();
  // Nothing can go wrong later.
  const HeldOperations::Room room{static_cast<std::size_t>(end - next), holding.length, queues.size()};
  const bool has_room =
      held_.has_room(room) && queues_.capacity() >= room.queues && launched_.capacity() > launched_.size();
  if (!has_room && !make_room(room)) {
    return false;
  }
  // Nobody else holds something for these queues while this lane does, or it would not have begun (begin_chunk()).
  cross_thread_hold_ = cross_thread_hold(queues);
  misses_ = met_ ? 0 : misses_;
  met_ = false;
  occurrence_ = std::move(occurrence);
  chunk_ = holding.chunk;
  first_ = next;
  first_sequence_ = front_.sequence + 1;
  gone_ = gone;
  forget_changes();
  front_.predicted.store(next, std::memory_order_relaxed);
  front_.predicted_end = end;
  front_.accepted = 0;
  front_.next_sample = next_sample();
  return true;
}

template <class Use>
void Prediction::for_each_accepted(std::uint32_t count, Use&& use) const {
  const std::byte* record = first_;
  auto other = changed_.begin();
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_other = other != changed_.end() && other->number == i;
    use(OperationView(is_other ? changed_bytes_.data() + (other++)->offset : record));
    record += OperationView(record).header().size;
  }
}

[[gnu::hot]] void Prediction::drain_all() noexcept {
  clear();
  const std::uint32_t count = std::exchange(front_.accepted, 0);
  met_ = met_ || count != 0;
  // All of them first: whatever happens then, nothing is lost. There is room for them.
  std::uint64_t sequence = first_sequence_;
  for_each_accepted(
      count, [&](const OperationView& operation) REFRAIN_REQUIRES(held_right) { held_.add(operation, sequence++); });
  forget_changes();
  try {
    feed_launched();
    feed_accepted(count);
  } catch (const std::exception& failure) {
    context_.state.fail(failure.what());  // what is held then is submitted by the next host call
  }
}

/// What is to be done about these was done when they were launched.
[[gnu::hot]] void Prediction::feed_launched() {
  if (launched_.empty()) {
    return;
  }
  for (const LaunchedChunk& chunk : launched_) {
    for (const capture::Token token : std::span(chunk.entry->tokens()).subspan(chunk.first)) {
      intervals_.submitted(token, 0);
      static_cast<void>(matcher_.feed(token, true));
    }
  }
  launched_.clear();
  behind_ = 0;
  matcher_.forget_held();  // it may have learnt something on the way that divides them otherwise
}

[[gnu::hot]] void Prediction::feed_accepted(std::uint32_t count) {
  counters_.submissions.add(count);
  counters_.predicted.add(count);
  bool changed = false;
  const std::byte* record = first_;
  for (std::uint32_t i = 0; i < count; ++i) {
    const capture::OperationHeader& header = OperationView(record).header();
    intervals_.submitted(header.token, 0);
    for (const Action& action : matcher_.feed(header.token, true)) {
      submitter_.apply(action);
      changed = true;
    }
    record += header.size;
  }
  if (changed) {
    held_.publish();
  }
}

/// When the last one of a chunk has come: it is launched, or looked at. Returns the error of held
/// work.
[[gnu::hot]] int Prediction::complete() noexcept {
  if (!launch()) {
    drain();
  }
  return held_.take_error();
}

/// Makes views_ what is to be launched, of which the first `older` are records, and the others were accepted. They are
/// left empty where none promises or waits for anything: then the instance has all that is needed, and a chunk that was
/// only accepted is not looked at once more. False if something is not what was predicted.
[[gnu::hot]] bool Prediction::view(std::size_t older) {
  const Occurrence& occurrence = *occurrence_;
  bool plain = true;
  views_.clear();
  for (std::size_t i = 0; i < older; ++i) {
    views_.push_back(held_.operation(i));
    if (!same_work(occurrence.operation(i), views_[i])) {
      return false;
    }
    const capture::OperationHeader& header = views_[i].header();
    plain = plain && header.promise == 0 && header.wait_count == 0;
  }
  if (plain) {
    views_.clear();
    return true;
  }
  for (std::size_t i = older; i < occurrence.size(); ++i) {
    views_.push_back(occurrence.operation(i));
  }
  return true;
}

/// If all of a chunk are what was predicted, they are launched at once, and told to the matcher later. False: they are
/// to be looked at first.
[[gnu::hot]] bool Prediction::launch() noexcept {
  const Occurrence& occurrence = *occurrence_;
  const std::size_t older = held_.size();
  if (!changed_.empty() || older + front_.accepted != occurrence.size()) {
    return false;
  }
  bool done = false;
  try {
    if (!view(older)) {
      return false;
    }
    std::shared_ptr<GraphEntry> entry = graphs_.known(chunk_);
    const GraphLaunch result = submitter_.launch_predicted(*entry, occurrence, views_);
    done = result.launch == Launched::kDone;
    if (!done) {
      return false;
    }
    clear();
    const std::uint32_t accepted = std::exchange(front_.accepted, 0);
    met_ = true;
    if (queues_ != held_.queues()) {
      queues_ = held_.queues();  // there is room
    }
    counters_.submissions.add(accepted);
    counters_.predicted.add(accepted);
    submitter_.launched(entry, result, older);
    launched_.push_back({std::move(entry), older});
    behind_ += accepted;
    if (!predict_next()) {
      feed_launched();
    }
  } catch (const std::exception& failure) {
    context_.state.fail(failure.what());
  }
  return done;
}

}  // namespace refrain::replay
