// Runs a program of test/opencl/programs_*.cpp as a process of its own, plain or with layers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/support/child.h"

namespace run_program {

using child::Result;
using child::scratch;

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

/// Paths given by the build.
std::string refrain_layer();
std::string error_layer();
std::string counting_layer();

}  // namespace run_program
