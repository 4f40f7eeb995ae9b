// `refrain run`: variables that switch Refrain on, and the command that gets them.
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <functional>
#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/options.h"
#include "env/cli/output_files.h"
#include "env/cli/program_check.h"
#include "env/escape.h"
#include "env/log.h"
#include "env/older_files.h"
#include "env/program_choice.h"

namespace refrain::env {
namespace {

/// What the log can tell before the program's own is open: where nothing can be preloaded, or no call comes, that never
/// is.
void say_what_is_captured(const Settings& settings, const ProgramFile& program) {
  if (settings.mode != Mode::kCapture || !program.starts) return;
  const auto asks = [&](const char* placeholder) { return settings.log_file.find(placeholder) != std::string::npos; };
  if (asks("%n") || asks("%i")) return;  // a log of the program's own, which this process can't name
  open_log(settings);
  std::string why = program.obstacle;
  if (why.empty() && !ProgramChoice(settings.programs, program.image).chosen()) {
    why = "'" + program.image + "' is not chosen by the setting programs (" + settings.programs + ")";
  }
  if (!why.empty()) {
    log_warning("capture: nothing of '" + program.path + "' itself is captured, only of what it starts: " + why);
  } else {
    log_info("capture: a process that submits work says at its end what it wrote (to '" + settings.capture_file +
             "'); if none says so, nothing was captured");
  }
}

/// What both commands do; `name` is that of the command, `more` what only one of them can be told.
int run(CLI::App& app, const std::string& name, const CommandArguments& arguments,
        const std::function<void(std::vector<Variable>&)>& more) {
  Arguments split = split_arguments(arguments);
  set_usage(app, name + " [OPTIONS] -- COMMAND [ARGUMENTS...]");
  app.footer(
      "The exit status is that of the command; 2: wrong usage, 126: the command can't be executed,\n"
      "127: there is no such command, 1: anything else. Settings come from the environment\n"
      "(REFRAIN_NAME) and the config file as well: docs/settings.md.");
  const SettingOptions options(app);
  std::vector<std::string> rest;
  if (const auto status = parse(app, split.own, &rest, split.separated)) return *status;
  if (split.separated && !rest.empty()) {
    throw UsageError("'" + rest.front() + "' is not an option; the command stands behind --");
  }
  // Without "--" everything from the first argument that is no option is the command.
  if (!split.separated) split.command = rest;
  if (split.command.empty()) throw UsageError("no command; usage: " + name + " [OPTIONS] -- COMMAND [ARGUMENTS...]");

  // What nothing can be preloaded into need not try: the dynamic linker would complain.
  const ProgramFile program = check_program(split.command.front());
  std::vector<Variable> given = options.variables();
  if (more) more(given);
  const std::vector<Variable> variables = activation(given, program.path, program.obstacle.empty());
  apply(variables);
  std::vector<SettingProblem> problems;
  const Settings settings = configured_settings(problems);
  check_output_files(settings, program.path);
  if (const OlderFiles older = older_files(settings, given); !older.empty()) {
    apply({{OlderFiles::kVariable, older.text()}});
  }
  if (more && settings.report) say_what_is_captured(settings, program);  // refrain capture alone adds `more`
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

}  // namespace

int run_command(const CommandArguments& arguments) {
  CLI::App app("Runs a command with Refrain active in it and in the programs that it starts.", "refrain run");
  return run(app, "refrain run", arguments, nullptr);
}

int capture_command(const CommandArguments& arguments) {
  CLI::App app(
      "Runs a command and writes what it submits to a file, for refrain dump, report, diff, check, extract and bench.\n"
      "Changes nothing of what the command does. The same as refrain run --capture.",
      "refrain capture");
  std::string seconds, skip;
  app.add_option("--seconds", seconds, "For so long only; the same as --capture-seconds")->type_name("S");
  app.add_option("--skip", skip, "Not the first N stretches, from wait to wait; the same as --capture-skip")
      ->type_name("N");
  return run(app, "refrain capture", arguments, [&](std::vector<Variable>& given) {
    Settings scratch;
    const auto add = [&](const char* name, const std::string& value) {
      if (const auto problem = set(scratch, name, value, kCommandLine)) throw UsageError(problem->message);
      for (const Variable& other : given) {
        if (other.name != environment_name(name)) continue;
        if (other.value == value) return;
        throw UsageError(std::string(name) == "mode" ? "capture is a mode of its own; 'refrain run' takes others"
                                                     : "two values of " + option_name(name) + " exclude each other");
      }
      given.push_back({environment_name(name), value});
    };
    add("mode", "capture");
    if (!seconds.empty()) add("capture_seconds", seconds);
    if (!skip.empty()) add("capture_skip", skip);
  });
}

}  // namespace refrain::env
