#include "env/preload.h"

#include <catch2/catch.hpp>
#include <map>

namespace refrain::env {
namespace {

using Environment = std::map<std::string, std::string>;

Lookup in(const Environment& environment) {
  return [&environment](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
}

void change(Environment& environment, const std::vector<Variable>& changes) {
  for (const Variable& variable : changes) {
    if (variable.value) {
      environment[variable.name] = *variable.value;
    } else {
      environment.erase(variable.name);
    }
  }
}

const std::string kShim = "/opt/refrain/librefrain_cuda.so";

TEST_CASE("what is preloaded already stays in front of ours, and comes back exactly") {
  for (const char* variable : {"LD_PRELOAD", "LD_AUDIT"}) {
    for (const Environment& before : {Environment{}, Environment{{variable, ""}}, Environment{{variable, "/a.so"}},
                                      Environment{{variable, "/a.so:/b.so"}}}) {
      Environment environment = before;
      change(environment, activate_library(variable, kShim, in(environment)));
      const std::string list = environment.at(variable);
      CHECK(list.ends_with(kShim));
      change(environment, activate_library(variable, kShim, in(environment)));  // run inside run
      CHECK(environment.at(variable) == list);
      change(environment, remove_libraries(variable, {kShim}, in(environment)));
      CHECK(environment == before);
      change(environment, remove_libraries(variable, {kShim}, in(environment)));
      CHECK(environment == before);
      const std::string second = "/opt/refrain/librefrain_exit.so";
      change(environment, activate_library(variable, kShim, in(environment)));
      change(environment, activate_library(variable, second, in(environment)));
      change(environment, remove_libraries(variable, {kShim, second}, in(environment)));
      CHECK(environment == before);
    }
  }
}

TEST_CASE("entries that the application added meanwhile stay") {
  Environment environment{{"LD_PRELOAD", "/a.so " + kShim + " /b.so:/c.so"}};
  change(environment, remove_libraries("LD_PRELOAD", {kShim}, in(environment)));
  CHECK(environment == Environment{{"LD_PRELOAD", "/a.so /b.so:/c.so"}});
  environment = {{"LD_PRELOAD", "/a.so:" + kShim}};
  change(environment, remove_libraries("LD_PRELOAD", {kShim}, in(environment)));
  CHECK(environment == Environment{{"LD_PRELOAD", "/a.so"}});
}

TEST_CASE("what was added behind ours comes to stand in front of it") {
  const std::string hip = "/opt/refrain/librefrain_hip5.so";
  Environment environment{{"LD_PRELOAD", "/a.so"}};
  for (const std::string& library : {kShim, hip}) {
    change(environment, activate_library("LD_PRELOAD", library, in(environment)));
  }
  CHECK(environment.at("LD_PRELOAD") == "/a.so:" + kShim + ":" + hip);
  environment["LD_PRELOAD"] += " /b.so";
  for (const std::string& library : {kShim, hip}) {
    change(environment, activate_library("LD_PRELOAD", library, in(environment)));
  }
  CHECK(environment.at("LD_PRELOAD") == "/a.so:/b.so:" + kShim + ":" + hip);
}

TEST_CASE("what is to stand in front of ours is put there once") {
  Environment environment{{"LD_PRELOAD", "/a.so"}};
  change(environment, activate_library("LD_PRELOAD", kShim, in(environment), {"/a.so", "/limits.so"}));
  CHECK(environment.at("LD_PRELOAD") == "/a.so:/limits.so:" + kShim);
  change(environment, activate_library("LD_PRELOAD", kShim, in(environment), {"/a.so", "/limits.so"}));
  CHECK(environment.at("LD_PRELOAD") == "/a.so:/limits.so:" + kShim);
}

TEST_CASE("a path that can't be named in the variable is refused") {
  const Environment environment;
  CHECK_THROWS(activate_library("LD_PRELOAD", "/with blank/x.so", in(environment)));
  CHECK_THROWS(activate_library("LD_PRELOAD", "/with:colon/x.so", in(environment)));
  CHECK_NOTHROW(activate_library("LD_AUDIT", "/with blank/x.so", in(environment)));
}

}  // namespace
}  // namespace refrain::env
