// Every way to the driver, from outside: programs of their own with the library preloaded, on the simulated device.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "test/cuda/run_process.h"

namespace {

using Words = std::vector<std::string>;

Words with(const Words& begin, const Words& more) {
  Words all = begin;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const Words kPreload{"LD_PRELOAD=" SHIM, "REFRAIN_DOCTOR_FD=1", "REFRAIN_REPORT=off"};

/// Sanitizers want their run time loaded first, which a preloaded library prevents in a program that has it not.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_WITH_SANITIZERS()                                 \
  WARN("not run: an instrumented library can't be preloaded"); \
  return
#else
#define SKIP_WITH_SANITIZERS() static_cast<void>(0)
#endif

std::string lines(const Words& calls) {
  std::string text;
  for (const std::string& call : calls) {
    text += call + "\n";
  }
  return text;
}

/// Without what the layer itself asks the driver to know what the program's calls are about. Nothing of it changes
/// or submits anything; whatever else reaches the driver must have come from the program, once, in order.
Words programs_own(const Words& calls) {
  static const char* const queries[] = {"cuCtxGetCurrent", "cuStreamGetCtx",       "cuStreamGetFlags",
                                        "cuFuncGetName",   "cuFuncGetParamInfo",   "cuKernelGetName",
                                        "cuFuncGetModule", "cuKernelGetParamInfo", "cuPointerGetAttributes"};
  Words rest;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(rest), [](const std::string& call) {
    return std::find(std::begin(queries), std::end(queries), call.substr(0, call.find(' '))) == std::end(queries);
  });
  return rest;
}

bool has(const Outcome& outcome, const std::string& part) {
  return outcome.output.find(part) != std::string::npos;
}

const char* const kActive = "refrain layer active ";

}  // namespace

TEST_CASE("a linked program") {
  SKIP_WITH_SANITIZERS();
  const Outcome plain = run({LINKED_PROGRAM});
  CHECK(plain.output == "cuCtxSynchronize in driver\nwork good\n");
  const Outcome hooked = run({LINKED_PROGRAM}, kPreload);
  CHECK(hooked.status == 0);
  CHECK(has(hooked, "cuCtxSynchronize in shim\n"));
  CHECK(has(hooked, "work good\n"));
  CHECK(has(hooked, " cuda entries=672 neutral="));
  CHECK(has(hooked, " unknown=1\n"));
  CHECK(plain.driver_calls == Words{"cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2",
                                    "cuMemsetD8Async", "cuCtxSynchronize", "cuMemcpyDtoH_v2", "cuMemFree_v2"});
  CHECK(programs_own(hooked.driver_calls) == plain.driver_calls);
}

TEST_CASE("threads that call first at once load the driver once") {
  SKIP_WITH_SANITIZERS();
  const Outcome hooked = run({LINKED_PROGRAM, "threads"}, kPreload);
  CHECK(hooked.status == 0);
  CHECK(count_lines(hooked.output, kActive) == 1);
  CHECK(hooked.driver_calls == Words(8, "cuInit"));
}

TEST_CASE("programs that open the driver themselves") {
  SKIP_WITH_SANITIZERS();
  const Outcome opened = run({OPENING_PROGRAM, "open", "libcuda.so.1"}, kPreload);
  CHECK(opened.status == 0);
  CHECK(has(opened, "cuCtxSynchronize in shim\nrefrain layer active"));
  const Outcome deep = run({OPENING_PROGRAM, "deepbind", PLUGIN}, kPreload);
  CHECK(deep.status == 0);
  CHECK(has(deep, "work good"));
  CHECK(has(deep, kActive));
  // Not without the audit module.
  const Outcome absolute = run({OPENING_PROGRAM, "open", SIM_CUDA}, kPreload);
  CHECK(absolute.status == 0);
  CHECK(has(absolute, "cuCtxSynchronize in driver"));
}

TEST_CASE("the audit module catches what preloading misses") {
  SKIP_WITH_SANITIZERS();
  const Words audited = with(kPreload, {"LD_AUDIT=" AUDIT});
  for (const Words& command :
       {Words{OPENING_PROGRAM, "open", SIM_CUDA}, Words{OPENING_PROGRAM, "open", "libcuda.so"},
        Words{OPENING_PROGRAM, "namespace", "libcuda.so.1"}, Words{OPENING_PROGRAM, "open", "libcuda.so.1"}}) {
    CAPTURE(command);
    const Outcome outcome = run(command, audited);
    CHECK(outcome.status == 0);
    CHECK(has(outcome, "cuCtxSynchronize in shim"));
    CHECK(has(outcome, "work good"));
    CHECK(has(outcome, kActive));
    CHECK(lines(outcome.driver_calls).find("cuInit") != std::string::npos);
  }
  CHECK(run({LINKED_PROGRAM}, audited).status == 0);
  // glibc tells nobody about an absolute path for another namespace (2.36): it works, unseen.
  const Outcome unseen = run({OPENING_PROGRAM, "namespace", SIM_CUDA}, audited);
  CHECK(unseen.status == 0);
  CHECK(has(unseen, "cuCtxSynchronize in driver"));
}

