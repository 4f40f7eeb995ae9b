// The HIP layer's process-wide state.
#pragma once

#include "env/settings.h"

namespace refrain::layer::hip {

struct Layer {
  env::Settings settings;
};
/// Made on first use and never destroyed: the application's threads may call us while the process exits.
Layer& state() noexcept;

/// Reads the settings, opens the log, puts the environment of children right. Called once, on the first call of
/// the application, before the runtime is looked for.
void start_layer();

/// Whether calls are watched at all: if not, every stub leads straight to the runtime. Fixed once start_layer() has
/// run.
[[nodiscard]] bool interposing() noexcept;

/// A function can't be watched, because there are no more stubs: nothing may be held from now on.
void on_stubs_exhausted() noexcept;

}  // namespace refrain::layer::hip
