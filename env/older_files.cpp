#include "env/older_files.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "env/child_environment.h"

namespace refrain::env {

OlderFiles::Version OlderFiles::version_of(const struct stat& file) noexcept {
  return {file.st_dev, file.st_ino, static_cast<std::uint64_t>(file.st_size),
          static_cast<std::uint64_t>(file.st_ctim.tv_sec) * 1'000'000'000U +
              static_cast<std::uint64_t>(file.st_ctim.tv_nsec)};
}

OlderFiles::OlderFiles(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    std::array<std::uint64_t, 4> numbers{};
    const char* at = part.data();
    const char* const end = part.data() + part.size();
    std::size_t read = 0;
    for (; read < numbers.size(); ++read) {
      const auto [next, error] = std::from_chars(at, end, numbers[read]);
      const bool last = read + 1 == numbers.size();
      if (error != std::errc() || (next == end) != last || (!last && *next != ':')) break;
      at = next + (last ? 0 : 1);
    }
    if (read == numbers.size()) files_.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
}

OlderFiles OlderFiles::of_process() {
  return OlderFiles(process_variable(kVariable).value_or(""));
}

bool OlderFiles::contains(const struct stat& file) const noexcept {
  return std::ranges::find(files_, version_of(file)) != files_.end();
}

std::string OlderFiles::text() const {
  std::string text;
  for (const Version& file : files_) {
    text += (text.empty() ? "" : ",") + std::to_string(file.device) + ":" + std::to_string(file.inode) + ":" +
            std::to_string(file.size) + ":" + std::to_string(file.changed_ns);
  }
  return text;
}

}  // namespace refrain::env
