// Reads capture files. Treats every file as hostile: nothing is believed that was not checked, memory is
// bounded by the size of the file (format::max_memory).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/model.h"

namespace refrain::capture {

/// Whether the file begins as captures do; not if it cannot be read.
[[nodiscard]] bool is_capture(const std::string& file);

/// Nothing, and `error` (a sentence with the file's name and, for what is wrong inside, the offset), if the
/// file is not a capture or holds records that are intact but make no sense. A file that ends in the
/// middle of a record, or whose records are damaged from some point on, is read up to there:
/// Capture::cut_short says so. `max_memory` bytes may be taken by reading and by what is read later; 0: what
/// format::max_memory() allows. Never throws.
std::optional<Capture> read_capture(const std::string& file, std::string* error, std::uint64_t max_memory = 0) noexcept;

}  // namespace refrain::capture
