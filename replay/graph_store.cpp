#include "replay/graph_store.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "env/log.h"
#include "replay/clock.h"
#include "replay/machine.h"

namespace refrain::replay {

namespace {

// What trying graphs may always cost, however short the program is: 2 ms.
constexpr std::uint64_t kFreeTrialNs = 2'000'000;

// The table is swept once for so many stretches (a share of max_graphs) that it does not know, and an entry may go once
// it has not come for so many sweeps: after twice as many other stretches as the table has places. (With the oldest one
// going at once, a program with a few more stretches than places would never find one again.)
constexpr std::size_t kSweepsPerTable = 8;
constexpr std::uint32_t kSweepsUnseen = 16;

capture::Fingerprint fingerprint_of(const std::vector<capture::Token>& tokens) noexcept {
  std::uint64_t hash = tokens.size();
  for (const capture::Token token : tokens) {
    hash = capture::mix(hash, token);
  }
  return hash;
}

/// The background thread gives way to the application's.
void become_background_thread() noexcept {
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10));
}

}  // namespace

GraphStore::GraphStore(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks,
                       const StateChanges& changes)
    : settings_(settings),
      backend_(backend),
      hooks_(hooks),
      changes_(changes),
      started_ns_(now_ns()),
      build_share_(processors() >= 4 ? 16 : 1) {}

GraphStore::~GraphStore() {
  stop();
}

std::shared_ptr<GraphEntry> GraphStore::entry_for(std::vector<capture::Token> tokens, bool can_update) {
  const capture::Fingerprint fingerprint = fingerprint_of(tokens);
  const std::lock_guard guard(mutex_);
  const auto found = entries_.find(fingerprint);
  if (found != entries_.end()) {
    // A hash is no proof: a stretch that only collides is not given somebody else's graph.
    return found->second.entry->tokens() == tokens ? found->second.entry : nullptr;
  }
  const auto most = static_cast<std::size_t>(settings_.max_graphs);
  if (++unknown_ > most / kSweepsPerTable && entries_.size() > most / 2) {
    unknown_ = 0;
    ask_for_sweep();
  }
  if (entries_.size() >= most) {
    return nullptr;
  }
  GraphEntry::Limits limits;
  limits.gate = settings_.gate && settings_.mode != env::Mode::kVerify;
  limits.gate_margin_percent = static_cast<double>(settings_.gate_margin_percent);
  limits.variants = static_cast<std::size_t>(settings_.variants);
  limits.can_update = can_update && settings_.updates == env::UpdateChoice::kAuto;
  auto entry = std::make_shared<GraphEntry>(fingerprint, std::move(tokens), limits);
  entries_.emplace(fingerprint, Kept{entry});
  return entry;
}

void GraphStore::name(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence) {
  const std::lock_guard guard(mutex_);
  const auto add = [&](capture::ObjectId identity) {
    auto& entries = by_identity_[identity];
    if (entries.empty() || entries.back() != entry) {  // all of one entry's come in a row
      entries.push_back(entry);
    }
  };
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    const capture::OperationHeader& header = occurrence.operation(i).header();
    add(header.queue);
    if (header.function != 0) {
      add(header.function);
    }
  }
}

/// The entries that have not come for long, those of least use first: what they have saved for each byte that they
/// take, half as much for each sweep. So many go that there is room for a while.
void GraphStore::sweep() {
  struct Candidate {
    std::shared_ptr<GraphEntry> entry;
    double worth = 0;
  };
  std::vector<std::shared_ptr<GraphEntry>> leaving;
  {
    const std::lock_guard guard(mutex_);
    std::vector<Candidate> candidates;
    for (auto& [fingerprint, kept] : entries_) {
      const GraphEntry::Use use = kept.entry->use();
      kept.unseen = use.seen == std::exchange(kept.seen, use.seen) ? kept.unseen + 1 : 0;
      if (kept.unseen >= kSweepsUnseen) {
        const double worth = std::ldexp(static_cast<double>(use.saved_ns + 1), -static_cast<int>(kept.unseen));
        candidates.push_back({kept.entry, worth / static_cast<double>(use.bytes)});
      }
    }
    const auto most = static_cast<std::size_t>(settings_.max_graphs);
    const std::size_t wanted = std::min(most - most / 4, most - 1);
    const std::size_t count = std::min(candidates.size(), entries_.size() - std::min(entries_.size(), wanted));
    std::ranges::partial_sort(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(count), {},
                              &Candidate::worth);
    for (std::size_t i = 0; i < count; ++i) {
      leaving.push_back(std::move(candidates[i].entry));
    }
  }
  leave(leaving);
}

