#include "replay/graph/graph_entry.h"

#include <fmt/format.h>

#include <algorithm>

#include "replay/runtime/clock.h"
#include "replay/tuning.h"

namespace refrain::replay {

using capture::OperationView;

GraphEntry::GraphEntry(capture::Fingerprint fingerprint, std::vector<capture::Token> tokens, const Limits& limits)
    : fingerprint_(fingerprint),
      tokens_(std::move(tokens)),
      limits_(limits),
      gate_(limits.gate, tuning::kGateMarginPercent) {
  totals_.fingerprint = fingerprint;
  totals_.operations = tokens_.size();
}

void GraphEntry::subscribe(Matcher& matcher, ChunkId chunk) {
  const env::MutexLock guard(mutex_);
  subscribers_.emplace_back(&matcher, chunk);
  change_state(state_);
}

void GraphEntry::unsubscribe(const Matcher& matcher) {
  const env::MutexLock guard(mutex_);
  std::erase_if(subscribers_, [&](const auto& entry) { return entry.first == &matcher; });
}

void GraphEntry::unsubscribe(const Matcher& matcher, ChunkId chunk) {
  const env::MutexLock guard(mutex_);
  std::erase(subscribers_, std::pair(const_cast<Matcher*>(&matcher), chunk));
}

void GraphEntry::change_state(State state) {
  if (state == State::kRecording && state_ != State::kRecording) {
    round_ = 0;
  }
  if (state == State::kReady) {
    times_ready_.fetch_add(1, std::memory_order_relaxed);
  }
  state_ = state;
  const ChunkMode mode = state == State::kRecording ? ChunkMode::kRecord
                         : state == State::kReady   ? ChunkMode::kHold
                                                    : ChunkMode::kBypass;
  for (const auto& [matcher, chunk] : subscribers_) {
    matcher->set_mode(chunk, mode);
  }
}

void GraphEntry::pass(Decline why, std::string text) {
  decline_ = why;
  reason_ = std::move(text);
  bypassed_in_round_ = 0;
  changes_.release();  // a program may have thousands of such stretches
  change_state(State::kBypassing);
}

bool GraphEntry::can_update() const noexcept {
  return limits_.can_update && failed_updates_ < tuning::kGivenUpAfter;
}

GraphEntry::Wish GraphEntry::recorded(std::span<const OperationView> operations, std::uint64_t eager_ns, bool budget) {
  const env::MutexLock guard(mutex_);
  ++totals_.recorded;
  totals_.too_early += building_ != 0 ? 1 : 0;
  if (state_ != State::kRecording || retired_) {
    return Wish::kNothing;
  }
  ++round_;
  worth_.issued(operations.size());
  label_.learn(operations);
  if (eager_ns != 0) {
    gate_.add_eager(eager_ns);
  }
  ArgumentHashes hashes;
  hashes.compute(operations);
  const std::uint64_t hash = hashes.whole();
  const std::size_t kept = std::min<std::uint64_t>(hash_count_, hashes_.size());
  const bool seen = std::find(hashes_.begin(), hashes_.begin() + kept, hash) != hashes_.begin() + kept;
  const bool previous_known = hash_count_ != 0 && variants_.known(hashes_[(hash_count_ - 1) % hashes_.size()]);
  hashes_[hash_count_++ % hashes_.size()] = hash;
  changes_.add(operations);

  const bool gate_wants_eager = gate_.verdict() == CostGate::Verdict::kNeedEager;
  if (variants_.known(hash)) {
    // Two in a row that could have been launched: the arguments come back.
    if ((previous_known || variants_.size() > 1 || can_update() || expected_) && !gate_wants_eager) {
      decline_ = Decline::kNone;
      reason_.clear();
      misses_ = 0;
      change_state(State::kReady);
    }
    return Wish::kNothing;
  }
  if (can_update() && !variants_.empty()) {  // then it is changed, until another instance is worth building
    if (!gate_wants_eager) {
      change_state(State::kReady);
    }
    return Wish::kNothing;
  }
  if (building_ == 0 && (seen || can_update() || (expected_ && variants_.empty())) &&
      (variants_.size() < limits_.variants || round_ > 4) && (expected_ || !limits_.gate || worth_building())) {
    if (budget || expected_) {
      ++building_;
      return Wish::kBuild;
    }
    pass(Decline::kBudget, "the budget for building and trying graphs is used up for now");
    return Wish::kNothing;
  }
  if (round_ >= tuning::kRecordingRound && building_ == 0) {
    backoff_.grow();
    pass(Decline::kArguments, changes_.text());
  }
  return Wish::kNothing;
}

void GraphEntry::bypassed() {
  const env::MutexLock guard(mutex_);
  ++totals_.bypassed;
  const bool short_of_budget = decline_ == Decline::kBudget;  // says nothing about this stretch
  if (state_ != State::kBypassing || retired_ ||
      ++bypassed_in_round_ < (short_of_budget ? tuning::kRecordingRound : backoff_.length())) {
    return;
  }
  // Things may have changed (another phase, a longer chunk, a quieter machine): look again, more and more rarely.
  if (!short_of_budget) {
    backoff_.grow();
  }
  gate_.clear_replay();
  gate_.clear_eager();
  change_state(State::kRecording);
}

std::unique_ptr<Executable> GraphEntry::built(std::unique_ptr<Executable> executable, const std::string& why) {
  const env::MutexLock guard(mutex_);
  building_ = building_ == 0 ? 0 : building_ - 1;
  ++totals_.builds;
  if (executable == nullptr && !variants_.empty()) {
    ++failed_variants_;  // what there is goes on
    return nullptr;
  }
  if (executable == nullptr) {
    backoff_.grow();
    pass(Decline::kUnrecordable, why);
    return nullptr;
  }
  if (retired_) {
    return executable;
  }
  totals_.parts = executable->part_count();
  totals_.native_nodes = executable->native_nodes();
  auto evicted = variants_.add(std::move(executable), limits_.variants, now_ns());
  if (expected_ && state_ == State::kRecording && gate_.verdict() != CostGate::Verdict::kNeedEager) {
    change_state(State::kReady);  // the next occurrence is launched, and not only looked at
  }
  return evicted;
}

void GraphEntry::build_cancelled() {
  const env::MutexLock guard(mutex_);
  building_ = building_ == 0 ? 0 : building_ - 1;
  ++totals_.too_early;
}

GraphEntry::Fit GraphEntry::fit(std::span<const OperationView> operations,
                                std::vector<capture::ObjectId>* new_objects) {
  Fit result;
  if (state_ != State::kReady || retired_) {
    return result;
  }
  const std::size_t likely = variants_.likeliest();
  result.variant = variants_.find(operations);
  if (result.variant != GraphVariants::kNone) {
    variants_.hit(result.variant);
    ++(result.variant == likely ? totals_.as_predicted : totals_.found);
    return result;
  }
  if (!can_update() || variants_.empty()) {
    return result;
  }
  const std::size_t changeable = variants_.changeable();
  if (changeable == GraphVariants::kNone) {
    result.all_run = true;
    return result;
  }
  const std::uint64_t start = now_ns();
  if (variants_[changeable].update(operations)) {
    result.variant = changeable;
    failed_updates_ = updates_too_early_ = 0;
    ++totals_.changed;
    totals_.changed_operations += variants_[changeable].changed();
    if (variants_[changeable].objects_changed()) {
      *new_objects = variants_[changeable].objects();
    }
    // What comes back is worth an instance of its own: changing one costs more than launching it.
    const ArgumentHashes& hashes = variants_.changed(changeable, operations);
    result.deserves_own = worth_.deserve_own(hashes, variants_[changeable].changed(), variants_.size());
  } else if (variants_[changeable].runs() && ++updates_too_early_ % tuning::kNoChance != 0) {
    result.all_run = true;  // there are drivers that launch it twice at once, and change nothing of it meanwhile
  } else if (++failed_updates_ == tuning::kGivenUpAfter) {
    hash_count_ = 0;  // what was recorded before says nothing about which arguments come back
    change_state(State::kRecording);
  }
  result.update_ns = now_ns() - start;
  if (result.variant == GraphVariants::kNone) {
    variants_.remove_dead();
  }
  return result;
}

bool GraphEntry::missed(std::span<const OperationView> operations) {
  const State before = state_;
  count_mismatch();
  // Where graphs are not changed and two queues submit the same stretch, each with arguments of its own, the hits of
  // the one are too many for the other's misses to count: it gets an instance once its own are worth building it.
  return before == State::kReady && !can_update() && lacks_instance(operations);
}

/// These are issued one by one for want of an instance. True if one is to be built.
bool GraphEntry::lacks_instance(std::span<const OperationView> operations) {
  worth_.issued(operations.size());
  if (state_ != State::kReady || retired_ || !room_for_variant()) {
    return false;
  }
  ArgumentHashes hashes;
  hashes.compute(operations);
  const bool wants_build = worth_.come_back(hashes);
  building_ += wants_build ? 1 : 0;
  return wants_build;
}

void GraphEntry::count_mismatch() {
  ++totals_.mismatched;
  totals_.too_early += building_ != 0 ? 1 : 0;
  if (state_ != State::kReady || ++misses_ < tuning::kNoChance) {
    return;
  }
  misses_ = 0;
  // Every return to recording that ends here again is one step towards giving up, if hardly any launch came
  // between.
  vain_rounds_ = totals_.launched - launched_then_ < tuning::kNoChance ? vain_rounds_ + 1 : 1;
  launched_then_ = totals_.launched;
  if (vain_rounds_ >= tuning::kNoChance) {
    vain_rounds_ = 0;
    backoff_.grow();
    pass(Decline::kArguments, changes_.text());
  } else {
    change_state(State::kRecording);
  }
}

GraphLaunch GraphEntry::launch(const SubmitContext& context, std::span<const OperationView> operations,
                               std::uint64_t hold_ns, bool proven) {
  const env::MutexLock guard(mutex_);
  GraphLaunch result;
  const Fit found = fit(operations, &result.new_objects);
  if (found.all_run) {
    ++totals_.too_early;  // and none can be changed: eager this time
    result.wants_build = lacks_instance(operations);
    return result;
  }
  if (found.variant == GraphVariants::kNone) {
    result.wants_build = missed(operations);
    return result;
  }
  // Else it still runs and cannot be used twice at once, or nothing can: eager this time.
  if (variants_[found.variant].available() && context.backend.may_replay()) {
    launch(context, operations, {found.variant, found.update_ns, hold_ns, found.deserves_own, proven}, &result);
  } else {
    ++totals_.too_early;
  }
  return result;
}

[[gnu::hot]] GraphLaunch GraphEntry::launch_predicted(const SubmitContext& context, const Occurrence& occurrence,
                                                      std::span<const OperationView> operations, std::uint64_t hold_ns,
                                                      bool proven, std::uint64_t since_ns) {
  const env::MutexLock guard(mutex_);
  GraphLaunch result;
  const std::size_t fitting = state_ == State::kReady && !retired_ ? variants_.likeliest() : GraphVariants::kNone;
  if (fitting != GraphVariants::kNone && variants_[fitting].holds(occurrence) && variants_[fitting].available() &&
      context.backend.may_replay()) {
    variants_.hit(fitting);
    ++totals_.as_predicted;
    const bool is_one_of_many = proven || !limits_.gate;
    const std::uint64_t stands_for = !is_one_of_many                               ? 1
                                     : totals_.launched % tuning::kLookedAtOf == 0 ? tuning::kLookedAtOf
                                                                                   : 0;
    launch(context, operations, {fitting, 0, hold_ns, false, proven, stands_for, since_ns}, &result);
  }
  return result;
}

/// Once an instance has the right arguments and can be launched.
/// `operations`: see launch_predicted().
[[gnu::hot]] void GraphEntry::launch(const SubmitContext& context, std::span<const OperationView> operations,
                                     const Chosen& chosen, GraphLaunch* result) {
  Executable& executable = variants_[chosen.index];
  const std::uint64_t start = chosen.stands_for != 0 ? now_ns() : chosen.since_ns;
  variants_.launched(chosen.index, start);
  bool failed = false;
  result->error =
      operations.empty() ? executable.launch_plain(context, &failed) : executable.launch(context, operations, &failed);
  result->launch = Launched::kDone;
  misses_ = misses_ == 0 ? 0 : misses_ - 1;
  if (failed) {
    variants_.clear();
    retired_ = true;
    pass(Decline::kFailed, "the driver refused to run its command buffer");
    return;
  }
  // Not before the launch has succeeded: the caller ignores the wish after a failed one, and building_ would never be
  // reset.
  if (chosen.deserves_own && room_for_variant()) {
    ++building_;
    result->wants_build = true;
  }
  result->native = executable.native_nodes();
  ++totals_.launched;
  ++launches_since_check_;
  if (chosen.stands_for != 0) {
    took(now_ns() - start + chosen.update_ns + chosen.hold_ns, chosen, result);
  }
}

/// Adds the cost of a launch to the gate: holding the operations and updating the instance included.
void GraphEntry::took(std::uint64_t cost, const Chosen& chosen, GraphLaunch* result) {
  const std::uint64_t eager = gate_.eager_ns();
  gate_.add_replay(cost);
  if (gate_.verdict() != CostGate::Verdict::kPays && cost > eager) {
    result->excess_ns = (cost - eager) * chosen.stands_for;
  }
  if (eager > cost) {
    result->saved_ns = (eager - cost) * chosen.stands_for;
    totals_.saved_ns += result->saved_ns;
  }
  measured(chosen.proven);
}

std::uint64_t GraphEntry::next_check() const noexcept {
  if (expected_) {
    return tuning::kCheckOfKnown;
  }
  const std::uint64_t worth = gate_.eager_ns() / std::max<std::uint64_t>(gate_.replay_ns(), 1);
  return refrain::replay::next_check(worth, checks_);
}

bool GraphEntry::worth_building() const noexcept {
  return worth_.pays({.builds = totals_.builds,
                      .fitted = totals_.as_predicted + totals_.found,
                      .changed = totals_.changed,
                      .changed_operations = totals_.changed_operations});
}

bool GraphEntry::room_for_variant() const noexcept {
  return building_ == 0 && failed_variants_ < tuning::kGivenUpAfter && worth_building() &&
         (variants_.size() < limits_.variants || variants_.unused_for(tuning::kUnusedNs, now_ns()));
}

void GraphEntry::measured(bool proven) {
  switch (gate_.verdict()) {
    case CostGate::Verdict::kDoesNotPay:
      if (proven) {
        break;
      }
      expected_ = false;
      // The machine may have been slower since eager execution was measured: both once more, in the same minute.
      if (!doubted_ && !gate_.clearly_worse()) {
        doubted_ = true;
        gate_.clear_eager();
        gate_.clear_replay();
        change_state(State::kRecording);
        break;
      }
      doubted_ = false;
      backoff_.grow();
      // Its executables are of no use now, and their memory may be worth something.
      totals_.eager_ns = gate_.eager_ns();
      totals_.replay_ns = gate_.replay_ns();
      variants_.clear();
      pass(Decline::kCost, "it is not faster as a graph");
      break;
    case CostGate::Verdict::kPays:
      doubted_ = false;
      if (gate_.enabled() && launches_since_check_ >= next_check()) {
        // Measure eager execution again now and then: the program or the machine may have changed.
        launches_since_check_ = 0;
        checks_ += expected_ ? 0 : 1;
        expected_ = false;
        gate_.clear_eager();
        change_state(State::kRecording);
      }
      break;
    case CostGate::Verdict::kNeedEager: change_state(State::kRecording); break;
    case CostGate::Verdict::kNeedReplay: break;
  }
}

void GraphEntry::declined_by_interval(std::uint64_t eager_ns, std::uint64_t replay_ns) {
  const env::MutexLock guard(mutex_);
  if (retired_ || state_ == State::kBypassing) {
    return;
  }
  totals_.interval_eager_ns = eager_ns;
  totals_.interval_replay_ns = replay_ns;
  backoff_.grow();
  pass(Decline::kInterval,
       fmt::format("measured in submissions and the wait behind them: {:.1f} us eagerly, {:.1f} us with "
                   "graphs",
                   static_cast<double>(eager_ns) / 1000.0, static_cast<double>(replay_ns) / 1000.0));
}

void GraphEntry::retire(Decline why, const std::string& text) {
  const env::MutexLock guard(mutex_);
  retired_ = true;
  variants_.clear();
  pass(why, text);
}

std::size_t GraphEntry::drop_object(capture::ObjectId object) {
  const env::MutexLock guard(mutex_);
  const std::size_t dropped = variants_.remove(object);
  if (dropped != 0 && variants_.empty() && state_ == State::kReady) {
    change_state(State::kRecording);
  }
  return dropped;
}

std::size_t GraphEntry::drop_all() {
  const env::MutexLock guard(mutex_);
  const std::size_t bytes = changes_.release() + variants_.memory();
  variants_.clear();
  if (state_ == State::kReady) {
    change_state(State::kRecording);
  }
  return bytes;
}

void GraphEntry::leave() noexcept {
  const env::MutexLock guard(mutex_);
  retired_ = true;
  variants_.clear();
  changes_ = {};
  gone_.store(true, std::memory_order_release);
  change_state(State::kRecording);  // the next occurrence is looked at, and finds out
}

GraphEntry::Use GraphEntry::use() const noexcept {
  const env::MutexLock guard(mutex_);
  return {totals_.recorded + totals_.bypassed + totals_.launched + totals_.mismatched, state_ == State::kReady};
}

GraphEntry::Summary GraphEntry::summary() const {
  const env::MutexLock guard(mutex_);
  Summary result = totals_;
  result.state = state_;
  result.decline = decline_;
  result.reason = state_ == State::kReady ? "" : reason_;
  result.label = label_;
  result.variants = variants_.size();
  result.memory = changes_.memory() + variants_.memory();
  if (gate_.eager_ns() != 0) {
    result.eager_ns = gate_.eager_ns();
  }
  if (gate_.replay_ns() != 0) {
    result.replay_ns = gate_.replay_ns();
  }
  return result;
}

void GraphEntry::set_device(std::uint32_t device) {
  const env::MutexLock guard(mutex_);
  totals_.device = device;
}

std::size_t GraphEntry::memory() const {
  const env::MutexLock guard(mutex_);
  return changes_.memory() + variants_.memory();
}

GraphEntry::State GraphEntry::state() const {
  const env::MutexLock guard(mutex_);
  return state_;
}

std::uint64_t GraphEntry::last_used() const {
  const env::MutexLock guard(mutex_);
  return variants_.last_used();
}

}  // namespace refrain::replay
