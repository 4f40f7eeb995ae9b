// The inside of a Lane. Only for this room.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/recorder.h"
#include "replay/detect/matcher.h"
#include "replay/graph/executable.h"
#include "replay/graph/graph_builder.h"
#include "replay/graph/graph_cache.h"
#include "replay/graph/submit.h"
#include "replay/lane/lane.h"
#include "replay/lane/lane_context.h"
#include "replay/lane/occurrence_recorder.h"
#include "replay/policy/chunk_tuner.h"
#include "replay/policy/dormancy.h"
#include "replay/policy/span_gate.h"
#include "replay/policy/trial_budget.h"
#include "replay/runtime/clock.h"
#include "replay/runtime/owner_lock.h"
#include "replay/runtime/watchdog.h"
#include "replay/verify/standstill.h"

namespace refrain::replay {

/// Counted by one thread, read by any.
class Counter {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// How often something with a name of static lifetime happened. One thread counts, any may read.
class NamedCounts {
 public:
  void add(const char* name) noexcept {
    for (std::size_t i = 0; i < kMost; ++i) {
      const char* known = names_[i].load(std::memory_order_relaxed);
      if (known == nullptr) {
        names_[i].store(name, std::memory_order_release);
        known = name;
      }
      if (known == name || i == kMost - 1) {  // the last one takes what has no place of its own
        counts_[i].add();
        return;
      }
    }
  }
  void collect(std::map<std::string, std::uint64_t>& into) const {
    for (std::size_t i = 0; i < kMost; ++i) {
      const char* name = names_[i].load(std::memory_order_acquire);
      if (name == nullptr) {
        return;
      }
      into[name] += counts_[i].get();
    }
  }

 private:
  static constexpr std::size_t kMost = 48;
  std::array<std::atomic<const char*>, kMost> names_{};
  std::array<Counter, kMost> counts_;
};

/// True while this thread is inside a lane. The driver may call the application back from there (a
/// destructor callback, say), and the application the driver: such calls pass through.
extern constinit thread_local bool inside_lane __attribute__((tls_model("initial-exec")));

class Inside {
 public:
  Inside() noexcept : before_(inside_lane) { inside_lane = true; }
  ~Inside() { inside_lane = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

struct LaneCounters {
  Counter submissions;  ///< every submission seen
  Counter replayed;     ///< of these, submitted as part of a native command buffer
  Counter between;      ///< issued between the parts of a graph
  Counter expected;     ///< held without being looked at, see Lane::expected()
  Counter launches;
  Counter followed;     ///< issued as part of a known stretch that is not replayed (see the graphs)
  Counter tracked;      ///< issued while a stretch was being looked at
  Counter held_issued;  ///< held, but issued eagerly in the end
  Counter expired;      ///< flushes by the watchdog
  Counter unholdable;   ///< of all names, see State::unholdable
  Counter asleep;       ///< not looked at, because nothing had paid for a long time
  Counter cuts;         ///< host calls that ended a stretch
  Counter verified, unverified, differences;
};

/// Beside what other threads hold something may be held that nobody has looked at. (Nobody else holds anything for the
/// same queues.)
enum class Apart : std::uint8_t {
  kNo,
  kFromAllButDefaults,  ///< some of its queues come after what is held for a default queue
  kFromAll,
};

/// What a lane holds without having looked at it, because it was expected: see Lane::expected().
struct Expectation {
  bool possible = false;  ///< in this mode: what is verified is looked at when it comes
  // The lane's own thread's:
  std::shared_ptr<const Occurrence> occurrence;  ///< what expected() points into
  ChunkId chunk = kNoChunk;                      ///< all of it
  bool met = false;                              ///< something of what was expected last came
  std::uint32_t disappointments = 0;             ///< in a row
  std::uint32_t pause = 0;                       ///< submissions before anything is expected again
  /// Chunks that were launched, from their operation `first` on: what the matcher has not been told yet. Only while
  /// something is expected.
  struct Launched {
    std::shared_ptr<GraphEntry> entry;
    std::size_t first = 0;
  };
  std::vector<Launched> launched;
  std::size_t behind = 0;          ///< how many operations that are
  std::vector<QueueSlot*> queues;  ///< of what was held last, while nothing is held
  std::uint64_t gone = 0;          ///< EngineState::gone when it was found out
  Apart apart = Apart::kNo;
  // Guarded by the lane's lock:
  const std::byte* first = nullptr;  ///< of those that were noted and are not among the held records yet
  std::uint64_t sequence = 0;        ///< the first one's
  /// Of those, the ones with other values: which of them, and where their records are in `changed_bytes`.
  struct Changed {
    std::uint32_t number = 0;
    std::size_t offset = 0;
  };
  std::vector<Changed> changed;
  capture::RecordBytes changed_bytes;
  /// The records of those that were met, one after the other.
  template <class Use>
  void for_each_noted(std::uint32_t count, Use&& use) const {
    const std::byte* record = first;
    auto other = changed.begin();
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool is_other = other != changed.end() && other->number == i;
      use(capture::OperationView(is_other ? changed_bytes.data() + (other++)->offset : record));
      record += capture::OperationView(record).header().size;
    }
  }
};

struct Lane::State {
  State(LaneContext& its_context, std::uint64_t number, const MatcherOptions& options)
      : context(its_context),
        matcher(options),
        tuner(context.settings, context.backend.chunk_sizes(), number, matcher, spans),
        trials(context.budget),
        dormancy(context.settings) {}

