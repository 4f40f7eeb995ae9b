#include "replay/report_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "env/log.h"
#include "env/own_file.h"
#include "env/settings.h"

namespace refrain::replay {

void ReportFile::write(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const std::string wanted = env::expand_file_name(pattern_);
  const auto fail = [&](int error) {
    env::log_error("cannot write the report to " + wanted +
                   " (setting report_file): " + std::system_category().message(error));
  };
  const bool first = name_.empty();
  if (first) {
    env::OwnFile file;
    if (const int error = file.create(wanted); error != 0) {
      fail(error);
      return;
    }
    if (!file.regular()) {  // a terminal, a pipe
      if (const int error = file.write(text); error != 0) {
        fail(error);
      }
      return;
    }
    name_ = file.name();
    if (name_ != std::filesystem::absolute(wanted)) {
      env::log_info("report: '" + wanted + "' is there already; writing '" + name_ + "'");
    }
  }
  if (const int error = replace(text); error != 0) {
    if (first) {
      ::unlink(name_.c_str());
      name_.clear();
    }
    fail(error);
  }
}

int ReportFile::replace(const std::string& text) const {
  env::OwnFile draft;
  if (const int error = draft.create(name_ + ".part"); error != 0) {
    return error;
  }
  int error = draft.write(text);
  if (error == 0 && std::rename(draft.name().c_str(), name_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(draft.name().c_str());
  }
  return error;
}

}  // namespace refrain::replay
