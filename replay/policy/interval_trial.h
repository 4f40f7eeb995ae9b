// Second half of the cost gate: compares whole sync intervals, from the first submission after a wait to the
// end of the next wait. A graph can be cheaper to submit and still make the program slower, because
// it starts later on the device; only the interval shows it.
// What the program does by itself between two submissions is no part of it: it is the same with and without graphs, and
// where it is most of the time its noise would hide the rest. It shows as well which chunk plan is the fastest, which
// nobody can know beforehand: that depends on how long the device takes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/operation.h"
#include "env/mutex.h"
#include "replay/detect/matcher.h"
#include "replay/policy/cost_gate.h"
#include "replay/policy/declinable.h"
#include "replay/policy/interval_successors.h"
#include "replay/policy/interval_timeline.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

/// The plan with the longest chunks, and so the fewest launches.
inline constexpr std::uint32_t kFewLaunches = 1;  // format

/// What was measured of one interval, in nanoseconds; 0: not measured (any more: samples are taken anew now and then).
struct IntervalSummary {
  enum class State : std::uint8_t { kTrial, kReplaying, kDeclined };
  struct Plan {
    std::uint64_t ns = 0, samples = 0;
    std::uint64_t in_graphs = 0;  ///< submissions that were launched in graphs
  };
  State state = State::kTrial;
  std::uint64_t submissions = 0;
  std::uint64_t seen = 0;  ///< times, since graphs ran in it
  std::uint64_t eager_ns = 0, eager_samples = 0;
  std::uint64_t saved_ns = 0;  ///< by all that ran with graphs, each by what was concluded last before it
  std::array<Plan, kChunkPlans> plans;
  std::uint32_t plan = 0;  ///< of dividing it, chosen or on trial
  std::string reason;      ///< of its state, where the times above do not say it; empty: none is needed
};

/// What was concluded of an interval, for another run of the program.
struct KnownInterval {
  std::uint64_t hash = 0;  ///< of its tokens, or of its length
  std::uint64_t submissions = 0, seen = 0;
  std::uint32_t plan = 0;
  std::uint64_t in_graphs = 0;               ///< submissions that were launched in graphs
  std::uint64_t eager_ns = 0, graph_ns = 0;  ///< without what the program does by itself
  std::uint64_t whole_eager_ns = 0, whole_graph_ns = 0;
  friend bool operator==(const KnownInterval&, const KnownInterval&) = default;
};

/// One per lane; not thread-safe, except summaries(). An interval is known by the sequence of its tokens; where each is
/// another one, as in a program whose kernels depend on how far it is, by its length. When graphs
/// of an interval have passed the first half of the gate, intervals are run with and without them in turn, and then
/// with the other chunk plans, until there are enough samples of all. The fastest plan stays; if that is without
/// graphs, they are declined.
class IntervalTrial {
 public:
  /// `plans`: of dividing intervals into chunks, see Matcher::use_lengths().
  void configure(bool enabled, std::uint32_t plans) noexcept {
    enabled_ = enabled;
    plans_ = plans;
  }
  /// The plans are others from now on, and so many: what was measured says nothing any more.
  void plans_changed(std::uint32_t plans) noexcept {
    const env::MutexLock guard(mutex_);
    plans_ = plans;
    known_.clear();
    // The first one is the first to be tried again.
    turn_.plan = 0;
    turn_.concluded = false;
  }
  /// Those that are faster with graphs. May throw std::bad_alloc.
  [[nodiscard]] std::vector<KnownInterval> known() const;
  /// What another run has concluded; after the plans are known, and before the first interval. It is taken for true
  /// until it is checked, which is soon. May throw std::bad_alloc.
  void learn(std::span<const KnownInterval> known);
  /// Of the intervals in which graphs ran. Any thread. May throw std::bad_alloc.
  [[nodiscard]] std::vector<IntervalSummary> summaries() const;

