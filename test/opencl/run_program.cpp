#include "test/opencl/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

extern char** environ;

namespace run_program {
namespace {

/// Numbers of the report, wherever they are in it.
long number_of(const nlohmann::json& report, const std::string& name) {
  if (report.is_object()) {
    if (const auto found = report.find(name); found != report.end() && found->is_number()) {
      return found->get<long>();
    }
  }
  return 0;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "refrain-opencl-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no scratch folder " + name);
    }
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

std::string scratch(const std::string& name) {
  static const Folder folder;
  return (folder.path / name).string();
}

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
  const std::string output = scratch("output");
  const std::string errors = scratch("errors");
  const std::string report = scratch("report.json");
  std::error_code ignored;
  std::filesystem::remove(report, ignored);

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
  environment.push_back("REFRAIN_REPORT_FILE=" + report);
  for (const auto& [name, value] : options.environment) {
    environment.push_back(name + "=" + value);
  }
  std::vector<char*> environment_list;
  for (std::string& entry : environment) {
    environment_list.push_back(entry.data());
  }
  environment_list.push_back(nullptr);
  std::vector<std::string> arguments{PROGRAMS_FILE};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argument_list;
  for (std::string& argument : arguments) {
    argument_list.push_back(argument.data());
  }
  argument_list.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  // Whatever signals the test runner ignores, the program starts like one from a shell.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigset_t none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int started =
      posix_spawn(&child, PROGRAMS_FILE, &actions, &attributes, argument_list.data(), environment_list.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) {
    throw std::runtime_error(std::string("cannot start " PROGRAMS_FILE ": ") + std::strerror(started));
  }

  Result result;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      result.exit_code = -1000;
      break;
    }
    usleep(2000);
  }
  if (result.exit_code != -1000) {
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  result.output = text_of(output);
  result.errors = text_of(errors);
  const nlohmann::json parsed = nlohmann::json::parse(text_of(report), nullptr, false);
  if (parsed.is_object()) {
    result.reported = true;
    result.submissions = number_of(parsed, "submissions");
    result.replayed = number_of(parsed, "replayed");
    result.asleep = number_of(parsed, "asleep");
    result.launches = number_of(parsed, "launches");
    result.differences = number_of(parsed, "differences");
  }
  return result;
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
