#include "test/level_zero/run_program.h"

#include <unistd.h>

extern char** environ;

namespace run_program {

Result run(const std::vector<std::string>& program, const std::string& mode, int seed,
           const std::map<std::string, std::string>& more, double seconds) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto end = text.find('=');
    const std::string name = text.substr(0, end);
    if (name.rfind("REFRAIN_", 0) != 0 && name.rfind("SIM_", 0) != 0 && name.rfind("ZE_", 0) != 0) {
      variables[name] = end == std::string::npos ? "" : text.substr(end + 1);
    }
  }
  variables["ZE_ENABLE_ALT_DRIVERS"] = SIMULATED_DRIVER;
  variables["SIM_SEED"] = std::to_string(seed);
  if (mode != "plain") {
    // As `refrain run` does.
    variables["LD_LIBRARY_PATH"] = LAYER_FOLDER;
    variables["ZE_ENABLE_VALIDATION_LAYER"] = "1";
    variables["REFRAIN_LEVEL_ZERO_ACTIVE"] = "1";
    variables["REFRAIN_MODE"] = mode == "gate" ? "replay" : mode;
    variables["REFRAIN_GATE"] = mode == "gate" ? "1" : "0";
    variables["REFRAIN_CAPTURE_FILE"] = child::scratch("capture.rfn");
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
