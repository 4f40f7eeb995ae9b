#include "env/cli/link_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace refrain::env {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "refrain-links-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST_CASE("a folder without separators is used as it is") {
  const Folder work;
  CHECK(folder_without_separators("/opt/refrain", {work / "links"}) == "/opt/refrain");
  CHECK_FALSE(fs::exists(work / "links"));
}

TEST_CASE("others get a link, each one for good") {
  const Folder work;
  const std::string first = folder_without_separators("/a folder", {work / "a/b/links"});
  REQUIRE(first.starts_with(work / "a/b/links/"));
  CHECK(fs::read_symlink(first) == "/a folder");
  CHECK(folder_without_separators("/a folder", {work / "a/b/links"}) == first);
  CHECK(folder_without_separators("/a:folder", {work / "a/b/links"}) != first);
  // Of another folder, by whatever accident.
  fs::remove(first);
  fs::create_symlink("/elsewhere", first);
  CHECK(folder_without_separators("/a folder", {work / "a/b/links"}) == first);
  CHECK(fs::read_symlink(first) == "/a folder");
}

TEST_CASE("no link is made where others could change it, or that cannot be named either") {
  const Folder work;
  fs::create_directory(work / "open");
  REQUIRE(::chmod((work / "open").c_str(), 0777) == 0);
  fs::create_directory(work / "open/inside");
  fs::create_symlink(work / "open", work / "link");
  CHECK(folder_without_separators("/a folder", {}).empty());
  CHECK(folder_without_separators(
            "/a folder", {work / "open", work / "open/inside", work / "link", work / "with blanks", "/proc/refrain"})
            .empty());
  CHECK(folder_without_separators("/a folder", {work / "open", work / "good"}).starts_with(work / "good/"));
}

TEST_CASE("there is a place for every user") {
  REQUIRE_FALSE(places_for_links().empty());
  for (const std::string& place : places_for_links()) {
    CHECK(place.front() == '/');
  }
}

}  // namespace
}  // namespace refrain::env
