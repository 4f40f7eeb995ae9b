#include "replay/lane/lane_registry.h"

#include <pthread.h>

#include <algorithm>
#include <stdexcept>

#include "env/log.h"
#include "env/mutex.h"

namespace refrain::replay {
namespace {

/// Closes the lanes of threads that end: behind all of a thread's objects, which may call us when they are destroyed,
/// and again for whom another one's destructor of this kind opens a lane. No thread_local object does: without memory
/// for it the C library ends the process.
class LaneKey {
 public:
  LaneKey() noexcept
      : made_(pthread_key_create(&key_, [](void* lanes) { static_cast<LaneRegistry*>(lanes)->close(); }) == 0) {}
  [[nodiscard]] bool made() const noexcept { return made_; }
  /// For the calling thread; null: nothing is to be closed. False if there is no memory.
  bool set(LaneRegistry* lanes) const noexcept { return made_ && pthread_setspecific(key_, lanes) == 0; }

 private:
  pthread_key_t key_ = 0;
  bool made_;
};
const LaneKey& lane_key() noexcept {
  static const LaneKey key;
  return key;
}

void add_counters(ReportData& totals, const LaneCounters& counters) {
  totals.submissions += counters.submissions.get();
  totals.replayed += counters.replayed.get();
  totals.between += counters.between.get();
  totals.predicted += counters.predicted.get();
  totals.launches += counters.launches.get();
  totals.followed += counters.followed.get();
  totals.recorded += counters.recorded.get();
  totals.held_issued += counters.held_issued.get();
  totals.not_ready += counters.not_ready.get();
  totals.expired += counters.expired.get();
  totals.taken_back += counters.taken_back.get();
  totals.dormant += counters.dormant.get();
  totals.stopped += counters.stopped.get();
  totals.verified += counters.verified.get();
  totals.unverified += counters.unverified.get();
  totals.compared += counters.compared.get();
  totals.differences += counters.differences.get();
}

/// Threads may come and go for ever.
constexpr std::size_t kMostIntervals = 1024;  // limit
/// Each takes memory for what it has seen. There are never more than there were threads at once.
constexpr std::size_t kMostIdle = 256;  // limit

/// `most`: intervals, and times, that there are to be in all.
void add(ReportData& totals, const Lane& lane, std::size_t most) {
  const LaneCounters& counters = lane.counters();
  const ChunkTuner& tuner = lane.tuner();
  ++totals.lanes;
  add_counters(totals, counters);
  counters.unholdable_by.collect(totals.unholdable);
  totals.cuts += counters.cut_by.collect(totals.cut_by);
  counters.unchecked.collect(totals.unchecked);
  if (tuner.call_ns() != 0 && totals.times.size() < most) {
    totals.times.push_back({tuner.call_ns(), tuner.hold_cost_ns()});
  }
  if (lane.timeline() != nullptr && totals.timeline.size() < most) {
    totals.timeline.push_back(lane.timeline()->told(lane.number()));
    totals.timeline.back().hold_ns = tuner.hold_cost_ns();
  }
  for (const IntervalSummary& interval : lane.intervals().summaries()) {
    if (totals.intervals.size() < most) {
      totals.intervals.push_back(interval);
    }
  }
}

}  // namespace

LaneRegistry::LaneRegistry(LaneContext& context) : context_(context) {
  if (!lane_key().made()) {
    throw std::runtime_error("all thread-specific keys of the process are in use");
  }
  idle_.reserve(kMostIdle);  // a thread that ends has nobody to tell of a lack of memory
  passing_ = std::make_unique<Lane>(context, Lane::kPassing);
}

LaneRegistry::~LaneRegistry() {
  if (Lane::current != nullptr && Lane::current->is_of(context_.state)) {
    lane_key().set(nullptr);
    close();
  }
  for (const Lane* lane : idle_) {
    delete lane;
  }
}

Lane& LaneRegistry::open() noexcept {
  const env::MutexLock lock(mutex_);
  EngineState& engine = context_.state;
  if (engine.active && !lane_key().set(this)) {
    engine.fail("out of memory for a thread");
  }
  if (!engine.active) {
    return *passing_;
  }
  Lane* lane = nullptr;
  if (!idle_.empty()) {
    // The oldest one: threads that are started in the same order each time get the same ones each time.
    const auto oldest = std::ranges::min_element(idle_, {}, &Lane::number);
    lane = *oldest;
    idle_.erase(oldest);
    lane->unpark();
  } else {
    try {
      auto made = std::make_unique<Lane>(context_, numbers_ + 1);
      made->learn_from_profile();
      lanes_.push_back(made.get());
      lane = made.release();
      ++numbers_;
    } catch (const std::exception& error) {
      engine.fail(error.what());
      return *passing_;
    }
  }
  count_open();
  Lane::current = lane;
  lane->enter_region(context_.hooks.region_now());
  return *lane;
}

void LaneRegistry::count_open() noexcept {
  context_.open_lanes.store(lanes_.size() - idle_.size(), std::memory_order_relaxed);
}

void LaneRegistry::close() noexcept {
  Lane* lane = Lane::current;
  Lane::current = nullptr;
  if (lane == nullptr || context_.state.abandoned.load(std::memory_order_relaxed)) {
    return;
  }
  lane->park();
  {
    const env::MutexLock lock(mutex_);
    // A capture tells threads apart.
    if (context_.state.active && context_.recorder == nullptr && idle_.size() < kMostIdle) {
      idle_.push_back(lane);
      count_open();
      return;
    }
    std::erase(lanes_, lane);
    count_open();
    try {
      add(closed_, *lane, kMostIntervals);
    } catch (const std::exception& error) {
      env::log_warning({"the report lacks a thread (", error.what(), ")"});
    }
  }
  delete lane;
}

std::uint64_t LaneRegistry::flush_older(std::uint64_t oldest_ns, bool rests) noexcept {
  const env::MutexLock lock(mutex_);
  std::uint64_t held = 0;
  for (Lane* lane : lanes_) {
    const std::uint64_t since = lane->held_since_ns();
    const bool rested = rests && lane->rested();
    if (since == 0) {
      continue;
    }
    if (since <= oldest_ns || rested) {
      lane->flush(true);
      continue;
    }
    held = held == 0 ? since : std::min(held, since);
  }
  return held;
}

void LaneRegistry::flush_holder(const Lane* holder, const QueueSlot& queue) noexcept {
  const env::MutexLock lock(mutex_);
  if (queue.holder.load(std::memory_order_acquire) != holder) {
    return;  // it has flushed since
  }
  if (const auto lane = std::ranges::find(lanes_, holder); lane != lanes_.end()) {
    (*lane)->flush(false);
  }
}

void LaneRegistry::flush_lane(std::uint64_t number, std::uint64_t sequence) noexcept {
  const env::MutexLock lock(mutex_);
  if (const auto lane = std::ranges::find(lanes_, number, &Lane::number); lane != lanes_.end()) {
    (*lane)->flush(false, sequence);
  }
}

void LaneRegistry::flush_all(bool others) noexcept {
  const env::MutexLock lock(mutex_);
  for (Lane* lane : lanes_) {
    if (!others || lane != Lane::current) {
      lane->flush(false);
    }
  }
}

ReportData LaneRegistry::report() const {
  const env::MutexLock lock(mutex_);
  ReportData data = closed_;
  RegionTotals regions;
  regions.add_all(context_.regions);
  for (Lane* lane : lanes_) {
    add(data, *lane, ~std::size_t{0});
    lane->region().add_rest(regions, lane->counters());
  }
  data.regions = regions.summaries();
  return data;
}

}  // namespace refrain::replay
