#include "test/cuda/run_process.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

// Only what concerns one API is looked at: this machine may have other drivers, too.
#ifdef PROGRAMS_ON_HIP
constexpr const char* kSimulated = SIM_HIP;
constexpr const char* kOthersOff = "REFRAIN_CUDA=off";
#else
constexpr const char* kSimulated = SIM_CUDA;
constexpr const char* kOthersOff = "REFRAIN_HIP=off";
#endif

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char letter : word) {
    result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return result + "'";
}

}  // namespace

Outcome run(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  static int number = 0;
  const std::string log = std::filesystem::temp_directory_path() /
                          ("refrain-cuda-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".log");
  std::filesystem::remove(log);
  const std::string folder = std::filesystem::path(kSimulated).parent_path();
  std::string line = std::string("exec env -u LD_PRELOAD -u LD_AUDIT ") + kOthersOff +
                     " LD_LIBRARY_PATH=" + quoted(folder) + " SIM_LOG=" + quoted(log);
  for (const std::string& change : environment) {
    line += " " + quoted(change);
  }
  for (const std::string& word : command) {
    line += " " + quoted(word);
  }
  line += " 2>&1 </dev/null";
  Outcome outcome;
  FILE* pipe = popen(line.c_str(), "re");
  REQUIRE(pipe != nullptr);
  char part[4096];
  for (std::size_t bytes = 0; (bytes = fread(part, 1, sizeof(part), pipe)) != 0;) {
    outcome.output.append(part, bytes);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream calls(log);
  for (std::string call; std::getline(calls, call);) {
    outcome.driver_calls.push_back(call);
  }
  std::filesystem::remove(log);
  return outcome;
}

int count_lines(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    count += line.find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}
