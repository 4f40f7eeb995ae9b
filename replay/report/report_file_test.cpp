#include "replay/report/report_file.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "test/support/scratch_folder.h"

namespace refrain::replay {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("report file: each report replaces the one before, and is its owner's alone") {
  const test::ScratchFolder folder;
  ReportFile file(folder.file("x.json"), 0600);
  for (const char* text : {"one", "two"}) {
    file.write(text);
    CHECK(contents(folder.file("x.json")) == text);
    CHECK(folder.files().size() == 1);
  }
  struct stat status {};
  REQUIRE(::stat(folder.file("x.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE("report file: what others put in its place stays") {
  const test::ScratchFolder folder;
  ReportFile file(folder.file("x.json"), 0600);
  file.write("one");
  std::filesystem::remove(folder.file("x.json"));
  std::ofstream(folder.file("x.json")) << "theirs";
  file.write("two");
  CHECK(contents(folder.file("x.json")) == "theirs");
  CHECK(contents(folder.file("x." + std::to_string(::getpid()) + ".json")) == "two");
}

TEST_CASE("report file: an older one goes when the first report is there, and only then") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("x.json")) << "older";
  struct stat status {};
  REQUIRE(::lstat(folder.file("x.json").c_str(), &status) == 0);
  env::OlderFiles older;
  older.add(status);
  ReportFile first(folder.file("x.json"), 0600, older), second(folder.file("x.json"), 0600, older);
  CHECK(contents(folder.file("x.json")) == "older");
  first.write("one");
  CHECK(contents(folder.file("x.json")) == "one");
  second.write("two");
  CHECK(contents(folder.file("x.json")) == "one");
  CHECK(folder.files().size() == 2);
}

TEST_CASE("report file: one that can't be written whole leaves nothing behind") {
  const test::ScratchFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{2, 2};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ReportFile(folder.file("x.json"), 0600).write("whole");
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(folder.files().size() == 0);
}

TEST_CASE("report file: nothing that waits at a name that can be foreseen is written to") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("theirs")).flush();
  REQUIRE(::symlink(folder.file("theirs").c_str(), folder.file("x.json.part").c_str()) == 0);
  ReportFile(folder.file("x.json"), 0600).write("one");
  CHECK(contents(folder.file("x.json")) == "one");
  CHECK(std::filesystem::is_symlink(folder.file("x.json.part")));
  std::filesystem::remove(folder.file("x.json"));
  REQUIRE(::symlink(folder.file("theirs").c_str(), folder.file("x.json").c_str()) == 0);
  ReportFile(folder.file("x.json"), 0600).write("two");
  CHECK(contents(folder.file("theirs")).empty());
}

TEST_CASE("report file: a descriptor that the user names gets each report as it comes") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ReportFile file("/dev/fd/" + std::to_string(ends[1]), 0600);
  file.write("one");
  file.write("two");
  char text[16];
  CHECK(std::string(text, static_cast<std::size_t>(::read(ends[0], text, sizeof(text)))) == "onetwo");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace refrain::replay
