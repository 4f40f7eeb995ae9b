// The commands of the `refrain` program. Each gets the arguments behind its name and returns the exit status;
// it may throw UsageError (exit status 2) or any other std::exception (1).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace refrain::env {

using CommandArguments = std::vector<std::string>;

int run_command(const CommandArguments& arguments);               ///< returns only if the command can't be executed
int capture_command(const CommandArguments& arguments);           ///< run, in capture mode
int env_command(const CommandArguments& arguments);               ///< prints what run would set
int doctor_command(const CommandArguments& arguments);            ///< says what was found and whether the layer gets in
int touch_cuda_command(const CommandArguments& arguments);        ///< makes a CUDA call; for doctor, not for users
int touch_hip_command(const CommandArguments& arguments);         ///< makes a HIP call
int touch_level_zero_command(const CommandArguments& arguments);  ///< makes Level Zero calls
int settings_command(const CommandArguments& arguments);    ///< prints the settings in force, and the page about them
int dump_command(const CommandArguments& arguments);        ///< prints a capture
int report_command(const CommandArguments& arguments);      ///< makes a page about reports and captures
int check_command(const CommandArguments& arguments);       ///< says whether a file stays within a budget
int diff_command(const CommandArguments& arguments);        ///< says what differs between two files
int bench_command(const CommandArguments& arguments);       ///< replays a capture alone
int extract_command(const CommandArguments& arguments);     ///< makes a smaller capture
int ctl_command(const CommandArguments& arguments);         ///< tells a running process something, or asks it
int completion_command(const CommandArguments& arguments);  ///< prints a shell's completion
int pages_command(const CommandArguments& arguments);       ///< writes manual pages and completions; for the build

/// What `refrain ctl PID` takes.
std::vector<std::string> control_words();

struct Command {
  const char* name;
  int (*run)(const CommandArguments&);
  const char* help;  ///< null: not for users
};

/// All commands, in the order in which they are told.
std::span<const Command> command_table() noexcept;

}  // namespace refrain::env
