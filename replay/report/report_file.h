// The report as a file: written whole or not at all, under the same name each time, never in the place of a file that
// is not to be replaced.
#pragma once

#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "env/file_name.h"
#include "env/mutex.h"
#include "env/older_files.h"
#include "env/own_file.h"

namespace refrain::replay {

class ReportFile {
 public:
  /// `pattern`: see env::FileName. `mode`: the file's permissions. Nothing is made before the first report.
  /// `older`: reports that the first one may replace.
  ReportFile(const std::string& pattern, unsigned mode, env::OlderFiles older = {})
      : wanted_(pattern), mode_(mode), older_(std::move(older)) {}

  /// Replaces the report that was written before, as long as it is there; what others put in its place stays. Says in
  /// the log what went wrong, and leaves nothing behind then. Thread-safe.
  void write(const std::string& text);

 private:
  [[nodiscard]] std::error_code try_to_write(const std::string& text) REFRAIN_REQUIRES(mutex_);
  /// Writes beside it and renames, so that a reader never sees half of it.
  [[nodiscard]] std::error_code replace(const std::string& name, const std::string& text) REFRAIN_REQUIRES(mutex_);

  env::Mutex mutex_;
  const env::FileName wanted_;
  const unsigned mode_;
  const env::OlderFiles older_;
  /// The report that was written last; null: none yet.
  std::unique_ptr<env::OwnFile> shown_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::replay