  /// The first submission of an interval has come; if submitted() is told of it only later, at least this has to be in
  /// time.
  void begin(std::uint64_t now) noexcept {
    open_ = true;
    start_ns_ = now;
    hash_ = 0;
    launched_.clear();
    in_graphs_ = 0;
    disturbed_ = false;
    outside_ns_ = 0;
    submissions_ = looked_at_ = 0;
  }
  void submitted(capture::Token token, std::uint64_t now) noexcept {
    if (!open_) {
      begin(now);
    }
    ++submissions_;
    hash_ = capture::mix(hash_, token);
  }
  [[nodiscard]] bool open() const noexcept { return open_; }
  /// Of the newest interval, so far.
  [[nodiscard]] std::uint64_t submissions() const noexcept { return submissions_; }
  /// True while the time that the program takes for itself is measured.
  [[nodiscard]] bool wants_outside() const noexcept { return turn_.outside && open_; }
  /// Between these two, from a submission to the next one or to the host call behind it, the program does something
  /// else. (Behind a host call it may be waiting in a way of its own, and what that takes depends on how the work was
  /// submitted.)
  void resume_app_clock() noexcept {
    if (wants_outside()) [[unlikely]] {
      away_since_ns_ = now_ns();
    }
  }
  void pause_app_clock() noexcept {
    if (away_since_ns_ != 0) [[unlikely]] {
      outside(now_ns() - std::exchange(away_since_ns_, 0));
    }
  }
  /// So long it did.
  void outside(std::uint64_t ns) noexcept { outside_ns_ += ns; }
  /// The program is about to wait, perhaps: everything before is submitted.
  void waiting(std::uint64_t now) noexcept { waiting_since_ns_ = now; }
  void launched(const std::shared_ptr<Declinable>& entry);
  /// Something made this interval no fair sample (an expired hold).
  void disturbed() noexcept { disturbed_ = true; }
  /// A submission was looked at for a graph to come. A few of them do no harm: some program has one in nearly
  /// every interval.
  void looked_at() noexcept { ++looked_at_; }
  /// The rest of this interval will not be seen.
  void abandon() noexcept {
    open_ = false;
    away_since_ns_ = 0;
  }
  /// The wait that ends the interval is over. `may_lose`: another trial may be paid for. Returns what intervals on
  /// trial have cost more than without graphs, as far as that is known only now, in nanoseconds; negative: less.
  std::int64_t waited(std::uint64_t now, bool may_lose);
  /// Instead of waited(), where there is nothing to find out: the interval is one that was concluded, came last time as
  /// well, and took less than without graphs. Then all stays as it is, and this returns true. (The program is about to
  /// submit, and the device has nothing to do.)
  [[nodiscard]] bool waited_as_before(std::uint64_t now) noexcept {
    if (steady_.left == 0 || !open_ || !turn_.concluded || hash_ != steady_.hash ||
        in_graphs_ > steady_.most_in_graphs || now - start_ns_ > steady_.most_ns) {
      return false;
    }
    open_ = false;
    saved_ns_ = 0;
    --steady_.left;
    ++steady_.passed;
    steady_.with_graphs += in_graphs_ != 0 ? 1U : 0U;
    steady_.newest_ns = now - start_ns_;
    return true;
  }
  /// What that interval surely took less than without graphs, if it was on trial, in nanoseconds.
  [[nodiscard]] std::uint64_t saved() const noexcept { return saved_ns_; }

  /// The open interval, if its wait is over now; without what was held in it.
  [[nodiscard]] IntervalRun run_until(std::uint64_t now) const noexcept {
    using How = IntervalRun::How;
    return {.begin_ns = start_ns_,
            .waiting_ns = waiting_since_ns_ < start_ns_ || waiting_since_ns_ > now ? now : waiting_since_ns_,
            .end_ns = now,
            .submissions = static_cast<std::uint32_t>(submissions_),
            .how = turn_.eager       ? How::kEager
                   : turn_.concluded ? How::kConcluded
                   : turn_.trial     ? How::kTrial
                                     : How::kNew};
  }

  /// True while the current interval is to run without graphs, to be compared.
  [[nodiscard]] bool eager_turn() const noexcept { return turn_.eager; }
  /// True while it is being found out whether graphs pay in the current interval.
  [[nodiscard]] bool on_trial() const noexcept { return turn_.trial; }
  /// True while intervals with and without graphs take turns to be compared: what is issued eagerly may yet be worth a
  /// graph.
  [[nodiscard]] bool comparing() const noexcept { return turn_.trial && !turn_.suspended; }
  /// True if the current interval is known to be faster with graphs.
  [[nodiscard]] bool proven() const noexcept { return turn_.concluded; }
  /// The chunk plan of the current interval.
  [[nodiscard]] std::uint32_t plan() const noexcept { return turn_.plan; }