TEST_CASE("an interposer of the user's is called once, whether it answers dlsym() for the driver's names or not",
          "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  struct Case {
    const char* interposer;
    Words command;
  };
  for (const Case& each : {Case{INTERPOSER, {LINKED_PROGRAM}}, Case{DLSYM_INTERPOSER, {LINKED_PROGRAM}},
                           Case{DLSYM_INTERPOSER, {OPENING_PROGRAM, "open", "libcuda.so.1"}}}) {
    CAPTURE(each.interposer, each.command);
    const std::string interposed = std::string("LD_PRELOAD=") + each.interposer;
    const Outcome plain = run(each.command, {interposed});
    const Outcome hooked = run(with({REFRAIN, "run", "--"}, each.command), {interposed, "REFRAIN_DOCTOR_FD=1"});
    CHECK(has(plain, "interposer: 3 calls"));
    CHECK(hooked.status == 0);
    CHECK(has(hooked, "work good"));
    CHECK(has(hooked, "interposer: 3 calls"));
    CHECK(has(hooked, kActive));
    CHECK(programs_own(hooked.driver_calls) == plain.driver_calls);
  }
}

#ifdef SANITIZED_PROGRAMS
TEST_CASE("programs with a sanitizer, whose run time wants to be the first library", "[promise-7]") {
  std::istringstream programs(SANITIZED_PROGRAMS);
  int count = 0;
  for (std::string program; std::getline(programs, program, ':'); ++count) {
    CAPTURE(program);
    // What a driver leaves behind is not what is looked at here.
    const Words environment{"LSAN_OPTIONS=detect_leaks=0", "REFRAIN_DOCTOR_FD=1", "REFRAIN_REPORT=off"};
    const Outcome plain = run({program}, environment);
    REQUIRE(has(plain, "work good\n"));
    for (const Words& command : {Words{program}, Words{"sh", "-c", program + "; exit $?"}}) {
      const Outcome hooked = run(with({REFRAIN, "run", "--"}, command), environment);
      CHECK(hooked.status == plain.status);
      CHECK(has(hooked, "cuCtxSynchronize in shim\n"));
      CHECK(has(hooked, "work good\n"));
      CHECK(has(hooked, kActive));
      CHECK(programs_own(hooked.driver_calls) == plain.driver_calls);
    }
  }
  CHECK(count >= 3);
}
#endif

TEST_CASE("look-ups of every kind") {
  SKIP_WITH_SANITIZERS();
  const Outcome plain = run({LINKED_PROGRAM, "lookup"});
  const Outcome hooked = run({LINKED_PROGRAM, "lookup"}, kPreload);
  CHECK(hooked.status == 0);
  CHECK(programs_own(hooked.driver_calls) == plain.driver_calls);
  CHECK(has(hooked, "\n 0: 1 null -\n"));
  CHECK(has(hooked, "cuGetProcAddress 0: 0 shim cuGetProcAddress\ncuGetProcAddress 0: 0 shim cuGetProcAddress_v2\n"));
  CHECK(has(hooked,
            "cuStreamSynchronize 0: 0 shim cuStreamSynchronize\n"
            "cuStreamSynchronize 2: 0 shim cuStreamSynchronize_ptsz\n"));
  CHECK(has(hooked, "cuCtxGetDevice 0: 0 driver cuCtxGetDevice\n"));
  CHECK(has(hooked, "cuFutureWork 0: 0 shim "));
  CHECK(has(hooked, "cuFutureWork gives 2\n"));
  CHECK(has(hooked, "cuNowhere 0: 500 null -\n"));
}

