// How calls reach the layer, through the real loader: in the validation layer's place, with the user's own validation
// layer behind it, without a driver, and by functions of extensions.

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "test/support/child.h"

namespace {

using Variables = std::map<std::string, std::string>;

child::Result run(std::vector<std::string> command, const Variables& more) {
  Variables variables = {
      {"PATH", "/usr/bin:/bin"}, {"ZE_ENABLE_ALT_DRIVERS", SIMULATED_DRIVER}, {"SIM_ZE_EXTENSIONS", ""}};
  for (const auto& [name, value] : more) {
    variables[name] = value;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) {
    environment.push_back(name + "=" + value);
  }
  return child::run(std::move(command), environment, 120);
}

const Variables kPlain;
const Variables kLayer = {{"LD_LIBRARY_PATH", LAYER_FOLDER},
                          {"ZE_ENABLE_VALIDATION_LAYER", "1"},
                          {"REFRAIN_LEVEL_ZERO_ACTIVE", "1"},
                          {"REFRAIN_MODE", "replay"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) {
    variables[name] = value;
  }
  return variables;
}

}  // namespace

TEST_CASE("the loader takes the layer for its validation layer, and the program sees no difference") {
  const auto plain = run({LINKED_PROGRAM}, kPlain);
  INFO(plain.output << plain.errors);
  REQUIRE(plain.exit_code == 0);
  const auto layered = run({LINKED_PROGRAM}, kLayer);
  INFO(layered.output << layered.errors);
  CHECK(layered.exit_code == 0);
  CHECK(layered.output == plain.output);
  CHECK(layered.reported);
  CHECK(layered.submissions == 1);
  CHECK(layered.errors.find("violation") == std::string::npos);
}

TEST_CASE("the same where the loader wraps handles") {
  const Variables intercept = {{"ZE_ENABLE_LOADER_INTERCEPT", "1"}};
  const auto plain = run({LINKED_PROGRAM}, intercept);
  const auto layered = run({LINKED_PROGRAM}, with(kLayer, intercept));
  INFO(layered.output << layered.errors);
  CHECK(layered.exit_code == 0);
  CHECK(layered.output == plain.output);
  CHECK(layered.submissions == 1);
}

TEST_CASE("without a driver zeInit fails as it always did", "[promise-7]") {
  const Variables nothing = {{"ZE_ENABLE_ALT_DRIVERS", "/no/such/driver.so"}};
  const auto plain = run({LINKED_PROGRAM}, nothing);
  CHECK(plain.exit_code == 1);
  const auto layered = run({LINKED_PROGRAM}, with(kLayer, nothing));
  CHECK(layered.exit_code == 1);
  CHECK(layered.output == plain.output);
}

TEST_CASE("the user's own validation layer works as before", "[promise-7]") {
  const Variables validation = {{"ZE_ENABLE_PARAMETER_VALIDATION", "1"}};
  const auto none = run({LINKED_PROGRAM, "wrong"}, kPlain);
  const auto plain = run({LINKED_PROGRAM, "wrong"}, with(validation, {{"ZE_ENABLE_VALIDATION_LAYER", "1"}}));
  INFO(plain.output << plain.errors);
  REQUIRE(plain.exit_code == 0);
  REQUIRE(plain.output != none.output);  // it minds what nobody else minds
  const auto chained = run({LINKED_PROGRAM, "wrong"},
                           with(with(kLayer, validation), {{"REFRAIN_SAVED_ZE_ENABLE_VALIDATION_LAYER", "1"}}));
  INFO(chained.output << chained.errors);
  CHECK(chained.output == plain.output);
  CHECK(chained.submissions == 1);  // behind it we are
  const auto ours = run({LINKED_PROGRAM, "wrong"}, with(kLayer, validation));
  CHECK(ours.output == none.output);
  // Switched off, it is a way to the user's layer and nothing else.
  const auto off =
      run({LINKED_PROGRAM, "wrong"},
          with(with(kLayer, validation), {{"REFRAIN_SAVED_ZE_ENABLE_VALIDATION_LAYER", "1"}, {"REFRAIN_MODE", "off"}}));
  CHECK(off.output == plain.output);
  CHECK_FALSE(off.reported);
}

