#include "env/older_files.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "env/own_file.h"
#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

struct stat status_of(const std::string& file) {
  struct stat status {};
  REQUIRE(::lstat(file.c_str(), &status) == 0);
  return status;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("older files as text, and what is none") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("a")) << "a";
  std::ofstream(folder.file("b")) << "b";
  OlderFiles files;
  CHECK(files.empty());
  files.add(status_of(folder.file("a")));
  CHECK_FALSE(files.contains(status_of(folder.file("b"))));
  files.add(status_of(folder.file("b")));
  const OlderFiles read(files.text());
  CHECK(read.text() == files.text());
  CHECK(read.contains(status_of(folder.file("a"))));
  CHECK(read.contains(status_of(folder.file("b"))));
  for (const char* wrong : {"", ",", "1", "1:2:3", "1:2:3:", "1:2:3:4:5", "1:2:3:x", ":::", "-1:2:3:4"}) {
    CAPTURE(wrong);
    CHECK(OlderFiles(wrong).empty());
  }
  CHECK(OlderFiles("x,1:2:3:4,").text() == "1:2:3:4");
}

TEST_CASE("one that was written to since is another one") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("x")) << "older";
  OlderFiles older;
  older.add(status_of(folder.file("x")));
  std::ofstream(folder.file("x"), std::ios::app) << " and more";
  CHECK_FALSE(older.contains(status_of(folder.file("x"))));
  OwnFile file;
  REQUIRE(!file.create(folder.file("x"), 0600, &older));
  CHECK_FALSE(file.older());
  CHECK(file.name() != folder.file("x"));
}

TEST_CASE("an older file is taken by one, who replaces it when there is something to put there") {
  const test::ScratchFolder folder;
  const std::string place = folder.file("x.rfn");
  std::ofstream(place) << "older";
  OlderFiles older;
  older.add(status_of(place));
  OwnFile claim;
  REQUIRE(!claim.create(place, 0600, &older));
  CHECK(claim.older());
  CHECK(claim.name() == place);
  const pid_t child = ::fork();  // locks are those of processes, until they open and close the file
  if (child == 0) {
    OwnFile other;
    ::_exit(!other.create(place, 0600, &older) && !other.older() && other.name() != place ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(contents(place) == "older");

  OwnFile taken;
  REQUIRE(!taken.replace(place, 0600, "new"));
  CHECK(contents(place) == "new");
  OwnFile late;
  REQUIRE(!late.create(place, 0600, &older));
  CHECK_FALSE(late.older());
  CHECK(late.name() != place);
  claim.remove();  // not made by it
  CHECK(contents(place) == "new");
}

}  // namespace
}  // namespace refrain::env