TEST_CASE("NVIDIA's runtime, shared and static") {
  SKIP_WITH_SANITIZERS();
  Words programs;
#ifdef SHARED_RUNTIME_PROGRAM
  programs.emplace_back(SHARED_RUNTIME_PROGRAM);
#endif
#ifdef STATIC_RUNTIME_PROGRAM
  programs.emplace_back(STATIC_RUNTIME_PROGRAM);
#endif
  for (const std::string& program : programs) {
    CAPTURE(program);
    const Outcome plain = run({program});
    const Outcome hooked = run({program}, kPreload);
    CHECK(hooked.status == 0);
    CHECK(has(hooked, kActive));
    // It looks up its functions, reads the device, gets its tables and calls functions in them: the same with and
    // without the library in between. There it ends, at the test that tells NVIDIA's drivers from others.
    CHECK(hooked.driver_calls == plain.driver_calls);
    CHECK(count_lines(lines(hooked.driver_calls), "cuGetProcAddress_v2 ") > 400);
    CHECK(count_lines(lines(hooked.driver_calls), "cuGetProcAddress_v2 '' 0 0") == 1);
    CHECK(count_lines(lines(hooked.driver_calls), "cuGetExportTable ") >= 6);
    CHECK(count_lines(lines(hooked.driver_calls), "table 1 entry 2") == 1);
    CHECK(has(plain, "cudaGetDeviceCount cudaErrorSoftwareValidityNotEstablished"));
    CHECK(has(hooked, "cudaGetDeviceCount cudaErrorSoftwareValidityNotEstablished"));
  }
}

TEST_CASE("without a driver calls report an error", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Words nowhere = with(kPreload, {"REFRAIN_CUDA_DRIVER=/nowhere/libcuda.so.1"});
  const Outcome outcome = run({LINKED_PROGRAM, "errors"}, nowhere);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "100 CUDA_ERROR_NO_DEVICE 100 0\n"));
  CHECK(count_lines(outcome.output, "[refrain] error: CUDA: no real libcuda.so.1 was found") == 1);
  CHECK_FALSE(has(outcome, "layer active"));
#ifdef SHARED_RUNTIME_PROGRAM
  const Outcome runtime = run({SHARED_RUNTIME_PROGRAM}, nowhere);
  CHECK(runtime.status == 0);
  CHECK_FALSE(has(runtime, "cudaGetDeviceCount cudaSuccess"));
#endif
  // Our own library is never taken for the driver, under whatever name.
  CHECK(
      has(run({LINKED_PROGRAM, "errors"}, with(kPreload, {"REFRAIN_CUDA_DRIVER=" SHIM})), "100 CUDA_ERROR_NO_DEVICE"));
}

TEST_CASE("a library that has the driver's name and is none is passed over") {
  SKIP_WITH_SANITIZERS();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("refrain-cuda-wrong-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(EXIT_HOOKS, folder / "libcuda.so.1");
  const std::string sim = std::filesystem::path(SIM_CUDA).parent_path();
  const Outcome outcome = run({LINKED_PROGRAM}, with(kPreload, {"LD_LIBRARY_PATH=" + folder.string() + ":" + sim}));
  std::filesystem::remove_all(folder);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "libcuda.so.1 can't be used: it has no cuInit"));
  CHECK(has(outcome, "work good\n"));
}

TEST_CASE("switched off, everything leads straight to the driver", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  for (const char* off : {"REFRAIN_MODE=off", "REFRAIN_CUDA=off"}) {
    const Outcome outcome = run({LINKED_PROGRAM, "lookup"}, with(kPreload, {off}));
    CHECK(outcome.status == 0);
    CHECK(has(outcome, "refrain layer off "));
    CHECK(has(outcome, "cuStreamSynchronize 0: 0 driver cuStreamSynchronize\n"));
    CHECK(has(outcome, "cuGetProcAddress 0: 0 driver cuGetProcAddress\n"));
  }
}

TEST_CASE("children after fork and exec", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Outcome forked = run({LINKED_PROGRAM, "fork"}, kPreload);
  CHECK(forked.status == 0);
  CHECK(count_lines(forked.output, "work good") == 2);  // the parent, before and after
  CHECK(has(forked, "cuInit 3\nchild 7\n"));
  CHECK(count_lines(forked.output, kActive) == 1);

  const Words command{LINKED_PROGRAM, "exec", "sh", "-c", "\"$0\"; echo \"preload ${LD_PRELOAD-unset}\"",
                      LINKED_PROGRAM};
  const Words report{"REFRAIN_DOCTOR_FD=1", "REFRAIN_REPORT=off"};
  const Outcome followed = run(with({REFRAIN, "run", "--"}, command), report);
  CHECK(followed.status == 0);
  CHECK(count_lines(followed.output, kActive) == 2);
  CHECK(has(followed, "preload /"));
  const Outcome alone = run(with({REFRAIN, "run", "--no-follow-children", "--"}, command), report);
  CHECK(alone.status == 0);
  CHECK(count_lines(alone.output, kActive) == 1);
  CHECK(count_lines(alone.output, "cuCtxSynchronize in shim") == 1);
  CHECK(count_lines(alone.output, "cuCtxSynchronize in driver") == 1);
  CHECK(has(alone, "preload unset\n"));
  // What the user had stays.
  const Outcome other =
      run(with({REFRAIN, "run", "--no-follow-children", "--"}, command), with(report, {"LD_PRELOAD=" PLUGIN}));
  CHECK(has(other, "preload " PLUGIN "\n"));
}

