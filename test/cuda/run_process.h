// Runs a program in an environment of its own and reads what it printed.
#pragma once

#include <string>
#include <vector>

struct Outcome {
  int status = -1;                        ///< exit status; 128 + n if signal n ended it
  std::string output;                     ///< both streams
  std::vector<std::string> driver_calls;  ///< what the simulated device was called with, in order
};

/// Changes of the environment ("NAME=value"); LD_LIBRARY_PATH names the simulated device's folder unless changed.
Outcome run(const std::vector<std::string>& command, const std::vector<std::string>& environment = {});

/// The lines of `text` that contain `part`.
int count_lines(const std::string& text, const std::string& part);
