// Which device is the calling thread's: what layer/cuda/cudart.h answers in the shared runtime's place.
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "test/cuda/run_process.h"

namespace {

constexpr int kQuestions = 500;
constexpr int kThreads = 2;
// Of each program: nowhere, a context, another, own, child, parent, at exit.
constexpr int kOthers = 8;

Outcome ask(std::vector<std::string> environment, bool refrain = true) {
  environment.emplace_back("LD_LIBRARY_PATH=" SIM_FOLDER ":" RUNTIME_FOLDER);
  environment.emplace_back("REFRAIN_REPORT=off");
  if (refrain) {
    environment.emplace_back("LD_PRELOAD=" SHIM);
  }
  return run({DEVICE_PROGRAM, std::to_string(kQuestions)}, environment);
}

int calls_of(const Outcome& outcome, const char* function) {
  return static_cast<int>(std::count(outcome.driver_calls.begin(), outcome.driver_calls.end(), function));
}

/// The simulated runtime looks at the current context for every question.
int questions_of(const Outcome& outcome) {
  return calls_of(outcome, "cuCtxGetCurrent");
}

}  // namespace

TEST_CASE("the only device is known without asking the runtime") {
  const Outcome plain = ask({}, false);
  REQUIRE(plain.status == 0);
  CAPTURE(plain.output);
  CHECK(count_lines(plain.output, "main: cudaSuccess 0") == 1);
  CHECK(count_lines(plain.output, "nowhere: cudaErrorInvalidValue") == 1);
  CHECK(count_lines(plain.output, "child: cudaErrorInitializationError -7") == 1);
  CHECK(count_lines(plain.output, "of the library: 1") == 1);
  const int asked = questions_of(plain);
  CHECK(asked >= kThreads * kQuestions);

  const Outcome answered = ask({});
  CHECK(answered.status == 0);
  CHECK(answered.output == plain.output);
  CHECK(questions_of(answered) <= kThreads + kOthers);
  CHECK(questions_of(answered) >= kThreads);  // each thread's first one

  const Outcome told = ask({"REFRAIN_LOG_LEVEL=debug"});
  CHECK(count_lines(told.output, "one device is visible") == 1);

  const Outcome verified = ask({"REFRAIN_MODE=verify"});
  CHECK(verified.output == plain.output);
  CHECK(questions_of(verified) <= kThreads + kOthers);
}

TEST_CASE("the runtime is asked where there may be another answer, or nothing is to change") {
  const std::vector<std::string> cases[] = {
      {"REFRAIN_ANSWER_QUERIES=off"}, {"REFRAIN_MODE=observe"}, {"REFRAIN_MODE=off"}, {"REFRAIN_CUDA=off"}};
  for (const std::vector<std::string>& environment : cases) {
    CAPTURE(environment.front());
    const Outcome plain = ask(environment, false);
    const Outcome asked = ask(environment);
    CHECK(asked.status == 0);
    CHECK(asked.output == plain.output);
    CHECK(questions_of(asked) >= questions_of(plain));
  }
}

TEST_CASE("of several devices it is the runtime's last answer while the context stays the same") {
  const Outcome plain = ask({"SIM_DEVICES=2"}, false);
  const Outcome told = ask({"REFRAIN_LOG_LEVEL=debug", "SIM_DEVICES=2"});
  CHECK(count_lines(plain.output, "after another: cudaSuccess 1") == 2);
  CHECK(count_lines(told.output, "after another: cudaSuccess 1") == 2);
  CHECK(count_lines(told.output, "several devices are visible") == 1);
  CHECK(calls_of(told, "cuDeviceGetCount") == calls_of(plain, "cuDeviceGetCount") + 1);
  CHECK(ask({"SIM_DEVICES=2"}).output == plain.output);
  CHECK(questions_of(plain) > 3 * kQuestions);
  // A runtime that makes a context current later than its answer says: nothing is concluded from the context then.
  const Outcome lazy = ask({"SIM_DEVICES=2", "SIM_CUDART_LAZY=1"}, false);
  CHECK(lazy.output == plain.output);
  CHECK(ask({"SIM_DEVICES=2", "SIM_CUDART_LAZY=1"}).output == lazy.output);
}

#ifdef DEVICE_RULES
TEST_CASE("whatever way another device becomes the thread's, the answer is the runtime's") {
  const int devices = GENERATE(1, 2, 3);
  CAPTURE(devices);
  const auto rules = [devices](bool refrain) {
    std::vector<std::string> environment = {"LD_LIBRARY_PATH=" SIM_FOLDER ":" RUNTIME_FOLDER, "REFRAIN_REPORT=off",
                                            "SIM_DEVICES=" + std::to_string(devices)};
    if (refrain) {
      environment.emplace_back("LD_PRELOAD=" SHIM);
    }
    Outcome outcome = run({DEVICE_RULES, "--steps", "2000", "--questions", "500"}, environment);
    std::istringstream lines(std::exchange(outcome.output, {}));
    for (std::string line; std::getline(lines, line);) {
      outcome.output += line.starts_with("elapsed") ? "" : line + "\n";
    }
    return outcome;
  };
  const Outcome plain = rules(false);
  const Outcome answered = rules(true);
  CHECK(plain.status == 0);
  CHECK(answered.status == 0);
  CHECK(count_lines(plain.output, "devices") == 1);
  CHECK(answered.output == plain.output);
  // In the runtime's place: the layer asks the driver by the function's older version.
  CHECK(calls_of(answered, "cuCtxGetDevice_v2") < calls_of(plain, "cuCtxGetDevice_v2") * 2 / 3);
}
#endif

TEST_CASE("without a driver the runtime says so") {
  const Outcome outcome = ask({"REFRAIN_CUDA_DRIVER=/nowhere/libcuda.so.1"});
  CHECK(outcome.status == 0);
  CHECK(count_lines(outcome.output, "cudaSuccess 0") == 0);
}
