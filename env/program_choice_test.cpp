#include "env/program_choice.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace refrain::env {
namespace {

using Catch::Contains;

bool chosen(const char* list, const char* program) {
  return ProgramChoice(list, program).chosen();
}

TEST_CASE("an empty list chooses every program") {
  CHECK(chosen("", "app"));
}

TEST_CASE("one pattern must match, and none that excludes") {
  constexpr const char* kList = "python*, train ,!python2*,!nvidia-smi";
  CHECK(chosen(kList, "python3.11"));
  CHECK(chosen(kList, "train"));
  CHECK_FALSE(chosen(kList, "python2.7"));
  CHECK_FALSE(chosen(kList, "nvidia-smi"));
  CHECK_FALSE(chosen(kList, "bash"));
  CHECK_FALSE(chosen("[ab]?", "c1"));
  CHECK(chosen("[ab]?", "b1"));
}

TEST_CASE("the order of patterns is of no consequence") {
  for (const char* list : {"!b,*", "*,!b"}) {
    CHECK(chosen(list, "a"));
    CHECK_FALSE(chosen(list, "b"));
  }
}

TEST_CASE("with nothing but exclusions all others are chosen") {
  CHECK(chosen("!nvidia-smi", "app"));
  CHECK_FALSE(chosen("!nvidia-smi", "nvidia-smi"));
}

TEST_CASE("lists that can match nothing are told of") {
  for (const char* fine : {"", "a", "a,b", " !a , b* "}) CHECK(ProgramChoice::problem(fine).empty());
  for (const char* empty : {",", "a,,b", "!", "a, "}) {
    CAPTURE(empty);
    CHECK_THAT(ProgramChoice::problem(empty), Contains("empty pattern"));
  }
  CHECK_THAT(ProgramChoice::problem("/usr/bin/python3"), Contains("folders are not looked at"));
}

TEST_CASE("a program's name is that of its executable file, and decides its mode") {
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").filename();
  CHECK(executable_name() == own);
  const auto mode = [](const std::string& list) {
    ::setenv("REFRAIN_CONFIG", "/dev/null", 1);
    ::setenv("REFRAIN_PROGRAMS", list.c_str(), 1);
    ::setenv("REFRAIN_CHUNK_MAX", "many", 1);
    std::vector<SettingProblem> problems;
    const Settings settings = load_settings(problems);
    CHECK(problems.size() == (settings.mode == Mode::kOff ? 0 : 1));
    CHECK(configured_settings(problems).mode == Mode::kReplay);
    ::unsetenv("REFRAIN_PROGRAMS");
    ::unsetenv("REFRAIN_CHUNK_MAX");
    return settings.mode;
  };
  CHECK(mode(own) == Mode::kReplay);
  CHECK(mode("!" + own) == Mode::kOff);
  CHECK(mode("another") == Mode::kOff);
}

}  // namespace
}  // namespace refrain::env
