// The CUDA layer's process-wide state.
#pragma once

#include "env/settings.h"

namespace refrain::layer::cuda {

struct Layer {
  env::Settings settings;
};
/// Made on first use and never destroyed: the application's threads may call us while the process exits.
Layer& state() noexcept;

/// Reads the settings, opens the log, puts the environment of children right. Called once, on the first call of
/// the application, before the driver is looked for. May throw: see start_up().
void start_layer();

/// The driver is loaded and driver.cuXxx can be called; no call of the application has reached it yet. Called
/// once, on the application's thread; not if there is no driver. Other threads' calls wait until it returns: it must
/// not wait for a thread that calls exported functions (on this thread they lead to the driver itself). May throw:
/// then nothing of ours was made known to anybody.
void on_driver_loaded();

/// Whether calls are watched at all: if not, every stub leads straight to the driver, and the resolver hands out
/// the driver's own addresses. Fixed once start_layer() has run.
[[nodiscard]] bool interposing() noexcept;

/// A function can't be watched, because there are no more stubs: nothing may be held from now on.
void on_stubs_exhausted() noexcept;

}  // namespace refrain::layer::cuda
