#include "env/cli/output_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capture/reader.h"
#include "env/cli/options.h"
#include "env/file_name.h"
#include "env/own_file.h"

namespace refrain::env {
namespace {

bool is_report(const std::string& file) {
  std::ifstream in(file);
  const nlohmann::json content = nlohmann::json::parse(in, nullptr, false);
  return content.is_object() && content.contains("share_replayed") && content.contains("yielded_ms");
}

bool is_log(const std::string& /*file*/) {
  return true;  // appended to
}

struct OutputFile {
  const char* setting;
  const std::string& pattern;
  const char* kind;
  bool (*is_one)(const std::string& file);
};

std::vector<OutputFile> output_files(const Settings& settings) {
  std::vector<OutputFile> files;
  if (settings.mode == Mode::kOff) return files;
  if (settings.mode == Mode::kCapture)
    files.push_back({"capture_file", settings.capture_file, "a capture", capture::is_capture});
  if (!settings.report_file.empty()) files.push_back({"report_file", settings.report_file, "a report", is_report});
  if (!settings.log_file.empty()) files.push_back({"log_file", settings.log_file, "a log", is_log});
  return files;
}

/// Why `file` can't be written; empty: it can.
std::string obstacle(const OutputFile& output, const std::string& file) {
  if (const std::error_code error = OwnFile::obstacle(file)) return error.message();
  struct stat status {};  // of the name itself: what a descriptor leads to is the user's business
  if (::lstat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size != 0 && !output.is_one(file)) {
    return std::string("it is there already, and not ") + output.kind + "; it stays as it is";
  }
  return {};
}

}  // namespace

void check_output_files(const Settings& settings) {
  for (const OutputFile& output : output_files(settings)) {
    const std::string file = FileName(output.pattern).free_text();
    if (const std::string why = obstacle(output, file); !why.empty()) {
      throw UsageError("can't write " + std::string(output.kind) + " to '" + file + "' (" +
                       option_name(output.setting) + "): " + why);
    }
  }
}

void make_room(const Settings& settings, const std::vector<Variable>& given) {
  for (const OutputFile& output : output_files(settings)) {
    const bool named = std::ranges::any_of(
        given, [&](const Variable& variable) { return variable.name == environment_name(output.setting); });
    const FileName name(output.pattern);
    if (!named || output.is_one == is_log || !name.fixed()) continue;
    const std::string file = name.text();
    std::error_code error;
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, error))) continue;
    if (OwnFile::busy(file)) {
      throw UsageError("another process is writing " + std::string(output.kind) + " to '" + file + "'");
    }
    std::filesystem::remove(file, error);  // if it stays, another name is taken
  }
}

}  // namespace refrain::env
