// Programs with rights that whoever starts them has not, in which the environment is not to be trusted: where a library
// of Refrain's gets in all the same, it does nothing.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "test/support/child.h"

namespace {

using child::Result;
using Words = std::vector<std::string>;

/// A group that this process may give to a file, and is not its own; its own if there is none.
gid_t another_group() {
  if (::geteuid() == 0) {
    return 65534;
  }
  std::vector<gid_t> groups(256);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  for (int i = 0; i < count; ++i) {
    if (groups[static_cast<std::size_t>(i)] != ::getegid()) {
      return groups[static_cast<std::size_t>(i)];
    }
  }
  return ::getegid();
}

class Copy {
 public:
  /// A copy of the program, which has the rights of another group if `secure`, and a folder for what it writes.
  Copy(const std::string& program, bool secure) : folder_(child::scratch("secure")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/written");
    std::filesystem::copy_file(program, file());
    if (secure) {
      REQUIRE(::chown(file().c_str(), static_cast<uid_t>(-1), another_group()) == 0);
      REQUIRE(::chmod(file().c_str(), 02755) == 0);
    }
  }
  [[nodiscard]] std::string file() const { return folder_ + "/program"; }
  [[nodiscard]] std::string written(const std::string& name) const { return folder_ + "/written/" + name; }
  [[nodiscard]] bool wrote_nothing() const { return std::filesystem::is_empty(folder_ + "/written"); }
  [[nodiscard]] Result run(Words environment) const {
    for (const char* setting : {"REFRAIN_MODE=capture", "REFRAIN_LOG_LEVEL=trace", "PATH=/usr/bin:/bin"}) {
      environment.emplace_back(setting);
    }
    environment.push_back("REFRAIN_LOG_FILE=" + written("log"));
    environment.push_back("REFRAIN_CAPTURE_FILE=" + written("capture"));
    return child::run({file()}, environment, 60);
  }

 private:
  std::string folder_;
};

bool has(const Result& result, const std::string& text) {
  return result.output.find(text) != std::string::npos;
}

/// False, with a line that says so, where no program gets rights of its own.
bool is_secure(const Result& result) {
  if (has(result, "secure 1\n")) {
    return true;
  }
  WARN("skipped: a set-group-id program gets no rights of its own here (nosuid, no_new_privs, or no other group)");
  return false;
}

#define SHOW(result)                   \
  INFO("output: " << (result).output); \
  INFO("errors: " << (result).errors)

#ifdef OPENCL_PROGRAM
TEST_CASE(
    "an OpenCL loader that takes a layer from the environment of a set-group-id program gets one that does nothing",
    "[promise-7]") {
  const Words environment{"OPENCL_LAYERS=" OPENCL_LAYER, "REFRAIN_OPENCL_LAYERS=" OPENCL_LAYER ":other"};
  const Copy ordinary(OPENCL_PROGRAM, false);
  const Result loaded = ordinary.run(environment);
  {
    SHOW(loaded);
    REQUIRE(loaded.exit_code == 0);
    CHECK(has(loaded, "librefrain_opencl.so"));
    CHECK_FALSE(ordinary.wrote_nothing());
    CHECK(has(loaded, "OPENCL_LAYERS " OPENCL_LAYER ":other\n"));  // put right
  }
  const Copy secure(OPENCL_PROGRAM, true);
  const Result result = secure.run(environment);
  SHOW(result);
  REQUIRE(result.exit_code == 0);
  if (!is_secure(result)) {
    return;
  }
  CHECK(secure.wrote_nothing());
  CHECK(result.errors.empty());
  CHECK(has(result, "threads 1\n"));
  CHECK(has(result, "OPENCL_LAYERS " OPENCL_LAYER "\n"));
}
#endif

#ifdef CUDA_PROGRAM
TEST_CASE("a driver's stand-in in a set-group-id program opens neither the layer nor what the environment names",
          "[promise-7]") {
  const Words environment{"REFRAIN_CUDA_DRIVER=" CUDA_DRIVER};
  const Copy ordinary(CUDA_PROGRAM, false);
  const Result loaded = ordinary.run(environment);
  {
    SHOW(loaded);
    REQUIRE(loaded.exit_code == 0);
    CHECK(has(loaded, "answer 0\n"));
    CHECK(has(loaded, "librefrain_cuda_layer.so"));
    CHECK(has(loaded, CUDA_DRIVER));
    CHECK_FALSE(ordinary.wrote_nothing());
  }
  const Copy secure(CUDA_PROGRAM, true);
  const Result result = secure.run(environment);
  SHOW(result);
  REQUIRE(result.exit_code == 0);
  if (!is_secure(result)) {
    return;
  }
  CHECK(has(result, "librefrain_cuda.so"));
  CHECK_FALSE(has(result, "librefrain_cuda_layer.so"));
  CHECK_FALSE(has(result, CUDA_DRIVER));
  CHECK(secure.wrote_nothing());
  CHECK(result.errors.empty());
  CHECK(has(result, "threads 1\n"));
}
#endif

}  // namespace
