#include "env/doctor_channel.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "env/secure_process.h"

namespace refrain::env {

std::optional<DoctorChannel> parse_doctor_channel(std::string_view text) noexcept {
  constexpr int kLargest = 1'000'000;
  DoctorChannel channel;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, channel.descriptor);
  if (error != std::errc() || channel.descriptor < 0 || channel.descriptor > kLargest) return std::nullopt;
  if (rest == end) return channel;
  if (*rest != ':') return std::nullopt;
  channel.file = FileIdentity::from(text.substr(static_cast<std::size_t>(rest + 1 - text.data())));
  return channel.file ? std::optional(channel) : std::nullopt;
}

void notify_doctor(const std::string& line) noexcept {
  const char* const text = in_secure_process() ? nullptr : std::getenv("REFRAIN_DOCTOR_FD");
  const std::optional<DoctorChannel> channel = text == nullptr ? std::nullopt : parse_doctor_channel(text);
  if (!channel) {
    return;
  }
  const std::optional<FileIdentity> file = channel->file ? channel->file : FileIdentity::of(channel->descriptor);
  if (!file) {
    return;
  }
  OwnFile out;
  out.borrow(channel->descriptor, *file);
  // Short enough for one write to a pipe; if nobody listens, nobody is told.
  static_cast<void>(out.write(line));
}

std::vector<std::string> doctor_lines(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool printable = std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (printable && line.size() <= kLongest && line.starts_with("refrain layer ")) {
      lines.emplace_back(line);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace refrain::env
