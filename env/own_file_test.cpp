#include "env/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include "test/support/scratch_folder.h"

namespace refrain::env {
namespace {

constexpr mode_t kOwner = 0600;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// waitpid's status of a process of its own: limits and descriptors belong to the whole process.
template <class Body>
int in_child(Body body) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}
void demand(bool condition, int line) {
  if (!condition) ::_exit(line % 255 + 1);
}
#define DEMAND(condition) demand(condition, __LINE__)

/// Every descriptor from `first` on.
void close_from(int first) {
  for (int number = first; number < 5000; ++number) ::close(number);
}

TEST_CASE("it takes no descriptor that the program would get, and no child inherits it") {
  const test::ScratchFolder folder;
  CHECK(in_child([&] {
          close_from(3);
          OwnFile file;
          DEMAND(!file.append_to(folder.file("x"), kOwner));
          DEMAND(::dup(0) == 3);
          int found = 0;
          for (int number = 4; number < 5000; ++number) {
            if (const int flags = ::fcntl(number, F_GETFD); flags >= 0) {
              DEMAND(number >= 32 || number >= static_cast<int>(::sysconf(_SC_OPEN_MAX)) - 40);
              DEMAND((flags & FD_CLOEXEC) != 0);
              ++found;
            }
          }
          DEMAND(found == 1);
        }) == 0);
}

TEST_CASE("the process' table of descriptors does not grow for it") {
  const auto table = [] {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      if (int size = 0; word == "FDSize:" && status >> size) return size;
    }
    return 0;
  };
  const test::ScratchFolder folder;
  CHECK(in_child([&] {
          const int before = table();
          DEMAND(before > 0);
          OwnFile file;
          DEMAND(!file.append_to(folder.file("x"), kOwner));
          DEMAND(table() == before);
        }) == 0);
}

TEST_CASE("closed by the program it is opened again, the program's file with its number gets nothing") {
  const test::ScratchFolder folder;
  CHECK(in_child([&] {
          OwnFile file;
          DEMAND(!file.append_to(folder.file("ours"), kOwner));
          DEMAND(file.write("one\n") == 0);
          close_from(3);
          const int theirs = ::open(folder.file("theirs").c_str(), O_RDWR | O_CREAT, 0600);
          for (int number = theirs + 1; number < 5000; ++number) ::dup2(theirs, number);
          for (int number = theirs + 1; number < 40; ++number) ::close(number);  // there is room
          DEMAND(::chdir("/") == 0);
          DEMAND(file.write("two\n") == 0);
        }) == 0);
  CHECK(contents(folder.file("ours")) == "one\ntwo\n");
  CHECK(contents(folder.file("theirs")).empty());
}

TEST_CASE("where its name leads elsewhere meanwhile it is given up") {
  const test::ScratchFolder folder;
  CHECK(in_child([&] {
          OwnFile file;
          DEMAND(!file.append_to(folder.file("x"), kOwner));
          ::rename(folder.file("x").c_str(), folder.file("moved").c_str());
          std::ofstream(folder.file("x")) << "theirs";
          DEMAND(file.write("still open") == 0);
          close_from(3);
          DEMAND(file.write("lost") == EBADF);
        }) == 0);
  CHECK(contents(folder.file("x")) == "theirs");
  CHECK(contents(folder.file("moved")) == "still open");
}

TEST_CASE("a limit of files' sizes and a reader that went away are errors, and no signals") {
  const test::ScratchFolder folder;
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_DFL);
    ::signal(SIGPIPE, SIG_DFL);
    const rlimit limit{6, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    OwnFile file;
    DEMAND(!file.append_to(folder.file("x"), kOwner));
    std::size_t written = 0;
    DEMAND(file.write(std::as_bytes(std::span(std::string_view("0123456789"))), &written) == EFBIG);
    DEMAND(written == 6);
    int ends[2];
    DEMAND(::pipe(ends) == 0);
    ::close(ends[0]);
    OwnFile pipe;
    pipe.borrow(ends[1], *FileIdentity::of(ends[1]));
    DEMAND(pipe.write("x") == EPIPE);
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    DEMAND(::sigismember(&mask, SIGXFSZ) == 0 && ::sigismember(&mask, SIGPIPE) == 0);
    // The program's own writes end it as ever.
    const int theirs = ::open(folder.file("y").c_str(), O_WRONLY | O_CREAT, 0600);
    DEMAND(::write(theirs, "0123456789", 10) == 6);
    DEMAND(::write(theirs, "x", 1) == 1);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGXFSZ);
}

