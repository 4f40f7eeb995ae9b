#include "replay/graph/graph_cache.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace refrain::replay {

namespace {

/// An entry may go that did not come for so many sweeps.
constexpr std::uint32_t kSweepsUnseen = 4;  // limit

capture::Fingerprint fingerprint_of(const std::vector<capture::Token>& tokens) noexcept {
  std::uint64_t hash = tokens.size();
  for (const capture::Token token : tokens) {
    hash = capture::mix(hash, token);
  }
  return hash;
}

}  // namespace

GraphCache::GraphCache(const env::Settings& settings, LayerHooks& hooks) noexcept
    : settings_(settings), hooks_(hooks) {}

std::shared_ptr<GraphEntry> GraphCache::entry_for(std::vector<capture::Token> tokens, bool can_update) {
  const capture::Fingerprint fingerprint = fingerprint_of(tokens);
  const env::MutexLock guard(mutex_);
  const auto found = entries_.find(fingerprint);
  if (found != entries_.end()) {
    // A hash is no proof: a stretch that only collides is not given somebody else's graph.
    return found->second.entry->tokens() == tokens ? found->second.entry : nullptr;
  }
  const auto most = static_cast<std::size_t>(settings_.max_graphs);
  if (entries_.size() >= most) {
    if (newcomers_.came(fingerprint)) {
      sweep_due_.store(true, std::memory_order_relaxed);
    }
    return nullptr;
  }
  GraphEntry::Limits limits;
  limits.gate = settings_.gate && settings_.mode != env::Mode::kVerify;
  limits.variants = static_cast<std::size_t>(settings_.variants);
  limits.can_update = can_update && settings_.updates == env::UpdateChoice::kAuto;
  auto entry = std::make_shared<GraphEntry>(fingerprint, std::move(tokens), limits);
  entries_.emplace(fingerprint, Kept{entry});
  if (const auto known = learnt_.find(fingerprint); known != learnt_.end()) {
    entry->learn(known->second);
  }
  return entry;
}

void GraphCache::learn(std::span<const GraphEntry::Known> known) {
  const env::MutexLock guard(mutex_);
  const auto most = static_cast<std::size_t>(settings_.max_graphs);
  for (const GraphEntry::Known& each : known.first(std::min(known.size(), most))) {
    learnt_.emplace(each.fingerprint, each);
  }
}

std::vector<GraphEntry::Known> GraphCache::known() const {
  std::vector<GraphEntry::Known> result;
  for (const auto& entry : all()) {
    if (const auto known = entry->known()) {
      result.push_back(*known);
    }
  }
  return result;
}

/// Its place in devices_. (A queue may name another device for each context.)
std::uint32_t GraphCache::device_number(const capture::QueueInfo& queue) {
  {
    const env::MutexLock guard(mutex_);
    if (const auto known = device_numbers_.find(queue.device); known != device_numbers_.end()) {
      return known->second;
    }
  }
  LayerHooks::Device device = hooks_.device_of(queue);  // asks the driver
  const env::MutexLock guard(mutex_);
  const auto place = std::ranges::find(devices_, device);
  const auto number = static_cast<std::uint32_t>(place - devices_.begin());
  if (place == devices_.end()) {
    devices_.push_back(std::move(device));
  }
  constexpr std::size_t kMost = 1024;  // limit: contexts come and go
  if (device_numbers_.size() >= kMost) {
    device_numbers_.clear();
  }
  device_numbers_.emplace(queue.device, number);
  return number;
}

std::vector<std::string> GraphCache::devices() const {
  const env::MutexLock guard(mutex_);
  std::vector<std::string> names;
  for (const LayerHooks::Device& device : devices_) {
    names.push_back(device.name);
  }
  return names;
}

