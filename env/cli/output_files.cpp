#include "env/cli/output_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capture/reader.h"
#include "env/cli/options.h"
#include "env/config_files.h"
#include "env/file_name.h"
#include "env/own_file.h"
#include "env/regular_file.h"
#include "replay/profile/profile.h"

namespace refrain::env {
namespace {

bool is_report(const std::string& file) {
  std::ifstream in(file);
  const nlohmann::json content = nlohmann::json::parse(in, nullptr, false);
  return content.is_object() && content.contains("share_replayed") && content.contains("yielded_ms");
}

bool is_profile(const std::string& file) {
  std::string content, why;
  return read_regular_file(file, replay::kLargestProfile, &content, &why) &&
         replay::is_profile(std::as_bytes(std::span(content)));
}

bool is_log(const std::string& /*file*/) {
  return true;
}

/// How a file comes to its content.
enum class Way {
  kNamed,     ///< under a name that is free, or in the place of an older one
  kReplaced,  ///< always in the place of what is there
  kAppended,
};

struct OutputFile {
  const char* setting;
  const std::string& pattern;
  const char* kind;
  Way way;
  bool (*is_one)(const std::string& file);
};

std::vector<OutputFile> output_files(const Settings& settings) {
  std::vector<OutputFile> files;
  if (settings.mode == Mode::kOff) return files;
  if (settings.mode == Mode::kCapture) {
    files.push_back({"capture_file", settings.capture_file, "a capture", Way::kNamed, capture::is_capture});
  }
  if (!settings.report_file.empty()) {
    files.push_back({"report_file", settings.report_file, "a report", Way::kNamed, is_report});
  }
  if (!settings.profile.empty() && replays(settings)) {
    files.push_back({"profile", settings.profile, "a profile", Way::kReplaced, is_profile});
  }
  if (!settings.log_file.empty()) files.push_back({"log_file", settings.log_file, "a log", Way::kAppended, is_log});
  return files;
}

/// What a run reads besides.
std::vector<std::string> inputs_of(const Settings& settings, const std::string& program) {
  ConfigPlaces places;
  places.system = kSystemConfig;
  for (const char* const* entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t end = std::min(text.find('='), text.size());
    places.see(text.substr(0, end), text.substr(std::min(end + 1, text.size())));
  }
  std::vector<std::string> inputs = config_files(places);
  inputs.push_back(program);
  for (const SettingInfo& info : setting_table()) {
    if (info.type == "text") inputs.push_back(get(settings, info.name));
  }
  return inputs;
}

/// Whether `output` is, or will be, the file to which the other name leads. One that names a descriptor is the user's
/// business.
bool will_be_file(const std::string& output, const std::string& other) {
  struct stat first {
  }, second{};
  if (::lstat(output.c_str(), &first) != 0 || ::stat(other.c_str(), &second) != 0) {
    std::error_code error;
    return std::filesystem::weakly_canonical(output, error) == std::filesystem::weakly_canonical(other, error) &&
           !error && !other.empty();
  }
  return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::string name_of(const OutputFile& output) {
  const FileName name(output.pattern);
  return output.way == Way::kReplaced ? name.text() : name.free_text();
}

/// Why `file` can't be written; empty: it can.
std::string obstacle(const OutputFile& output, const std::string& file) {
  if (output.way == Way::kReplaced && output.is_one(file)) return {};  // of use as it is
  if (const std::error_code error = OwnFile::obstacle(file)) return error.message();
  struct stat status {};  // of the name itself: what a descriptor leads to is the user's business
  const bool there = ::lstat(file.c_str(), &status) == 0;
  if (there && !S_ISREG(status.st_mode)) return {};
  const bool full = there && status.st_size != 0;
  if (full && !output.is_one(file)) {
    return std::string("it is there already, and not ") + output.kind + "; it stays as it is";
  }
  const bool by_draft = output.way == Way::kReplaced || (output.way == Way::kNamed && full);
  const std::error_code error = by_draft ? OwnFile::obstacle_to_replace(file) : std::error_code();
  return error ? error.message() : std::string();
}

}  // namespace

void check_output_files(const Settings& settings, const std::string& program) {
  const std::vector<std::string> inputs = inputs_of(settings, program);
  const std::vector<OutputFile> outputs = output_files(settings);
  for (const OutputFile& output : outputs) {
    const std::string file = name_of(output);
    const auto refuse = [&](const std::string& why) {
      throw UsageError("can't write " + std::string(output.kind) + " to '" + file + "' (" +
                       option_name(output.setting) + "): " + why);
    };
    if (std::ranges::any_of(inputs, [&](const std::string& input) { return will_be_file(file, input); })) {
      refuse("it is read by the same run");
    }
    for (const OutputFile& other : outputs) {
      if (&other != &output && will_be_file(file, name_of(other)))
        refuse(option_name(other.setting) + " names it, too");
    }
    if (const std::string why = obstacle(output, file); !why.empty()) refuse(why);
  }
}

OlderFiles older_files(const Settings& settings, const std::vector<Variable>& given) {
  OlderFiles older = OlderFiles::of_process();
  for (const OutputFile& output : output_files(settings)) {
    const bool named = std::ranges::any_of(
        given, [&](const Variable& variable) { return variable.name == environment_name(output.setting); });
    const FileName name(output.pattern);
    if (!named || output.way != Way::kNamed || !name.fixed()) continue;
    const std::string file = name.text();
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) continue;
    if (OwnFile::busy(file)) {
      throw UsageError("another process is writing " + std::string(output.kind) + " to '" + file + "'");
    }
    if (!older.contains(status)) older.add(status);
  }
  return older;
}

void refuse_input(const std::string& output, const std::string& option, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (will_be_file(output, input)) {
      throw UsageError(option + ": '" + output + "' is what the command reads; it stays as it is");
    }
  }
}

}  // namespace refrain::env
