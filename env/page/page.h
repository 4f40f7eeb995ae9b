// `refrain report`: a page about one or two files, each a report or a capture.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace refrain::page {

/// The second line of every page, by which it is known.
inline constexpr const char* kMark = "<!-- refrain report -->";

/// One file, as the page shows it. Throws std::runtime_error, whose message names the file, if it is neither a report
/// nor a capture, or can't be read.
nlohmann::json read_input(const std::string& file, std::uint64_t max_memory = 0);

/// The whole page, which needs nothing else. `inputs`: one or two of read_input().
std::string make_page(const std::vector<nlohmann::json>& inputs);

}  // namespace refrain::page
