// All graphs of the process: finds the entry of a repeating stretch, builds executables on a background
// thread, and sees to it that nothing is used after the application freed it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "env/own_thread.h"
#include "replay/engine.h"
#include "replay/graph_entry.h"

namespace refrain::replay {

/// Thread-safe. Never waits for the device.
class GraphStore {
 public:
  GraphStore(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks, const StateChanges& changes);
  ~GraphStore();
  GraphStore(const GraphStore&) = delete;
  GraphStore& operator=(const GraphStore&) = delete;

  /// The entry for this sequence of tokens; made if there is none. Null if there are too many, until those that are of
  /// least use have gone (see sweep()).
  std::shared_ptr<GraphEntry> entry_for(std::vector<capture::Token> tokens, bool can_update);
  /// Which queues and kernels the entry's tokens stand for (see identity_gone()). Once for each entry.
  void name(const std::shared_ptr<GraphEntry>& entry, const Occurrence& occurrence);

  /// Starts the background thread, unless it runs. False if there can be none: then nothing is to be requested.
  [[nodiscard]] bool start() noexcept;
  /// Hands an occurrence to the background thread, which builds an executable for `entry` and publishes
  /// it. The objects named must have been retained with LayerHooks::retain_objects; they are released.
  void request_build(std::shared_ptr<GraphEntry> entry, Occurrence occurrence);

  /// A thread begins to try graphs, or ends: each brings a trial budget of its own, which all of them spend. (Eight
  /// threads that begin at once found one thread's used up, and slept, before any of them had tried anything.)
  [[nodiscard]] std::uint64_t join_trials() noexcept;
  /// `joined_ns`: what join_trials() returned.
  void leave_trials(std::uint64_t joined_ns) noexcept;
  /// True while building and trying graphs has cost less than the trial budget.
  [[nodiscard]] bool budget_allows() const noexcept;
  /// Something was spent on building or trying.
  void spend(std::uint64_t ns) noexcept { spent_ns_.fetch_add(ns, std::memory_order_relaxed); }
  /// What graphs have saved pays for further ones.
  void earn(std::uint64_t ns) noexcept { earned_ns_.fetch_add(ns, std::memory_order_relaxed); }
  /// Whole spans on trial were slower than without graphs, or faster, which makes up for what was lost before (while
  /// graphs are built, launches take longer); may others be tried now? An account of its own, with the same limit:
  /// building must not keep what is built from being tried.
  void lose(std::int64_t ns) noexcept;
  [[nodiscard]] bool losses_allow() const noexcept { return within_budget(lost_ns_.load(std::memory_order_relaxed)); }
  [[nodiscard]] std::uint64_t spent_ns() const noexcept { return spent_ns_.load(std::memory_order_relaxed); }

  /// An executable of the entry was changed, and names these now.
  void objects_changed(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects);
  /// Drops every executable that names the object, before it returns. Throws std::bad_alloc: then none may be used any
  /// more.
  void object_gone(capture::ObjectId object);
  /// No token will ever stand for this queue or kernel again: the entries that it names are of no use any more.
  void identity_gone(capture::ObjectId identity) noexcept;
  /// How many entries have gone so far. One relaxed load.
  [[nodiscard]] std::uint64_t entries_gone() const noexcept { return entries_gone_.load(std::memory_order_relaxed); }

  /// Waits until every requested build is done (tests, orderly exit).
  void wait_idle();
  /// Ends the background thread; later requests are dropped.
  void stop() noexcept;
  /// In a forked child the background thread does not exist.
  void abandon_thread() noexcept;

  /// Of those that are known, and of those that have gone and that stood for most submissions.
  [[nodiscard]] std::vector<GraphEntry::Summary> summaries() const;
  /// Of the others that have gone.
  struct Gone {
    std::uint64_t entries = 0, launched = 0, saved_ns = 0;
  };
  [[nodiscard]] Gone gone() const noexcept;
  /// Entries that are known.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Where no thread runs (see machine.h): number of operations of the oldest request, 0 if there is none; and
  /// what the background thread would do with it.
  [[nodiscard]] std::size_t oldest_request() const noexcept;
  void build_oldest() noexcept;

 private:
  struct Job {
    std::shared_ptr<GraphEntry> entry;
    Occurrence occurrence;
  };
  struct Kept {
    std::shared_ptr<GraphEntry> entry;
    std::uint64_t seen = 0;    ///< GraphEntry::Use::seen at the last sweep
    std::uint32_t unseen = 0;  ///< sweeps since it last came
  };
  void ask_for_sweep() noexcept;
  void sweep();
  void leave(const std::vector<std::shared_ptr<GraphEntry>>& entries) noexcept;
  void remember(GraphEntry::Summary summary) noexcept;
  [[nodiscard]] bool within_budget(std::uint64_t spent) const noexcept;
  [[nodiscard]] std::uint64_t tried_for() const noexcept;
  void run() noexcept;
  void take_oldest(std::unique_lock<std::mutex>& lock) noexcept;
  void build(Job& job);
  [[nodiscard]] bool is_current(const Occurrence& occurrence) const noexcept;
  void publish(Job& job, std::unique_ptr<Executable> executable, const std::string& why);
  void note_objects(const std::shared_ptr<GraphEntry>& entry, std::span<const capture::ObjectId> objects);
  void make_room(const GraphEntry* keep);
  void release(Job& job) noexcept;

  const env::Settings& settings_;
  backends::Backend& backend_;
  LayerHooks& hooks_;
  const StateChanges& changes_;
  const std::uint64_t started_ns_;
  const std::uint64_t build_share_;  ///< building costs others one part in so many of its time
  // Of threads that try graphs; times since started_ns_.
  std::atomic<std::uint64_t> trying_{0}, most_trying_{1};
  std::atomic<std::uint64_t> joined_sum_{0};  ///< when those that try now have begun
  std::atomic<std::uint64_t> left_sum_{0};    ///< how long those tried that have ended
  std::atomic<std::uint64_t> spent_ns_{0};
  std::atomic<std::uint64_t> earned_ns_{0};
  std::atomic<std::uint64_t> lost_ns_{0};
  std::atomic<std::size_t> live_graphs_{0};  ///< executables published or being built; 0: object_gone is free

  std::atomic<std::uint64_t> entries_gone_{0};

  using ByObject = std::unordered_map<capture::ObjectId, std::vector<std::shared_ptr<GraphEntry>>>;
  mutable std::mutex mutex_;  ///< what follows
  std::unordered_map<capture::Fingerprint, Kept> entries_;
  ByObject by_object_;                          ///< whose executables name it
  ByObject by_identity_;                        ///< whose tokens stand for it
  std::unordered_set<capture::ObjectId> gone_;  ///< freed while builds were under way
  std::size_t unknown_ = 0;                     ///< stretches that were asked for and not known, since the last sweep
  std::size_t gone_but_named_ = 0;              ///< entries that have gone, in by_object_ and by_identity_ still
  std::vector<GraphEntry::Summary> left_;       ///< of entries that have gone
  Gone untold_;                                 ///< those of them that are not in it

  mutable std::mutex jobs_mutex_;
  std::condition_variable jobs_changed_;
  std::list<Job> jobs_;  // needs no memory while it is empty
  std::size_t running_jobs_ = 0;
  bool sweep_wanted_ = false;
  bool stopping_ = false;
  env::OwnThread thread_;
};

}  // namespace refrain::replay
