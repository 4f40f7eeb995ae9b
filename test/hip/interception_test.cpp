// Every way a program reaches libamdhip64.so, the names and versions that the library in its place has, and what `run`
// and `doctor` do.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// The dynamic linker does not like sanitizers' run times behind a preloaded library.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_WITH_SANITIZERS() return
#else
#define SKIP_WITH_SANITIZERS() static_assert(true)
#endif

namespace {

using Words = std::vector<std::string>;

struct Outcome {
  int status = -1;
  std::string output;
};

Outcome run(const Words& command, const Words& environment = {}) {
  std::string line = "exec env -u LD_PRELOAD -u LD_AUDIT REFRAIN_CUDA=off LD_LIBRARY_PATH='" SIM_FOLDER "'";
  for (const Words* words : {&environment, &command}) {
    for (const std::string& word : *words) {
      line += " '" + word + "'";
    }
  }
  Outcome outcome;
  FILE* pipe = popen((line + " 2>&1 </dev/null").c_str(), "re");
  REQUIRE(pipe != nullptr);
  char part[4096];
  for (std::size_t bytes = 0; (bytes = fread(part, 1, sizeof(part), pipe)) != 0;) {
    outcome.output.append(part, bytes);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  INFO(line << "\n" << outcome.output);
  CHECK(outcome.status >= 0);
  return outcome;
}

bool has(const Outcome& outcome, const std::string& part) {
  INFO(outcome.output);
  return outcome.output.find(part) != std::string::npos;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words kPreload{"LD_PRELOAD=" SHIM, "REFRAIN_DOCTOR_FD=1", "REFRAIN_REPORT=off"};

/// Functions that a library defines, with their versions, as readelf prints them.
std::map<std::string, std::string> exports(const std::string& library) {
  const Outcome read = run({"readelf", "--dyn-syms", "-W", library});
  std::map<std::string, std::string> found;
  std::istringstream lines(read.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, value, size, type, binding, visibility, section, name;
    words >> number >> value >> size >> type >> binding >> visibility >> section >> name;
    const auto at = name.find("@@");
    if (type == "FUNC" && section != "UND" && at != std::string::npos) {
      found[name.substr(0, at)] = name.substr(at + 2);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a linked program calls the library in between") {
  SKIP_WITH_SANITIZERS();
  CHECK(has(run({LINKED_PROGRAM}), "hipDeviceSynchronize in library\nwork good\n"));
  const Outcome hooked = run({LINKED_PROGRAM}, kPreload);
  CHECK(hooked.status == 0);
  CHECK(has(hooked, "hipDeviceSynchronize in shim\n"));
  CHECK(has(hooked, "refrain layer active "));
  CHECK(has(hooked, "work good\n"));
}

TEST_CASE("programs that open the library get the one in between, also with RTLD_DEEPBIND") {
  SKIP_WITH_SANITIZERS();
  for (const Words& more : {Words{}, Words{"deepbind"}}) {
    CHECK(has(run(with({OPENING_PROGRAM, "libamdhip64.so.5"}, more)), "hipDeviceSynchronize 0 in library"));
    CHECK(has(run(with({OPENING_PROGRAM, "libamdhip64.so.5"}, more), kPreload), "hipDeviceSynchronize 0 in shim"));
  }
  // Who looks for what is not there finds nothing, with and without.
  CHECK(has(run({OPENING_PROGRAM, "libamdhip64.so.6"}, kPreload), "not opened"));
}

TEST_CASE("an interposer of the user's is called once, whether it answers dlsym() for the runtime's names or not",
          "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  for (const char* interposer : {INTERPOSER, DLSYM_INTERPOSER}) {
    CAPTURE(interposer);
    const std::string interposed = std::string("LD_PRELOAD=") + interposer;
    const std::string plain = run({LINKED_PROGRAM}, {interposed}).output;
    const Outcome hooked = run({REFRAIN, "run", "--", LINKED_PROGRAM}, {interposed, "REFRAIN_DOCTOR_FD=1"});
    const auto count = plain.find("interposer: ");
    REQUIRE(count != std::string::npos);
    CHECK(plain.find("interposer: 0 ") == std::string::npos);
    CHECK(hooked.status == 0);
    CHECK(has(hooked, "work good"));
    CHECK(has(hooked, plain.substr(count)));
    CHECK(has(hooked, "refrain layer active "));
  }
}

TEST_CASE("constructors of programs start no device", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const std::string log = "/tmp/refrain-hip-" + std::to_string(getpid()) + ".log";
  // The program registers kernels before main(), and ends because of a wrong argument.
  run({PROGRAMS_FILE, "no such program"}, with(kPreload, {"SIM_LOG=" + log}));
  const Outcome calls = run({"cat", log});
  std::remove(log.c_str());
  CHECK(has(calls, "__hipRegisterFatBinary"));
  CHECK_FALSE(has(calls, "hipRuntimeGetVersion"));
}

TEST_CASE("without a runtime calls report an error", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Outcome outcome =
      run({LINKED_PROGRAM, "errors"}, with(kPreload, {"REFRAIN_HIP_LIBRARY=/nowhere/libamdhip64.so.5"}));
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "100 hipErrorNoDevice 0 100\n"));
  CHECK(has(outcome, "[refrain] error: HIP: no real libamdhip64.so.5 was found"));
  // Our own library is never taken for the real one, under whatever name.
  CHECK(has(run({LINKED_PROGRAM, "errors"}, with(kPreload, {"REFRAIN_HIP_LIBRARY=" SHIM})), "100 hipErrorNoDevice"));
  // Nor do programs with kernels of their own crash before main().
  CHECK(run({PROGRAMS_FILE, "registered"}, with(kPreload, {"REFRAIN_HIP_LIBRARY=/nowhere"})).status == 3);
}

TEST_CASE("with a runtime that lacks a function everything passes through", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Outcome outcome = run({LINKED_PROGRAM}, with(kPreload, {"REFRAIN_HIP_LIBRARY=" SMALL_RUNTIME}));
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "HIP: the runtime (HIP 5.7.31921) has no hip"));
  CHECK(has(outcome, ": everything passes through\n"));
  CHECK(has(outcome, "work good\n"));
}

