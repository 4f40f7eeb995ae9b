// `refrain run`: variables that switch Refrain on, and the command that gets them.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/cli/output_files.h"
#include "env/cli/program_check.h"
#include "env/escape.h"

namespace refrain::env {
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
  const Settings settings = configured_settings(problems);
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

}  // namespace refrain::env
