// The Level Zero sample on the simulated device: it checks its own results, and prints the same in every mode under
// `refrain run`.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/support/child.h"

namespace {

child::Result run(const std::vector<std::string>& more, const std::string& mode, const std::string& extensions,
                  int seed) {
  std::vector<std::string> command = {HEAT, "--module", HEAT_CODE, "--size", "67"};
  command.insert(command.end(), more.begin(), more.end());
  if (!mode.empty()) {
    const std::vector<std::string> refrain = {REFRAIN,
                                              "run",
                                              "--no-opencl",
                                              "--no-cuda",
                                              "--mode",
                                              mode,
                                              "--no-gate",
                                              "--capture-file",
                                              child::scratch("heat.rfn"),
                                              "--"};
    command.insert(command.begin(), refrain.begin(), refrain.end());
  }
  return child::run(
      command,
      {"PATH=/usr/bin:/bin", std::string("ZE_ENABLE_ALT_DRIVERS=") + SIMULATED_DRIVER,
       std::string("SIM_KERNELS=") + KERNELS, "SIM_SEED=" + std::to_string(seed), "SIM_ZE_EXTENSIONS=" + extensions},
      300);
}

void same_in_every_mode(const std::vector<std::string>& arguments, long least) {
  const child::Result plain = run(arguments, "", "", 0);
  INFO(plain.output << plain.errors);
  REQUIRE(plain.exit_code == 0);
  REQUIRE(plain.output.find(": ok") != std::string::npos);
  for (const std::string mode : {"observe", "capture", "replay"}) {
    for (const std::string extensions : {"", "append", "append,mutable"}) {
      const child::Result result = child::run_until_replayed(mode == "replay" ? least : 0, plain.output,
                                                             [&] { return run(arguments, mode, extensions, 1); });
      CAPTURE(mode, extensions);
      INFO(result.output << result.errors);
      CHECK(result.exit_code == 0);
      CHECK(result.output == plain.output);
      CHECK(result.errors.find("violation") == std::string::npos);
      CHECK(result.reported);
      CHECK(result.replayed >= (mode == "replay" ? least : 0));
    }
  }
}

}  // namespace

TEST_CASE("heat on an immediate list") {
  same_in_every_mode({"--iterations", "1500", "--report-every", "10"}, 300);
}

TEST_CASE("heat, where the buffers end swapped after each stretch") {
  same_in_every_mode({"--iterations", "1500", "--report-every", "7"}, 100);
}

TEST_CASE("heat with regular lists") {
  same_in_every_mode({"--iterations", "700", "--report-every", "7", "--regular"}, 0);
}
