#include "env/cli/interposers.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace refrain::env {

TEST_CASE("libraries that are preloaded everywhere are read as the dynamic linker reads them") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("refrain-preload-" + std::to_string(getpid()));
  std::ofstream(file) << "# limits\n/a.so /b.so\t\n\n/c.so:/d.so # not this: /e.so\n";
  CHECK(preloaded_everywhere(file) == std::vector<std::string>{"/a.so", "/b.so", "/c.so", "/d.so"});
  std::filesystem::remove(file);
  CHECK(preloaded_everywhere(file).empty());
}

TEST_CASE("a library that defines what is asked for is an interposer") {
  CHECK(find_interposers({"/nowhere.so", "/proc/self/exe"}, "cu").empty());
  // The C library stands in for one: it defines dlsym(), and for this purpose fopen().
  const std::vector<Interposer> found = find_interposers({"/nowhere.so", "libc.so.6"}, "_IO_");
  REQUIRE(found.size() <= 1);
  if (!found.empty()) {
    CHECK(found.front().file.starts_with('/'));
    CHECK_FALSE(found.front().functions.empty());
  }
}

}  // namespace refrain::env
