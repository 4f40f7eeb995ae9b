// Backends, one row of docs/conformance.md for each; and the known bugs of others.
#include <catch2/catch.hpp>

#include "test/conformance/support.h"

using namespace conformance;

namespace {

constexpr const char* kSection = "Backends";

/// True if the row is this API's; else the verdict is that it is not.
bool of(Verdict& verdict, const std::string& wanted) {
  if (api() != wanted) {
    verdict.cannot_express("the row of another backend");
    return false;
  }
  return true;
}

}  // namespace

ROW("Level Zero") {
  if (!of(verdict, "level_zero")) {
    return;
  }
  const Run run = same("many_in_flight", 1000);
  REQUIRE(run.number("launches") > 0);
  same("events", 1);
  verdict.passes("1000 submissions in flight, no host wait inside a submission; the lists themselves: test/level_zero");
}

ROW("CUDA") {
  if (!of(verdict, "cuda")) {
    return;
  }
  const Run run = same("fork_join", 500);
  REQUIRE(run.calls_of("cuGraphAddKernelNode") > 0);
  REQUIRE(run.calls_of("cuGraphInstantiate") * 10 < run.calls_of("cuGraphLaunch"));  // cached
  same("many_in_flight", 1000);
  if (cannot(Feature::kWidePattern) != nullptr) {
    verdict.limit(std::string("fills with patterns over 4 bytes: ") + cannot(Feature::kWidePattern));
    return;
  }
  same("wide_patterns", 1000);
  verdict.passes("a launch of size zero is the driver's error, as without Refrain (cuda_contract_test)");
}

ROW("HIP") {
  if (!of(verdict, "hip")) {
    return;
  }
  const Run run = same("fork_join", 100);
  REQUIRE(run.calls_of("hipGraphLaunch") > 0);
  same("many_in_flight", 1000);
  verdict.passes("ROCm older than 5.5.1 is reported and passed through: test/hip");
}

ROW("OpenCL") {
  if (!of(verdict, "opencl")) {
    return;
  }
  const Run run = same("host_pointers", 0);
  REQUIRE_FALSE(run.report.at("unholdable").empty());  // with reasons
  for (const auto& [reason, count] : run.report.at("unholdable").items()) {
    CAPTURE(reason);
    REQUIRE(reason.size() > 10);
  }
  same("many_in_flight", 100);
  same("lifetimes", 100);
  verdict.limit("mutable dispatch offers " + offered_changes(run) +
                "; versions of the extension up to 0.9.8: opencl_versions_test on a driver with their signatures");
}

ROW("host") {
  verdict.cannot_express(
      "the reference for tests of graphs and executables (host_backend_test, engine_test): no program "
      "of an API reaches it");
}

namespace known {
constexpr const char* kSection = "Known bugs of others";

ROW("shared kernel object mutated by an update of another node") {
  same("one_scalar", 0);
  same("arguments", 300);
  verdict.passes();
}
ROW("address of a temporary stored as an argument") {
  same("arguments", 300);
  same("update", 0);
  verdict.passes();
}
ROW("update blocking on the previous submission and deadlocking when the same thread must unblock it") {
  if (verdict.lacks(Feature::kHostFunction)) {
    return;
  }
  same("in_flight", 0);
  verdict.passes();
}
ROW("wait event redefined by a second submission in flight") {
  same("hazards", 1);
  same("events", 1);
  verdict.passes();
}
ROW("first event leaked for an empty node") {
  same("shapes", 1);
  verdict.passes("leaks: the property test under the leak sanitizer");
}
ROW("multi-root graphs completing early") {
  if (verdict.lacks(Feature::kHostFunction)) {
    return;
  }
  same("tails", 0);
  same("fork_join", 1);
  verdict.passes();
}
ROW("buffers released while the graph executes") {
  same("release_in_flight", 100);
  verdict.passes();
}
}  // namespace known
