#include "test/cuda/run_program.h"

#include <unistd.h>

// The same for HIP, whose programs are these in other words (test/hip).
#ifndef DRIVER_VARIABLE
#define DRIVER_VARIABLE "REFRAIN_CUDA_DRIVER"
#define SIM_DRIVER SIM_CUDA
#endif

extern char** environ;

namespace run_program {

Result run(const std::vector<std::string>& program, const std::string& mode, int seed,
           const std::map<std::string, std::string>& more, double seconds) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto end = text.find('=');
    const std::string name = text.substr(0, end);
    if (name.rfind("REFRAIN_", 0) != 0 && name.rfind("SIM_", 0) != 0 && name != "LD_PRELOAD") {
      variables[name] = end == std::string::npos ? "" : text.substr(end + 1);
    }
  }
  variables["SIM_SEED"] = std::to_string(seed);
  if (mode == "plain") {
    variables["LD_LIBRARY_PATH"] = SIM_FOLDER;
  } else {
    // The library takes the driver's place in the search path, which works with sanitizers, too: their run-time
    // libraries must come first, and a preloaded library would.
    variables["LD_LIBRARY_PATH"] = SHIM_FOLDER;
    variables[DRIVER_VARIABLE] = SIM_DRIVER;
    variables["REFRAIN_MODE"] = mode == "gate" ? "replay" : mode;
    variables["REFRAIN_GATE"] = mode == "gate" ? "1" : "0";
    variables["REFRAIN_CAPTURE_FILE"] = child::scratch("capture.rfn");
    if (!kSanitized) {  // as users do
      variables["LD_LIBRARY_PATH"] = SIM_FOLDER;
      variables["LD_PRELOAD"] = SHIM;
    }
  }
  for (const auto& [name, value] : more) {
    variables[name] = value;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(name + "=" + value);
  }
  std::vector<std::string> command{PROGRAMS_FILE};
  command.insert(command.end(), program.begin(), program.end());
  return child::run(command, environment, seconds);
}

}  // namespace run_program
