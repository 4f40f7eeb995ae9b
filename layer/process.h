// What every layer needs to know of the process it is in.
#pragma once

#include "capture/recorder.h"
#include "env/settings.h"

namespace refrain::layer {

/// The capture file's writer in capture mode, else null; null with an error in the log if the file cannot be
/// written. Lives as long as the process.
[[nodiscard]] capture::Recorder* open_recorder(const env::Settings& settings);

}  // namespace refrain::layer
