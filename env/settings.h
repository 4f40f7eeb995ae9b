// Settings of one process: the table in settings.def as a struct, and how it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::env {

enum class Mode : std::uint8_t { kOff, kObserve, kCapture, kReplay, kVerify };
enum class LogLevel : std::uint8_t { kOff, kError, kWarning, kInfo, kDebug, kTrace };
enum class PartitionChoice : std::uint8_t { kNoFalseWait, kFewestParts };
enum class OrderChoice : std::uint8_t { kSubmission, kBreadthFirst, kDepthFirst };
enum class UpdateChoice : std::uint8_t { kAuto, kNever };

struct Settings {
#define BOOLEAN(field, name, default_value, help) bool field = default_value;
#define NUMBER(field, name, default_value, minimum, maximum, unit, help) std::int64_t field = default_value;
#define TEXT(field, name, default_value, help) std::string field = default_value;
#define CHOICE(field, name, Enum, default_value, values, help) Enum field = Enum::default_value;
#include "env/settings.def"
#undef BOOLEAN
#undef NUMBER
#undef TEXT
#undef CHOICE
};

/// Something that was wrong with a setting; the default (or the earlier value) stayed in force.
struct SettingProblem {
  std::string source;    ///< "environment", "command line", or the config file with its line
  std::string message;   ///< complete sentence that names the setting, the value and the nearest valid name
};

/// Reads the settings of this process: defaults, then the config file (REFRAIN_CONFIG, if set), then
/// REFRAIN_* environment variables. Ignores the environment altogether in set-user-id programs.
/// Never fails: what is wrong is put in `problems` and ignored.
Settings load_settings(std::vector<SettingProblem>& problems);

/// Sets one setting from its text. Returns the problem, or nothing if it was taken.
std::optional<SettingProblem> set(Settings& settings, std::string_view name, std::string_view value,
                                  std::string_view source);

/// Replaces %p and %n in a file name.
std::string expand_file_name(std::string_view pattern);

}  // namespace refrain::env
