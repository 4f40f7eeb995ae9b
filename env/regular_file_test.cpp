#include "env/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

TEST_CASE("a regular file is read whole, anything else not at all") {
  const test::ScratchFolder folder;
  const std::string file = folder.file("file");
  const std::string pipe = folder.file("pipe");
  const std::string text(100'000, 'x');
  std::ofstream(file) << text;
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string content;
  std::string why;
  CHECK(read_regular_file(file, text.size(), &content, &why));
  CHECK(content == text);
  CHECK_FALSE(read_regular_file(file, text.size() - 1, &content, &why));
  CHECK(why.find("99999 bytes") != std::string::npos);
  ::alarm(20);  // nobody writes into the pipe
  for (const std::string& odd : {pipe, folder.path(), std::string("/dev/zero")}) {
    CHECK_FALSE(read_regular_file(odd, 1000, &content, &why));
    CHECK(why.find("not a regular file") != std::string::npos);
  }
  ::alarm(0);
  CHECK_FALSE(read_regular_file(folder.file("none"), 1000, &content, &why));
  CHECK(why.find("No such file") != std::string::npos);
  // Files that have no size beforehand.
  CHECK(read_regular_file("/proc/self/status", 1 << 20, &content, &why));
  CHECK(content.find("Pid:") != std::string::npos);
}

}  // namespace
}  // namespace refrain::env
