// The background thread, which makes graphs of what repeats, and sees to it that the cache does not overflow.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "env/mutex.h"
#include "env/own_thread.h"
#include "replay/graph/discarder.h"
#include "replay/graph/graph_cache.h"
#include "replay/layer_hooks.h"
#include "replay/policy/trial_budget.h"
#include "replay/runtime/state_changes.h"

namespace refrain::replay {

/// Thread-safe. Never waits for the device. If the driver does not return from making a graph no more are made, and
/// nobody waits for the thread (env::StuckCheck). Everything given must outlive it.
class GraphBuilder {
 public:
  GraphBuilder(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks,
               const StateChanges& changes, GraphCache& cache, TrialBudget& budget, Discarder& discarder);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  /// Starts the thread, unless it runs. False if there can be none: then nothing is to be requested.
  [[nodiscard]] bool start() noexcept;
  /// Hands an occurrence to the thread, which builds an executable for `entry` and publishes it. False if something
  /// that it names is gone. Throws std::bad_alloc.
  [[nodiscard]] bool request(std::shared_ptr<GraphEntry> entry, Occurrence occurrence);
  /// The cache is to be swept.
  void request_sweep() noexcept;

  /// Waits until every requested build is done (tests, orderly exit).
  void wait_idle();
  /// Ends the thread; later requests are dropped. A driver that does not return to it is not waited for.
  void stop() noexcept;
  /// In a forked child the thread does not exist, and may have had the lock: no lock is taken, there are no others.
  void abandon_thread() noexcept REFRAIN_NO_THREAD_SAFETY_ANALYSIS;

  /// Where no thread runs (see machine.h): number of operations of the oldest request, 0 if there is none; and
  /// what the thread would do with it.
  [[nodiscard]] std::size_t oldest_request() const noexcept;
  void build_oldest() noexcept;

 private:
  struct Job {
    std::shared_ptr<GraphEntry> entry;
    Occurrence occurrence;
  };
  struct Task {
    bool sweeps = false;
    std::optional<Job> job;
  };
  void run() noexcept;
  [[nodiscard]] bool gave_up(const std::shared_ptr<GraphEntry>& entry);
  [[nodiscard]] Task take_oldest() noexcept REFRAIN_REQUIRES(mutex_);
  void perform(Task task) noexcept REFRAIN_EXCLUDES(mutex_);
  void build(Job& job);
  [[nodiscard]] bool is_current(const Occurrence& occurrence) const noexcept;
  [[nodiscard]] bool retain(const Job& job) noexcept;
  void release(const Job& job) noexcept;

  const env::Settings& settings_;
  backends::Backend& backend_;
  LayerHooks& hooks_;
  const StateChanges& changes_;
  GraphCache& cache_;
  TrialBudget& budget_;
  Discarder& discarder_;
  const std::uint64_t build_share_;  ///< building costs others one part in so many of its time

  mutable env::Mutex mutex_;
  env::ConditionVariable changed_;
  std::list<Job> jobs_ REFRAIN_GUARDED_BY(mutex_);      ///< needs no memory while it is empty
  std::size_t running_ REFRAIN_GUARDED_BY(mutex_) = 0;  ///< tasks
  bool sweep_wanted_ REFRAIN_GUARDED_BY(mutex_) = false;
  bool stopping_ REFRAIN_GUARDED_BY(mutex_) = false;
  bool ended_ REFRAIN_GUARDED_BY(mutex_) = false;  ///< the thread
  env::OwnThread thread_;
};

}  // namespace refrain::replay
