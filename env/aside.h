// When nothing may be held, though the settings would allow it: the user asked for launches that are done when they
// return, or a debugger, sanitizer or profiler is there, whose findings would name other calls. Asked once, when an API
// is used for the first time; what appears later only the API's layer can see.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "env/settings.h"

namespace refrain::env {

enum class Api : std::uint8_t { kCuda = 1, kHip = 2, kLevelZero = 4, kOpenCl = 8 };

/// Why nothing of this API may be held, e.g. "CUDA_LAUNCH_BLOCKING=1 asks for …"; empty: it may. `value_of` gives an
/// environment variable, or null. `status`: what /proc/self/status says.
[[nodiscard]] std::string why_aside(Api api, const std::function<const char*(const char*)>& value_of,
                                    const std::string& status);
/// Of this process.
[[nodiscard]] std::string why_aside(Api api);

/// Makes the mode observe if nothing may be held, and says why in the log. Unless the setting stand_aside is off.
void stand_aside(Settings& settings, Api api) noexcept;

/// The end of every line that says why nothing is held.
extern const char* const kAsideConsequence;

}  // namespace refrain::env
