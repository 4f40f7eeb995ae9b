// What the lanes of an engine work with.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "backends/backend.h"
#include "capture/recorder.h"
#include "env/mutex.h"
#include "env/settings.h"
#include "replay/graph/discarder.h"
#include "replay/graph/graph_builder.h"
#include "replay/graph/graph_cache.h"
#include "replay/lane/engine_state.h"
#include "replay/layer_hooks.h"
#include "replay/policy/trial_budget.h"
#include "replay/profile/profile_file.h"
#include "replay/report/region_totals.h"
#include "replay/runtime/watchdog.h"
#include "replay/verify/address_check.h"
#include "replay/verify/verification_pause.h"
#include "replay/verify/verification_sampling.h"

namespace refrain::replay {

/// Owned by the engine. Thread-safe, as its parts are. All that is given must outlive it.
struct LaneContext {
  /// `check`: the watchdog's.
  LaneContext(const env::Settings& its_settings, EngineState& its_state, backends::Backend& its_backend,
              LayerHooks& its_hooks, capture::Recorder* its_recorder, Watchdog::Check check)
      : settings(its_settings),
        state(its_state),
        backend(its_backend),
        hooks(its_hooks),
        recorder(its_recorder),
        verify_memory(static_cast<std::uint64_t>(settings.verify_memory_mb) << 20U),
        budget(settings),
        discarder(backend),
        graphs(settings, hooks),
        builder(settings, backend, hooks, state.changes, graphs, budget, discarder),
        watchdog(static_cast<std::uint64_t>(settings.hold_limit_us) * 1000,
                 static_cast<std::uint64_t>(settings.rest_limit_us) * 1000, std::move(check)),
        profile(settings) {
    if (settings.mode == env::Mode::kVerify) {
      verification_pause = std::make_unique<VerificationPause>();
      address_check = std::make_unique<AddressCheck>(verify_memory);
      sampling = std::make_unique<VerificationSampling>(static_cast<std::uint64_t>(settings.verify_every));
    }
  }

  /// What must be there before anything is held. False if it cannot.
  [[nodiscard]] bool prepare_to_hold() noexcept {
    const env::MutexLock lock(preparing);
    exit_watched = exit_watched || hooks.watch_exit();
    return exit_watched && builder.start() && watchdog.start();
  }

  const env::Settings& settings;
  EngineState& state;
  backends::Backend& backend;
  LayerHooks& hooks;
  capture::Recorder* const recorder;  ///< null: nothing is captured
  const std::uint64_t verify_memory;  ///< bytes that copies of verify mode may take at once
  TrialBudget budget;
  Discarder discarder;
  GraphCache graphs;
  GraphBuilder builder;
  Watchdog watchdog;
  ProfileFile profile;
  RegionTotals regions;
  env::Mutex preparing;
  bool exit_watched REFRAIN_GUARDED_BY(preparing) = false;
  std::unique_ptr<VerificationPause> verification_pause;  ///< null except in verify mode
  std::unique_ptr<AddressCheck> address_check;            ///< the same; for who has stopped the others
  std::unique_ptr<VerificationSampling> sampling;         ///< the same

  std::atomic<std::uint64_t> replayed{0};  ///< submissions of all lanes
  std::atomic<std::size_t> open_lanes{0};  ///< lanes of threads that run
};

}  // namespace refrain::replay
