// Files of earlier runs that a run may take the place of. `refrain run` alone knows that its user named one of them,
// and the program that it starts alone knows whether there is anything to put there: so the one tells the other which
// file it saw, and nothing is touched until then.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::env {

/// Files as they were when somebody looked at them: one that was written to, or exchanged, since then is another one.
class OlderFiles {
 public:
  OlderFiles() = default;
  /// What text() gave; what can't be read is left out.
  explicit OlderFiles(std::string_view text);
  /// Those that the environment tells this process of.
  static OlderFiles of_process();

  void add(const struct stat& file) { files_.push_back(version_of(file)); }
  [[nodiscard]] bool contains(const struct stat& file) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return files_.empty(); }
  [[nodiscard]] std::string text() const;

  /// The variable by which processes are told.
  static constexpr const char* kVariable = "REFRAIN_OLDER_FILES";

 private:
  struct Version {
    std::uint64_t device, inode, size, changed_ns;
    bool operator==(const Version&) const = default;
  };
  static Version version_of(const struct stat& file) noexcept;

  std::vector<Version> files_;
};

}  // namespace refrain::env