  LaneContext& context;
  Matcher matcher;
  bool replaying = false;            ///< work may be held
  bool locked_by_owner = false;      ///< between submit() and hold()
  Standstill* standstill = nullptr;  ///< the engine's; null except in verify mode

  // What the launch of a chunk needs that was expected lies together, up to `spans`.
  capture::RecordBytes held_bytes;  ///< nothing but the records, one behind the other
  std::vector<std::size_t> held_offsets;
  std::size_t held_head = 0;  ///< index of the oldest held operation in held_offsets
  std::vector<QueueSlot*> held_queues;
  std::atomic<std::uint64_t> held_since_ns{0};
  std::vector<std::pair<void (*)(capture::Handle), capture::Handle>> deferred;
  std::uint64_t last_time_ns = 0;                    ///< of the last operation whose time was taken
  int flush_error = 0;                               ///< of held work, not reported yet
  bool stretch_open = false;                         ///< a submission since the last cut
  std::vector<std::shared_ptr<GraphEntry>> entries;  ///< by ChunkId
  std::uint64_t entries_gone = 0;                    ///< GraphCache::entries_gone() when those were last looked for
  std::vector<capture::OperationView> views;         ///< reused
  Expectation expectation;
  LaneCounters counters;
  WindowEvents window;
  SpanGate spans;
  ChunkTuner tuner;

  std::size_t newest_offset = 0;  ///< of the record that is being written
  Action pending;                 ///< launch to be done when the newest operation is described
  bool has_pending = false;
  std::uint64_t away_ns = 0;      ///< when it was left after any submission of a span on trial; 0: not now
  std::uint64_t times_ready = 0;  ///< GraphEntry::times_ready() when graphs were last put to rest
  std::uint32_t way = 0;          ///< in which spans are divided now
  std::uint64_t submit_started_ns = 0;
  backends::SubmissionPause::Place place;

  QueueSlot* queue = nullptr;  ///< of the submission in progress
  Verdict verdict = Verdict::kIssue;
  bool bypass = false;
  bool entered = false;           ///< the standstill, for the driver call of the submission in progress
  bool waited = false;            ///< at the end of a span, ever
  bool first_of_stretch = false;  ///< the submission in progress is the first since the last cut

  capture::RecordBytes scratch;  ///< the record of an operation that is issued
  OccurrenceRecorder occurrences;
  TrialShare trials;
  Dormancy dormancy;

  capture::Stream* stream = nullptr;

  NamedCounts unholdable;
  NamedCounts cut_by;
  NamedCounts unchecked;  ///< verify mode: replays that could not be checked, and why

  /// Submissions that no graph will make faster: of stretches that are known and do not pay, or of a kind that is never
  /// held.
  [[nodiscard]] std::uint64_t hopeless() const noexcept { return counters.followed.get() + counters.unholdable.get(); }
  // What the program does between one submission and the next, or the host call behind them. Behind a host call it may
  // be waiting in a way of its own, and what that takes depends on how the work was submitted.
  void leaves() noexcept {
    if (spans.wants_outside()) [[unlikely]] {
      away_ns = now_ns();
    }
  }
  void came_back() noexcept {
    if (away_ns != 0) [[unlikely]] {
      spans.outside(now_ns() - std::exchange(away_ns, 0));
    }
  }
};

/// For the lane's own thread, before it looks at what is held, or asks the matcher for anything: what was only noted is
/// held like the rest, and if anything is held the lock of all that is taken.
class Lane::HeldLock {
 public:
  HeldLock(Lane& lane, bool holding) noexcept : mutex_(holding ? &lane.mutex_ : nullptr) {
    if (mutex_ != nullptr) {
      mutex_->lock();
    }
    lane.catch_up();
  }
  ~HeldLock() {
    if (mutex_ != nullptr) {
      mutex_->unlock();
    }
  }
  HeldLock(const HeldLock&) = delete;
  HeldLock& operator=(const HeldLock&) = delete;

 private:
  OwnerLock* mutex_;
};

/// While held work of a lane is submitted.
class Lane::Submitting {
 public:
  explicit Submitting(Lane& lane) noexcept : lane_(lane) { lane_.begin_submitting(); }
  ~Submitting() { lane_.end_submitting(); }
  Submitting(const Submitting&) = delete;
  Submitting& operator=(const Submitting&) = delete;

 private:
  Lane& lane_;
};

}  // namespace refrain::replay
