// What every layer needs to know of the process it is in.
#pragma once

#include "capture/recorder.h"
#include "env/settings.h"

namespace refrain::layer {

/// The capture file's writer in capture mode, else null; null with an error in the log if the file cannot be
/// written. Lives as long as the process.
[[nodiscard]] capture::Recorder* open_recorder(const env::Settings& settings);

/// Whether this library was loaded into a namespace of its own (dlmopen()). There it has a second C library, and the
/// first one, whose dynamic linker both use, does not know of our threads: none may be started. Said once in the log.
/// `api`: for people.
[[nodiscard]] bool in_other_namespace(const char* api) noexcept;

}  // namespace refrain::layer
