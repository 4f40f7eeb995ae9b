// The Level Zero section of `refrain doctor`. Needs no vendor header: it makes calls whose arguments are plain.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "env/cli/commands.h"
#include "env/cli/doctor_checks.h"
#include "env/cli/options.h"
#include "env/cli/process.h"

namespace refrain::env {
namespace {

using nlohmann::json;

constexpr const char* kLoader = "libze_loader.so.1";
constexpr int kProbeSeconds = 60;

// "1 driver" or what is wrong, after a first call, which has the loader open drivers and layers.
std::string count_drivers(bool* good) {
  *good = false;
  void* const loader = ::dlopen(kLoader, RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) return "there is no loader";
  auto* const init = reinterpret_cast<int (*)(std::uint32_t)>(::dlsym(loader, "zeInit"));
  auto* const get = reinterpret_cast<int (*)(std::uint32_t*, void**)>(::dlsym(loader, "zeDriverGet"));
  if (init == nullptr || get == nullptr) return "the loader has no zeInit";
  std::uint32_t count = 0;
  if (init(0) != 0 || get(&count, nullptr) != 0 || count == 0) return "the loader finds no driver";
  *good = true;
  return std::to_string(count) + (count == 1 ? " driver" : " drivers");
}

}  // namespace

int touch_level_zero_command(const CommandArguments&) {
  bool good = false;
  static_cast<void>(count_drivers(&good));
  return good ? kSuccess : kFailure;
}

json check_level_zero(const Settings& settings, const std::vector<Variable>& activation) {
  json result{{"api", "Level Zero"},
              {"route", "LD_LIBRARY_PATH and ZE_ENABLE_VALIDATION_LAYER"},
              {"layer", find_level_zero()},
              {"loader", ""},
              {"drivers", ""},
              {"tried", false},
              {"hooked", false},
              {"why", ""}};
  if (result["layer"].get<std::string>().empty()) {
    result["why"] = why_no_library("Level Zero", REFRAIN_HAVE_LEVEL_ZERO, "level_zero/ze_api.h");
    return result;
  }
  if (!has_level_zero_loader()) {
    result["why"] = "there is no Level Zero loader (libze_loader.so.1)";
    return result;
  }
  result["loader"] = kLoader;
  const ChildResult asked = in_child(
      [] {
        bool good = false;
        const std::string text = count_drivers(&good);
        return (good ? "+" : "-") + text;
      },
      kProbeSeconds);
  const bool drivers = asked.failure.empty() && asked.text.starts_with("+");
  result["drivers"] = asked.failure.empty() ? asked.text.substr(1) : asked.failure;
  if (!settings.level_zero) {
    result["why"] = "it is switched off (setting level_zero)";
    return result;
  }
  if (!drivers) {
    result["why"] = "a loader without a driver opens no layers";
    return result;
  }
  result["tried"] = true;
  const SharedDescriptor proof;
  const ChildResult touched =
      in_child([&] { return run_anew(activation, proof, {"touch-level-zero"}); }, kProbeSeconds);
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
  result["why"] = what.empty() ? "the loader did not open the library; ZE_ENABLE_LOADER_DEBUG_TRACE=1 says what it does"
                               : "a process with the library: " + what;
  return result;
}

}  // namespace refrain::env
