#include "replay/engine.h"

#include <pthread.h>

#include <algorithm>
#include <stdexcept>

#include "env/log.h"
#include "replay/lane/lane_state.h"
#include "replay/report/report.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

namespace {

/// Closes the lanes of threads that end: behind all of a thread's objects, which may call us when they are destroyed,
/// and again for whom another one's destructor of this kind opens a lane. No thread_local object does: without memory
/// for it the C library ends the process.
class LaneKey {
 public:
  LaneKey() noexcept
      : made_(pthread_key_create(&key_, [](void* engine) { static_cast<Engine*>(engine)->close_lane(); }) == 0) {}
  [[nodiscard]] bool made() const noexcept { return made_; }
  /// For the calling thread; null: nothing is to be closed. False if there is no memory.
  bool set(Engine* engine) const noexcept { return made_ && pthread_setspecific(key_, engine) == 0; }

 private:
  pthread_key_t key_ = 0;
  bool made_;
};
const LaneKey& lane_key() noexcept {
  static const LaneKey key;
  return key;
}

const char* mode_name(env::Mode mode) {
  switch (mode) {
    case env::Mode::kOff: return "off";
    case env::Mode::kObserve: return "observe";
    case env::Mode::kCapture: return "capture";
    case env::Mode::kReplay: return "replay";
    case env::Mode::kVerify: return "verify";
  }
  return "unknown";
}

template <class Totals, class Counters>
void add_counters(Totals& totals, const Counters& counters) {
  totals.submissions += counters.submissions.get();
  totals.replayed += counters.replayed.get();
  totals.between += counters.between.get();
  totals.expected += counters.expected.get();
  totals.launches += counters.launches.get();
  totals.followed += counters.followed.get();
  totals.tracked += counters.tracked.get();
  totals.held_issued += counters.held_issued.get();
  totals.expired += counters.expired.get();
  totals.asleep += counters.asleep.get();
  totals.cuts += counters.cuts.get();
  totals.verified += counters.verified.get();
  totals.unverified += counters.unverified.get();
  totals.differences += counters.differences.get();
}

/// Threads may come and go for ever.
constexpr std::size_t kMostClosedSpans = 1024;
/// Each takes 0.1 to 0.2 MiB, up to 2 if it has seen much. There are never more than there were threads at once.
constexpr std::size_t kMostIdleLanes = 256;

void add_times(std::vector<LaneTimes>* times, Lane& lane) {
  const std::uint64_t each = lane.state().tuner.call_ns();
  if (each != 0 && times->size() < kMostClosedSpans) {
    times->push_back({each, lane.state().tuner.hold_cost_ns(),
                      lane.state().tuner.filling_ns()});
  }
}

}  // namespace

void ClosedLanes::add(Lane& lane) {
  ++lanes;
  add_counters(*this, lane.state().counters);
  lane.state().unholdable.collect(unholdable);
  lane.state().cut_by.collect(cut_by);
  lane.state().unchecked.collect(unchecked);
  add_times(&times, lane);
  for (const SpanSummary& span : lane.state().spans.summaries()) {
    if (spans.size() < kMostClosedSpans) {
      spans.push_back(span);
    }
  }
}

Engine::Engine(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks,
               capture::Recorder* recorder)
    : settings_(settings),
      started_ns_(now_ns()),
      shared_(std::make_unique<Shared>(
          settings_, backend, hooks, recorder, [this](std::uint64_t oldest_ns) { return flush_older(oldest_ns); },
          changes_)) {
  if (!lane_key().made()) {
    throw std::runtime_error("all thread-specific keys of the process are in use");
  }
  shared_->idle_lanes.reserve(kMostIdleLanes);  // a thread that ends has nobody to tell of a lack of memory
  shared_->passing_lane = std::make_unique<Lane>(*this, Lane::kPassing);
}

Engine::~Engine() {
  shut_down();
  if (Lane::current != nullptr && &Lane::current->engine_ == this) {
    lane_key().set(nullptr);
    close_lane();
  }
  for (const Lane* lane : shared_->idle_lanes) {
    delete lane;
  }
  shared_->passing_lane.reset();
}

Lane& Engine::open_lane() noexcept {
  const std::lock_guard lock(shared_->lanes_mutex);
  if (active() && !lane_key().set(this)) {
    fail("out of memory for a thread");
  }
  if (!active()) {
    return *shared_->passing_lane;
  }
  Lane* lane = nullptr;
  if (auto& idle = shared_->idle_lanes; !idle.empty()) {
    // The oldest one: threads that are started in the same order each time get the same ones each time.
    const auto oldest = std::ranges::min_element(idle, {}, &Lane::number);
    lane = *oldest;
    idle.erase(oldest);
    lane->thread_begins();
  } else {
    try {
      auto made = std::make_unique<Lane>(*this, shared_->lane_numbers + 1);
      shared_->lanes.push_back(made.get());
      lane = made.release();
      ++shared_->lane_numbers;
    } catch (const std::exception& error) {
      fail(error.what());
      return *shared_->passing_lane;
    }
  }
  count_open_lanes();
  Lane::current = lane;
  return *lane;
}

