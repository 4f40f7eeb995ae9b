#include "env/cli/marked_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

std::string content(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

MarkedFile picture(const std::string& name) {
  return {name, "<!-- mark -->", "picture"};
}

const std::string kText = "<svg>\n<!-- mark -->\n</svg>\n";

TEST_CASE("a marked file is written for its owner alone, and takes the place of an older one or of an empty file") {
  const test::ScratchFolder work;
  const std::string name = work.file("a.svg");
  picture(name).check();
  CHECK(work.files().empty());
  picture(name).write(kText);
  CHECK(content(name) == kText);
  struct stat status {};
  REQUIRE(::stat(name.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  picture(name).check();
  CHECK(content(name) == kText);
  picture(name).write(kText + "more\n");
  CHECK(content(name) == kText + "more\n");
  std::ofstream(work.file("empty")) << "";
  picture(work.file("empty")).write(kText);
  CHECK(content(work.file("empty")) == kText);
  CHECK(work.files().size() == 2);
}

TEST_CASE("what is no marked file stays, and what can't be written is said by name, before and while writing") {
  const test::ScratchFolder work;
  const std::string name = work.file("letter");
  std::ofstream(name) << "<svg>\nwithout\n<!-- mark -->\n";
  std::filesystem::create_symlink(name, work.file("link"));
  const auto refused = [](const std::string& file, const std::string& why) {
    CAPTURE(file);
    CHECK_THROWS_WITH(picture(file).check(), Catch::Contains("'" + file + "'") && Catch::Contains(why));
    CHECK_THROWS_WITH(picture(file).write(kText), Catch::Contains("'" + file + "'") && Catch::Contains(why));
  };
  refused(name, "is there already, and no picture of Refrain's");
  refused(work.file("missing/a.svg"), "can't write the picture to");
  refused(work.file("missing/a.svg"), "No such file");
  refused(work.file("link"), "can't write the picture to");
  refused(work.path(), "can't write the picture to");
  CHECK(content(name) == "<svg>\nwithout\n<!-- mark -->\n");
  CHECK(work.files().size() == 2);
}

}  // namespace
}  // namespace refrain::env