TEST_CASE("functions of extensions are watched", "[promise-2]") {
  const Variables offered = {{"SIM_ZE_EXTENSIONS", "append"}};
  const auto plain = run({LINKED_PROGRAM}, offered);
  CHECK(plain.errors.find("append in libze_sim.so, the same") != std::string::npos);
  const auto layered = run({LINKED_PROGRAM}, with(kLayer, offered));
  INFO(layered.output << layered.errors);
  CHECK(layered.exit_code == 0);
  CHECK(layered.output == plain.output);
  CHECK(layered.errors.find("append in libze_validation_layer.so.1, the same") != std::string::npos);
  CHECK(layered.errors.find("violation") == std::string::npos);
}

TEST_CASE("refrain run finds the way by itself, and back") {
  const auto plain = run({LINKED_PROGRAM}, kPlain);
  const auto layered = run({REFRAIN, "run", "--no-opencl", "--no-cuda", "--no-hip", "--", LINKED_PROGRAM}, kPlain);
  INFO(layered.output << layered.errors);
  CHECK(layered.exit_code == 0);
  CHECK(layered.output == plain.output);
  CHECK(layered.submissions == 1);
  const auto off =
      run({REFRAIN, "run", "--no-opencl", "--no-cuda", "--no-hip", "--no-level-zero", "--", LINKED_PROGRAM}, kPlain);
  CHECK(off.output == plain.output);
  CHECK_FALSE(off.reported);
  // What the program starts finds the environment as it was before.
  const auto child = run(
      {REFRAIN, "run", "--no-opencl", "--no-cuda", "--no-hip", "--no-follow-children", "--", PROGRAMS_FILE, "child"},
      {{"LD_LIBRARY_PATH", "/nowhere"}});
  CHECK(child.output.find("child LD_LIBRARY_PATH=/nowhere ZE_ENABLE_VALIDATION_LAYER=none") != std::string::npos);
}

TEST_CASE("refrain doctor shows the route") {
  const auto result = run({REFRAIN, "doctor", "--json"}, kPlain);
  const auto at = result.output.find("\"level_zero\"");
  REQUIRE(at != std::string::npos);
  const std::string section = result.output.substr(at, 700);
  INFO(section);
  CHECK(section.find("\"hooked\": true") != std::string::npos);
  CHECK(section.find("level_zero/libze_validation_layer.so.1") != std::string::npos);
  const auto nothing = run({REFRAIN, "doctor"}, {{"ZE_ENABLE_ALT_DRIVERS", "/no/such/driver.so"}});
  CHECK(nothing.output.find("a loader without a driver opens no layers") != std::string::npos);
}

TEST_CASE("refrain doctor says that a process with the layer crashes") {
  const std::filesystem::path folder = child::scratch("crashing");
  std::filesystem::create_directories(folder / "bin");
  std::filesystem::create_directories(folder / "lib/level_zero");
  std::filesystem::copy_file(REFRAIN, folder / "bin/refrain");
  std::filesystem::copy_file(CRASHING_LAYER, folder / "lib/level_zero/libze_validation_layer.so.1");
  const auto result = run({folder / "bin/refrain", "doctor", "--no-cuda", "--no-hip"}, kPlain);
  INFO(result.output << result.errors);
  CHECK(result.exit_code == 1);
  CHECK(result.output.find("no: a process with the library: killed by Aborted") != std::string::npos);
}

TEST_CASE("refrain dump reads a capture") {
  const std::string file = child::scratch("loop.rfn");
  const auto captured =
      run({PROGRAMS_FILE, "fork_join"}, with(kLayer, {{"REFRAIN_MODE", "capture"}, {"REFRAIN_CAPTURE_FILE", file}}));
  REQUIRE(captured.exit_code == 0);
  const auto dumped = run({REFRAIN, "dump", file}, kPlain);
  INFO(dumped.output << dumped.errors);
  CHECK(dumped.exit_code == 0);
  CHECK(dumped.output.find("mix_in") != std::string::npos);
  CHECK(dumped.output.find("Simulated device") != std::string::npos);
}

