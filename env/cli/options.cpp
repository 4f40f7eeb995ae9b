#include "env/cli/options.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "env/cli/interposers.h"
#include "env/cli/link_folder.h"
#include "env/file_name.h"
#include "env/level_zero_environment.h"
#include "env/log.h"
#include "env/preload.h"
#include "env/ranges_environment.h"
#if REFRAIN_HAVE_CUDA
#include "layer/cuda/driver_search.h"
#endif
#if REFRAIN_HAVE_HIP
#include "layer/hip/library_search.h"
#endif

namespace refrain::env {
namespace {

constexpr const char* kLayerFile = "librefrain_opencl.so";
constexpr const char* kShimFile = "beside-libasan.so/librefrain_cuda.so";
constexpr const char* kExitFile = "beside-libasan.so/librefrain_exit.so";
constexpr const char* kLevelZeroFile = "level_zero/libze_validation_layer.so.1";
constexpr const char* kModeShortcuts[] = {"off", "observe", "capture", "replay", "verify"};

bool is_boolean(std::string_view word) {
  Settings scratch;
  return !set(scratch, "report", word, kCommandLine);
}

// Rewrites "--report" and "--no-report" to "--report=on" and "--report=off".
// `separated`: nothing else than values can be behind an option.
void complete_booleans(std::vector<std::string>& arguments, bool separated) {
  for (const SettingInfo& info : setting_table()) {
    if (info.type != "boolean") continue;
    const std::string option = option_name(info.name);
    const std::string negated = "--no-" + option.substr(2);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == negated) arguments[i] = option + "=off";
      const bool followed = i + 1 < arguments.size() && !arguments[i + 1].starts_with('-');
      const bool has_value = followed && is_boolean(arguments[i + 1]);
      if (arguments[i] == option && followed && !has_value && separated) {
        throw UsageError("'" + arguments[i + 1] + "' is neither on nor off, which " + option + " takes");
      }
      if (arguments[i] == option && !has_value) arguments[i] = option + "=on";
    }
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string absolute(const std::string& file) {
  return file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string();
}

/// The same for a name with placeholders: the folder's own name has none.
std::string absolute_pattern(const std::string& pattern) {
  if (pattern.empty() || pattern.front() == '/') return absolute(pattern);
  return absolute(FileName::literal(std::filesystem::current_path().string()) + "/" + pattern);
}

bool is_type(std::string_view name, std::string_view type) {
  const auto table = setting_table();
  return std::any_of(table.begin(), table.end(),
                     [&](const SettingInfo& info) { return info.name == name && info.type == type; });
}

constexpr std::size_t kHelpColumn = 32;
constexpr std::size_t kHelpWidth = 76;

class UsageFormatter : public CLI::Formatter {
 public:
  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) { column_width(kHelpColumn); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }

 private:
  std::string usage_;
};

std::string describe(const SettingInfo& info) {
  std::string text;
  for (const std::string& line : wrap(info.help, kHelpWidth)) text += line + "\n";
  if (!info.range.empty()) text += std::string(info.range) + "; ";
  text += "default: " + (info.default_value.empty() ? "none" : std::string(info.default_value));
  return text + "; for example " + example_option(info);
}

std::string value_name(const SettingInfo& info) {
  if (info.type == "boolean") return "on|off";
  if (info.type == "number") return "N";
  if (info.type == "list") return "PATTERN,...";
  return info.type == "choice" ? "WORD" : "FILE";
}

}  // namespace

Arguments split_arguments(std::vector<std::string> arguments) {
  Arguments result;
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  result.separated = mark != arguments.end();
  result.own.assign(arguments.begin(), mark);
  if (result.separated) result.command.assign(mark + 1, arguments.end());
  return result;
}

SettingOptions::SettingOptions(CLI::App& app) {
  app.add_option("-o,--output", output_,
                 "Capture to this file; the same as --mode capture --capture-file FILE. An older capture there "
                 "is\nreplaced, any other file refused; further processes write NAME.PID.rfn")
      ->type_name("FILE");
  for (const char* mode : kModeShortcuts) {
    app.add_flag("--" + std::string(mode), shortcuts_[mode], "The same as --mode " + std::string(mode));
  }
  app.add_option("--config", config_, "Config file with lines 'name = value'")->type_name("FILE");
  for (const SettingInfo& info : setting_table()) {
    app.add_option(option_name(info.name), given_[std::string(info.name)], describe(info))
        ->type_name(value_name(info))
        ->group(info.audience == SettingAudience::kUser ? "Settings" : "Debug settings, for work on Refrain");
  }
}

