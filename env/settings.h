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
enum class CommandChoice : std::uint8_t { kFull, kProgram, kNone };
enum class PartitionChoice : std::uint8_t { kNoFalseWait, kFewestParts };
enum class OrderChoice : std::uint8_t { kSubmission, kBreadthFirst, kDepthFirst };
enum class UpdateChoice : std::uint8_t { kAuto, kNever };

enum class RangesChoice : std::uint8_t { kAuto, kOn, kOff };
enum class ReportSignal : std::uint8_t { kOff, kUsr1, kUsr2 };
/// By whom files may be read (R) and written (W), besides their owner.
enum class FileMode : std::uint8_t { kOwnerAlone, kGroupR, kAllR, kGroupW, kGroupWAllR, kAllW };

struct Settings {
#define BOOLEAN(field, name, audience, example, default_value, help) bool field = default_value;
#define NUMBER(field, name, audience, example, default_value, minimum, maximum, unit, help) \
  std::int64_t field = default_value;
#define TEXT(field, name, audience, example, default_value, help) std::string field = default_value;
#define OUTPUT(field, name, audience, example, default_value, help) std::string field = default_value;
#define PATTERNS(field, name, audience, example, default_value, help) std::string field = default_value;
#define CHOICE(field, name, audience, example, Enum, default_value, values, help) Enum field = Enum::default_value;
#include "env/settings.def"
#undef BOOLEAN
#undef NUMBER
#undef TEXT
#undef OUTPUT
#undef PATTERNS
#undef CHOICE
};

/// True if work may be held and replayed.
[[nodiscard]] inline bool replays(const Settings& settings) noexcept {
  return settings.mode == Mode::kReplay || settings.mode == Mode::kVerify;
}

/// file_mode as open() and chmod() take it.
[[nodiscard]] constexpr unsigned permissions(FileMode mode) noexcept {
  constexpr unsigned kModes[] = {0600, 0640, 0644, 0660, 0664, 0666};
  return kModes[static_cast<std::size_t>(mode)];
}

/// Something that was wrong with a setting; the default (or the earlier value) stayed in force.
struct SettingProblem {
  std::string source;   ///< "environment", "command line", or the config file with its line
  std::string message;  ///< complete sentence that names the setting, the value and the nearest valid name
};

/// Reads the settings of this process: defaults, then the config files (env/config_files.h), then REFRAIN_* environment
/// variables. In set-user-id programs the environment, which alone switches Refrain on, is ignored, and no file is
/// read: mode is off there. It is off too in a process that follow_children = false or `programs` excludes. Never
/// fails: what is wrong is put in `problems` and ignored; where `programs` excludes the process nothing is.
Settings load_settings(std::vector<SettingProblem>& problems);

/// The same whatever this program is called: for the `refrain` program, which asks for others.
Settings configured_settings(std::vector<SettingProblem>& problems);

/// The same for a given environment ("NAME=value" strings, ended by a null pointer), which is trusted, and the config
/// file of the whole system; empty: none.
Settings load_settings(const char* const* environment, std::vector<SettingProblem>& problems,
                       const std::string& system_config = {});

/// Reads one config file into `settings`: lines `name = value`, comments from '#', values optionally in
/// double quotes. A file that others may write to is not read: it can name libraries to load.
void load_config_file(Settings& settings, const std::string& path, std::vector<SettingProblem>& problems);

/// As `source` of set(): names are then written as options.
inline constexpr std::string_view kCommandLine = "command line";

/// Sets one setting from its text. Returns the problem, or nothing if it was taken.
std::optional<SettingProblem> set(Settings& settings, std::string_view name, std::string_view value,
                                  std::string_view source);

/// Who has a reason to set it: who uses Refrain, or only who works on it.
enum class SettingAudience : std::uint8_t { kUser, kDebug };

/// One row of the table, as text, for help, documentation and option parsers.
struct SettingInfo {
  std::string_view name;  ///< as in the config file
  std::string_view type;  ///< "boolean", "number", "text", "output" (a file that is written), "list" or "choice"
  std::string_view default_value;  ///< as a user would write it
  std::string_view range;          ///< "50..1000000 us", "off|observe|…", "on|off", or empty for names of files
  std::string_view help;
  SettingAudience audience;
  std::string_view example;  ///< a value that somebody would give
};

/// All settings in the order of the table; lives as long as the program.
std::span<const SettingInfo> setting_table();

/// Value of a setting as a user would write it; empty if there is no such setting.
std::string get(const Settings& settings, std::string_view name);

/// The example as an option: "--hold-limit-us 500", "--portable", "--no-report".
std::string example_option(const SettingInfo& info);

/// "hold_limit_us" → "REFRAIN_HOLD_LIMIT_US" and "--hold-limit-us".
std::string environment_name(std::string_view name);
std::string option_name(std::string_view name);

/// The candidate with the smallest edit distance to `name`; empty if more than half of either would have to change.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);
/// "; the nearest is 'doctor'" for the end of a complaint, or nothing if none is near. `show`: how the name is written.
std::string suggestion(std::string_view name, std::span<const std::string> candidates,
                       std::string (*show)(std::string_view) = nullptr);

/// Variables with the prefix REFRAIN_ that are not settings: what `refrain run` and `refrain doctor` hand on.
/// REFRAIN_CONFIG names the config file, and REFRAIN_SAVED_SETTINGS is env/cli/saved_settings.h's.
inline constexpr std::string_view kHelperVariables[] = {"REFRAIN_CONFIG",
                                                        "REFRAIN_SAVED_SETTINGS",
                                                        "REFRAIN_OPENCL_LAYERS",
                                                        "REFRAIN_SAVED_OPENCL_LAYERS",
                                                        "REFRAIN_SAVED_LD_PRELOAD",
                                                        "REFRAIN_SAVED_LD_AUDIT",
                                                        "REFRAIN_ROOT_PID",
                                                        "REFRAIN_OLDER_FILES",
                                                        "REFRAIN_DOCTOR_FD",
                                                        "REFRAIN_LEVEL_ZERO_ACTIVE",
                                                        "REFRAIN_SAVED_LD_LIBRARY_PATH",
                                                        "REFRAIN_SAVED_ZE_ENABLE_VALIDATION_LAYER"};

}  // namespace refrain::env
