// What is preloaded into every process keeps none from starting, whatever becomes of the layer, and costs it next to
// nothing.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "test/cuda/run_process.h"

namespace {

namespace files = std::filesystem;
using Words = std::vector<std::string>;

bool has(const Outcome& outcome, const std::string& part) {
  return outcome.output.find(part) != std::string::npos;
}

/// The starters in a folder of their own, with something in the place of the layers.
class Folder {
 public:
  Folder() { files::create_directories(path_); }
  ~Folder() { files::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string starter(const std::string& file) const {
    files::copy_file(file, path_ / files::path(file).filename(), files::copy_options::skip_existing);
    return path_ / files::path(file).filename();
  }
  files::path layer(const std::string& file) const { return path_ / files::path(file).filename(); }

 private:
  files::path path_ = files::temp_directory_path() / ("refrain-starter-" + std::to_string(getpid()));
};

struct Api {
  const char* starter;
  const char* layer;
  const char* program;
  const char* folder;  // of the simulated device
  const char* name;
};
const Api kCuda{CUDA_STARTER, CUDA_LAYER, CUDA_PROGRAM, CUDA_FOLDER, "CUDA"};
const Api kHip{HIP_STARTER, HIP_LAYER, HIP_PROGRAM, HIP_FOLDER, "HIP"};

Words split(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Without what says which file a function is in.
Words own_lines(const Outcome& outcome) {
  Words kept;
  for (const std::string& line : split(outcome.output)) {
    if (!line.starts_with("[refrain] ") && line.find(" in ") == std::string::npos) {
      kept.push_back(line);
    }
  }
  return kept;
}

/// An instrumented layer can't be opened by a program that is not.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace

TEST_CASE("what is preloaded needs the C library alone, and no version of anything in it", "[promise-7]") {
  for (const std::string& file : split(PRELOADED_FILES)) {
    CAPTURE(file);
    const Outcome sections = run({"readelf", "-d", "-V", "-W", file});
    REQUIRE(sections.status == 0);
    CHECK(count_lines(sections.output, "(NEEDED)") == 1);
    CHECK(has(sections, "Shared library: [libc.so.6]"));
    CHECK_FALSE(has(sections, "(RUNPATH)"));
    CHECK_FALSE(has(sections, "Version needs section"));
    // Not even room in every thread.
    CHECK_FALSE(has(run({"readelf", "-l", "-W", file}), " TLS "));
  }
}

TEST_CASE("a process that calls no driver opens no layer", "[promise-7]") {
  for (const Api& api : {kCuda, kHip}) {
    CAPTURE(api.name);
    const Words preload{std::string("LD_PRELOAD=") + api.starter};
    const Outcome maps = run({"cat", "/proc/self/maps"}, preload);
    CHECK(has(maps, files::path(api.starter).filename()));
    CHECK_FALSE(has(maps, files::path(api.layer).filename()));
    // Where the libraries that the layer would need are of no use either.
    const Folder useless;
    for (const char* library : {"libzstd.so.1", "libstdc++.so.6", "libgcc_s.so.1"}) {
      std::ofstream(useless.layer(library)) << "This is no library.\n";
    }
    const Outcome nothing = run({"true"}, {preload.front(), "LD_LIBRARY_PATH=" + useless.layer("").string()});
    CHECK(nothing.status == 0);
    CHECK(nothing.output.empty());
  }
}

TEST_CASE("without a layer that can be opened programs run as without Refrain, and it is said once", "[promise-7]") {
  const Folder folder;
  for (const Api& api : {kCuda, kHip}) {
    const Words device{std::string("LD_LIBRARY_PATH=") + api.folder, "REFRAIN_REPORT=off"};
    const Outcome plain = run({api.program}, device);
    REQUIRE(plain.status == 0);
    for (const char* kind : {"missing", "garbage", "another library", "another version", "calling library"}) {
      CAPTURE(api.name, kind);
      const files::path layer = folder.layer(api.layer);
      files::remove(layer);
      if (kind == std::string("garbage")) {
        std::ofstream(layer) << "This is no library.\n";
      } else if (kind == std::string("another library")) {
        files::copy_file(ANOTHER_LIBRARY, layer);
      } else if (kind == std::string("another version")) {
        files::copy_file(OTHER_VERSION, layer);
      } else if (kind == std::string("calling library")) {
        files::copy_file(CALLING_LIBRARY, layer);
      }
      Words environment = device;
      environment.push_back("LD_PRELOAD=" + folder.starter(api.starter));
      const Outcome through = run({api.program}, environment);
      CAPTURE(through.output);
      CHECK(through.status == 0);
      CHECK(own_lines(through) == own_lines(plain));
      CHECK(through.driver_calls == plain.driver_calls);
      CHECK(count_lines(through.output, std::string("[refrain] error: ") + api.name + ": ") == 1);
      CHECK(count_lines(through.output, "[refrain] ") == 1);
      // What the dynamic linker says names the library that it minds.
      CHECK(has(through, layer.filename()) == (kind != std::string("another version")));
      for (const Words& command : {Words{"true"}, Words{"sh", "-c", "exit 0"}}) {
        const Outcome nothing = run(command, environment);
        CHECK(nothing.status == 0);
        CHECK(nothing.output.empty());
      }
    }
  }
}

TEST_CASE("where nobody can be told that there is no layer, the program goes on all the same", "[promise-7]") {
  const Folder folder;
  const std::string errors = folder.layer("errors");
  std::ofstream(errors).flush();
  for (const Api& api : {kCuda, kHip}) {
    const Words environment{std::string("LD_LIBRARY_PATH=") + api.folder, "LD_PRELOAD=" + folder.starter(api.starter)};
    // A file that may not grow; a pipe that nobody reads.
    Words shells{"ulimit -f 0; exec 2> '" + errors + "'; ", "exec 2> >(exit); sleep 0.2; "};
#if defined(__SANITIZE_THREAD__)
    shells.erase(shells.begin());  // its run time writes a file when a process starts
#endif
    for (const std::string& before : shells) {
      CAPTURE(api.name, before);
      const Outcome outcome =
          run({"bash", "-c", "unset SIM_LOG; " + before + "exec " + api.program + " > /dev/null"}, environment);
      CHECK(outcome.status == 0);
    }
  }
}

TEST_CASE("without a layer and without a driver calls report an error", "[promise-7]") {
  const Folder folder;
  const Outcome cuda = run({CUDA_PROGRAM, "errors"},
                           {"LD_PRELOAD=" + folder.starter(CUDA_STARTER), "REFRAIN_CUDA_DRIVER=/nowhere/libcuda.so.1"});
  CHECK(has(cuda, "[refrain] error: CUDA: "));
  CHECK(cuda.status < 128);
  // Another copy of ours is not taken for a driver.
  CHECK(
      run({CUDA_PROGRAM, "errors"}, {"LD_PRELOAD=" + folder.starter(CUDA_STARTER), "REFRAIN_CUDA_DRIVER=" CUDA_STARTER})
          .output == cuda.output);
  // Nor do constructors of programs with kernels of their own crash.
  const Outcome hip = run({HIP_PROGRAMS, "registered"}, {"LD_PRELOAD=" + folder.starter(HIP_STARTER),
                                                         "REFRAIN_HIP_LIBRARY=/nowhere", "REFRAIN_HIP=on"});
  CHECK(has(hip, "[refrain] error: HIP: "));
  CHECK(hip.status == 3);
}

TEST_CASE("the first call leaves errno as it was, whatever is looked for in vain", "[promise-7]") {
  const Folder folder;
  const Words no_driver{"REFRAIN_CUDA_DRIVER=/nowhere/libcuda.so.1"};
  Words no_layer = no_driver;
  no_layer.push_back("LD_PRELOAD=" + folder.starter(CUDA_STARTER));
  CHECK(has(run({CUDA_PROGRAM, "errno"}, no_layer), "100 errno kept\n"));
  if (!kSanitized) {
    Words preloaded = no_driver;
    preloaded.push_back("LD_PRELOAD=" CUDA_STARTER);
    CHECK(has(run({CUDA_PROGRAM, "errno"}, preloaded), "100 errno kept\n"));
  }
}

#ifdef DEVICE_PROGRAM
TEST_CASE("without a layer the shared runtime's functions are the runtime's own", "[promise-7]") {
  const Folder folder;
  const Words device{"LD_LIBRARY_PATH=" CUDA_FOLDER ":" RUNTIME_FOLDER};
  Words hooked = device;
  hooked.push_back("LD_PRELOAD=" + folder.starter(CUDA_STARTER));
  const Outcome plain = run({DEVICE_PROGRAM, "10"}, device);
  const Outcome through = run({DEVICE_PROGRAM, "10"}, hooked);
  CHECK(plain.status == 0);
  CHECK(through.status == 0);
  CHECK(own_lines(through) == own_lines(plain));
  CHECK(count_lines(through.output, "[refrain] error: CUDA: ") == 1);
}
#endif

TEST_CASE("threads that call first at once open the layer once", "[promise-7]") {
  if (kSanitized) {
    return;
  }
  const Folder folder;
  const Outcome through =
      run({CUDA_PROGRAM, "threads"},
          {"LD_LIBRARY_PATH=" CUDA_FOLDER, "LD_PRELOAD=" + folder.starter(CUDA_STARTER), "REFRAIN_REPORT=off"});
  CHECK(through.status == 0);
  CHECK(through.driver_calls == Words(8, "cuInit"));
  CHECK(count_lines(through.output, "[refrain] ") == 1);
}

TEST_CASE("the layer is found by whatever links the starter is named", "[promise-7]") {
  if (kSanitized) {
    return;
  }
  const Folder folder;
  const files::path link = folder.layer("libcuda.so.1");
  files::create_symlink(CUDA_STARTER, link);
  const Outcome linked = run({CUDA_PROGRAM}, {"LD_LIBRARY_PATH=" + link.parent_path().string() + ":" CUDA_FOLDER,
                                              "REFRAIN_REPORT=off", "REFRAIN_DOCTOR_FD=1"});
  CHECK(linked.status == 0);
  CHECK(has(linked, "refrain layer active "));
  CHECK(has(linked, "work good\n"));
}
