// The table of settings as options of a command line, and what the commands have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "env/child_environment.h"
#include "env/settings.h"

namespace refrain::env {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsageError = 2;
inline constexpr int kNotExecutable = 126;  ///< as env(1), timeout(1) and shells have it
inline constexpr int kNotFound = 127;

/// A command line that can't be used; the message names what is wrong and what to do.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Arguments of one command: those before and those after the first "--".
struct Arguments {
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool separated = false;  ///< whether there was a "--"
};
Arguments split_arguments(std::vector<std::string> arguments);

/// Adds one option per setting, and shortcuts for the common ones.
class SettingOptions {
 public:
  explicit SettingOptions(CLI::App& app);

  /// What the options given come to, as environment variables: file names made absolute, because processes
  /// change their directory. Empty if none was given. Throws UsageError for a value that can't be used.
  std::vector<Variable> variables() const;

 private:
  std::map<std::string, std::optional<std::string>> given_;  // by name of the setting
  std::string config_;
  std::optional<std::string> output_;
  std::map<std::string, bool> shortcuts_;  // mode → given
};

/// `text` in lines of at most `width` characters, broken at blanks.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Sets the line that --help starts with.
void set_usage(CLI::App& app, const std::string& usage);

/// Parses `arguments` with `app`. Returns an exit status if that is all there was to do (--help). Options
/// that take a boolean may stand alone (--portable) or with a "no" (--no-report). What remains, which is
/// allowed only if `rest` is given, starts at the first argument that is not an option. `options_only`: nothing else is
/// among the arguments. Throws UsageError.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments, std::vector<std::string>* rest,
                         bool options_only = false);

/// "8,32,0" → {8, 32, 0}. Throws UsageError, which names `option`.
std::vector<std::uint32_t> number_list(const std::string& list, const char* option);

/// While one is there parse() shows it the options of the command that called, does nothing else, and has the command
/// return. Of one thread.
class OptionReader {
 public:
  using Reader = std::function<void(const CLI::App&)>;
  explicit OptionReader(Reader reader);
  ~OptionReader();
  OptionReader(const OptionReader&) = delete;
  OptionReader& operator=(const OptionReader&) = delete;

  /// False if there is none.
  static bool read(const CLI::App& app);

 private:
  Reader reader_;
};

/// Path of the OpenCL layer that belongs to this executable, in the build tree or where it is installed.
/// Throws std::runtime_error if it is not there.
std::string find_layer();

/// Path of the library that takes libcuda.so.1's place, found in the same way; empty if this build has none.
std::string find_shim();

/// The same for the audit module.
std::string find_audit();

/// The same for what is preloaded into programs of every API.
std::string find_exit_hooks();

/// What hooks CUDA: nothing if it is switched off, not built, or if there is no driver. `driver`, if given, gets
/// the real driver's path, empty if there is none.
std::vector<Variable> activate_cuda(const Settings& settings, std::string* driver = nullptr);

/// Path of the library that takes the place of libamdhip64.so with this major version, found in the same way.
std::string find_hip_shim(int major);

/// Path of the HIP runtime that commands open themselves: what the setting hip_library names, else the newest there is;
/// empty: there is none.
std::string find_hip_runtime();

/// What hooks HIP: nothing if it is switched off, not built, or if there is no runtime. `program` is the file that will
/// be run; empty: any. `library` and `major`, if given, get the real runtime's path and version, or nothing.
std::vector<Variable> activate_hip(const Settings& settings, const std::string& program, std::string* library = nullptr,
                                   int* major = nullptr);

/// Path of the library that takes the place of Level Zero's validation layer; empty if this build has none.
std::string find_level_zero();

/// Whether the dynamic linker finds the Level Zero loader.
bool has_level_zero_loader();

/// What hooks Level Zero: nothing if it is switched off, not built, or if there is no loader.
std::vector<Variable> activate_level_zero(const Settings& settings);

/// Everything that switches Refrain on: `given` and, unless they are switched off, what hooks OpenCL and, if
/// `preload` is set, CUDA, HIP for `program` (empty: any) and Level Zero.
std::vector<Variable> activation(const std::vector<Variable>& given, const std::string& program, bool preload = true);

}  // namespace refrain::env