TEST_CASE("a signal of the program's that waits is not taken away") {
  CHECK(in_child([&] {
          sigset_t both;
          sigemptyset(&both);
          sigaddset(&both, SIGXFSZ);
          sigaddset(&both, SIGPIPE);
          ::pthread_sigmask(SIG_BLOCK, &both, nullptr);
          ::raise(SIGXFSZ);
          int ends[2];
          DEMAND(::pipe(ends) == 0);
          ::close(ends[0]);
          OwnFile pipe;
          pipe.borrow(ends[1], *FileIdentity::of(ends[1]));
          DEMAND(pipe.write("x") == EPIPE);
          sigset_t pending;
          ::sigpending(&pending);
          DEMAND(::sigismember(&pending, SIGXFSZ) == 1);
          DEMAND(::sigismember(&pending, SIGPIPE) == 0);
        }) == 0);
}

TEST_CASE("a file that is there is never written over") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("x.rfn")) << "theirs";
  OwnFile first;
  OwnFile second;
  REQUIRE(!first.create(folder.file("x.rfn"), kOwner));
  const std::string name = folder.file("x." + std::to_string(::getpid()));
  CHECK(first.name() == name + ".rfn");
  REQUIRE(first.write("one") == 0);
  REQUIRE(!second.create(folder.file("x.rfn"), kOwner));
  CHECK(second.name() == name + ".2.rfn");
  CHECK(contents(folder.file("x.rfn")) == "theirs");

  std::ofstream(folder.file("empty")).flush();
  OwnFile third;
  REQUIRE(!third.create(folder.file("empty"), kOwner));
  CHECK(third.name() == folder.file("empty"));
  // Nothing is in it yet, but it is taken.
  CHECK(in_child([&] {
          OwnFile other;
          DEMAND(!other.create(folder.file("empty"), kOwner));
          DEMAND(other.name() != folder.file("empty"));
        }) == 0);
  OwnFile refused;
  CHECK(refused.create(folder.file("no/folder"), kOwner) == std::errc::no_such_file_or_directory);
  CHECK(refused.create(folder.file("."), kOwner) == std::errc::is_a_directory);
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

TEST_CASE("files are made with the wanted permissions, whatever the program's umask") {
  const test::ScratchFolder folder;
  const mode_t before = ::umask(0);
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
    ::umask(mask);
    const std::string number = std::to_string(mask);
    OwnFile log;
    OwnFile capture;
    OwnFile shared;
    OwnFile draft;
    CHECK(!log.append_to(folder.file("log" + number), kOwner));
    CHECK(!capture.create(folder.file("capture" + number), kOwner));
    CHECK(!shared.create(folder.file("shared" + number), 0664));
    CHECK(!draft.replace(folder.file("draft" + number), 0640, "whole"));
    CHECK(mode_of(log.name()) == 0600);
    CHECK(mode_of(capture.name()) == 0600);
    CHECK(mode_of(shared.name()) == 0664);
    CHECK(mode_of(draft.name()) == 0640);
  }
  ::umask(before);
}

