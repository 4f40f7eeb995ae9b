// The `refrain` program: finds the command and turns what it throws into a message and an exit status.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/cli/version.h"
#include "env/escape.h"

namespace refrain::env {
namespace {

constexpr Command kCommands[] = {
    {"run", run_command, "run a command with Refrain active: refrain run [OPTIONS] -- COMMAND"},
    {"capture", capture_command, "run a command and write down what it submits: refrain capture [OPTIONS] -- COMMAND"},
    {"env", env_command, "print what run would set, for a shell; --undo: what takes it back"},
    {"doctor", doctor_command, "say what was found here and whether Refrain gets in: refrain doctor [-- COMMAND]"},
    {"settings", settings_command, "print the settings that are in force, or all that is known of them (--json)"},
    {"touch-cuda", touch_cuda_command, nullptr},
    {"touch-hip", touch_hip_command, nullptr},
    {"touch-level-zero", touch_level_zero_command, nullptr},
    {"dump", dump_command, "print what a capture holds: refrain dump FILE"},
    {"report", report_command, "make a page to look at, of a report or a capture: refrain report FILE"},
    {"diff", diff_command, "say what differs between two captures or two reports: refrain diff FILE FILE"},
    {"check", check_command, "say whether a capture or a report stays within a budget: refrain check BUDGET FILE"},
#if REFRAIN_HAVE_BENCH
    {"bench", bench_command, "replay a capture alone, eager against native: refrain bench FILE"},
    {"extract", extract_command, "make a capture of some graphs of a capture: refrain extract --graph N -o NEW FILE"},
#endif
    {"ctl", ctl_command, "tell a running process to stop or go on, or ask for its report: refrain ctl PID ACTION"},
    {"completion", completion_command, "print the completion of bash, zsh or fish: refrain completion SHELL"},
    {"pages", pages_command, nullptr},
};

std::string settings_help(SettingAudience audience) {
  std::string text;
  for (const SettingInfo& info : setting_table()) {
    if (info.audience != audience) continue;
    text += fmt::format("  {:<26}{}{}default: {}\n", option_name(info.name), info.range, info.range.empty() ? "" : "; ",
                        info.default_value.empty() ? "none" : info.default_value);
    for (const std::string& line : wrap(info.help, 80)) text += fmt::format("  {:<26}  {}\n", "", line);
    text += fmt::format("  {:<26}  for example {}\n", "", example_option(info));
  }
  return text;
}

void print_help() {
  std::string text =
      "Refrain: command graphs for applications that were never written for them.\n\n"
      "Usage: refrain COMMAND [OPTIONS]      refrain COMMAND --help\n\nCommands:\n";
  for (const Command& command : kCommands) {
    if (command.help != nullptr) text += fmt::format("  {:<10} {}\n", command.name, command.help);
  }
  text +=
      "\nOptions:\n  --help     print this\n  --version  print the version and what is built in (--json: as an "
      "object)\n\n"
      "Settings, as options of run, capture, env, settings and doctor (--name value), as environment\n"
      "variables (REFRAIN_NAME) or in a config file (name = value): /etc/refrain.conf, then ~/.config/refrain.conf, "
      "or\n"
      "the one that REFRAIN_CONFIG names instead:\n";
  text += settings_help(SettingAudience::kUser) + "\nDebug settings, for work on Refrain:\n" +
          settings_help(SettingAudience::kDebug);
  std::cout << text;
}

int dispatch(const CommandArguments& arguments) {
  if (arguments.empty()) throw UsageError("no command");
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return print_help(), kSuccess;
  if (name == "--version" || name == "version") {
    if (arguments.size() > 2 || (arguments.size() == 2 && arguments[1] != "--json")) {
      throw UsageError("'" + arguments[1] + "' is not expected here; --version takes --json");
    }
    std::cout << (arguments.size() == 2 ? version_json() : version_text());
    return kSuccess;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run({arguments.begin() + 1, arguments.end()});
    if (command.help != nullptr) names.emplace_back(command.name);
  }
  names.insert(names.end(), {"--help", "--version"});
  throw UsageError("there is no " + std::string(name.starts_with("-") ? "option" : "command") + " '" + name + "'" +
                   suggestion(name, names));
}

}  // namespace

std::span<const Command> command_table() noexcept {
  return kCommands;
}

}  // namespace refrain::env

int main(int count, char** values) {
  using namespace refrain::env;
  try {
    const int status = dispatch({values + std::min(count, 1), values + count});
    std::cout.flush();
    const bool lost = !std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
    if (status == kSuccess && lost) {
      std::cerr << "refrain: the output can't be written\n";
      return kFailure;
    }
    return status;
  } catch (const UsageError& error) {
    const bool in_command = std::any_of(std::begin(kCommands), std::end(kCommands), [&](const Command& command) {
      return count > 1 && std::string_view(values[1]) == command.name;
    });
    std::cerr << "refrain: " << escaped(error.what()) << "\nTry 'refrain " << (in_command ? values[1] : "")
              << (in_command ? " " : "") << "--help'.\n";
    return kUsageError;
  } catch (const std::exception& error) {
    std::cerr << "refrain: " << escaped(error.what()) << "\n";
    return kFailure;
  }
}
