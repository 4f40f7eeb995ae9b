#include "env/cli/link_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a folder without separators is used as it is") {
  const test::ScratchFolder work;
  CHECK(folder_without_separators("/opt/refrain", {work.file("links")}) == "/opt/refrain");
  CHECK_FALSE(fs::exists(work.file("links")));
}

TEST_CASE("others get a link, each one for good") {
  const test::ScratchFolder work;
  const std::string first = folder_without_separators("/a folder", {work.file("a/b/links")});
  REQUIRE(first.starts_with(work.file("a/b/links/")));
  CHECK(fs::read_symlink(first) == "/a folder");
  CHECK(folder_without_separators("/a folder", {work.file("a/b/links")}) == first);
  CHECK(folder_without_separators("/a:folder", {work.file("a/b/links")}) != first);
  // Of another folder, by whatever accident.
  fs::remove(first);
  fs::create_symlink("/elsewhere", first);
  CHECK(folder_without_separators("/a folder", {work.file("a/b/links")}) == first);
  CHECK(fs::read_symlink(first) == "/a folder");
}

TEST_CASE("no link is made where others could change it, or that cannot be named either") {
  const test::ScratchFolder work;
  fs::create_directory(work.file("open"));
  REQUIRE(::chmod(work.file("open").c_str(), 0777) == 0);
  fs::create_directory(work.file("open/inside"));
  fs::create_symlink(work.file("open"), work.file("link"));
  CHECK(folder_without_separators("/a folder", {}).empty());
  CHECK(folder_without_separators("/a folder", {work.file("open"), work.file("open/inside"), work.file("link"),
                                                work.file("with blanks"), "/proc/refrain"})
            .empty());
  CHECK(folder_without_separators("/a folder", {work.file("open"), work.file("good")}).starts_with(work.file("good/")));
}

TEST_CASE("there is a place for every user") {
  REQUIRE_FALSE(places_for_links().empty());
  for (const std::string& place : places_for_links()) {
    CHECK(place.front() == '/');
  }
}

}  // namespace
}  // namespace refrain::env
