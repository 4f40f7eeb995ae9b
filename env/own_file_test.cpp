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

namespace refrain::env {
namespace {

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "refrain-own-file-XXXXXX").string();
};

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
  const Folder folder;
  CHECK(in_child([&] {
          close_from(3);
          OwnFile file;
          DEMAND(file.append_to(folder.file("x")) == 0);
          DEMAND(::dup(0) == 3);
          int found = 0;
          for (int number = 4; number < 5000; ++number) {
            if (const int flags = ::fcntl(number, F_GETFD); flags >= 0) {
              DEMAND(number >= 900 || number >= static_cast<int>(::sysconf(_SC_OPEN_MAX)) - 40);
              DEMAND((flags & FD_CLOEXEC) != 0);
              ++found;
            }
          }
          DEMAND(found == 1);
        }) == 0);
}

TEST_CASE("closed by the program it is opened again; the program's file with its number gets nothing") {
  const Folder folder;
  CHECK(in_child([&] {
          OwnFile file;
          DEMAND(file.append_to(folder.file("ours")) == 0);
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
  const Folder folder;
  CHECK(in_child([&] {
          OwnFile file;
          DEMAND(file.append_to(folder.file("x")) == 0);
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
  const Folder folder;
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_DFL);
    ::signal(SIGPIPE, SIG_DFL);
    const rlimit limit{6, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    OwnFile file;
    DEMAND(file.append_to(folder.file("x")) == 0);
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

TEST_CASE("a file that is there is never written over") {
  const Folder folder;
  std::ofstream(folder.file("x.rfn")) << "theirs";
  OwnFile first;
  OwnFile second;
  REQUIRE(first.create(folder.file("x.rfn")) == 0);
  const std::string name = folder.file("x." + std::to_string(::getpid()));
  CHECK(first.name() == name + ".rfn");
  REQUIRE(first.write("one") == 0);
  REQUIRE(second.create(folder.file("x.rfn")) == 0);
  CHECK(second.name() == name + ".2.rfn");
  CHECK(contents(folder.file("x.rfn")) == "theirs");

  std::ofstream(folder.file("empty")).flush();
  OwnFile third;
  REQUIRE(third.create(folder.file("empty")) == 0);
  CHECK(third.name() == folder.file("empty"));
  // Nothing is in it yet, but it is taken.
  CHECK(in_child([&] {
          OwnFile other;
          DEMAND(other.create(folder.file("empty")) == 0);
          DEMAND(other.name() != folder.file("empty"));
        }) == 0);
  OwnFile refused;
  CHECK(refused.create(folder.file("no/folder")) == ENOENT);
  CHECK(refused.create(folder.file(".")) == EISDIR);
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
