#include "replay/report/report_file.h"

#include <filesystem>

#include "env/log.h"

namespace refrain::replay {

void ReportFile::write(const std::string& text) {
  const env::MutexLock lock(mutex_);
  if (const std::error_code error = try_to_write(text)) {
    env::log_error("cannot write the report to " + wanted_.text() + " (setting report_file): " + error.message());
  }
}

std::error_code ReportFile::try_to_write(const std::string& text) {
  if (shown_ != nullptr && shown_->in_place()) {
    return replace(shown_->name(), text);
  }
  env::OwnFile claim;  // nobody else takes the name until the report is there
  if (const std::error_code error = claim.create(wanted_, mode_, &older_)) {
    return error;
  }
  if (!claim.regular()) {
    return {claim.write(text), std::system_category()};
  }
  if (!wanted_.counted() && claim.name() != std::filesystem::absolute(wanted_.text())) {
    env::log_info("report: '" + wanted_.text() + "' is there already; writing '" + claim.name() + "'");
  }
  const std::error_code error = replace(claim.name(), text);
  if (error) {
    claim.remove();
  }
  return error;
}

std::error_code ReportFile::replace(const std::string& name, const std::string& text) {
  auto report = std::make_unique<env::OwnFile>();
  const std::error_code error = report->replace(name, mode_, text);
  if (!error) {
    shown_ = std::move(report);
  }
  return error;
}

}  // namespace refrain::replay
