#include "env/ranges_environment.h"

#include <catch2/catch.hpp>
#include <map>

using namespace refrain::env;

namespace {

using Environment = std::map<std::string, std::string>;

Environment after(Environment environment, std::vector<Variable> (*change)(const Lookup&)) {
  const Lookup lookup = [&environment](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  for (const Variable& variable : change(lookup)) {
    if (variable.value) {
      environment[variable.name] = *variable.value;
    } else {
      environment.erase(variable.name);
    }
  }
  return environment;
}

std::vector<Variable> activate(const Lookup& lookup) {
  return activate_ranges("/a b/librefrain_exit.so", lookup);
}

}  // namespace

TEST_CASE("ranges: what is set is taken back, and what a tool has set stays") {
  const Environment tool{{"NVTX_INJECTION64_PATH", "/nsight/libtool.so"}, {"PATH", "/bin"}};
  const Environment active = after(tool, activate);
  CHECK(active.at("NVTX_INJECTION64_PATH") == "/nsight/libtool.so");
  CHECK(active.at("INTEL_LIBITTNOTIFY64") == "/a b/librefrain_exit.so");
  CHECK(after(active, activate) == active);
  CHECK(after(active, remove_ranges) == tool);
  CHECK(after({}, activate).size() == 2);
  CHECK(after(after({}, activate), remove_ranges).empty());
}

TEST_CASE("ranges: wanted as the setting says, else where the user looks") {
  Settings settings;
  for (const Mode mode : {Mode::kObserve, Mode::kCapture, Mode::kReplay, Mode::kVerify, Mode::kOff}) {
    settings.mode = mode;
    settings.ranges = RangesChoice::kAuto;
    CHECK(wants_ranges(settings) == (mode == Mode::kObserve || mode == Mode::kCapture));
    settings.ranges = RangesChoice::kOn;
    CHECK(wants_ranges(settings));
    settings.ranges = RangesChoice::kOff;
    CHECK_FALSE(wants_ranges(settings));
  }
}
