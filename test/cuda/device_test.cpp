// Which device is the calling thread's: what layer/cuda/cudart.h answers in the shared runtime's place.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/cuda/run_process.h"

namespace {

constexpr int kQuestions = 500;
constexpr int kThreads = 2;
constexpr int kOthers = 6;  // of each program: nowhere, another, own, child, parent, at exit

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
  const std::vector<std::string> cases[] = {{"SIM_DEVICES=2"},
                                            {"REFRAIN_ANSWER_QUERIES=off"},
                                            {"REFRAIN_MODE=observe"},
                                            {"REFRAIN_MODE=off"},
                                            {"REFRAIN_CUDA=off"}};
  for (const std::vector<std::string>& environment : cases) {
    CAPTURE(environment.front());
    const Outcome plain = ask(environment, false);
    const Outcome asked = ask(environment);
    CHECK(asked.status == 0);
    CHECK(asked.output == plain.output);
    CHECK(questions_of(asked) >= questions_of(plain));
  }
}

TEST_CASE("several devices are told of in the log") {
  const Outcome told = ask({"REFRAIN_LOG_LEVEL=debug", "SIM_DEVICES=2"});
  CHECK(count_lines(told.output, "several devices are visible") == 1);
  CHECK(calls_of(told, "cuDeviceGetCount") == 1);  // by Refrain; the program does not ask
}

TEST_CASE("without a driver the runtime says so") {
  const Outcome outcome = ask({"REFRAIN_CUDA_DRIVER=/nowhere/libcuda.so.1"});
  CHECK(outcome.status == 0);
  CHECK(count_lines(outcome.output, "cudaSuccess 0") == 0);
}
