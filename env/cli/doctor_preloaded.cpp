// The sections of `refrain doctor` about APIs whose library Refrain takes the place of, CUDA and HIP. Need no vendor
// header: each makes one call, which has one argument.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "env/cli/commands.h"
#include "env/cli/doctor_checks.h"
#include "env/cli/interposers.h"
#include "env/cli/options.h"
#include "env/cli/process.h"
#include "env/preload.h"

namespace refrain::env {
namespace {

using nlohmann::json;

// A driver that wakes up a GPU for its first call takes a while.
constexpr int kProbeSeconds = 60;
// Whichever this build has, it has all.
constexpr int kSomeHipMajor = 5;
// As in backends/hip/driver_api.h, which needs the vendor's header.
constexpr int kOldestHip = 50530202;

struct Api {
  const char* name;
  const char* prefix;        // of its functions
  const char* touch;         // the command for a new process
  const char* version_call;  // of the driver
  std::string (*format)(int version);
};

const Api kCuda{"CUDA", "cu", "touch-cuda", "cuDriverGetVersion",
                [](int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }};
const Api kHip{"HIP", "hip", "touch-hip", "hipRuntimeGetVersion", [](int version) {
                 return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
                        std::to_string(version % 100000);
               }};

// As the driver in `library` tells it, which needs neither a device nor a context; 0 if it doesn't.
int driver_version(const Api& api, const std::string& library) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return 0;
  auto* const ask = reinterpret_cast<int (*)(int*)>(::dlsym(handle, api.version_call));
  int version = 0;
  return ask == nullptr || ask(&version) != 0 ? 0 : version;
}

// Libraries of others that the program will call in the driver's place, in their order; Refrain stands behind them.
json interposers_in(const Api& api, const std::vector<Variable>& activation, const std::string& library) {
  json result = json::array();
  std::string list = process_variable("LD_PRELOAD").value_or("");
  for (const Variable& variable : activation) {
    if (variable.name == "LD_PRELOAD") list = variable.value.value_or("");
  }
  for (const Interposer& interposer : find_interposers(list_entries("LD_PRELOAD", list), api.prefix)) {
    if (interposer.file != library) result.push_back({{"file", interposer.file}, {"functions", interposer.functions}});
  }
  return result;
}

// Fills in what is found out by asking the driver and by a call in a new process.
void try_out(const Api& api, bool wanted, const std::string& library, const std::vector<Variable>& activation,
             json& result) {
  const std::string driver = result["driver"];
  const ChildResult asked = in_child(
      [&] {
        const int version = driver_version(api, driver);
        return version == 0 ? std::string() : std::to_string(version);
      },
      kProbeSeconds);
  if (!asked.text.empty()) {
    result["version"] = std::stoi(asked.text);
    result["driver_version"] = api.format(std::stoi(asked.text));
  }
  if (!wanted) {
    std::string setting = api.name;
    for (char& letter : setting) letter = static_cast<char>(std::tolower(letter));
    result["why"] = "it is switched off (setting " + setting + ")";
    return;
  }
  result["tried"] = true;
  const SharedDescriptor proof;
  const ChildResult touched = in_child(
      [&] {
        return run_anew(activation, proof, {api.touch, library});
      },
      kProbeSeconds);
  for (const std::string& line : proof.lines()) {
    if (is_active(line)) {
      result["hooked"] = true;
      result["proof"] = line;
      return;
    }
    if (is_off(line)) {
      result["why"] = kSwitchedOff;
      return;
    }
  }
  const std::string& what = !touched.failure.empty() ? touched.failure : touched.text;
  result["why"] = what.empty()
                      ? "the library was not loaded, or the driver not through it; see its log (--log-level debug)"
                      : "a process with the library: " + what;
}

json nothing_found(const Api& api, const std::string& layer) {
  return {
      {"api", api.name}, {"route", "LD_PRELOAD"}, {"layer", layer},  {"driver", ""}, {"driver_version", ""},
      {"version", 0},    {"tried", false},        {"hooked", false}, {"why", ""},    {"interposers", json::array()}};
}

}  // namespace

int touch_cuda_command(const CommandArguments& arguments) {
  return !arguments.empty() && driver_version(kCuda, arguments.front()) != 0 ? kSuccess : kFailure;
}
int touch_hip_command(const CommandArguments& arguments) {
  return !arguments.empty() && driver_version(kHip, arguments.front()) != 0 ? kSuccess : kFailure;
}

json check_cuda(const Settings& settings, const std::vector<Variable>& activation) {
  json result = nothing_found(kCuda, find_shim());
  if (settings.cuda_audit) result["route"] = "LD_PRELOAD and LD_AUDIT";
  if (result["layer"].get<std::string>().empty()) {
    result["why"] = why_no_library("CUDA", REFRAIN_HAVE_CUDA, "cuda.h");
    return result;
  }
  std::string driver;
  static_cast<void>(activate_cuda(settings, &driver));
  result["driver"] = driver;
  if (driver.empty()) {
    result["why"] = "there is no CUDA driver (libcuda.so.1) to take the place of";
    return result;
  }
  result["interposers"] = interposers_in(kCuda, activation, find_shim());
  try_out(kCuda, settings.cuda, "libcuda.so.1", activation, result);
  return result;
}

json check_hip(const Settings& settings, const std::string& program, const std::vector<Variable>& activation) {
  std::string driver;
  int major = 0;
  static_cast<void>(activate_hip(settings, program, &driver, &major));
  json result = nothing_found(kHip, find_hip_shim(major == 0 ? kSomeHipMajor : major));
  if (result["layer"].get<std::string>().empty()) {
    result["why"] = why_no_library("HIP", REFRAIN_HAVE_HIP, "hip/hip_runtime_api.h");
    return result;
  }
  result["driver"] = driver;
  if (driver.empty()) {
    result["why"] = "there is no HIP runtime (libamdhip64.so.5, .6 or .7) to take the place of";
    return result;
  }
  result["interposers"] = interposers_in(kHip, activation, find_hip_shim(major));
  try_out(kHip, settings.hip, "libamdhip64.so." + std::to_string(major), activation, result);
  if (const int version = result["version"]; version != 0 && version < kOldestHip) {
    result["note"] = "older than ROCm 5.5.1, whose graphs can be changed: everything passes through";
  }
  return result;
}

}  // namespace refrain::env