TEST_CASE("children after fork, and switched off", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Outcome forked = run({LINKED_PROGRAM, "fork"}, kPreload);
  CHECK(forked.status == 0);
  CHECK(has(forked, "hipMalloc 3\nchild 7\nwork good\n"));
  for (const char* off : {"REFRAIN_MODE=off", "REFRAIN_HIP=off"}) {
    const Outcome outcome = run({LINKED_PROGRAM}, with(kPreload, {off}));
    CHECK(has(outcome, "refrain layer off "));
    CHECK(has(outcome, "work good"));
  }
}

TEST_CASE("run preloads the library that the program needs, where there is a runtime", "[promise-7]") {
  SKIP_WITH_SANITIZERS();
  const Words show{"sh", "-c", "echo \"${LD_PRELOAD-unset}\""};
  CHECK(has(run(with({REFRAIN, "run", "--hip-library", SIM_HIP, "--"}, show)),
            PRELOADED_FOLDER "librefrain_hip5.so:" PRELOADED_FOLDER "librefrain_exit.so\n"));
  CHECK_FALSE(has(run(with({REFRAIN, "run", "--hip", "off", "--"}, show)), PRELOADED_FOLDER "librefrain_hip"));
  CHECK_FALSE(
      has(run(with({REFRAIN, "run", "--hip-library", "/nowhere", "--"}, show)), PRELOADED_FOLDER "librefrain_hip"));
  CHECK(has(run({REFRAIN, "run", "--", LINKED_PROGRAM}, {"REFRAIN_DOCTOR_FD=1"}), "refrain layer active "));
}

TEST_CASE("run preloads the version that the program is linked with, whatever newer one there is") {
  SKIP_WITH_SANITIZERS();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("refrain-hip-versions-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(SIM_HIP, folder / "libamdhip64.so.5");
  std::filesystem::create_symlink(SMALL_RUNTIME, folder / "libamdhip64.so.7");
  const Outcome outcome =
      run({REFRAIN, "run", "--", LINKED_PROGRAM}, {"LD_LIBRARY_PATH=" + folder.string(), "REFRAIN_DOCTOR_FD=1"});
  std::filesystem::remove_all(folder);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, "hipDeviceSynchronize in shim\n"));
  CHECK(has(outcome, "refrain layer active "));
  CHECK_FALSE(has(outcome, "everything passes through"));
  CHECK(has(outcome, "work good\n"));
}

