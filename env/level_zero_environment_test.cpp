#include "env/level_zero_environment.h"

#include <catch2/catch.hpp>
#include <map>

using namespace refrain::env;

namespace {

using Environment = std::map<std::string, std::string>;

Lookup lookup_in(const Environment& environment) {
  return [&environment](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

Environment after(Environment environment, const std::vector<Variable>& changes) {
  for (const Variable& change : changes) {
    if (change.value) {
      environment[change.name] = *change.value;
    } else {
      environment.erase(change.name);
    }
  }
  return environment;
}

}  // namespace

TEST_CASE("Level Zero: what is set is taken back, whatever was there") {
  for (const Environment& before : std::vector<Environment>{{},
                                                            {{"LD_LIBRARY_PATH", "/a:/b"}},
                                                            {{"LD_LIBRARY_PATH", ""}},
                                                            {{"ZE_ENABLE_VALIDATION_LAYER", "1"}},
                                                            {{"ZE_ENABLE_VALIDATION_LAYER", "0"}}}) {
    Environment active = after(before, activate_level_zero("/refrain/level_zero", lookup_in(before)));
    CHECK(active["ZE_ENABLE_VALIDATION_LAYER"] == "1");
    CHECK(active["LD_LIBRARY_PATH"].rfind("/refrain/level_zero", 0) == 0);
    const auto wanted = before.find("ZE_ENABLE_VALIDATION_LAYER");
    CHECK(wants_real_validation(lookup_in(active)) == (wanted != before.end() && wanted->second == "1"));
    // Once more inside, which changes nothing.
    const Environment twice = after(active, activate_level_zero("/refrain/level_zero", lookup_in(active)));
    CHECK(twice == active);
    CHECK(after(twice, remove_level_zero("/refrain/level_zero", lookup_in(twice))) == before);
  }
}
