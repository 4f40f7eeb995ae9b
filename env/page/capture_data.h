// A capture as the page shows it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "capture/analysis.h"

namespace refrain::page {

/// Throws std::runtime_error, whose message names the file, if that can't be read. `max_memory`: see read_capture().
nlohmann::json capture_data(const std::string& file, const capture::Forecast& forecast, std::uint64_t max_memory);

}  // namespace refrain::page
