// Everything known about one repeating stretch: how it did, what was built for it, what is next.
// Shared by all lanes in which the same stretch occurs.
//
// Life of an entry: kRecording (its operations are issued and looked at, until the same arguments come
// back) → kReady (held and launched) → kBypassing (not worth it at present: only followed), and back to
// kRecording after a number of bypassed occurrences that grows eightfold each time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "env/mutex.h"
#include "replay/detect/matcher.h"
#include "replay/graph/argument_changes.h"
#include "replay/graph/executable.h"
#include "replay/graph/graph_label.h"
#include "replay/graph/graph_variants.h"
#include "replay/graph/instance_worth.h"
#include "replay/graph/verification.h"
#include "replay/policy/backoff.h"
#include "replay/policy/cost_gate.h"
#include "replay/policy/declinable.h"
#include "replay/runtime/owner_lock.h"
#include "replay/tuning.h"

namespace refrain::replay {

enum class Launched : std::uint8_t {
  kDone,   ///< submitted as a graph
  kIssue,  ///< not submitted: no fitting graph now; issue the operations
};
struct GraphLaunch {
  Launched launch = Launched::kIssue;
  int error = 0;           ///< of operations issued eagerly after a failed part
  std::size_t native = 0;  ///< operations that went to the device inside command buffers
  /// What the launch, and those for which it stands, cost more than eager execution would have, while on trial.
  std::uint64_t excess_ns = 0;
  std::uint64_t saved_ns = 0;  ///< what they cost less
  /// Arguments have come back for which an instance had to be changed, or that none can be given: one of their own is
  /// to be built (see GraphEntry::built()).
  bool wants_build = false;
  std::vector<capture::ObjectId> new_objects;  ///< what an instance names that was changed to name others; else empty
};

class GraphEntry final : public Declinable {
 public:
  enum class State : std::uint8_t { kRecording, kReady, kBypassing };
  /// Why a passing entry is not replayed; the words for it are in GraphEntry::reason().
  enum class Decline : std::uint8_t { kNone, kArguments, kCost, kInterval, kUnrecordable, kBudget, kFailed, kDiffers };

  struct Limits {
    bool gate = true;
    std::size_t variants = 4;
    bool can_update = false;  ///< arguments of recorded graphs can be changed
  };

  /// What another run of the program has found out of it: believed until it is checked, which is soon.
  struct Known {
    capture::Fingerprint fingerprint = 0;
    bool pays = false;                          ///< else it was declined, by either gate
    std::uint64_t eager_ns = 0, replay_ns = 0;  ///< of one occurrence
    friend bool operator==(const Known&, const Known&) = default;
  };

  GraphEntry(capture::Fingerprint fingerprint, std::vector<capture::Token> tokens, const Limits& limits);
  /// Before anything else is told.
  void learn(const Known& known);
  /// What this run has found out; nothing if it is not much.
  [[nodiscard]] std::optional<Known> known() const;

  [[nodiscard]] capture::Fingerprint fingerprint() const noexcept { return fingerprint_; }
  [[nodiscard]] std::size_t size() const noexcept override { return tokens_.size(); }
  [[nodiscard]] const std::vector<capture::Token>& tokens() const noexcept { return tokens_; }

  /// A lane's matcher follows this entry under `chunk`: it is told every change of mode. The matcher
  /// must unsubscribe before it dies. Thread-safe, like everything below.
  void subscribe(Matcher& matcher, ChunkId chunk);
  void unsubscribe(const Matcher& matcher);
  void unsubscribe(const Matcher& matcher, ChunkId chunk);

  /// What an occurrence that was issued eagerly asks for.
  enum class Wish : std::uint8_t { kNothing, kBuild };
  /// An occurrence was issued eagerly, operation by operation, in `eager_ns` of driver time.
  /// `budget`: building and trying may be paid for now.
  Wish recorded(std::span<const capture::OperationView> operations, std::uint64_t eager_ns, bool budget);
  /// An occurrence went by in kBypassing.
  void bypassed();

  /// Result of the build that recorded() or launch() wished for. Returns an executable that had to make room, if any.
  std::unique_ptr<Executable> built(std::unique_ptr<Executable> executable, const std::string& why);

  /// The build that launch() wished for is not made.
  void build_cancelled();

