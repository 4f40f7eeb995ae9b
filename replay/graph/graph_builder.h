// The background thread, which makes graphs of what repeats, and sees to it that the cache does not overflow.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "env/own_thread.h"
#include "replay/graph/graph_cache.h"
#include "replay/layer_hooks.h"
#include "replay/policy/trial_budget.h"
#include "replay/runtime/state_changes.h"

namespace refrain::replay {

/// Thread-safe. Never waits for the device. Everything given must outlive it.
class GraphBuilder {
 public:
  GraphBuilder(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks,
               const StateChanges& changes, GraphCache& cache, TrialBudget& budget);
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
  /// Ends the thread; later requests are dropped.
  void stop() noexcept;
  /// In a forked child the thread does not exist.
  void abandon_thread() noexcept;

  /// Where no thread runs (see machine.h): number of operations of the oldest request, 0 if there is none; and
  /// what the thread would do with it.
  [[nodiscard]] std::size_t oldest_request() const noexcept;
  void build_oldest() noexcept;

 private:
  struct Job {
    std::shared_ptr<GraphEntry> entry;
    Occurrence occurrence;
  };
  void run() noexcept;
  void take_oldest(std::unique_lock<std::mutex>& lock) noexcept;
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
  const std::uint64_t build_share_;  ///< building costs others one part in so many of its time

  mutable std::mutex mutex_;  ///< what follows
  std::condition_variable changed_;
  std::list<Job> jobs_;  // needs no memory while it is empty
  std::size_t running_ = 0;
  bool sweep_wanted_ = false;
  bool stopping_ = false;
  env::OwnThread thread_;
};

}  // namespace refrain::replay
