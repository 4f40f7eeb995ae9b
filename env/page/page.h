// `refrain report`: a page about one or two files, each a report or a capture.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capture/analysis.h"

namespace refrain::page {

/// The second line of every page, by which it is known.
inline constexpr const char* kMark = "<!-- refrain report -->";

/// One file, as the page shows it. Throws std::runtime_error, whose message names the file, if it is neither a report
/// nor a capture, or can't be read. `forecast` says what of a capture would be replayed.
nlohmann::json read_input(const std::string& file, const capture::Forecast& forecast, std::uint64_t max_memory = 0);

/// The whole page, which needs nothing else. `inputs`: one or two of read_input().
std::string make_page(const std::vector<nlohmann::json>& inputs);

}  // namespace refrain::page