 private:
  struct Turn {
    bool eager = false;
    bool suspended = false;  ///< eager because no more may be lost now
    bool trial = false;      ///< what it is worth is being found out
    bool outside = false;    ///< … and what the program does by itself
    bool concluded = false;  ///< nobody wants to know which graphs are launched
    std::uint32_t plan = 0;
  };
  struct Known {
    RecentCosts eager;  ///< without what the program does by itself
    std::array<RecentCosts, kChunkPlans> replay;
    RecentCosts whole_eager;  ///< with it
    std::array<RecentCosts, kChunkPlans> whole;
    std::array<std::uint64_t, kChunkPlans> in_graphs{};  ///< submissions that were launched in graphs in these samples
    RecentCosts waits;       ///< how long the program waited at the end, with the first plan
    std::uint32_t plan = 0;  ///< the one that is being tried, or that was chosen
    std::uint32_t tries = 0;
    bool confirming = false;            ///< a later plan seems faster, and the first one is measured once more
    bool settling = false;              ///< the plan is chosen, and one more interval runs eagerly, in the same moment
    bool settled_before = false;        ///< and then all was measured anew
    std::uint64_t newest_eager_ns = 0;  ///< that one, whole
    bool concluded = false;
    std::uint64_t concluded_eager_ns = 0, concluded_graph_ns = 0;  ///< whole ones, when it was last concluded
    bool doubted = false;  ///< graphs seemed to lose, and it is being measured once more
    /// Intervals with graphs of which it is not known yet what they would have cost without.
    struct Unpaid {
      std::uint64_t ns = 0, intervals = 0;
      /// What they cost more than so much each; negative: less. Forgets them.
      std::int64_t loss(std::uint64_t each) noexcept;
    };
    Unpaid unpaid, unpaid_whole;  ///< the latter: of which only the whole was measured
    bool eager_unfair = false;    ///< the last eager turn was no fair sample
    std::uint64_t replays = 0;    ///< since it was concluded
    std::uint64_t saved_ns = 0;   ///< over all conclusions
    std::uint64_t next_check = 0;
    std::uint64_t checks = 0;
    std::uint64_t submissions = 0, seen = 0;
    std::uint64_t last_seen = 0;                      ///< intervals_ then
    std::vector<std::shared_ptr<Declinable>> graphs;  ///< launched while it was not concluded
  };
  /// The interval that comes again and again.
  struct Steady {
    std::uint64_t hash = 0;
    std::uint32_t left = 0;         ///< times that it may come before it is looked at
    std::uint32_t passed = 0;       ///< times that it came since
    std::uint32_t with_graphs = 0;  ///< of these: graphs ran in it
    std::uint64_t most_in_graphs = 0, most_ns = 0;
    std::uint64_t newest_ns = 0;  ///< what it took last
  };

  /// What was measured of one interval.
  struct Costs {
    std::uint64_t whole = 0, busy = 0;  ///< with and without what the program does by itself
    std::uint64_t wait = 0;
  };
  void sample(Known& interval, const Costs& costs, Turn turn);
  [[nodiscard]] std::int64_t loss(Known& interval, const Costs& costs, Turn turn) const noexcept;
  bool conclude(Known& interval);
  void settle(Known& interval) const;
  void stay(Known& interval, std::uint64_t eager_ns) const;
  [[nodiscard]] static bool declines(Known& interval);
  static void count(Known& interval, std::uint64_t times, std::uint64_t with_graphs) noexcept;
  static void start_over(Known& interval);
  void log_outcome(const Known& interval, const char* outcome) const;
  [[nodiscard]] static std::uint64_t decisive(const Known& interval) noexcept;
  [[nodiscard]] static std::uint64_t usual_outside(const Known& interval) noexcept;
  [[nodiscard]] static std::uint32_t paying_plan(const Known& interval) noexcept;
  [[nodiscard]] bool outside_matters(const Known& interval) const noexcept;
  [[nodiscard]] std::uint64_t sure_saving(const Known& interval, const Costs& costs, Turn turn) const noexcept;
  [[nodiscard]] bool plan_known(const Known& interval) const noexcept;
  void choose(Known& interval) const noexcept;
  [[nodiscard]] std::uint64_t kind_of_open() REFRAIN_REQUIRES(mutex_);
  void count_passed() noexcept REFRAIN_REQUIRES(mutex_);
  void make_room() REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] IntervalSummary summary_of(const Known& interval) const;
  [[nodiscard]] IntervalSummary declined_summary_of(const Known& interval) const;

  bool enabled_ = false;
  std::uint32_t plans_ = 1;
  bool open_ = false;
  bool disturbed_ = false;
  std::uint64_t submissions_ = 0, looked_at_ = 0, in_graphs_ = 0;  ///< of the open interval
  Turn turn_;
  std::uint64_t start_ns_ = 0, waiting_since_ns_ = 0, outside_ns_ = 0;
  std::uint64_t away_since_ns_ = 0;  ///< 0: the program is not measured now
  std::uint64_t hash_ = 0;
  std::uint64_t saved_ns_ = 0;
  Steady steady_;
  std::vector<std::shared_ptr<Declinable>> launched_;
  mutable env::Mutex mutex_;  ///< of what reports look at, for other threads
  std::unordered_map<std::uint64_t, Known> known_ REFRAIN_GUARDED_BY(mutex_);
  std::uint64_t intervals_ = 0;  ///< that were looked at
  std::vector<IntervalSummary> declined_ REFRAIN_GUARDED_BY(mutex_);
  IntervalSuccessors successors_;
};

}  // namespace refrain::replay
