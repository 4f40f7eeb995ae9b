// When the layer starts and how it ends.
#pragma once

namespace refrain::layer {

/// Registers what must happen at exit, at fork and on the signal for a report. Called once the engine runs, which is
/// after the driver was loaded: our exit handler therefore runs before the driver's own destructors.
void watch_process() noexcept;

/// Submits what is held, ends the threads, writes the report. Calls pass through from then on.
void shut_down() noexcept;

}  // namespace refrain::layer
