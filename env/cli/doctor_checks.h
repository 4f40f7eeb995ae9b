// The findings of `refrain doctor` as JSON objects; doctor.cpp prints them as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "env/child_environment.h"

namespace refrain::env {

/// Loader, drivers, platforms and devices of OpenCL, and whether the layer at `layer` (empty if it is
/// missing, because of `missing`) gets into a process that makes an OpenCL call. `activation` is what `run`
/// would set.
nlohmann::json check_opencl(const std::string& layer, const std::string& missing,
                            const std::vector<Variable>& activation);

/// CUDA, HIP and Level Zero: whether their libraries are there.
nlohmann::json check_other_apis();

/// Runs `command` as `refrain run` does and finds out whether the layer got in, and if not, why.
/// Its standard output goes to standard error if `keep_output_free`.
nlohmann::json check_command(const std::vector<std::string>& command, const std::string& layer,
                             const std::vector<Variable>& activation, bool keep_output_free);

}  // namespace refrain::env
