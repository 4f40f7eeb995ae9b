#include "env/cli/program_check.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "env/cli/elf_file.h"

namespace refrain::env {
namespace {

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_NONE;
#endif

std::string find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    return ::access(command.c_str(), F_OK) == 0 ? command : std::string();
  }
  const char* const path = std::getenv("PATH");
  // A colon at the end is the current folder, too, which getline() would not tell.
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : std::string(path) + ":");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + command;
    std::error_code error;
    if (std::filesystem::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return {};
}

std::string elf_obstacle(const std::string& path) {
  ElfFile file(path);
  if (!file) return "its ELF header is cut short or damaged";
  if (!file.has_64_bits()) return "it is a 32-bit program, and the layer is a 64-bit library";
  if (kMachine != EM_NONE && file.machine() != kMachine) return "it is built for another processor";
  const std::optional<bool> loads_libraries = file.has_interpreter();
  if (!loads_libraries.has_value()) return "its program headers are damaged";
  return *loads_libraries ? "" : "it is statically linked, so that it loads no libraries";
}

}  // namespace

ProgramFile check_program(const std::string& command) {
  ProgramFile result;
  result.path = find_program(command);
  if (result.path.empty()) {
    result.obstacle = "there is no such command";
    return result;
  }
  struct stat status {};
  if (::stat(result.path.c_str(), &status) == 0) {
    result.starts = ::access(result.path.c_str(), X_OK) == 0 && S_ISREG(status.st_mode);
    std::error_code error;
    result.image = std::filesystem::canonical(result.path, error).filename().string();
    if (!result.starts) {
      result.obstacle = "it is not executable";
    } else if (((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) ||
               ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid())) {
      result.obstacle = "it is a set-user-id program, which ignores the environment";
    } else if (::getxattr(result.path.c_str(), "security.capability", nullptr, 0) > 0) {
      result.obstacle = "it has file capabilities, so that it ignores the environment";
    }
  }
  if (!result.obstacle.empty()) return result;
  std::ifstream file(result.path, std::ios::binary);
  char magic[SELFMAG] = {};
  file.read(magic, sizeof magic);
  if (std::memcmp(magic, ELFMAG, SELFMAG) == 0) {
    result.obstacle = elf_obstacle(result.path);
  } else if (magic[0] == '#' && magic[1] == '!') {
    file.clear();
    file.seekg(2);
    std::string interpreter;
    std::getline(file, interpreter);
    interpreter.erase(0, interpreter.find_first_not_of(' '));
    interpreter = interpreter.substr(0, interpreter.find(' '));
    result.note = "a script, run by " + interpreter;
    std::error_code error;
    result.image = std::filesystem::canonical(interpreter, error).filename().string();
  }
  return result;
}

ProcessTrace read_trace(std::istream& text, const std::string& layer) {
  ProcessTrace trace;
  const std::string layer_file = std::filesystem::path(layer).filename().string();
  // The part of `line` behind `key`, up to a blank.
  const auto word_after = [](const std::string& line, const std::string& key) -> std::string {
    const auto found = line.find(key);
    if (found == std::string::npos) return {};
    const std::string rest = line.substr(found + key.size());
    return rest.substr(0, rest.find(' '));
  };
  for (std::string line; std::getline(text, line);) {
    if (const std::string program = word_after(line, "initialize program: "); !program.empty()) {
      trace.program = program;
    }
    if (word_after(line, "file=").ends_with(layer_file)) trace.layer_found = true;
    const std::string ready = word_after(line, "calling init: ");
    const std::string name = std::filesystem::path(ready).filename().string();
    if (name.starts_with("libOpenCL.so")) trace.loader = ready;
    if (name == layer_file) trace.layer_ready = true;
    for (const char* driver : {"libpocl.so", "libnvidia-opencl.so", "libamdocl64.so", "libigdrcl.so",
                               "libMesaOpenCL.so", "libRusticlOpenCL.so"}) {
      if (name.starts_with(driver)) trace.driver = ready;
    }
  }
  return trace;
}

std::vector<ProcessTrace> read_traces(const std::string& folder, const std::string& layer) {
  std::vector<ProcessTrace> traces;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::ifstream file(entry->path());
    ProcessTrace trace = read_trace(file, layer);
    trace.process = entry->path().extension().string();
    if (!trace.process.empty()) trace.process.erase(0, 1);
    traces.push_back(std::move(trace));
  }
  std::sort(traces.begin(), traces.end(),
            [](const ProcessTrace& a, const ProcessTrace& b) { return a.process < b.process; });
  return traces;
}

}  // namespace refrain::env