void GraphCache::name(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence) {
  std::uint32_t device = GraphEntry::Summary::kSeveral;
  for (const capture::QueueInfo& queue : occurrence.queues) {
    const std::uint32_t number = device_number(queue);
    device = &queue == &occurrence.queues.front() || device == number ? number : GraphEntry::Summary::kSeveral;
  }
  entry->set_device(device);
  const env::MutexLock guard(mutex_);
  const auto add = [&](capture::ObjectId identity) REFRAIN_REQUIRES(mutex_) {
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

/// As many entries go as others wait for a place, of those that have not come for long: first what is not replayed,
/// else any of them. (The one that came longest ago would be, in a program that goes through a few more stretches than
/// places, just the one that comes next.)
void GraphCache::sweep() {
  struct Candidate {
    std::shared_ptr<GraphEntry> entry;
    bool replayed = false;
    std::uint64_t lot = 0;
  };
  std::vector<std::pair<std::shared_ptr<GraphEntry>, GraphEntry::Use>> uses;
  for (auto& entry : all()) {
    const GraphEntry::Use use = entry->use();
    uses.emplace_back(std::move(entry), use);
  }
  std::vector<std::shared_ptr<GraphEntry>> leaving;
  {
    const env::MutexLock guard(mutex_);
    std::vector<Candidate> candidates;
    ++sweeps_;
    for (const auto& [entry, use] : uses) {
      const auto found = entries_.find(entry->fingerprint());
      if (found == entries_.end() || found->second.entry != entry) {
        continue;  // it has gone meanwhile
      }
      Kept& kept = found->second;
      kept.unseen = use.seen == std::exchange(kept.seen, use.seen) ? kept.unseen + 1 : 0;
      if (kept.unseen >= kSweepsUnseen) {
        candidates.push_back({entry, use.replayed, capture::mix(entry->fingerprint(), sweeps_)});
      }
    }
    const std::size_t count = std::min<std::size_t>(candidates.size(), newcomers_.take_waiting());
    std::ranges::partial_sort(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(count), {},
                              [](const Candidate& candidate) { return std::pair(candidate.replayed, candidate.lot); });
    for (std::size_t i = 0; i < count; ++i) {
      leaving.push_back(std::move(candidates[i].entry));
    }
  }
  leave(leaving);
}

void GraphCache::leave(const std::vector<std::shared_ptr<GraphEntry>>& entries) noexcept {
  if (entries.empty()) {
    return;
  }
  for (const auto& entry : entries) {
    std::optional<GraphEntry::Summary> summary;
    try {
      summary = entry->summary();
      if (would_list(*summary)) {
        summary->what = summary->label.text(hooks_);  // its kernels are about to be forgotten
      }
    } catch (const std::exception&) {
      // No memory: the report will not tell of it.
    }
    const env::MutexLock guard(mutex_);
    const auto found = entries_.find(entry->fingerprint());
    if (found == entries_.end() || found->second.entry != entry) {
      continue;  // another thread was faster
    }
    if (summary.has_value()) {
      remember(std::move(*summary));
    } else {
      ++unlisted_.entries;
    }
    entries_.erase(found);
  }
  for (const auto& entry : entries) {
    entry->leave();
  }
  entries_gone_.fetch_add(entries.size(), std::memory_order_relaxed);
  // All of them are looked at for that: not each time.
  constexpr std::size_t kMany = 64, kShare = 8;  // limit
  const env::MutexLock guard(mutex_);
  if ((gone_but_named_ += entries.size()) < kMany + entries_.size() / kShare) {
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

void GraphCache::identity_gone(capture::ObjectId identity) noexcept {
  std::vector<std::shared_ptr<GraphEntry>> entries;
  {
    const env::MutexLock guard(mutex_);
    const auto found = by_identity_.find(identity);
    if (found == by_identity_.end()) {
      return;
    }
    entries = std::move(found->second);
    by_identity_.erase(found);
  }
  leave(entries);
}

bool GraphCache::would_list(const GraphEntry::Summary& summary) const noexcept {
  const env::MutexLock guard(mutex_);
  return left_.size() < kMostListed ||
         std::ranges::any_of(left_, [&](const auto& each) { return each.weight() < summary.weight(); });
}

/// For the report, which is often written when a program has given back all that it had.
void GraphCache::remember(GraphEntry::Summary summary) noexcept {
  if (left_.capacity() == 0) {
    try {
      left_.reserve(kMostListed);
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
  ++unlisted_.entries;
  unlisted_.launched += summary.launched;
  unlisted_.saved_ns += summary.saved_ns;
}

GraphCache::Gone GraphCache::gone() const noexcept {
  const env::MutexLock guard(mutex_);
  return unlisted_;
}

std::size_t GraphCache::size() const noexcept {
  const env::MutexLock guard(mutex_);
  return entries_.size();
}

void GraphCache::publish(const std::shared_ptr<GraphEntry>& entry, std::unique_ptr<Executable> executable,
                         const std::string& why) {
  std::unique_ptr<Executable> evicted;  // destroyed outside the lock
  const env::MutexLock guard(mutex_);
  if (executable == nullptr || entry->gone()) {
    evicted = entry->built(std::move(executable), why);
    return;
  }
  const bool stale =
      std::any_of(executable->objects().begin(), executable->objects().end(),
                  [this](capture::ObjectId object) REFRAIN_REQUIRES(mutex_) { return gone_.contains(object); });
  if (stale) {
    evicted = std::move(executable);
    static_cast<void>(entry->built(nullptr, "its buffers are new each time"));
    return;
  }
  note_objects(entry, executable->objects());
  evicted = entry->built(std::move(executable), why);
}

void GraphCache::note_objects(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects) {
  for (const capture::ObjectId object : objects) {
    auto& entries = by_object_[object];
    if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
      entries.push_back(entry);
    }
  }
}

void GraphCache::objects_changed(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects) {
  const env::MutexLock guard(mutex_);
  note_objects(entry, objects);
}

void GraphCache::make_room(const GraphEntry* keep) {
  const auto limit = static_cast<std::size_t>(settings_.graph_memory_mb) << 20U;
  const std::vector<std::shared_ptr<GraphEntry>> entries = all();
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

void GraphCache::object_gone(capture::ObjectId object) {
  if (requests_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  std::vector<std::shared_ptr<GraphEntry>> entries;
  {
    const env::MutexLock guard(mutex_);
    if (builds_ != 0) {
      gone_.insert(object);
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

std::vector<GraphEntry::Summary> GraphCache::summaries() const {
  std::vector<GraphEntry::Summary> result;
  {
    const env::MutexLock guard(mutex_);
    result = left_;
  }
  for (const auto& entry : all()) {
    result.push_back(entry->summary());
    result.back().what = result.back().label.text(hooks_);
  }
  return result;
}

/// A copy, for callers that lock each entry: an entry's lock is held during a launch, and the table's lock must never
/// wait for that.
std::vector<std::shared_ptr<GraphEntry>> GraphCache::all() const {
  const env::MutexLock guard(mutex_);
  std::vector<std::shared_ptr<GraphEntry>> entries;
  entries.reserve(entries_.size());
  for (const auto& [fingerprint, kept] : entries_) {
    entries.push_back(kept.entry);
  }
  return entries;
}

void GraphCache::build_begins() noexcept {
  const env::MutexLock guard(mutex_);
  ++builds_;
  requests_.fetch_add(1, std::memory_order_relaxed);
}

void GraphCache::build_ends() noexcept {
  const env::MutexLock guard(mutex_);
  if (--builds_ == 0) {
    gone_.clear();  // no graph is in the making that could name one of them
  }
}

}  // namespace refrain::replay