void Engine::count_open_lanes() noexcept {
  shared_->open_lanes.store(shared_->lanes.size() - shared_->idle_lanes.size(), std::memory_order_relaxed);
}

void Engine::close_lane() noexcept {
  Lane* lane = Lane::current;
  Lane::current = nullptr;
  if (lane == nullptr || forked_.load(std::memory_order_relaxed)) {
    return;
  }
  lane->thread_ends();
  {
    const std::lock_guard lock(shared_->lanes_mutex);
    // A capture tells threads apart.
    if (active() && shared_->recorder == nullptr && shared_->idle_lanes.size() < kMostIdleLanes) {
      shared_->idle_lanes.push_back(lane);
      count_open_lanes();
      return;
    }
    std::erase(shared_->lanes, lane);
    count_open_lanes();
    try {
      shared_->closed.add(*lane);
    } catch (const std::exception& error) {
      env::log_warning({"the report lacks a thread (", error.what(), ")"});
    }
  }
  delete lane;
}

/// Returns since when anything is held still (0: nothing is).
std::uint64_t Engine::flush_older(std::uint64_t oldest_ns) noexcept {
  const std::lock_guard lock(shared_->lanes_mutex);
  std::uint64_t held = 0;
  for (Lane* lane : shared_->lanes) {
    if (lane->held_count_.load(std::memory_order_seq_cst) == 0) {
      continue;
    }
    const std::uint64_t since = lane->state_->held_since_ns.load(std::memory_order_relaxed);
    if (since <= oldest_ns) {
      lane->flush(true);
      continue;
    }
    held = held == 0 ? since : std::min(held, since);
  }
  return held;
}

void Engine::flush_lane(Lane* lane, QueueSlot& queue) noexcept {
  const std::lock_guard lock(shared_->lanes_mutex);
  // The lane may be gone, or have flushed, since its address was read.
  if (queue.holder.load(std::memory_order_acquire) == lane &&
      std::find(shared_->lanes.begin(), shared_->lanes.end(), lane) != shared_->lanes.end()) {
    lane->flush(false);
  }
}

void Engine::settle_lane(std::uint64_t number, std::uint64_t sequence) noexcept {
  if (!anything_held()) {
    return;
  }
  const std::lock_guard lock(shared_->lanes_mutex);
  for (Lane* lane : shared_->lanes) {
    if (lane->number() == number) {
      lane->flush(false, sequence);
      return;
    }
  }
}

void Engine::settle_others() noexcept {
  if (!anything_held()) {
    return;
  }
  const std::lock_guard lock(shared_->lanes_mutex);
  for (Lane* lane : shared_->lanes) {
    if (lane != Lane::current) {
      lane->flush(false);
    }
  }
}

int Engine::flush_own(const EntryPoint& entry_point) noexcept {
  if (active()) [[likely]] {
    return lane().host_call(entry_point);
  }
  Lane* mine = Lane::current;  // who has none has nothing to be told
  return mine != nullptr && &mine->engine_ == this ? mine->host_call(entry_point) : 0;
}

int Engine::flush_all(const EntryPoint& entry_point) noexcept {
  const int error = flush_own(entry_point);
  if (anything_held()) {
    const std::lock_guard lock(shared_->lanes_mutex);
    for (Lane* other : shared_->lanes) {
      other->flush(false);
    }
  }
  return error;
}

void Engine::flush_all_silently(const EntryPoint& entry_point) noexcept {
  if (const int error = flush_all(entry_point); error != 0) {
    Lane::current->tell_later(error);
  }
}

void Engine::adopt_queue(QueueSlot& slot) noexcept {
  slot.capabilities = shared_->backend.capabilities(slot.info);
  if (shared_->standstill != nullptr) {
    shared_->standstill->add(slot);
  }
  if (shared_->recorder != nullptr) {
    shared_->recorder->queue(slot.info);
  }
}

void Engine::queue_gone(QueueSlot& slot) noexcept {
  settle(slot);
  gone_.fetch_add(1, std::memory_order_relaxed);
  if (shared_->standstill != nullptr) {
    // Later verifications cannot wait for its work any more.
    if (shared_->hooks.may_wait()) {
      static_cast<void>(shared_->backend.finish(slot.info));
    }
    shared_->standstill->forget(slot);
  }
  drop_graphs_of(slot.info.id);
}

void Engine::drop_graphs_of(capture::ObjectId object) noexcept {
  try {
    shared_->graphs.object_gone(object);
  } catch (const std::exception& error) {
    fail(error.what());  // no graph is used any more
  }
}