std::vector<Variable> SettingOptions::variables() const {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : given_) {
    if (value) given[name] = *value;
  }
  std::string shortcut;
  for (const auto& [mode, wanted] : shortcuts_) {
    if (!wanted) continue;
    if (!shortcut.empty()) throw UsageError("--" + shortcut + " and --" + mode + " exclude each other");
    shortcut = mode;
  }
  if (!shortcut.empty()) {
    if (given.contains("mode")) throw UsageError("--" + shortcut + " and --mode exclude each other");
    given["mode"] = shortcut;
  }
  if (output_) {
    if (given.contains("capture_file")) throw UsageError("--output and --capture-file exclude each other");
    given["capture_file"] = *output_;
    given.emplace("mode", "capture");
    if (given["mode"] != "capture") {
      throw UsageError("--output writes a capture file, which mode " + given["mode"] + " does not");
    }
  }
  std::vector<Variable> result;
  if (!config_.empty()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(config_, error)) {
      throw UsageError("--config: there is no file '" + config_ + "'");
    }
    result.push_back({"REFRAIN_CONFIG", absolute(config_)});
  }
  Settings scratch;
  for (auto& [name, value] : given) {
    if (const auto problem = set(scratch, name, value, kCommandLine)) throw UsageError(problem->message);
    if (is_type(name, "text")) value = absolute(value);
    if (is_type(name, "output")) value = absolute_pattern(value);
    result.push_back({environment_name(name), value});
  }
  return result;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!text.empty()) lines.emplace_back(text);
  return lines;
}

std::vector<std::uint32_t> number_list(const std::string& list, const char* option) {
  std::vector<std::uint32_t> result;
  const char* position = list.data();
  const char* const end = position + list.size();
  for (;;) {
    std::uint32_t number = 0;
    const auto [next, error] = std::from_chars(position, end, number);
    if (error != std::errc() || (next != end && *next != ',')) {
      throw UsageError(std::string(option) + ": '" + list + "' is not a list of numbers such as 8,32,128");
    }
    result.push_back(number);
    if (next == end) return result;
    position = next + 1;
  }
}

void set_usage(CLI::App& app, const std::string& usage) {
  app.formatter(std::make_shared<UsageFormatter>(usage));
}

namespace {

OptionReader* option_reader = nullptr;

}  // namespace

OptionReader::OptionReader(Reader reader) : reader_(std::move(reader)) {
  option_reader = this;
}

OptionReader::~OptionReader() {
  option_reader = nullptr;
}

bool OptionReader::read(const CLI::App& app) {
  if (option_reader != nullptr) option_reader->reader_(app);
  return option_reader != nullptr;
}

std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments, std::vector<std::string>* rest,
                         bool options_only) {
  if (OptionReader::read(app)) return kSuccess;
  if (rest != nullptr) {
    app.prefix_command();
  } else {
    app.allow_extras();
  }
  complete_booleans(arguments, rest == nullptr || options_only);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  std::vector<std::string> remaining = app.remaining();
  if (!remaining.empty() && remaining.front().size() > 1 && remaining.front().front() == '-') {
    const std::string name = remaining.front().substr(0, remaining.front().find('='));
    throw UsageError("there is no option " + name +
                     suggestion(name, option_names(app), [](std::string_view option) { return std::string(option); }));
  }
  if (rest != nullptr) {
    *rest = std::move(remaining);
  } else if (!remaining.empty()) {
    throw UsageError("'" + remaining.front() + "' is not expected here");
  }
  return std::nullopt;
}

