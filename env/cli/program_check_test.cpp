#include "env/cli/program_check.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "env/cli/options.h"
#include "env/cli/process.h"

namespace refrain::env {
namespace {

using Catch::Contains;

class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() / ("refrain_program_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name, const std::string& content, mode_t mode = 0755) const {
    std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }

 private:
  std::filesystem::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("programs that can be hooked") {
  CHECK(check_program("/proc/self/exe").obstacle.empty());
  CHECK(check_program("sh").obstacle.empty());
  CHECK(check_program("sh").path.ends_with("/sh"));
  const TemporaryFolder folder;
  const ProgramFile script = check_program(folder.file("script", "#! /bin/sh -e\nexit\n"));
  CHECK(script.obstacle.empty());
  CHECK(script.note == "a script, run by /bin/sh");
  CHECK(script.image == std::filesystem::canonical("/bin/sh").filename());
  CHECK(script.starts);
}

TEST_CASE("an empty entry of PATH is the current folder, wherever it stands") {
  const TemporaryFolder folder;
  const std::string here = folder.file("here", "#!/bin/sh\n");
  const char* const given = std::getenv("PATH");
  const std::string path = given == nullptr ? "/usr/bin:/bin" : given;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(here).parent_path());
  for (const char* each : {"", ":/nowhere", "/nowhere::/nowhere", "/nowhere:"}) {
    CAPTURE(each);
    REQUIRE(::setenv("PATH", each, 1) == 0);
    CHECK(check_program("here").path == "./here");
  }
  ::setenv("PATH", path.c_str(), 1);
  std::filesystem::current_path(before);
}

TEST_CASE("programs that can't") {
  const TemporaryFolder folder;
  CHECK(check_program("/no/such/thing").path.empty());
  CHECK_THAT(check_program("no-such-thing").obstacle, Contains("no such command"));
  CHECK_THAT(check_program(folder.file("plain", "x", 0644)).obstacle, Contains("not executable"));
  CHECK_THAT(check_program("/tmp").obstacle, Contains("not executable"));

  // Damaged at every length: never a crash, and no obstacle only once the interpreter segment is complete.
  const std::string program = contents("/proc/self/exe");
  for (std::size_t size = 4; size < 2000; size += 7) {
    const ProgramFile cut = check_program(folder.file("cut", program.substr(0, size)));
    if (size < 64) CHECK_THAT(cut.obstacle, Contains("cut short"));
  }
  std::string other = program;
  other[18] = 40;  // e_machine: ARM
  CHECK_THAT(check_program(folder.file("other", other)).obstacle, Contains("another processor"));
  other = program;
  other[4] = 1;  // EI_CLASS: 32 bit
  CHECK_THAT(check_program(folder.file("small", other)).obstacle, Contains("32-bit"));
  other = program;
  for (std::size_t byte = 32; byte < 40; ++byte) other[byte] = '\x7f';  // e_phoff
  CHECK_THAT(check_program(folder.file("wild", other)).obstacle, Contains("damaged"));
}

TEST_CASE("a program of another user that changes its user") {
  if (::geteuid() != 0) return;
  const TemporaryFolder folder;
  const std::string path = folder.file("setuid", contents("/proc/self/exe"));
  REQUIRE(::chown(path.c_str(), 12345, 0) == 0);
  REQUIRE(::chmod(path.c_str(), 04755) == 0);
  CHECK_THAT(check_program(path).obstacle, Contains("set-user-id"));
}

TEST_CASE("what the dynamic linker tells of a process") {
  std::istringstream text(
      "     7:\tfile=libOpenCL.so.1 [0];  needed by ./heat [0]\n"
      "     7:\tcalling init: /lib/libOpenCL.so.1\n"
      "     7:\tinitialize program: ./heat\n"
      "     7:\tfile=/opt/librefrain_opencl.so [0];  dynamically loaded by /lib/libOpenCL.so.1 [0]\n");
  ProcessTrace trace = read_trace(text, "/opt/librefrain_opencl.so");
  CHECK(trace.program == "./heat");
  CHECK(trace.loader == "/lib/libOpenCL.so.1");
  CHECK(trace.layer_found);
  CHECK_FALSE(trace.layer_ready);
  CHECK(trace.driver.empty());
  std::istringstream more(
      "     7:\tcalling init: /opt/librefrain_opencl.so\n     7:\tcalling init: /lib/libpocl.so.2\n");
  trace = read_trace(more, "/opt/librefrain_opencl.so");
  CHECK(trace.layer_ready);
  CHECK(trace.driver == "/lib/libpocl.so.2");
  std::istringstream nothing("\n\tgarbage file= calling init:\n");
  trace = read_trace(nothing, "/opt/librefrain_opencl.so");
  CHECK_FALSE(trace.layer_found);
  CHECK(trace.loader.empty());
}

TEST_CASE("functions in a process of their own") {
  CHECK(in_child([] { return std::string(200000, 'x'); }, 10).text.size() == 200000);
  CHECK_THAT(in_child(
                 []() -> std::string {
                   ::raise(SIGKILL);
                   return "no";
                 },
                 10)
                 .failure,
             Contains("crashed"));
  CHECK_THAT(in_child(
                 []() -> std::string {
                   ::pause();
                   return "no";
                 },
                 1)
                 .failure,
             Contains("no answer in 1 s"));
  CHECK(in_child([]() -> std::string { throw std::runtime_error("why"); }, 10).failure == "why");
  CHECK_THAT(in_child([]() -> std::string { ::_exit(5); }, 10).failure, Contains("exit status 5"));
}

TEST_CASE("a shared descriptor collects lines of several processes") {
  const SharedDescriptor shared;
  CHECK(shared.lines().empty());
  for (const std::string line : {"refrain layer one\n", "refrain layer two\n"}) {
    const int number = std::stoi(shared.name());
    in_child([=] { return ::write(number, line.data(), line.size()) < 0 ? "failed" : ""; }, 10);
  }
  CHECK(shared.lines() == std::vector<std::string>{"refrain layer one", "refrain layer two"});
}

TEST_CASE("text is wrapped at blanks") {
  CHECK(wrap("", 10).empty());
  CHECK(wrap("aaa bbb ccc", 7) == std::vector<std::string>{"aaa bbb", "ccc"});
  CHECK(wrap("aaaaaaaaaaaa b", 4) == std::vector<std::string>{"aaaaaaaaaaaa", "b"});
  CHECK(wrap("aaaaaaaaaaaa", 4) == std::vector<std::string>{"aaaaaaaaaaaa"});
}

TEST_CASE("arguments are split at the first mark") {
  const Arguments split = split_arguments({"--off", "--", "a", "--", "b"});
  CHECK(split.own == std::vector<std::string>{"--off"});
  CHECK(split.command == std::vector<std::string>{"a", "--", "b"});
  CHECK(split.separated);
  CHECK_FALSE(split_arguments({"a"}).separated);
}

}  // namespace
}  // namespace refrain::env