TEST_CASE("no link is followed, and no FIFO, socket or device written to, which the error says") {
  const test::ScratchFolder folder;
  std::ofstream(folder.file("theirs")) << "theirs";
  REQUIRE(::symlink(folder.file("theirs").c_str(), folder.file("link").c_str()) == 0);
  REQUIRE(::symlink(folder.file("nothing").c_str(), folder.file("dangling").c_str()) == 0);
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  const int reader = ::open(folder.file("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  for (const auto& [name, why] :
       std::initializer_list<std::pair<std::string, FileRefusal>>{{folder.file("link"), FileRefusal::kLink},
                                                                  {folder.file("dangling"), FileRefusal::kLink},
                                                                  {folder.file("pipe"), FileRefusal::kSpecial},
                                                                  {"/dev/zero", FileRefusal::kSpecial},
                                                                  {"/dev/full", FileRefusal::kSpecial}}) {
    CAPTURE(name);
    OwnFile file;
    CHECK(file.append_to(name, kOwner) == why);
    CHECK(file.create(name, kOwner) == why);
    CHECK(OwnFile::obstacle(name) == why);
    CHECK_FALSE(make_error_code(why).message().empty());
  }
  CHECK(contents(folder.file("theirs")) == "theirs");
  CHECK_FALSE(std::filesystem::exists(folder.file("nothing")));
  ::close(reader);
}

TEST_CASE("a FIFO that nobody reads keeps nobody waiting") {
  const test::ScratchFolder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(in_child([&] {
          ::alarm(10);
          OwnFile file;
          DEMAND(file.append_to(folder.file("pipe"), kOwner) == FileRefusal::kSpecial);
        }) == 0);
}

TEST_CASE("descriptors that the user names are written to, whatever they are") {
  const test::ScratchFolder folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const int regular = ::open(folder.file("x").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(regular >= 0);
  REQUIRE(::write(regular, "theirs ", 7) == 7);
  for (const int number : {ends[1], regular}) {
    for (const char* names : {"/dev/fd/", "/proc/self/fd/"}) {
      OwnFile file;
      REQUIRE(!file.create(names + std::to_string(number), kOwner));
      CHECK(file.name() == names + std::to_string(number));
      CHECK_FALSE(file.regular());
      CHECK(file.write("ours") == 0);
      file.cut(0, 4);
      file.remove();
    }
  }
  char read_back[8];
  CHECK(::read(ends[0], read_back, sizeof(read_back)) == 8);
  CHECK(contents(folder.file("x")) == "theirs oursours");
  OwnFile nothing;
  CHECK(!nothing.append_to("/dev/null", kOwner));
  CHECK(nothing.write("x") == 0);
  for (const int number : {ends[0], ends[1], regular}) ::close(number);
}

TEST_CASE("in a folder that others may write to, files of others are left alone") {
  const test::ScratchFolder folder;
  const std::string shared = folder.file("shared");
  std::filesystem::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  const std::string theirs = shared + "/x.rfn";
  std::ofstream(theirs).flush();
  std::ofstream(folder.file("elsewhere")).flush();
  // As root they are another user's; otherwise one with a second name stands in for that.
  const bool root = ::geteuid() == 0;
  if (root) {
    REQUIRE(::chown(theirs.c_str(), 65534, 65534) == 0);
  } else {
    REQUIRE(::link(theirs.c_str(), (shared + "/second").c_str()) == 0);
  }
  OwnFile log;
  OwnFile capture;
  CHECK(log.append_to(theirs, kOwner) == FileRefusal::kForeign);
  REQUIRE(!capture.create(theirs, kOwner));
  CHECK(capture.name() == shared + "/x." + std::to_string(::getpid()) + ".rfn");
  CHECK(capture.write("x") == 0);
  CHECK(contents(theirs).empty());
  if (root) {  // in one's own folder the user has put it there
    REQUIRE(::chown(folder.file("elsewhere").c_str(), 65534, 65534) == 0);
    OwnFile other;
    CHECK(!other.append_to(folder.file("elsewhere"), kOwner));
  }
}

TEST_CASE("in a folder that others may write to, one's own file by a further name is left alone") {
  const test::ScratchFolder folder;
  const std::string shared = folder.file("shared");
  std::filesystem::create_directory(shared);
  REQUIRE(::chmod(shared.c_str(), 01777) == 0);
  std::ofstream(folder.file("keys")) << "mine";
  REQUIRE(::link(folder.file("keys").c_str(), (shared + "/log").c_str()) == 0);
  OwnFile log;
  CHECK(log.append_to(shared + "/log", kOwner) == FileRefusal::kForeign);
  CHECK(OwnFile::obstacle(shared + "/log") == FileRefusal::kForeign);
  // In one's own folder nobody else has put it there.
  CHECK(!log.append_to(folder.file("keys"), kOwner));
}

TEST_CASE("a beginning is taken back, but nothing that others wrote behind it") {
  const test::ScratchFolder folder;
  OwnFile file;
  REQUIRE(!file.create(folder.file("x"), kOwner));
  REQUIRE(file.write("whole") == 0);
  REQUIRE(file.write("half") == 0);
  file.cut(5, 3);
  CHECK(contents(folder.file("x")) == "wholehalf");
  file.cut(5, 4);
  CHECK(contents(folder.file("x")) == "whole");
  REQUIRE(file.write("half") == 0);
  std::ofstream(folder.file("x"), std::ios::app) << "theirs";
  file.cut(5, 4);
  CHECK(contents(folder.file("x")) == "wholehalftheirs");
}

TEST_CASE("a file that got the number of ours, which is gone, is not ours") {
  const test::ScratchFolder folder;
  CHECK(in_child([&] {
          OwnFile file;
          DEMAND(!file.create(folder.file("x"), kOwner));
          DEMAND(file.write("ours") == 0);
          const std::optional<FileIdentity> ours = [&] {
            struct stat status {};
            ::stat(folder.file("x").c_str(), &status);
            return std::optional(FileIdentity{status.st_dev, status.st_ino});
          }();
          ::unlink(folder.file("x").c_str());
          std::vector<int> closed;
          for (int number = 3; number < 5000; ++number) {
            if (::close(number) == 0) closed.push_back(number);
          }
          const int theirs = ::open(folder.file("y").c_str(), O_RDWR | O_CREAT, 0600);
          DEMAND(::write(theirs, "theirs", 6) == 6);
          if (FileIdentity::of(theirs) != ours) return;  // numbers are not given again here, or another process got it
          for (const int number : closed) ::dup2(theirs, number);
          DEMAND(file.write("lost") == EBADF);
          file.cut(0, 6);
        }) == 0);
  CHECK(contents(folder.file("y")) == "theirs");
}

TEST_CASE("what takes another file's place is whole or leaves no trace") {
  const test::ScratchFolder folder;
  const std::string place = folder.file("x");
  std::ofstream(place) << "theirs";
  OwnFile file;
  REQUIRE(!file.replace(place, kOwner, "ours"));
  CHECK(file.name() == place);
  CHECK(file.in_place());
  CHECK(file.write(" too") == 0);
  CHECK(in_child([&] { DEMAND(OwnFile::busy(place)); }) == 0);  // until this process opens and closes it
  CHECK(contents(place) == "ours too");
  CHECK(in_child([&] {
          ::signal(SIGXFSZ, SIG_DFL);
          const rlimit limit{2, 2};
          ::setrlimit(RLIMIT_FSIZE, &limit);
          DEMAND(OwnFile().replace(place, kOwner, "cut") == std::errc::file_too_large);
        }) == 0);
  CHECK(contents(place) == "ours too");
  CHECK(OwnFile().replace(folder.file("no/folder"), kOwner, "ours") == std::errc::no_such_file_or_directory);
  CHECK(OwnFile::obstacle_to_replace(folder.file("no/folder")) == std::errc::no_such_file_or_directory);
  CHECK(!OwnFile::obstacle_to_replace(place));
  CHECK(folder.files().size() == 1);
}

TEST_CASE("where there is no room for a descriptor nothing is left behind") {
  const test::ScratchFolder folder;
  CHECK(in_child([&] {
          const rlimit limit{11, 11};
          ::setrlimit(RLIMIT_NOFILE, &limit);
          close_from(3);
          for (int number = 10; number < 11; ++number) ::dup2(0, number);
          OwnFile file;
          DEMAND(file.create(folder.file("x"), kOwner) == std::errc::too_many_files_open);
          DEMAND(file.replace(folder.file("x"), kOwner, "x") == std::errc::too_many_files_open);
        }) == 0);
  CHECK(std::filesystem::is_empty(std::filesystem::path(folder.file("x")).parent_path()));
}

TEST_CASE("what another process is writing is busy") {
  const test::ScratchFolder folder;
  OwnFile file;
  REQUIRE(!file.create(folder.file("x"), kOwner));
  CHECK(in_child([&] { DEMAND(OwnFile::busy(folder.file("x"))); }) == 0);
  CHECK(in_child([&] { DEMAND(!OwnFile::busy(folder.file("y"))); }) == 0);
}

TEST_CASE("identities as text") {
  const std::optional<FileIdentity> here = FileIdentity::of(0);
  REQUIRE(here);
  CHECK(FileIdentity::from(here->text()) == here);
  for (const char* wrong : {"", "1", "1:", ":1", "1:2x", "a:b", "1:2:3"}) {
    CHECK_FALSE(FileIdentity::from(wrong));
  }
}

}  // namespace
}  // namespace refrain::env