TEST_CASE("a capture names all memory that commands use, not only that of their first arguments") {
  const std::string file = child::scratch("memory.rfn");
  const auto captured = run({PROGRAMS_FILE, "short_lived_lists"},
                            with(kLayer, {{"REFRAIN_MODE", "capture"}, {"REFRAIN_CAPTURE_FILE", file}}));
  REQUIRE(captured.exit_code == 0);
  const auto dumped = run({REFRAIN, "dump", file}, kPlain);
  INFO(dumped.output << dumped.errors);
  CHECK(dumped.output.find(", 2 buffers (") != std::string::npos);
}

TEST_CASE("another copy of the layer, beside the loader, is not taken for the user's own validation layer") {
  const std::filesystem::path folder = child::scratch("copy");
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(std::filesystem::canonical(LOADER_FILE), folder / "libze_loader.so.1");
  std::filesystem::copy_file(std::filesystem::path(LAYER_FOLDER) / "libze_validation_layer.so.1",
                             folder / "libze_validation_layer.so.1");
  const auto plain = run({LINKED_PROGRAM}, {{"LD_LIBRARY_PATH", folder}});
  const auto result = run({LINKED_PROGRAM}, with(kLayer, {{"LD_LIBRARY_PATH", LAYER_FOLDER ":" + folder.string()},
                                                          {"REFRAIN_SAVED_ZE_ENABLE_VALIDATION_LAYER", "1"}}));
  INFO(result.output << result.errors);
  CHECK(result.output == plain.output);
  CHECK(result.submissions == 1);
  CHECK(result.errors.find("it is left out") != std::string::npos);
}

namespace {

/// own_loader.cpp without the layer, and with it, where so much was replayed at least.
child::Result own_loader(const char* which, long least, const Variables& more = {}) {
  CAPTURE(which);
  const auto plain = run({OWN_LOADER, SIMULATED_DRIVER, "-", which}, more);
  INFO(plain.output << plain.errors);
  REQUIRE(plain.exit_code == 0);
  auto result = child::run_until_replayed(least, plain.output, [&] {
    return run({OWN_LOADER, SIMULATED_DRIVER, LAYER_FOLDER "/libze_validation_layer.so.1", which},
               with(with(kLayer, {{"REFRAIN_GATE", "0"}}), more));
  });
  INFO(result.output << result.errors);
  CHECK(result.exit_code == 0);
  CHECK(result.output == plain.output);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.reported);
  CHECK(result.replayed >= least);
  return result;
}

}  // namespace

TEST_CASE("a loader may hand out a table twice") {
  own_loader("twice", 500);
}

TEST_CASE("with a loader that is newer than the layer nothing is held, and the log says so", "[promise-7]") {
  const auto result = own_loader("newer", 0);
  CHECK(result.replayed == 0);
  CHECK(result.errors.find("loader is newer than version") != std::string::npos);
}

TEST_CASE("what is held when a newer loader comes runs before what is submitted from then on") {
  const auto plain = run({OWN_LOADER, SIMULATED_DRIVER, "-", "later"}, kPlain);
  INFO(plain.output << plain.errors);
  REQUIRE(plain.exit_code == 0);
  constexpr long kLeast = 500;
  const auto result = child::run_until(
      [&](const child::Result& done) { return done.output != plain.output || done.replayed >= kLeast; },
      [&] {
        return run({OWN_LOADER, SIMULATED_DRIVER, LAYER_FOLDER "/libze_validation_layer.so.1", "later"},
                   with(kLayer, {{"REFRAIN_GATE", "0"}}));
      });
  INFO(result.output << result.errors);
  CHECK(result.exit_code == 0);
  CHECK(result.output == plain.output);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.errors.find("loader is newer than version") != std::string::npos);
  CHECK(result.replayed >= kLeast);
}

TEST_CASE("a wait for a list that ended too early says nothing about the list") {
  own_loader("late", 500, {{"SIM_LAZY", "1"}});
}

TEST_CASE("memory that was the driver's is looked at no more once it was freed: a copy of it is not held") {
  own_loader("freed", 500);
}

TEST_CASE("a copy that goes beyond the end of the driver's memory is not held") {
  own_loader("beyond", 500);
}
