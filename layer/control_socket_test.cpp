#include "layer/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <thread>

#include "layer/immortal.h"
#include "test/support/scratch_folder.h"

namespace {
enum class Shutdown { kWorks, kRefused, kNothing };
Shutdown shutdown_now = Shutdown::kWorks;
}  // namespace

/// In the place of the C library's.
extern "C" int shutdown(int descriptor, int how) noexcept {
  if (shutdown_now == Shutdown::kWorks) {
    return static_cast<int>(::syscall(SYS_shutdown, descriptor, how));
  }
  errno = EPERM;
  return shutdown_now == Shutdown::kRefused ? -1 : 0;
}

namespace refrain::layer {
namespace {

using namespace std::chrono_literals;

int connected(const std::string& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  address.copy(name.sun_path, sizeof(name.sun_path) - 1);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    ::close(descriptor);
    return -1;
  }
  return descriptor;
}

std::string read_all(int descriptor) {
  std::string text;
  char part[256];
  for (ssize_t got = 0; (got = ::read(descriptor, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  ::close(descriptor);
  return text;
}

std::string ask(const std::string& address, const std::string& request) {
  const int descriptor = connected(address);
  if (descriptor < 0) {
    return "nobody";
  }
  ::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL);
  return read_all(descriptor);
}

std::string answer(std::string_view request, const ControlSocket::Wait& wait) {
  if (request == "throw") {
    throw std::runtime_error("no answer");
  }
  if (request == "wait") {
    return wait(60'000) ? "waited" : "woken";
  }
  if (request == "long") {
    return std::string(1'000'000, 'x');
  }
  return "<" + std::string(request) + ">";
}

struct Rig {
  Rig() { REQUIRE(socket.start(address, &answer)); }
  ~Rig() { socket.stop(); }
  test::ScratchFolder folder;
  std::string address = folder.path() + "/1.test";
  ControlSocket socket;
};

}  // namespace

TEST_CASE("control socket: one line is asked, and answered") {
  Rig rig;
  CHECK(ask(rig.address, "status\n") == "<status>");
  CHECK(ask(rig.address, "two\nlines\n") == "<two>");
  CHECK(ask(rig.address, "throw\n").empty());
  CHECK(ask(rig.address, std::string(1000, 'x') + "\n").empty());
  CHECK(ask(rig.address, "long\n").size() == 1'000'000);
  CHECK(ask(rig.address, "status\n") == "<status>");
  rig.socket.stop();
  CHECK(ask(rig.address, "status\n") == "nobody");
  CHECK_FALSE(std::filesystem::exists(rig.address));
}

TEST_CASE("control socket: who asks nothing, or takes no answer, holds nobody up for long") {
  Rig rig;
  const int silent = connected(rig.address);
  CHECK(ask(rig.address, "status\n") == "<status>");
  ::close(silent);
  const int deaf = connected(rig.address);
  REQUIRE(::write(deaf, "long\n", 5) == 5);
  CHECK(ask(rig.address, "status\n") == "<status>");
  ::close(deaf);
}

TEST_CASE("control socket: a wait ends with the one who waits, and with the process") {
  Rig rig;
  const int waiting = connected(rig.address);
  REQUIRE(::write(waiting, "wait\n", 5) == 5);
  SECTION("the one who waits") {
    ::close(waiting);
    CHECK(ask(rig.address, "status\n") == "<status>");
  }
  SECTION("the process") {
    std::this_thread::sleep_for(50ms);
    rig.socket.stop();
    ::close(waiting);
  }
}

TEST_CASE("control socket: a program that closes what it does not know ends the answers, and nothing else") {
  Rig rig;
  CHECK(ask(rig.address, "status\n") == "<status>");
  struct stat status {};
  for (int number = 3; number < 4096; ++number) {
    if (::fstat(number, &status) == 0 && S_ISSOCK(status.st_mode)) {
      ::close(number);
      REQUIRE(::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);  // another file of the same number perhaps
    }
  }
  CHECK(ask(rig.address, "status\n") != "<status>");
  rig.socket.stop();  // does not wait
}

TEST_CASE("control socket: a process ends where the system refuses to wake the thread", "[promise-7]") {
  const test::ScratchFolder folder;
  const std::string address = folder.path() + "/1.test";
  const Shutdown shutdown = GENERATE(Shutdown::kRefused, Shutdown::kNothing);
  auto& socket = *new Immortal<ControlSocket>;  // its thread stays
  REQUIRE(socket->start(address, &answer));
  CHECK(ask(address, "status\n") == "<status>");
  shutdown_now = shutdown;
  socket->stop();
  shutdown_now = Shutdown::kWorks;
  CHECK(ask(address, "status\n") == "nobody");
}

TEST_CASE("control socket: a child does not answer in its parent's place") {
  Rig rig;
  const pid_t child = ::fork();
  if (child == 0) {
    rig.socket.forget_in_child();
    ::pause();
  }
  CHECK(ask(rig.address, "status\n") == "<status>");
  rig.socket.stop();
  CHECK(ask(rig.address, "status\n") == "nobody");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("control socket: another user is not answered") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can be another user");
    return;
  }
  Rig rig;
  ::chmod(rig.folder.path().c_str(), 0777);
  ::chmod(rig.address.c_str(), 0777);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const std::string got = ::setuid(kNobody) == 0 ? ask(rig.address, "status\n") : "cannot be another user";
    static_cast<void>(!::write(ends[1], got.data(), got.size()));
    ::_exit(0);
  }
  ::close(ends[1]);
  CHECK(read_all(ends[0]).empty());
  ::waitpid(child, nullptr, 0);
  CHECK(ask(rig.address, "status\n") == "<status>");
}

TEST_CASE("control socket: where there can be none there is none") {
  ControlSocket socket;
  CHECK_FALSE(socket.start("/nowhere/1.test", &answer));
  CHECK_FALSE(socket.start("/" + std::string(200, 'x'), &answer));
  socket.stop();
  socket.forget_in_child();
  socket.remove_name();
}

}  // namespace refrain::layer
