// docs/conformance.md: command-buffer entry points.
#include <catch2/catch.hpp>

#include "test/conformance/support.h"

using namespace conformance;

namespace {

constexpr const char* kSection = "Command-buffer entry points";

long launches_of(const Run& run) {
  return run.number("launches");
}

}  // namespace

ROW("create / retain / release / finalize") {
  const Run run = same("release_in_flight", 100);
  if (!simulated()) {
    verdict.passes("released with work in flight; the errors of double finalize and late append: opencl_replay_test");
    return;
  }
  // What was made of graphs is given back when what they name goes.
  const std::size_t made =
      run.calls_of("cuGraphInstantiate") + run.calls_of("hipGraphInstantiate") + run.calls_of("zeCommandListCreate");
  const std::size_t gone =
      run.calls_of("cuGraphExecDestroy") + run.calls_of("hipGraphExecDestroy") + run.calls_of("zeCommandListDestroy");
  CAPTURE(made, gone);
  REQUIRE(made > 0);
  REQUIRE(gone == made);
  verdict.passes(
      "as many executables destroyed as made; a Backend records and finalizes in one call, so that a late "
      "append cannot be written (host backend: both are errors)");
}

ROW("append kernel launch") {
  same("arguments", 500);
  verdict.passes();
}

ROW("append pointer (USM) copy / fill") {
  if (api() == "opencl") {
    const Run run = same("pointers", 0);
    if (run.report.at("unholdable")
            .contains("the device's command buffers have no copies and fills of shared virtual memory")) {
      verdict.limit(
          "cl_khr_command_buffer before 0.9.4 has no commands for shared virtual memory: issued eagerly, bytes equal");
      return;
    }
    same("pointers", 500);
    verdict.passes(
        "within shared virtual memory; what is copied from or to other memory of the program is issued eagerly");
    return;
  }
  same("pointers", 500);
  if (cannot(Feature::kWidePattern) != nullptr) {
    verdict.limit(std::string("patterns of 1, 2 and 4 bytes; wider: ") + cannot(Feature::kWidePattern));
    return;
  }
  same("wide_patterns", 1000);
  verdict.passes(api() == "cuda"  ? "patterns over 4 bytes are fills of columns of words"
                 : api() == "hip" ? "patterns over 4 bytes are fills of columns of bytes: what HIP has for rows of "
                                    "words (ROCm 7.1 and newer) counts its width in bytes or in words"
                                  : "");
}

ROW("append buffer copy / read / write, rectangular forms, fill") {
  same("buffers", 500);
  same("host_pointers", api() == "opencl" ? 0 : 100);
  const bool rows = cannot(Feature::kRectangle) == nullptr;
  if (rows) {
    same("rectangles", api() == "opencl" ? 0 : 100);
  }
  if (api() == "opencl") {
    same("wide_patterns", 100);
    verdict.limit(
        "cl_khr_command_buffer has no reads and writes: issued eagerly, bytes equal; copies, rectangular "
        "copies and fills are replayed");
  } else if (!rows) {
    verdict.limit(std::string("rectangular copies: ") + cannot(Feature::kRectangle));
  } else {
    verdict.passes(api() == "hip"
                       ? "copies of rows within the memory of a device; from and to the host they are issued "
                         "eagerly, as versions of the runtime differ in what they copy"
                       : "");
  }
}

ROW("append prefetch / advise") {
  if (verdict.lacks(Feature::kPrefetch)) {
    return;
  }
  same("prefetch", 0);
  // Six kernels and what lies between them are one command buffer.
  const Run there = same("prefetch_to_device", 500, kWholeChunks);
  REQUIRE(there.number("replayed") >= 7 * launches_of(there));
  const Run back = same("prefetch_to_host", 500, kWholeChunks);
  REQUIRE(back.number("replayed") >= (api() == "level_zero" ? 7 : 6) * launches_of(back));
  if (simulated()) {
    // Each round prefetches, or launches a graph that does or need not: both only if it is issued between two graphs.
    constexpr std::size_t kRounds = 150, kOthers = 20;
    const auto calls = [](const Run& run) {
      std::size_t sum = 0;
      for (const char* name : {"cuMemPrefetchAsync", "hipMemPrefetchAsync", "zeCommandListAppendMemoryPrefetch",
                               "zeCommandListAppendMemAdvise", "cuGraphLaunch", "hipGraphLaunch",
                               "zeCommandListImmediateAppendCommandListsExp", "zeCommandQueueExecuteCommandLists"}) {
        sum += run.calls_of(name);
      }
      return sum;
    };
    REQUIRE(calls(there) <= kRounds + kOthers);
    REQUIRE((calls(back) <= kRounds + kOthers) == (api() == "level_zero"));
  }
  verdict.passes(api() == "level_zero" ? "commands of the recorded list, advice as well"
                                       : "left out of command buffers, in their place in the order; what goes to the "
                                         "host is issued in its place, between two of them");
}

ROW("enqueue") {
  const Run run = same("events", api() == "level_zero" ? 1 : 100);
  REQUIRE(launches_of(run) > 0);
  verdict.passes();
}

ROW("update kernel launch") {
  if (api() == "opencl") {
    const std::string offered = offered_changes(same("update", 0));
    REQUIRE(offered.find("arguments") == std::string::npos);
    const bool sizes = offered.find("global_size") != std::string::npos;
    verdict.limit(
        "mutable dispatch offers " + offered +
        ": launches whose arguments never repeat are issued eagerly; updates of arguments: opencl_versions_test" +
        (sizes ? "; global sizes that never repeat are replayed: opencl_contract_test" : ""));
    return;
  }
  const Run run = same("update", 1000);
  long builds = 0;
  long launched = 0;
  for (const auto& graph : run.report.at("graphs")) {
    builds += graph.at("builds").get<long>();
    launched += graph.at("launched").get<long>();
  }
  CAPTURE(builds, launched);
  REQUIRE(launched > 10 * builds);  // new arguments without recording anew
  if (api() == "level_zero") {
    REQUIRE(run.calls_of("zeCommandListUpdateMutableCommandsExp") > 0);
    same("update", 0, {{"SIM_ZE_EXTENSIONS", ""}});
    verdict.passes(
        "with ZE_experimental_mutable_command_list; without it launches whose arguments never repeat are issued "
        "eagerly");
    return;
  }
  verdict.passes();
}

ROW("kernel launch with inline arguments, native command, get-info, native handle, signal/wait-event update") {
  same("arguments", 500);                           // each launch in a record has its arguments with it
  same("events", api() == "level_zero" ? 1 : 100);  // what to wait for and to signal is given with each submission
  if (cannot(Feature::kOwnGraph) == nullptr) {
    same("own_graph", 100);
  }
  verdict.limit(
      "launches carry their arguments, and each submission its events; get-info is the report and `refrain dump`. "
      "Native commands and native handles are for callers of a command-buffer API, which Refrain does not have: its "
      "callers are programs that know none, and a graph that the program makes itself passes as one submission");
}
