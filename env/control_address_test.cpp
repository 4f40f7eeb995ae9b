#include "env/control_address.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "test/support/scratch_folder.h"

using namespace refrain;
using env::ControlAddress;

TEST_CASE("control addresses: the user's own folder, then the system's, then one in /tmp") {
  CHECK(env::control_folders(1000, "/my run") ==
        std::vector<std::string>{"/my run/refrain", "/run/user/1000/refrain", "/tmp/refrain-1000"});
  CHECK(env::control_folders(1000, "/run/user/1000").size() == 2);
  CHECK(env::control_folders(1000, "relative").size() == 2);
  CHECK(env::control_folders(1000, "").size() == 2);
}

TEST_CASE("control addresses: processes are found by the names of their sockets") {
  const test::ScratchFolder folder;
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  const std::string own = env::own_control_folder();
  REQUIRE(own == folder.file("refrain"));
  for (const char* name : {"20.cuda", "3.opencl", "20.hip", "x.cuda", "20", ".cuda", "99999999999999.cuda"}) {
    std::ofstream(own + "/" + name).flush();
  }
  CHECK(env::control_address(own, 20, "cuda") == own + "/20.cuda");
  std::vector<std::string> found;
  for (const ControlAddress& address : env::control_addresses(::geteuid(), folder.path())) {
    if (address.socket.starts_with(own)) found.push_back(std::to_string(address.process) + " " + address.api);
  }
  CHECK(found == std::vector<std::string>{"3 opencl", "20 cuda", "20 hip"});
}

TEST_CASE("control addresses: a folder that others may look into, or have put there, is not used") {
  const test::ScratchFolder folder;
  const test::ScratchFolder elsewhere;
  ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  const std::string wanted = folder.file("refrain");
  SECTION("others may look into it") {
    REQUIRE(::mkdir(wanted.c_str(), 0755) == 0);
    ::chmod(wanted.c_str(), 0755);
  }
  SECTION("it is a link") {
    std::filesystem::create_directory_symlink(elsewhere.path(), wanted);
  }
  SECTION("it is a file") {
    std::ofstream(wanted).flush();
  }
  SECTION("it is another user's") {
    if (::geteuid() != 0) return;
    REQUIRE(::mkdir(wanted.c_str(), 0700) == 0);
    REQUIRE(::chown(wanted.c_str(), 65534, 65534) == 0);
  }
  CHECK(env::own_control_folder() != wanted);
  for (const ControlAddress& address : env::control_addresses(::geteuid(), folder.path())) {
    CHECK(!address.socket.starts_with(wanted));
  }
}
