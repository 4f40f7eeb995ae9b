// The Level Zero layer's process-wide state.
#pragma once

#include "env/settings.h"

namespace refrain::layer::level_zero {

struct Layer {
  env::Settings settings;
};
/// Made on first use and never destroyed: the application's threads may call us while the process exits.
Layer& state() noexcept;

/// Whether calls are watched at all. Reads the settings, opens the log and puts the environment of children right when
/// it is first called, which is when the loader asks for a table.
[[nodiscard]] bool interposing() noexcept;

/// The engine starts, once: before a context is made, when all tables are there.
void start() noexcept;

/// The loader has functions that nobody knew here: nothing may be held.
void on_newer_loader() noexcept;
/// The same, with a reason for the log.
void stand_aside(const char* why) noexcept;
/// The same after a failure.
void give_up(const char* why) noexcept;

}  // namespace refrain::layer::level_zero
