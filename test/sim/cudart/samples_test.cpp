// The CUDA samples, unmodified, on the simulated device: the results are the same in every mode, for their single
// submissions and for their graphs made by hand.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "test/support/child.h"

namespace {

using child::Result;
using Words = std::vector<std::string>;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Sample {
  const char* program;
  const char* kernels;
  Words arguments;
};

Result run(const Sample& sample, const std::string& mode, int seed, bool graph, const Words& more = {}) {
  const char* path = std::getenv("PATH");
  Words environment = {"SIM_SEED=" + std::to_string(seed),
                       std::string("SIM_KERNELS=" SIM_KERNELS_FOLDER "/") + sample.kernels + ".so",
                       "PATH=" + std::string(path != nullptr ? path : "/usr/bin")};
  environment.insert(environment.end(), more.begin(), more.end());
  Words command;
  if (mode == "plain" || !kSanitized) {
    environment.push_back("LD_LIBRARY_PATH=" SIM_FOLDER ":" RUNTIME_FOLDER);
  } else {  // a preloaded library would come before the sanitizer's own
    environment.push_back("LD_LIBRARY_PATH=" SHIM_FOLDER ":" RUNTIME_FOLDER);
    environment.push_back("REFRAIN_CUDA_DRIVER=" SIM_CUDA);
  }
  if (mode != "plain") {
    environment.push_back("REFRAIN_MODE=" + (mode == "gate" ? "replay" : mode));
    environment.push_back(std::string("REFRAIN_GATE=") + (mode == "gate" ? "1" : "0"));
    environment.push_back("REFRAIN_CAPTURE_FILE=" + child::scratch("capture.rfn"));
    if (!kSanitized) {
      command = {REFRAIN, "run", "--"};
    }
  }
  command.push_back(std::string(SAMPLES_FOLDER "/") + sample.program);
  command.insert(command.end(), sample.arguments.begin(), sample.arguments.end());
  if (graph) {
    command.emplace_back("--graph");
  }
  return child::run(command, environment, kSanitized ? 300 : 60);
}

void check_clean(const Result& result) {
  INFO("output: " << result.output.substr(0, 2000));
  INFO("errors: " << result.errors.substr(0, 4000));
  CHECK(result.exit_code == 0);
  CHECK(result.errors.find("violation") == std::string::npos);
  CHECK(result.errors.find("[refrain] error") == std::string::npos);
}

void same_everywhere(const Sample& sample) {
  const Result plain = run(sample, "plain", 0, false);
  check_clean(plain);
  REQUIRE(plain.output.find("checksum ") != std::string::npos);
  for (const bool graph : {false, true}) {
    for (const int seed : {0, 1, 2}) {
      CAPTURE(sample.program, graph, seed);
      CHECK(run(sample, "plain", seed, graph).output == plain.output);
      for (const std::string mode : {"observe", "capture", "replay", "gate", "verify"}) {
        CAPTURE(mode);
        const Result result = child::run_until_replayed(mode == "replay" && !graph ? 1 : 0, plain.output,
                                                        [&] { return run(sample, mode, seed, graph); });
        check_clean(result);
        CHECK(result.output == plain.output);
        REQUIRE(result.reported);  // the layer was in
        CHECK(result.submissions > 0);
        CHECK(result.differences == 0);
        if (mode == "replay" && !graph) {
          CHECK(result.replayed > 0);
        } else if (mode != "gate" && mode != "replay" && mode != "verify") {
          CHECK(result.replayed == 0);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("CUDA samples on the simulated device: heat with the driver API") {
  same_everywhere({"heat_driver", "heat", {"--size", "32", "--iterations", "2000", "--report-every", "50"}});
}

TEST_CASE("CUDA samples on the simulated device: heat with the runtime as a library") {
  same_everywhere({"heat_shared", "heat", {"--size", "29", "--iterations", "1400", "--report-every", "7"}});
}

TEST_CASE("CUDA samples on the simulated device: conjugate gradients") {
  same_everywhere({"cg_shared", "cg", {"--size", "16", "--solves", "12"}});
}

TEST_CASE("CUDA samples on the simulated device: streams that fork and join") {
  same_everywhere({"forkjoin_shared", "forkjoin", {"--size", "64", "--iterations", "40", "--kernels", "20"}});
}

TEST_CASE("CUDA samples on the simulated device: one scalar that changes") {
  same_everywhere({"scalar_shared", "scalar", {"--size", "32", "--iterations", "60", "--launches", "50"}});
}

TEST_CASE("CUDA samples on the simulated device: in virtual time, and with several workers") {
  const Sample sample{"heat_shared", "heat", {"--size", "29", "--iterations", "1400", "--report-every", "7"}};
  const Result plain = run(sample, "plain", 0, false);
  for (const Words& way :
       {Words{"SIM_TIME=virtual", "SIM_COSTS=submit=3us,launch=2us,kernel=2us"}, Words{"SIM_WORKERS=4"}}) {
    for (const std::string mode : {"plain", "replay"}) {
      CAPTURE(way.front(), mode);
      const Result result = run(sample, mode, 1, false, way);
      check_clean(result);
      CHECK(result.output == plain.output);
    }
  }
}

TEST_CASE("CUDA samples on the simulated device: without their side library they end with a clear error") {
  const Result result = run({"heat_driver", "nothing", {}}, "plain", 0, false);
  CHECK(result.exit_code == 1);
  CHECK(result.errors.find("sim: no kernels in") != std::string::npos);
  CHECK(result.errors.find("CUDA_ERROR_NOT_FOUND") != std::string::npos);
}
