#include "env/aside.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "env/log.h"

namespace {

using refrain::env::Api;

std::string why(Api api, const std::map<std::string, std::string>& variables, const std::string& status = {}) {
  return refrain::env::why_aside(
      api,
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      status);
}

TEST_CASE("blocking launches and tools are noticed by the API that they are for") {
  CHECK(why(Api::kCuda, {}).empty());
  CHECK(why(Api::kCuda, {{"CUDA_LAUNCH_BLOCKING", "1"}}) ==
        "CUDA_LAUNCH_BLOCKING=1 asks for work that is done when its call returns");
  CHECK(why(Api::kHip, {{"CUDA_LAUNCH_BLOCKING", "1"}}).empty());
  CHECK_FALSE(why(Api::kHip, {{"AMD_SERIALIZE_KERNEL", "3"}}).empty());
  CHECK_FALSE(why(Api::kHip, {{"HIP_LAUNCH_BLOCKING", "1"}}).empty());
  CHECK_FALSE(why(Api::kOpenCl, {{"CLI_FinishAfterEnqueue", "1"}}).empty());
  CHECK_FALSE(why(Api::kLevelZero, {{"ZE_ENABLE_TRACING_LAYER", "1"}}).empty());
  CHECK_FALSE(why(Api::kCuda, {{"CUDA_INJECTION64_PATH", "/opt/libsanitizer-collection.so"}}).empty());
}

TEST_CASE("variables that say no are as good as none") {
  for (const char* value : {"", "0", "off", "False"}) {
    CHECK(why(Api::kCuda, {{"CUDA_LAUNCH_BLOCKING", value}}).empty());
  }
}

TEST_CASE("a process that is traced is noticed") {
  CHECK(why(Api::kCuda, {}, "Name:\tapp\nTracerPid:\t0\nUid:\t0\n").empty());
  CHECK(why(Api::kOpenCl, {}, "Name:\tapp\nTracerPid:\t4711\nUid:\t0\n") ==
        "process 4711 traces this one, as debuggers do");
}

TEST_CASE("what asks for blocking is minded, unless the user says that it does not matter") {
  using refrain::env::Mode;
  refrain::env::Settings quiet;
  quiet.log_level = refrain::env::LogLevel::kOff;
  refrain::env::open_log(quiet);
  REQUIRE(setenv("CUDA_LAUNCH_BLOCKING", "1", 1) == 0);
  for (const bool wanted : {true, false}) {
    refrain::env::Settings settings;
    settings.mode = Mode::kReplay;
    settings.stand_aside = wanted;
    refrain::env::stand_aside(settings, Api::kCuda);
    CHECK(settings.mode == (wanted ? Mode::kObserve : Mode::kReplay));
  }
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

}  // namespace