void GraphStore::leave(const std::vector<std::shared_ptr<GraphEntry>>& entries) noexcept {
  if (entries.empty()) {
    return;
  }
  {
    const std::lock_guard guard(mutex_);
    for (const auto& entry : entries) {
      const auto found = entries_.find(entry->fingerprint());
      if (found == entries_.end() || found->second.entry != entry) {
        continue;  // another thread was faster
      }
      try {
        remember(entry->summary());
      } catch (const std::exception&) {  // no memory: the report will not tell of it
        ++untold_.entries;
      }
      entries_.erase(found);
    }
  }
  for (const auto& entry : entries) {
    entry->leave();
  }
  entries_gone_.fetch_add(entries.size(), std::memory_order_relaxed);
  // All of them are looked at for that: not each time.
  constexpr std::size_t kMany = 64;
  const std::lock_guard guard(mutex_);
  if ((gone_but_named_ += entries.size()) < kMany + entries_.size() / kSweepsPerTable) {
    return;
  }
  gone_but_named_ = 0;
  for (ByObject* const table : {&by_object_, &by_identity_}) {
    for (auto& [object, named] : *table) {
      std::erase_if(named, [](const auto& entry) { return entry->gone(); });
    }
    std::erase_if(*table, [](const auto& object) { return object.second.empty(); });
  }
}

void GraphStore::identity_gone(capture::ObjectId identity) noexcept {
  std::vector<std::shared_ptr<GraphEntry>> entries;
  {
    const std::lock_guard guard(mutex_);
    const auto found = by_identity_.find(identity);
    if (found == by_identity_.end()) {
      return;
    }
    entries = std::move(found->second);
    by_identity_.erase(found);
  }
  leave(entries);
}

/// With the lock held: for the report, which is often written when a program has given back all that it had.
void GraphStore::remember(GraphEntry::Summary summary) noexcept {
  constexpr std::size_t kMostTold = 256;
  if (left_.capacity() == 0) {
    try {
      left_.reserve(kMostTold);
    } catch (const std::exception&) {
      // Then it is only counted.
    }
  }
  if (left_.size() < left_.capacity()) {
    left_.push_back(std::move(summary));
    return;
  }
  if (const auto least = std::ranges::min_element(left_, {}, &GraphEntry::Summary::weight);
      least != left_.end() && least->weight() < summary.weight()) {
    std::swap(*least, summary);
  }
  ++untold_.entries;
  untold_.launched += summary.launched;
  untold_.saved_ns += summary.saved_ns;
}

GraphStore::Gone GraphStore::gone() const noexcept {
  const std::lock_guard guard(mutex_);
  return untold_;
}

std::size_t GraphStore::size() const noexcept {
  const std::lock_guard guard(mutex_);
  return entries_.size();
}

bool GraphStore::budget_allows() const noexcept {
  return within_budget(spent_ns());
}

