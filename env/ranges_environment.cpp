#include "env/ranges_environment.h"

#include <cstring>
#include <string_view>

namespace refrain::env {
namespace {

constexpr const char* kVariables[] = {"NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64"};
constexpr std::string_view kFile = "/librefrain_exit.so";

}  // namespace

bool wants_ranges(const Settings& settings) noexcept {
  const bool looks = settings.mode == Mode::kObserve || settings.mode == Mode::kCapture;
  return settings.ranges == RangesChoice::kOn || (settings.ranges == RangesChoice::kAuto && looks);
}

std::vector<Variable> activate_ranges(const std::string& library, const Lookup& lookup) {
  std::vector<Variable> changes;
  for (const char* variable : kVariables) {
    if (lookup(variable).value_or("").empty()) changes.push_back({variable, library});
  }
  return changes;
}

std::vector<Variable> remove_ranges(const Lookup& lookup) {
  std::vector<Variable> changes;
  for (const char* variable : kVariables) {
    if (names_own_ranges(lookup(variable).value_or("").c_str())) changes.push_back({variable, std::nullopt});
  }
  return changes;
}

bool names_own_ranges(const char* value) noexcept {
  return value != nullptr && std::string_view(value).ends_with(kFile);
}

}  // namespace refrain::env
