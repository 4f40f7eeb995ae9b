// Runs a program of test/opencl/programs_*.cpp as a process of its own, plain or with layers.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace run_program {

struct Result {
  int exit_code = -1;  ///< negative: the signal that ended it; -1000: it ran out of time
  std::string output;
  std::string errors;
  /// From Refrain's report; 0 if there was none.
  long submissions = 0, replayed = 0, launches = 0, differences = 0, asleep = 0;
  bool reported = false;
};

struct Options {
  std::vector<std::string> arguments;  ///< program and its arguments
  std::string layers;                  ///< OPENCL_LAYERS; empty: none
  std::map<std::string, std::string> environment;
  double seconds = 60;
};

/// Throws std::runtime_error if it could not even be started.
Result run(const Options& options);

/// With Refrain alone, in a mode, gate off.
Result run_mode(const std::vector<std::string>& arguments, const std::string& mode,
                const std::map<std::string, std::string>& more = {}, double seconds = 60);
Result run_plain(const std::vector<std::string>& arguments, double seconds = 60);

/// A file name in a folder of this process, removed at its end.
std::string scratch(const std::string& name);

/// Paths given by the build.
std::string refrain_layer();
std::string error_layer();
std::string counting_layer();

}  // namespace run_program