void GraphStore::lose(std::int64_t ns) noexcept {
  std::uint64_t before = lost_ns_.load(std::memory_order_relaxed);
  std::uint64_t after = 0;
  do {  // nothing is saved up: what graphs earn in the end pays for other trials
    const std::int64_t sum = static_cast<std::int64_t>(before) + ns;
    after = sum > 0 ? static_cast<std::uint64_t>(sum) : 0;
  } while (!lost_ns_.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

bool GraphStore::within_budget(std::uint64_t spent) const noexcept {
  if (!settings_.gate || settings_.mode == env::Mode::kVerify) {
    return true;
  }
  const std::uint64_t allowed = kFreeTrialNs * most_trying_.load(std::memory_order_relaxed) +
                                tried_for() / 1000 * static_cast<std::uint64_t>(settings_.trial_budget_permille) +
                                earned_ns_.load(std::memory_order_relaxed) / 2;
  return spent < allowed;
}

std::uint64_t GraphStore::join_trials() noexcept {
  const std::uint64_t now = now_ns() - started_ns_;
  // In this order (and the other way round in the end), so that whoever reads in between finds too little.
  joined_sum_.fetch_add(now, std::memory_order_seq_cst);
  const std::uint64_t trying = trying_.fetch_add(1, std::memory_order_seq_cst) + 1;
  std::uint64_t most = most_trying_.load(std::memory_order_relaxed);
  while (trying > most && !most_trying_.compare_exchange_weak(most, trying, std::memory_order_relaxed)) {
  }
  return now;
}

void GraphStore::leave_trials(std::uint64_t joined_ns) noexcept {
  const std::uint64_t now = now_ns() - started_ns_;
  trying_.fetch_sub(1, std::memory_order_seq_cst);
  joined_sum_.fetch_sub(joined_ns, std::memory_order_seq_cst);
  left_sum_.fetch_add(now - std::min(now, joined_ns), std::memory_order_relaxed);
}

/// Nanoseconds, of all threads together; at least the process's own.
std::uint64_t GraphStore::tried_for() const noexcept {
  const std::uint64_t elapsed = now_ns() - started_ns_;
  const std::uint64_t begun = joined_sum_.load(std::memory_order_seq_cst);
  const std::uint64_t until_now = trying_.load(std::memory_order_seq_cst) * elapsed;
  const std::uint64_t sum = left_sum_.load(std::memory_order_relaxed) + (until_now > begun ? until_now - begun : 0);
  return std::max(elapsed, sum);
}

bool GraphStore::start() noexcept {
  const std::lock_guard guard(jobs_mutex_);
  if (stopping_ || thread_.running() || !starts_threads()) {
    return true;
  }
  if (!thread_.start<&GraphStore::run>("refrain-build", *this)) {
    return false;
  }
  unbind(thread_.handle());
  return true;
}

void GraphStore::request_build(std::shared_ptr<GraphEntry> entry, Occurrence occurrence) {
  Job job{std::move(entry), std::move(occurrence)};
  {
    const std::lock_guard guard(jobs_mutex_);
    if (!stopping_) {
      live_graphs_.fetch_add(1, std::memory_order_relaxed);
      jobs_.push_back(std::move(job));
      jobs_changed_.notify_all();
      return;
    }
  }
  release(job);
}

/// With the table's lock held.
void GraphStore::ask_for_sweep() noexcept {
  if (!start()) {
    return;  // the table stays as full as it is
  }
  const std::lock_guard guard(jobs_mutex_);
  if (!stopping_) {
    sweep_wanted_ = true;
    jobs_changed_.notify_all();
  }
}

void GraphStore::release(Job& job) noexcept {
  for (std::size_t i = 0; i < job.occurrence.size(); ++i) {
    hooks_.release_objects(job.occurrence.operation(i));
  }
}

void GraphStore::run() noexcept {
  become_background_thread();
  std::unique_lock lock(jobs_mutex_);
  while (!stopping_) {
    if (jobs_.empty() && !sweep_wanted_) {
      jobs_changed_.wait(lock);
      continue;
    }
    take_oldest(lock);
  }
}

/// Sweeps first, if that is wanted.
void GraphStore::take_oldest(std::unique_lock<std::mutex>& lock) noexcept {
  const bool sweeps = std::exchange(sweep_wanted_, false);
  std::optional<Job> job;
  if (!jobs_.empty()) {
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  ++running_jobs_;
  lock.unlock();
  try {
    if (sweeps) {
      sweep();
    }
    if (job.has_value()) {
      build(*job);
    }
  } catch (const std::exception& error) {
    env::log_warning({"building a graph failed: ", error.what()});
    if (job.has_value()) {
      job->entry->build_cancelled();
    }
  }
  if (job.has_value()) {
    release(*job);
    job.reset();
  }
  {
    const std::lock_guard table(mutex_);
    const std::lock_guard jobs(jobs_mutex_);
    if (jobs_.empty() && running_jobs_ == 1) {
      gone_.clear();  // no graph is in the making that could name one of them
    }
  }
  lock.lock();
  --running_jobs_;
  jobs_changed_.notify_all();
}

std::size_t GraphStore::oldest_request() const noexcept {
  const std::lock_guard guard(jobs_mutex_);
  return jobs_.empty() ? 0 : jobs_.front().occurrence.size();
}

void GraphStore::build_oldest() noexcept {
  std::unique_lock lock(jobs_mutex_);
  if (!jobs_.empty()) {
    take_oldest(lock);
  }
}

bool GraphStore::is_current(const Occurrence& occurrence) const noexcept {
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    if (!hooks_.is_current(occurrence.operation(i))) {
      return false;
    }
  }
  return true;
}

void GraphStore::build(Job& job) {
  const std::uint64_t start = now_ns();
  const auto began = std::chrono::steady_clock::now();  // in the log: other clocks of the machine know it
  std::string why;
  make_room(job.entry.get());
  // What a driver takes into a graph is what is set when it is made: of operations from before a setter none is made,
  // nor published if a setter was called meanwhile. Who still wants it asks again.
  const std::uint64_t changes = changes_.count();
  if (changes == StateChanges::kUnderWay || !is_current(job.occurrence)) {
    job.entry->build_cancelled();
    return;
  }
  bool later = false;
  const std::uint64_t waited = backend_.record_waited_ns();
  auto executable = Executable::build(job.occurrence, settings_, backend_, &why, &later);
  if (env::log_enabled(env::LogLevel::kDebug)) {
    const auto took = std::chrono::steady_clock::now() - began;
    env::log_debug(
        "a graph of " + std::to_string(job.occurrence.size()) + " operations was " +
        (executable != nullptr ? "built" : "not built (" + why + ")") + " in " +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()) +
        " us from monotonic time " +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(began.time_since_epoch()).count()) +
        " us");
  }
  // With processors to spare, building only costs what others wait for the driver's locks meanwhile.
  // (On an H200 the median launch took 3.7 to 4.1 us while graphs were built without a pause, and 3.9 us without.)
  spend((now_ns() - start - (backend_.record_waited_ns() - waited)) / build_share_);
  if (later || changes_.begun() != changes) {
    job.entry->build_cancelled();
    return;
  }
  publish(job, std::move(executable), why);
}

