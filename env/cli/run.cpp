// `refrain run` and `refrain env`: the same variables, set for a command or printed for a shell.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/cli/output_files.h"
#include "env/cli/program_check.h"
#include "env/escape.h"

namespace refrain::env {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

int run_command(const CommandArguments& arguments) {
  Arguments split = split_arguments(arguments);
  CLI::App app("Runs a command with Refrain active in it and in the programs that it starts.", "refrain run");
  set_usage(app, "refrain run [OPTIONS] -- COMMAND [ARGUMENTS...]");
  app.footer(
      "The exit status is that of the command; 2: wrong usage, 126: the command can't be executed,\n"
      "127: there is no such command, 1: anything else. Settings come from the environment\n"
      "(REFRAIN_NAME) and the config file as well: docs/settings.md.");
  const SettingOptions options(app);
  std::vector<std::string> rest;
  if (const auto status = parse(app, split.own, &rest)) return *status;
  if (split.separated && !rest.empty()) {
    throw UsageError("'" + rest.front() + "' is not an option; the command stands behind --");
  }
  // Without "--" everything from the first argument that is no option is the command.
  if (!split.separated) split.command = rest;
  if (split.command.empty()) throw UsageError("no command; usage: refrain run [OPTIONS] -- COMMAND [ARGUMENTS...]");

  // What nothing can be preloaded into need not try: the dynamic linker would complain.
  const ProgramFile program = check_program(split.command.front());
  const std::vector<Variable> given = options.variables();
  const std::vector<Variable> variables = activation(given, program.path, program.obstacle.empty());
  apply(variables);
  std::vector<SettingProblem> problems;
  const Settings settings = load_settings(problems);
  check_output_files(settings);
  if (!program.path.empty()) make_room(settings, given);
  if (!settings.follow_children) {
    apply({{"REFRAIN_ROOT_PID", std::to_string(::getpid())}});
  }
  std::vector<char*> words;
  for (std::string& word : split.command) words.push_back(word.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  std::cerr << "refrain: can't execute '" << escaped(split.command[0]) << "': " << ::strerror(error) << "\n";
  return error == ENOENT ? kNotFound : kNotExecutable;
}

int env_command(const CommandArguments& arguments) {
  CLI::App app("Prints what `refrain run` would set, for a shell: eval \"$(refrain env --capture)\"", "refrain env");
  set_usage(app, "refrain env [OPTIONS]");
  bool json = false;
  app.add_flag("--json", json, "Print an object; a variable that is null is to be removed");
  const SettingOptions options(app);
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  const std::vector<Variable> variables = activation(options.variables(), {});
  nlohmann::json object = nlohmann::json::object();
  for (const Variable& variable : variables) {
    const bool had_one = process_variable(variable.name).has_value();
    if (json) {
      object[variable.name] = variable.value ? nlohmann::json(*variable.value) : nlohmann::json();
    } else if (variable.value) {
      std::cout << "export " << variable.name << "=" << quoted(*variable.value) << "\n";
    } else if (had_one) {
      std::cout << "unset " << variable.name << "\n";
    }
  }
  if (json) {
    std::cout << object.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  }
  return kSuccess;
}

}  // namespace refrain::env