TEST_CASE("run preloads only where there is a driver and where it can", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Words show{"sh", "-c", "echo \"${LD_PRELOAD-unset} ${LD_AUDIT-unset}\""};
  // Ours stand behind everything else, whatever they are preloaded for.
  CHECK(run(with({REFRAIN, "run", "--"}, show)).output == PRELOADED ":" EXIT_HOOKS " unset\n");
  CHECK(run(with({REFRAIN, "run", "--cuda-audit", "--"}, show)).output == PRELOADED ":" EXIT_HOOKS " " PRELOADED_AUDIT
                                                                                    "\n");
  CHECK_FALSE(has(run(with({REFRAIN, "run", "--cuda", "off", "--"}, show)), PRELOADED));
  CHECK_FALSE(has(run(with({REFRAIN, "run", "--cuda-driver", "/nowhere", "--"}, show)), PRELOADED));
  CHECK(run(with({REFRAIN, "run", "--", REFRAIN, "run", "--"}, show)).output == PRELOADED ":" EXIT_HOOKS " unset\n");
}

TEST_CASE("doctor shows driver, route and proof") {
  SKIP_WITH_SANITIZERS();
  const Outcome outcome = run({REFRAIN, "doctor"});
  CHECK(has(outcome, "driver      " SIM_CUDA ", for CUDA 13.0\n"));
  CHECK(has(outcome, "route       LD_PRELOAD, " PRELOADED "\n"));
  CHECK(has(outcome, "hooked      yes: refrain layer active "));
  CHECK(has(outcome, " cuda entries=672 neutral="));
  CHECK(has(run({REFRAIN, "doctor", "--cuda-driver", "/nowhere"}), "there is no CUDA driver"));
  CHECK(has(run({REFRAIN, "doctor", "--cuda", "off"}), "hooked      no: it is switched off (setting cuda)"));
  CHECK(has(run({REFRAIN, "doctor", "--json"}), "\"driver_version\": \"13.0\""));
}

TEST_CASE("doctor names whose functions the program calls first") {
  SKIP_WITH_SANITIZERS();
  const Outcome outcome = run({REFRAIN, "doctor"}, {"LD_PRELOAD=" PLUGIN " " DLSYM_INTERPOSER ":" INTERPOSER});
  CHECK(has(outcome, "route       LD_PRELOAD, " PRELOADED "\n  in front    " DLSYM_INTERPOSER
                     ", which has cuCtxSynchronize and 3 more\n  in front    " INTERPOSER
                     ", which has cuCtxSynchronize and 2 more\n"));
  CHECK_FALSE(has(outcome, "in front    " PLUGIN));
  CHECK_FALSE(has(run({REFRAIN, "doctor"}), "in front"));
}

TEST_CASE("the library exports the driver's names and nothing else") {
  SKIP_WITH_SANITIZERS();
  void* library = dlopen(SHIM, RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  int count = 0;
#define ENTRY(f) count += dlsym(library, #f) != nullptr ? 1 : 0;
#include "layer/cuda/entry_points.def"
  CHECK(count == 634);
#include "layer/cuda/extra_entry_points.def"
#undef ENTRY
  CHECK(count == 672);
  for (const char* name : {"refrain_cuda_targets", "refrain_cuda_host_call", "_ZN7refrain3env13load_settingsEv"}) {
    CHECK(dlsym(library, name) == nullptr);
  }
  CHECK(dlsym(library, "refrain_cuda_shim") != nullptr);
  // Of the runtime's names only what is answered, and only for who asks for a version of libcudart.
  for (const char* name : {"cudaGetDevice", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"}) {
    CAPTURE(name);
    CHECK(dlsym(library, name) == nullptr);
    CHECK(dlvsym(library, name, "libcudart.so.12") != nullptr);
    CHECK(dlvsym(library, name, "libcudart.so.13") != nullptr);
  }
  CHECK(dlvsym(library, "cudaLaunchKernel", "libcudart.so.13") == nullptr);
}
