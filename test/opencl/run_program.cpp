#include "test/opencl/run_program.h"

#include <unistd.h>

extern char** environ;

namespace run_program {

std::string refrain_layer() {
  return REFRAIN_LAYER_FILE;
}
std::string error_layer() {
  return ERROR_LAYER_FILE;
}
std::string counting_layer() {
  return COUNTING_LAYER_FILE;
}

Result run(const Options& options) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("REFRAIN_", 0) != 0 && text.rfind("OPENCL_LAYERS=", 0) != 0) {
      environment.push_back(text);
    }
  }
  if (!options.layers.empty()) {
    environment.push_back("OPENCL_LAYERS=" + options.layers);
  }
  for (const auto& [name, value] : options.environment) {
    environment.push_back(name + "=" + value);
  }
  std::vector<std::string> command{PROGRAMS_FILE};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  return child::run(command, environment, options.seconds);
}

Result run_mode(const std::vector<std::string>& arguments, const std::string& mode,
                const std::map<std::string, std::string>& more, double seconds) {
  Options options;
  options.arguments = arguments;
  options.layers = refrain_layer();
  options.environment = more;
  options.environment["REFRAIN_MODE"] = mode;
  options.environment.try_emplace("REFRAIN_GATE", "0");
  options.environment.try_emplace("REFRAIN_CAPTURE_FILE", scratch("capture.rfn"));
  options.seconds = seconds;
  return run(options);
}

Result run_plain(const std::vector<std::string>& arguments, double seconds) {
  Options options;
  options.arguments = arguments;
  options.seconds = seconds;
  return run(options);
}

}  // namespace run_program
