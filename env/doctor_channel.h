// How a layer tells `refrain doctor` that it is in: lines in a file that the doctor's child processes inherit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/own_file.h"

namespace refrain::env {

/// Writes `line`, which ends in a newline, to the descriptor that REFRAIN_DOCTOR_FD names; nothing if it is not
/// set, or if that number is another file in this process. "refrain layer active 0.1.0 …", or "refrain layer off 0.1.0
/// …" if settings switch the layer off.
void notify_doctor(const std::string& line) noexcept;

/// What REFRAIN_DOCTOR_FD says: "number:device:inode", or a number alone from somebody who knows that it is open.
struct DoctorChannel {
  int descriptor = -1;
  std::optional<FileIdentity> file;
};
/// Nothing if the text says neither.
std::optional<DoctorChannel> parse_doctor_channel(std::string_view text) noexcept;

/// The lines in `text` that a layer may have written. The programs that inherit the channel may write anything: other
/// lines, and those with characters that a terminal might obey, are left out.
std::vector<std::string> doctor_lines(std::string_view text);

/// What is behind so many bytes in the channel is not read.
inline constexpr std::size_t kLongestDoctorText = std::size_t{1} << 20U;

}  // namespace refrain::env