void Engine::object_gone(capture::ObjectId object) noexcept {
  gone_.fetch_add(1, std::memory_order_relaxed);
  drop_graphs_of(object);
}

void Engine::identity_gone(capture::ObjectId identity) noexcept {
  object_gone(identity);
  shared_->graphs.identity_gone(identity);
}

void Engine::state_changed(bool changed) noexcept {
  changes_.end();
  if (changed) {
    gone_.fetch_add(1, std::memory_order_seq_cst);
    settle_others();  // held while the driver was at it, by what was true before
  }
}

void Engine::wait_idle() {
  shared_->builder.wait_idle();
}

void Engine::fail(const char* what) noexcept {
  if (active_.exchange(false)) {
    env::log_error({"an internal failure (", what, "): from here on everything passes through"});
  }
}

void Engine::stand_aside(std::initializer_list<std::string_view> why) noexcept {
  if (active_.exchange(false)) {
    env::log_warning(why);
  }
}

ReportData Engine::report_data() const {
  if (Lane* mine = Lane::current; mine != nullptr && &mine->engine_ == this) {
    mine->look_at_unseen(false);  // of other lanes up to a few dozen submissions may be missing
  }
  ReportData data;
  data.mode = mode_name(settings_.mode);
  data.backend = shared_->backend.name();
  data.seconds = static_cast<double>(now_ns() - started_ns_) / 1e9;
  const std::lock_guard lock(shared_->lanes_mutex);
  const ClosedLanes& closed = shared_->closed;
  data.lanes = closed.lanes + shared_->lanes.size();
  data.submissions = closed.submissions;
  data.replayed = closed.replayed;
  data.between = closed.between;
  data.expected = closed.expected;
  data.launches = closed.launches;
  data.followed = closed.followed;
  data.tracked = closed.tracked;
  data.held_issued = closed.held_issued;
  data.expired = closed.expired;
  data.asleep = closed.asleep;
  data.cuts = closed.cuts;
  data.verified = closed.verified;
  data.unverified = closed.unverified;
  data.differences = closed.differences;
  data.unholdable = closed.unholdable;
  data.cut_by = closed.cut_by;
  data.unchecked = closed.unchecked;
  data.spans = closed.spans;
  data.times = closed.times;
  for (Lane* lane : shared_->lanes) {
    add_counters(data, lane->state().counters);
    lane->state().unholdable.collect(data.unholdable);
    lane->state().cut_by.collect(data.cut_by);
    lane->state().unchecked.collect(data.unchecked);
    const auto spans = lane->state().spans.summaries();
    data.spans.insert(data.spans.end(), spans.begin(), spans.end());
    add_times(&data.times, *lane);
  }
  data.graphs = shared_->graphs.summaries();
  data.graphs_gone = shared_->graphs.gone();
  data.trial_ms = static_cast<double>(shared_->budget.spent_ns()) / 1e6;
  data.gave_way_ms = static_cast<double>(shared_->backend.right_of_way().given_ns()) / 1e6;
  return data;
}

std::string Engine::report() const {
  return report_text(report_data());
}

std::string Engine::report_json() const {
  return replay::report_json(report_data());
}

void Engine::write_report() const noexcept {
  try {
    if (settings_.report) {
      env::log_info(report());
    }
    if (!settings_.report_file.empty()) {
      shared_->report_file.write(report_json());
    }
  } catch (const std::exception& error) {
    env::log_error(error.what());
  }
}

void Engine::shut_down() noexcept {
  if (forked_.load(std::memory_order_relaxed) || shut_.exchange(true)) {
    return;
  }
  if (Lane* mine = Lane::current; mine != nullptr && &mine->engine_ == this) {
    mine->look_at_unseen(false);
  }
  {
    const std::lock_guard lock(shared_->lanes_mutex);
    for (Lane* lane : shared_->lanes) {
      lane->flush(false);
    }
  }
  active_.store(false);
  {
    // Threads may have gone on holding until the line above.
    const std::lock_guard lock(shared_->lanes_mutex);
    for (Lane* lane : shared_->lanes) {
      lane->flush(false);
    }
  }
  shared_->watchdog.stop();
  shared_->builder.stop();
  has_threads_.store(false, std::memory_order_release);
  tell_once();
}

void Engine::tell_end() noexcept {
  if (!forked_.load(std::memory_order_relaxed)) {
    tell_once();
  }
}

void Engine::tell_once() noexcept {
  if (told_.exchange(true)) {
    return;
  }
  if (shared_->recorder != nullptr) {
    shared_->recorder->flush();
  }
  write_report();
}

void Engine::disable_after_fork() noexcept {
  forked_.store(true);
  active_.store(false);
  has_threads_.store(false);
  held_lanes_.store(0);
  shared_->watchdog.abandon_thread();
  shared_->builder.abandon_thread();
}

}  // namespace refrain::replay
