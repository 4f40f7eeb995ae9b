// `refrain completion`, and `refrain pages`, which writes everything that is installed beside the program.
#include <filesystem>
#include <iostream>

#include "env/cli/command_descriptions.h"
#include "env/cli/commands.h"
#include "env/cli/completion.h"
#include "env/cli/man_page.h"
#include "env/cli/options.h"
#include "env/own_file.h"

namespace refrain::env {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  if (const std::error_code error = OwnFile().replace(file, 0644, text)) {
    throw std::runtime_error("can't write " + file.string() + ": " + error.message());
  }
}

}  // namespace

int completion_command(const CommandArguments& arguments) {
  CLI::App app("Prints the completion of refrain for a shell: source <(refrain completion bash)", "refrain completion");
  set_usage(app, "refrain completion SHELL");
  app.footer(
      "SHELL is bash, zsh or fish. Where Refrain is installed as a package, shells find these files themselves.");
  std::vector<std::string> shells;
  app.add_option("SHELL", shells, "bash, zsh or fish");
  if (const auto status = parse(app, arguments, nullptr)) return *status;
  if (shells.size() != 1) throw UsageError("completion needs one shell: bash, zsh or fish");
  const std::string script = completion(shells.front(), describe_commands());
  if (script.empty())
    throw UsageError("there is no completion for '" + shells.front() + "'; there is for bash, zsh and fish");
  std::cout << script;
  return kSuccess;
}

int pages_command(const CommandArguments& arguments) {
  if (arguments.size() != 1) throw UsageError("pages needs a folder: refrain pages FOLDER");
  const std::filesystem::path folder = arguments.front();
  const std::vector<CommandDescription> commands = describe_commands();
  write(folder / "man/man1/refrain.1", man_page(commands, REFRAIN_VERSION));
  for (const CommandDescription& command : commands) {
    write(folder / ("man/man1/refrain-" + command.name + ".1"), man_page(command, REFRAIN_VERSION));
  }
  write(folder / "bash-completion/completions/refrain", completion("bash", commands));
  write(folder / "zsh/site-functions/_refrain", completion("zsh", commands));
  write(folder / "fish/vendor_completions.d/refrain.fish", completion("fish", commands));
  return kSuccess;
}

}  // namespace refrain::env