  /// `hold_ns`: what holding the operations cost. `proven`: whole intervals, waits included, are known to be faster
  /// with graphs, whatever the launch of one costs.
  GraphLaunch launch(const SubmitContext& context, std::span<const capture::OperationView> operations,
                     std::uint64_t hold_ns, bool proven);
  /// The same, if the arguments are those that predicted() has lent, and if that still holds; else kIssue. `operations`
  /// may be empty if none promises an event, or waits for one. `since_ns`: a moment ago. What is proven, or never
  /// measured, is timed now and then only.
  GraphLaunch launch_predicted(const SubmitContext& context, const Occurrence& occurrence,
                               std::span<const capture::OperationView> operations, std::uint64_t hold_ns, bool proven,
                               std::uint64_t since_ns);
  /// The operations with the arguments that the next launch probably has; null if nobody knows, or if they were made
  /// before a setter was called: who expects them compares no tokens.
  [[nodiscard]] std::shared_ptr<const Occurrence> predicted(const StateChanges& changes, LayerHooks& hooks) noexcept {
    const env::MutexLock guard(mutex_);
    const std::size_t likely = state_ == State::kReady && !retired_ ? variants_.likeliest() : GraphVariants::kNone;
    return likely != GraphVariants::kNone && variants_.is_current(likely, changes, hooks) ? variants_[likely].lend()
                                                                                          : nullptr;
  }
  /// For verify mode: calls `use` with the executable that launch() would launch, under the entry's lock; false if
  /// there is none. `new_objects`: see GraphLaunch.
  template <class Use>
  bool with_executable(std::span<const capture::OperationView> operations, std::vector<capture::ObjectId>* new_objects,
                       Use&& use) {
    const env::MutexLock guard(mutex_);
    const Fit found = fit(operations, new_objects);
    if (found.variant != GraphVariants::kNone && variants_[found.variant].available()) {
      use(variants_[found.variant]);
      return true;
    }
    if (found.variant == GraphVariants::kNone && !found.all_run) {
      count_mismatch();
    }
    return false;
  }
  /// What with_executable() gave was launched, and did what eager execution does: one more replay of this graph.
  void launched_checked() noexcept {
    const env::MutexLock guard(mutex_);
    ++totals_.launched;
    misses_ = misses_ == 0 ? 0 : misses_ - 1;
  }
  [[nodiscard]] Verification& verification() noexcept { return verification_; }
  void declined_by_interval(std::uint64_t eager_ns, std::uint64_t replay_ns) override;
  /// Never replay it again.
  void retire(Decline why, const std::string& text);
  /// Drops executables that name the object. Returns the number dropped.
  std::size_t drop_object(capture::ObjectId object);
  /// Drops all executables; returns the memory they took.
  std::size_t drop_all();
  /// The store has given it up: nothing is built for it or launched any more. Who comes to it forgets it, and asks the
  /// store for another one.
  void leave() noexcept;
  [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
  /// False the first time: GraphCache::name() is to be told.
  [[nodiscard]] bool named() noexcept { return named_.exchange(true, std::memory_order_relaxed); }
  /// Which device its work is of, see Summary.
  void set_device(std::uint32_t device);
  /// What tells whether it is worth its place.
  struct Use {
    std::uint64_t seen = 0;  ///< occurrences so far
    bool replayed = false;   ///< it has a graph that is launched now
  };
  [[nodiscard]] Use use() const noexcept;

  struct Summary {
    capture::Fingerprint fingerprint = 0;
    std::size_t operations = 0;
    State state = State::kRecording;
    Decline decline = Decline::kNone;
    std::uint64_t recorded = 0, bypassed = 0, launched = 0, mismatched = 0, builds = 0;
    /// Of those that were not launched: a graph was being made for them, could not be made just then, or all that there
    /// were still ran.
    std::uint64_t too_early = 0;
    /// Of those launched: the instance that was predicted had these arguments; another one had; one was given them.
    std::uint64_t as_predicted = 0, found = 0, changed = 0;
    std::uint64_t changed_operations = 0;       ///< of the latter, how many arguments were given to in all
    std::uint64_t eager_ns = 0, replay_ns = 0;  ///< medians per occurrence; 0 = not measured
    std::uint64_t interval_eager_ns = 0, interval_replay_ns = 0;
    std::uint64_t saved_ns = 0;  ///< (eager − replay) summed over launches, if positive
    std::size_t variants = 0, parts = 0, native_nodes = 0;
    std::size_t memory = 0;  ///< bytes that it takes, roughly
    std::string reason;      ///< why it is not replayed; empty if it is
    GraphLabel label;
    std::string what;  ///< the label's text, for who tells it
    /// Of GraphCache::devices(). kSeveral: it has work of more than one.
    std::uint32_t device = 0;
    static constexpr std::uint32_t kSeveral = ~std::uint32_t{0};  // format
    /// What it stands for in submissions: how much there is to gain.
    [[nodiscard]] std::uint64_t weight() const noexcept { return operations * (recorded + bypassed + launched); }
  };
  [[nodiscard]] Summary summary() const;
  [[nodiscard]] std::size_t memory() const;
  [[nodiscard]] State state() const;
  /// Changes whenever any entry becomes ready.
  [[nodiscard]] static std::uint64_t times_ready() noexcept { return times_ready_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t last_used() const;

 private:
  static inline std::atomic<std::uint64_t> times_ready_{0};
  struct Chosen {
    std::size_t index = 0;         ///< of the instance
    std::uint64_t update_ns = 0;   ///< what changing it took
    std::uint64_t hold_ns = 0;     ///< what holding the operations cost
    bool deserves_own = false;     ///< its arguments come back
    bool proven = false;           ///< see launch()
    std::uint64_t stands_for = 1;  ///< so many launches when its cost is counted; 0: nobody wants to know that
    std::uint64_t since_ns = 0;    ///< see launch_predicted()
  };
  void launch(const SubmitContext& context, std::span<const capture::OperationView> operations, const Chosen& chosen,
              GraphLaunch* result) REFRAIN_REQUIRES(mutex_);
  /// An instance that has these arguments, or was given them.
  struct Fit {
    std::size_t variant = GraphVariants::kNone;
    std::uint64_t update_ns = 0;
    bool deserves_own = false;  ///< it was changed for what comes back
    bool all_run = false;       ///< there is none because those that could be changed still run
  };
  [[nodiscard]] Fit fit(std::span<const capture::OperationView> operations, std::vector<capture::ObjectId>* new_objects)
      REFRAIN_REQUIRES(mutex_);
  /// No instance has these arguments. True if one is to be built.
  [[nodiscard]] bool missed(std::span<const capture::OperationView> operations) REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] bool lacks_instance(std::span<const capture::OperationView> operations) REFRAIN_REQUIRES(mutex_);
  void count_mismatch() REFRAIN_REQUIRES(mutex_);
  void took(std::uint64_t cost, const Chosen& chosen, GraphLaunch* result) REFRAIN_REQUIRES(mutex_);
  void change_state(State state) REFRAIN_REQUIRES(mutex_);
  void pass(Decline why, std::string text) REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] bool can_update() const noexcept REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] bool worth_building() const noexcept REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] bool room_for_variant() const noexcept REFRAIN_REQUIRES(mutex_);
  void measured(bool proven) REFRAIN_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t next_check() const noexcept REFRAIN_REQUIRES(mutex_);

  Verification verification_;
  const capture::Fingerprint fingerprint_;
  const std::vector<capture::Token> tokens_;
  const Limits limits_;

  // First what each launch needs, in a few cache lines.
  mutable OwnerLock mutex_;
  State state_ REFRAIN_GUARDED_BY(mutex_) = State::kRecording;
  Decline decline_ REFRAIN_GUARDED_BY(mutex_) = Decline::kNone;
  bool retired_ REFRAIN_GUARDED_BY(mutex_) = false;
  std::uint32_t misses_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< recent launches without a fitting graph
  std::uint64_t launches_since_check_ REFRAIN_GUARDED_BY(mutex_) = 0;
  bool expected_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< to pay, by what another run says, and not checked yet
  GraphVariants variants_ REFRAIN_GUARDED_BY(mutex_);
  Summary totals_ REFRAIN_GUARDED_BY(mutex_);

  std::string reason_ REFRAIN_GUARDED_BY(mutex_);
  GraphLabel label_ REFRAIN_GUARDED_BY(mutex_);
  std::vector<std::pair<Matcher*, ChunkId>> subscribers_ REFRAIN_GUARDED_BY(mutex_);
  std::size_t building_ REFRAIN_GUARDED_BY(mutex_) = 0;
  InstanceWorth worth_ REFRAIN_GUARDED_BY(mutex_);
  std::uint32_t failed_variants_ REFRAIN_GUARDED_BY(mutex_) = 0;
  CostGate gate_ REFRAIN_GUARDED_BY(mutex_);

  /// Argument hashes of the last occurrences recorded.
  std::array<std::uint64_t, 16> hashes_ REFRAIN_GUARDED_BY(mutex_) = {};
  std::uint64_t hash_count_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::uint64_t round_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< occurrences recorded since recording began
  ArgumentChanges changes_ REFRAIN_GUARDED_BY(mutex_);  ///< from one of them to the next

  bool doubted_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< it did not seem to pay, and everything is measured once more
  Backoff backoff_ REFRAIN_GUARDED_BY(mutex_){tuning::kRarer * tuning::kRarer, tuning::kRarer, tuning::kLastCheck};
  std::uint64_t bypassed_in_round_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::uint64_t checks_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< how often eager execution was measured again
  std::uint64_t vain_rounds_ REFRAIN_GUARDED_BY(mutex_) =
      0;  ///< returns to recording, one behind the other, that found no arguments that stay
  std::uint64_t launched_then_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< launches when the last of them began
  /// Updates that failed since one succeeded. With several, what changes here is not what the device can change
  /// (addresses of copies, or events, for some): arguments that come back get graphs of their own then, as where
  /// nothing can be changed.
  std::uint32_t failed_updates_ REFRAIN_GUARDED_BY(mutex_) = 0;
  std::uint32_t updates_too_early_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< that failed while the instance still ran
  std::atomic<bool> gone_{false}, named_{false};
};

}  // namespace refrain::replay