TEST_CASE("doctor shows runtime, route and proof") {
  SKIP_WITH_SANITIZERS();
  const Outcome outcome = run({REFRAIN, "doctor", "--hip-library", SIM_HIP});
  CHECK(has(outcome, "driver      " SIM_HIP ", for HIP 5.7.31921\n"));
  CHECK(has(outcome, "route       LD_PRELOAD, " PRELOADED_FOLDER "librefrain_hip5.so\n"));
  CHECK(has(outcome, "hooked      yes: refrain layer active "));
  CHECK(has(outcome, " hip entries="));
  CHECK(has(run({REFRAIN, "doctor", "--hip-library", "/nowhere"}), "there is no HIP runtime"));
  CHECK(has(run({REFRAIN, "doctor", "--hip", "off", "--hip-library", SIM_HIP}),
            "hooked      no: it is switched off (setting hip)"));
  CHECK(has(run({REFRAIN, "doctor", "--hip-library", SIM_HIP}, {"SIM_HIP_VERSION=50221153"}),
            "replay      no: older than ROCm 5.5.1"));
}

TEST_CASE("the library exports the runtime's names with their versions, and nothing else") {
  const std::map<std::string, std::string> shim = exports(SHIM);
  CHECK(shim.size() > 550);
  CHECK(shim.at("hipLaunchKernel") == "hip_4.2");
  CHECK(shim.at("hipGraphExecKernelNodeSetParams") == "hip_4.4");
  CHECK(shim.at("hipGetProcAddress") == "hip_6.1");
  CHECK(exports(SHIM6) == shim);
  CHECK(exports(SHIM7) == shim);
  CHECK(has(run({"readelf", "-d", SHIM}), "[libamdhip64.so.5]"));
  CHECK(has(run({"readelf", "-d", SHIM6}), "[libamdhip64.so.6]"));
  CHECK(has(run({"readelf", "-d", SHIM7}), "[libamdhip64.so.7]"));
  std::map<std::string, std::string> others;
  for (const auto& [name, version] : shim) {
    if (version.rfind("hip_", 0) != 0) {
      others[name] = version;
    }
  }
  CHECK(others.empty());
}

#ifdef REAL_LIBRARY
TEST_CASE("whatever AMD's own library exports is there, with the same version") {
  const std::map<std::string, std::string> shim = exports(SHIM);
  const std::map<std::string, std::string> real = exports(REAL_LIBRARY);
  CHECK(real.size() > 400);
  std::map<std::string, std::string> missing;
  for (const auto& [name, version] : real) {
    const auto found = shim.find(name);
    if (found == shim.end() || found->second != version) {
      missing[name] = version;
    }
  }
  CAPTURE(missing);
  CHECK(missing.empty());
}

TEST_CASE("AMD's own library, which has no device here, is passed through, and who asks is told if it is too old") {
  SKIP_WITH_SANITIZERS();
  const Words real{"LD_LIBRARY_PATH=", "REFRAIN_HIP_LIBRARY=" REAL_LIBRARY};
  const Outcome plain = run({LINKED_PROGRAM, "errors"}, {"LD_LIBRARY_PATH="});
  const Outcome hooked = run({LINKED_PROGRAM, "errors"}, with(kPreload, real));
  CHECK(hooked.status == plain.status);
  CHECK(has(hooked, "refrain layer active "));
  const auto last_line = [](const Outcome& outcome) {
    const auto end = outcome.output.rfind('\n');
    return outcome.output.substr(outcome.output.rfind('\n', end - 1) + 1);
  };
  CHECK(last_line(hooked) == last_line(plain));
  const Outcome doctor = run({REFRAIN, "doctor"}, real);
  const std::string version = ", for HIP ";
  const auto at = doctor.output.find(version);
  REQUIRE(at != std::string::npos);
  const double number = std::stod(doctor.output.substr(at + version.size()));
  CHECK(has(doctor, "replay      no: older than ROCm 5.5.1") == (number < 5.5));
}
#endif
