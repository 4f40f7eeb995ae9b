// The report as a file: written whole or not at all, under the same name each time, never in another file's place.
#pragma once

#include <mutex>
#include <string>

namespace refrain::replay {

class ReportFile {
 public:
  /// With %p and %n. Nothing is made before the first report.
  explicit ReportFile(std::string pattern) : pattern_(std::move(pattern)) {}

  /// Replaces the report that was written before. Says in the log what went wrong.
  void write(const std::string& text);

 private:
  /// Writes beside it and renames, so that a reader never sees half of it. Returns 0 or an error number.
  [[nodiscard]] int replace(const std::string& text) const;

  std::mutex mutex_;
  std::string pattern_;
  std::string name_;  ///< that was made; empty: none yet
};

}  // namespace refrain::replay
