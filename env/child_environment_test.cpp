#include "env/child_environment.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

// What ocl-icd 2.3.1 does to its process's environment when it loads the layers.
void load_layers(Environment& environment) {
  std::string& list = environment.at("OPENCL_LAYERS");
  list = list.substr(0, list.find(':'));
}

const std::string kLayer = "/opt/refrain/librefrain_opencl.so";

TEST_CASE("run, load, repair: followed children inherit the whole list") {
  for (const std::string before : {"", "/a.so", "/a.so:/b.so", "/a.so::/b.so"}) {
    CAPTURE(before);
    Environment environment{{"HOME", "/root"}};
    if (!before.empty()) environment["OPENCL_LAYERS"] = before;
    change(environment, activate_opencl(kLayer, in(environment)));
    const std::string whole = before.empty() ? kLayer : before + ":" + kLayer;
    CHECK(environment.at("OPENCL_LAYERS") == whole);
    load_layers(environment);
    change(environment, repair_opencl(kLayer, true, in(environment)));
    CHECK(environment.at("OPENCL_LAYERS") == whole);
    // And once more in the child.
    load_layers(environment);
    change(environment, repair_opencl(kLayer, true, in(environment)));
    CHECK(environment.at("OPENCL_LAYERS") == whole);
  }
}

TEST_CASE("children that are not followed get exactly the environment from before run") {
  for (const Environment& before :
       {Environment{}, Environment{{"OPENCL_LAYERS", ""}}, Environment{{"OPENCL_LAYERS", "/a.so"}},
        Environment{{"OPENCL_LAYERS", "/a.so:/b.so"}, {"LD_PRELOAD", "/x.so"}}}) {
    Environment environment = before;
    change(environment, activate_opencl(kLayer, in(environment)));
    CHECK(environment != before);
    load_layers(environment);
    change(environment, repair_opencl(kLayer, false, in(environment)));
    CHECK(environment == before);
    change(environment, repair_opencl(kLayer, false, in(environment)));
    CHECK(environment == before);
  }
}

TEST_CASE("run inside run names the layer once and remembers the outermost environment") {
  const Environment before{{"OPENCL_LAYERS", "/a.so"}};
  Environment environment = before;
  change(environment, activate_opencl(kLayer, in(environment)));
  SECTION("at once") {}
  SECTION("from a process whose list the loader has cut") {
    load_layers(environment);
  }
  change(environment, activate_opencl(kLayer, in(environment)));
  CHECK(environment.at("OPENCL_LAYERS") == "/a.so:" + kLayer);
  change(environment, repair_opencl(kLayer, false, in(environment)));
  CHECK(environment == before);
}

TEST_CASE("a list set by hand, without run") {
  Environment environment{{"OPENCL_LAYERS", "/a.so:" + kLayer + ":/b.so"}};
  SECTION("is left alone when children are followed") {
    CHECK(repair_opencl(kLayer, true, in(environment)).empty());
  }
  SECTION("loses the layer when they are not") {
    change(environment, repair_opencl(kLayer, false, in(environment)));
    CHECK(environment == Environment{{"OPENCL_LAYERS", "/a.so:/b.so"}});
  }
  SECTION("is not restored to what run saw if the application changed it later") {
    environment = {{"OPENCL_LAYERS", "/a.so"}};
    change(environment, activate_opencl(kLayer, in(environment)));
    environment["OPENCL_LAYERS"] = "/mine.so";
    CHECK(repair_opencl(kLayer, true, in(environment)).empty());
    change(environment, repair_opencl(kLayer, false, in(environment)));
    CHECK(environment == Environment{{"OPENCL_LAYERS", "/mine.so"}});
  }
}

TEST_CASE("the same layer by another path is recognised") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("refrain_child_environment_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "layer.so") << "x";
  std::filesystem::create_symlink(folder / "layer.so", folder / "link.so");
  const std::string layer = (folder / "layer.so").string();
  Environment environment{{"OPENCL_LAYERS", (folder / "link.so").string()}};
  change(environment, activate_opencl(layer, in(environment)));
  CHECK(environment.at("OPENCL_LAYERS") == (folder / "link.so").string());
  change(environment, repair_opencl(layer, false, in(environment)));
  CHECK(environment.count("OPENCL_LAYERS") == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("restore_environment works on this process") {
  ::setenv("OPENCL_LAYERS", "/a.so", 1);
  ::setenv("REFRAIN_OPENCL_LAYERS", "/a.so:/r.so", 1);
  ::setenv("REFRAIN_SAVED_OPENCL_LAYERS", "/a.so", 1);
  Settings settings;
  restore_environment(settings);
  CHECK(process_variable("OPENCL_LAYERS") == "/a.so:/r.so");
  settings.follow_children = false;
  restore_environment(settings);
  CHECK(process_variable("OPENCL_LAYERS") == "/a.so");
  CHECK_FALSE(process_variable("REFRAIN_OPENCL_LAYERS"));
  CHECK_FALSE(process_variable("REFRAIN_SAVED_OPENCL_LAYERS"));
  ::unsetenv("OPENCL_LAYERS");
}

}  // namespace
}  // namespace refrain::env