namespace {

// A library of this build or installation; empty if it is not there.
std::string find_library(const char* file) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  for (const char* folder : {"lib", "lib/refrain"}) {
    const std::filesystem::path candidate = program.parent_path().parent_path() / folder / file;
    std::error_code error;
    if (std::filesystem::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

// The same, by a name that LD_PRELOAD can have if there is one. The last part of its folder stays: beside-libasan.so.
std::string find_preloaded(const std::string& file) {
  const std::filesystem::path library = find_library(file.c_str());
  if (library.empty()) return {};
  const std::filesystem::path folder = library.parent_path();
  const std::string linked = folder_without_separators(folder.parent_path().string(), places_for_links());
  return linked.empty() ? library.string()
                        : (std::filesystem::path(linked) / folder.filename() / library.filename()).string();
}

void append(std::vector<Variable>& to, std::vector<Variable> from) {
  for (Variable& variable : from) to.push_back(std::move(variable));
}

#if REFRAIN_HAVE_CUDA || REFRAIN_HAVE_HIP
/// The dynamic linker would load them behind us, where the program does not call them.
std::vector<std::string> interposers_everywhere(const std::string& prefix) {
  std::vector<std::string> files;
  for (const Interposer& interposer : find_interposers(preloaded_everywhere(), prefix)) {
    if (interposer.file.find_first_of(" :") == std::string::npos) files.push_back(interposer.file);
  }
  return files;
}
#endif

/// False, and said once, if LD_PRELOAD cannot name the file. The other APIs are none the worse for it.
bool can_be_preloaded(const std::string& library, const char* api) {
  if (library.find_first_of(" :") == std::string::npos) return true;
  env::log_warning("the path " + library +
                   " contains a character that separates files in LD_PRELOAD, and no link can be made to it: " + api +
                   " is not hooked; install elsewhere");
  return false;
}

}  // namespace

std::string find_layer() {
  std::string layer = find_library(kLayerFile);
  if (layer.find(':') != std::string::npos) {
    throw std::runtime_error("the path " + layer +
                             " contains a ':', which separates layers in OPENCL_LAYERS; install elsewhere");
  }
  if (layer.empty()) {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    throw std::runtime_error("the OpenCL layer " +
                             (program.parent_path().parent_path() / "lib/refrain" / kLayerFile).string() +
                             " is missing; was Refrain built with the OpenCL headers and installed as a whole?");
  }
  return layer;
}

std::string find_shim() {
  return find_preloaded(kShimFile);
}

std::string find_audit() {
  return find_preloaded(std::string("beside-libasan.so/") + kAuditFile);
}

std::string find_exit_hooks() {
  return find_preloaded(kExitFile);
}

std::vector<Variable> activate_cuda(const Settings& settings, std::string* driver) {
  std::vector<Variable> result;
#if REFRAIN_HAVE_CUDA
  const std::vector<std::string> drivers = layer::cuda::find_drivers(settings.cuda_driver);
  if (driver != nullptr) *driver = drivers.empty() ? "" : drivers.front();
  const std::string shim = drivers.empty() || !settings.cuda ? std::string() : find_shim();
  if (shim.empty() || !can_be_preloaded(shim, "CUDA")) return result;
  append(result, activate_library("LD_PRELOAD", shim, process_variable, interposers_everywhere("cu")));
  if (const std::string audit = find_audit(); settings.cuda_audit && !audit.empty()) {
    append(result, activate_library("LD_AUDIT", audit, process_variable));
  }
#else
  static_cast<void>(settings);
  if (driver != nullptr) driver->clear();
#endif
  return result;
}

std::string find_hip_shim(int major) {
  return find_preloaded("beside-libasan.so/librefrain_hip" + std::to_string(major) + ".so");
}

std::vector<Variable> activate_hip(const Settings& settings, const std::string& program, std::string* library,
                                   int* major) {
  std::vector<Variable> result;
#if REFRAIN_HAVE_HIP
  const layer::hip::FoundLibrary found = layer::hip::choose_library(settings.hip_library, program);
  if (library != nullptr) *library = found.path;
  if (major != nullptr) *major = found.major;
  const std::string shim = found.major == 0 || !settings.hip ? std::string() : find_hip_shim(found.major);
  if (shim.empty() || !can_be_preloaded(shim, "HIP")) return result;
  append(result, activate_library("LD_PRELOAD", shim, process_variable, interposers_everywhere("hip")));
#else
  static_cast<void>(settings);
  static_cast<void>(program);
  if (library != nullptr) library->clear();
  if (major != nullptr) *major = 0;
#endif
  return result;
}

std::string find_hip_runtime() {
#if REFRAIN_HAVE_HIP
  std::vector<SettingProblem> problems;
  const Settings settings = configured_settings(problems);
  const layer::hip::FoundLibrary found = layer::hip::choose_library(settings.hip_library, {});
  return found.path.empty() ? settings.hip_library : found.path;
#else
  return {};
#endif
}

std::string find_level_zero() {
  return find_library(kLevelZeroFile);
}

bool has_level_zero_loader() {
  // Opening it starts nothing: drivers and layers are opened by the first call.
  void* const loader = ::dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (loader == nullptr) return false;
  ::dlclose(loader);
  return true;
}

std::vector<Variable> activate_level_zero(const Settings& settings) {
  const std::string layer = find_level_zero();
  if (layer.empty() || !settings.level_zero || !has_level_zero_loader()) return {};
  return activate_level_zero(layer.substr(0, layer.rfind('/')), process_variable);
}

std::vector<Variable> activation(const std::vector<Variable>& given, const std::string& program, bool preload) {
  std::vector<Variable> result = given;
  apply(given);
  std::vector<SettingProblem> problems;
  const Settings settings = configured_settings(problems);
  if (settings.opencl) append(result, activate_opencl(find_layer(), process_variable));
  if (preload) {
    // Both lengthen the same list.
    const std::vector<Variable> cuda = activate_cuda(settings);
    apply(cuda);
    append(result, cuda);
    const std::vector<Variable> hip = activate_hip(settings, program);
    apply(hip);
    append(result, hip);
    append(result, activate_level_zero(settings));
    const std::string hooks = find_exit_hooks();
    if (result.size() > given.size() && !hooks.empty() && can_be_preloaded(hooks, "the end of processes")) {
      append(result, activate_library("LD_PRELOAD", hooks, process_variable));
      if (wants_ranges(settings)) append(result, activate_ranges(hooks, process_variable));
    }
  }
  return result;
}

}  // namespace refrain::env
