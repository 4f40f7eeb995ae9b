// The CUDA section of `refrain doctor`. Needs no vendor header: it makes one call, which has one argument.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/doctor_checks.h"
#include "env/cli/options.h"
#include "env/cli/process.h"

namespace refrain::env {
namespace {

using nlohmann::json;

// A driver that wakes up a GPU for its first call takes a while.
constexpr int kProbeSeconds = 60;

// "13.0" as the driver in `library` tells it, which needs neither a device nor a context; empty if it doesn't.
std::string driver_version(const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  auto* const ask = reinterpret_cast<int (*)(int*)>(::dlsym(handle, "cuDriverGetVersion"));
  int version = 0;
  if (ask == nullptr || ask(&version) != 0 || version <= 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Starts this program anew, because a library is preloaded at the start only, and has it make a CUDA call.
std::string touch_in_new_process(const std::vector<Variable>& activation, int proof) {
  const pid_t child = ::fork();
  if (child < 0) return std::string("fork: ") + std::strerror(errno);
  if (child == 0) {
    apply(activation);
    apply({{"REFRAIN_DOCTOR_FD", std::to_string(proof)}, {"REFRAIN_ROOT_PID", std::to_string(::getpid())}});
    ::execl("/proc/self/exe", "refrain", "touch-cuda", nullptr);
    ::_exit(kNotExecutable);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? std::string() : describe_status(status);
}

}  // namespace

int touch_cuda_command(const CommandArguments&) {
  return driver_version("libcuda.so.1").empty() ? kFailure : kSuccess;
}

json check_cuda(const Settings& settings, const std::vector<Variable>& activation) {
  json result{{"api", "CUDA"},        {"route", "LD_PRELOAD"}, {"layer", find_shim()}, {"driver", ""},
              {"driver_version", ""}, {"tried", false},        {"hooked", false},      {"why", ""}};
  if (settings.cuda_audit) result["route"] = "LD_PRELOAD and LD_AUDIT";
  if (result["layer"].get<std::string>().empty()) {
    result["why"] = "this build of Refrain has no CUDA layer (it needs cuda.h when it is built)";
    return result;
  }
  std::string driver;
  static_cast<void>(activate_cuda(settings, &driver));
  result["driver"] = driver;
  if (driver.empty()) {
    result["why"] = "there is no CUDA driver (libcuda.so.1) to take the place of";
    return result;
  }
  const ChildResult asked = in_child([&driver] { return driver_version(driver); }, kProbeSeconds);
  result["driver_version"] = asked.text;
  if (!settings.cuda) {
    result["why"] = "it is switched off (setting cuda)";
    return result;
  }
  result["tried"] = true;
  const SharedDescriptor proof;
  const ChildResult touched = in_child([&] { return touch_in_new_process(activation, proof.number()); }, kProbeSeconds);
  for (const std::string& line : proof.lines()) {
    if (is_active(line)) {
      result["hooked"] = true;
      result["proof"] = line;
      return result;
    }
    if (is_off(line)) {
      result["why"] = kSwitchedOff;
      return result;
    }
  }
  const std::string& what = !touched.failure.empty() ? touched.failure : touched.text;
  result["why"] = what.empty()
                      ? "the library was not loaded, or the driver not through it; see its log (--log-level debug)"
                      : "a process with the library: " + what;
  return result;
}

}  // namespace refrain::env