void GraphStore::publish(Job& job, std::unique_ptr<Executable> executable, const std::string& why) {
  std::unique_ptr<Executable> evicted;  // destroyed outside the lock
  const std::lock_guard guard(mutex_);
  if (executable == nullptr || job.entry->gone()) {
    evicted = job.entry->built(std::move(executable), why);
    return;
  }
  const bool stale = std::any_of(executable->objects().begin(), executable->objects().end(),
                                 [this](capture::ObjectId object) { return gone_.contains(object); });
  if (stale) {
    evicted = std::move(executable);
    static_cast<void>(job.entry->built(nullptr, "its buffers are new each time"));
    return;
  }
  note_objects(job.entry, executable->objects());
  evicted = job.entry->built(std::move(executable), why);
}

/// With the table's lock held.
void GraphStore::note_objects(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects) {
  for (const capture::ObjectId object : objects) {
    auto& entries = by_object_[object];
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
      entries.push_back(entry);
    }
  }
}

void GraphStore::objects_changed(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects) {
  const std::lock_guard guard(mutex_);
  note_objects(entry, objects);
}

void GraphStore::make_room(const GraphEntry* keep) {
  const auto limit = static_cast<std::size_t>(settings_.graph_memory_mb) << 20U;
  std::vector<std::shared_ptr<GraphEntry>> entries;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [fingerprint, kept] : entries_) {
      entries.push_back(kept.entry);
    }
  }
  std::size_t used = 0;
  for (const auto& entry : entries) {
    used += entry->memory();
  }
  if (used <= limit) {
    return;
  }
  // Read once: threads that submit go on using entries meanwhile, and a sort whose keys change leaves the range.
  std::vector<std::pair<std::uint64_t, GraphEntry*>> by_use;
  by_use.reserve(entries.size());
  for (const auto& entry : entries) {
    by_use.emplace_back(entry->last_used(), entry.get());
  }
  std::ranges::sort(by_use, {}, &std::pair<std::uint64_t, GraphEntry*>::first);
  for (const auto& [last_used, entry] : by_use) {
    if (used <= limit) {
      return;
    }
    if (entry != keep) {
      used -= std::min(used, entry->drop_all());
    }
  }
}

void GraphStore::object_gone(capture::ObjectId object) {
  if (live_graphs_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  std::vector<std::shared_ptr<GraphEntry>> entries;
  {
    const std::lock_guard guard(mutex_);
    {
      const std::lock_guard jobs(jobs_mutex_);
      if (!jobs_.empty() || running_jobs_ != 0) {
        gone_.insert(object);
      }
    }
    const auto found = by_object_.find(object);
    if (found == by_object_.end()) {
      return;
    }
    entries = std::move(found->second);
    by_object_.erase(found);
  }
  for (const auto& entry : entries) {
    entry->drop_object(object);
  }
}

void GraphStore::wait_idle() {
  std::unique_lock lock(jobs_mutex_);
  jobs_changed_.wait(lock, [this] { return (jobs_.empty() && !sweep_wanted_ && running_jobs_ == 0) || stopping_; });
}

void GraphStore::stop() noexcept {
  std::list<Job> left;
  {
    const std::lock_guard guard(jobs_mutex_);
    stopping_ = true;
    left.swap(jobs_);
    jobs_changed_.notify_all();
  }
  thread_.join();
  for (Job& job : left) {
    release(job);
  }
}

void GraphStore::abandon_thread() noexcept {
  stopping_ = true;
  thread_.forget();
}

std::vector<GraphEntry::Summary> GraphStore::summaries() const {
  const std::lock_guard guard(mutex_);
  std::vector<GraphEntry::Summary> result = left_;
  result.reserve(left_.size() + entries_.size());
  for (const auto& [fingerprint, kept] : entries_) {
    result.push_back(kept.entry->summary());
  }
  return result;
}

}  // namespace refrain::replay
