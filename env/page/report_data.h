// A report's JSON, checked: the page may rely on what is in it and of which type it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace refrain::page {

/// Throws std::runtime_error, whose message names the file, if that is not a report.
nlohmann::json report_data(const std::string& file);

}  // namespace refrain::page
