// The findings of `refrain doctor` as JSON objects; doctor.cpp prints them as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "env/child_environment.h"
#include "env/settings.h"

namespace refrain::env {

/// Loader, drivers, platforms and devices of OpenCL, and whether the layer at `layer` (empty if it is
/// missing, because of `missing`) gets into a process that makes an OpenCL call. `activation` is what `run`
/// would set.
nlohmann::json check_opencl(const std::string& layer, const std::string& missing,
                            const std::vector<Variable>& activation);

/// The CUDA driver, its version, and whether the library that takes its place gets into a process that makes a
/// CUDA call. "tried" is false where there is nothing to hook: no driver, or CUDA is switched off.
nlohmann::json check_cuda(const Settings& settings, const std::vector<Variable>& activation);

/// The same for HIP and the runtime that `program` (may be empty) will use.
nlohmann::json check_hip(const Settings& settings, const std::string& program, const std::vector<Variable>& activation);

/// The Level Zero loader, its drivers, and whether the layer gets into a process that makes a Level Zero call. "tried"
/// is false where there is nothing to hook: no loader, no driver, or Level Zero is switched off.
nlohmann::json check_level_zero(const Settings& settings, const std::vector<Variable>& activation);
/// Runs `command` as `refrain run` does and finds out whether the layer got in, and if not, why.
/// Its standard output goes to standard error if `keep_output_free`. After so many seconds (0: never) it is ended.
nlohmann::json check_command(const std::vector<std::string>& command, const std::string& layer,
                             const std::vector<Variable>& activation, bool keep_output_free, unsigned seconds);

/// Why a library of Refrain's own is not there, for users. `header`: what building it needs.
inline std::string why_no_library(const std::string& api, bool built, const std::string& header) {
  return built ? "the library for " + api + " is missing beside this program: install Refrain as a whole"
               : "this build of Refrain has no " + api + " layer (building it needs " + header + ")";
}

/// Whether a layer's line to doctor says that it is at work, or that settings switched it off.
bool is_active(const std::string& line);
bool is_off(const std::string& line);

/// What `is_off` means, for users.
extern const char* const kSwitchedOff;

}  // namespace refrain::env
