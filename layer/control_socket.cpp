#include "layer/control_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>

namespace refrain::layer {
namespace {

constexpr int kPatienceMs = 1000;                 // limit: for a request, and for each piece of an answer
constexpr std::size_t kLongestRequest = 64;       // limit: bytes
constexpr std::chrono::milliseconds kPause{100};  // limit: while the process has no descriptor left

bool may_ask(int client) noexcept {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == ::geteuid() || peer.uid == 0);
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

 private:
  int number_;
};

}  // namespace

bool ControlSocket::start(const std::string& address, Answer answer) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() >= sizeof(name.sun_path)) {
    return false;
  }
  std::memcpy(name.sun_path, address.c_str(), address.size() + 1);
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int descriptor = made < 0 ? -1 : env::lifted(made);
  if (descriptor < 0) {
    return false;
  }
  ::unlink(name.sun_path);  // of a process that had this number before, and was killed
  const bool ready =
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 && ::listen(descriptor, 4) == 0;
  const auto identity = env::FileIdentity::of(descriptor);
  descriptor_ = descriptor;
  address_ = address;
  answer_ = answer;
  if (identity) {
    socket_ = *identity;
  }
  listening_.store(ready && identity);
  if (listening_ && thread_.start<&ControlSocket::serve>("refrain-control", *this)) {
    return true;
  }
  listening_.store(false);
  ::unlink(name.sun_path);
  ::close(descriptor);
  return false;
}

bool ControlSocket::is_ours() const noexcept {
  return env::FileIdentity::of(descriptor_) == socket_;
}

void ControlSocket::stop() noexcept {
  if (!listening_.exchange(false)) {
    return;
  }
  ::unlink(address_.c_str());
  if (!is_ours()) {
    return;  // the program has closed it, and the thread waits for nothing any more: it ends with the process
  }
  // That wakes the thread. Where it is refused (a filter of system calls) the thread sleeps on.
  if (::shutdown(descriptor_, SHUT_RDWR) != 0) {
    thread_.leave();
  } else if (thread_.join_in_time()) {
    ::close(descriptor_);
  }
}

void ControlSocket::forget_in_child() noexcept {
  thread_.forget();
  if (listening_.exchange(false) && is_ours()) {
    ::close(descriptor_);
  }
}

void ControlSocket::remove_name() noexcept {
  if (listening_.load()) {
    ::unlink(address_.c_str());
  }
}

void ControlSocket::serve() noexcept {
  while (listening_.load()) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) {
      return;
    }
    if (!listening_.load() || !is_ours()) {
      return;
    }
    const int client = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0) {
      const Descriptor closer(client);
      try {
        converse(client);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): there is no answer
      }
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      ::poll(nullptr, 0, static_cast<int>(kPause.count()));
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void ControlSocket::converse(int client) {
  if (!may_ask(client)) {
    return;
  }
  std::string request;
  while (request.find('\n') == std::string::npos) {
    char part[kLongestRequest];
    if (request.size() > kLongestRequest || !wait_for(client, POLLIN, kPatienceMs)) {
      return;
    }
    const ssize_t got = ::recv(client, part, sizeof(part), 0);
    if (got <= 0) {
      return;
    }
    request.append(part, static_cast<std::size_t>(got));
  }
  const std::string answer = answer_(std::string_view(request).substr(0, request.find('\n')), [&](int milliseconds) {
    return !wait_for(client, POLLRDHUP, milliseconds) && listening_.load();
  });
  for (std::size_t sent = 0; sent < answer.size();) {
    if (!wait_for(client, POLLOUT, kPatienceMs)) {
      return;
    }
    const ssize_t part = ::send(client, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
    if (part < 0 && errno != EAGAIN && errno != EINTR) {
      return;
    }
    sent += part > 0 ? static_cast<std::size_t>(part) : 0;
  }
}

bool ControlSocket::wait_for(int client, short events, int timeout_ms) const noexcept {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (listening_.load()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting[] = {{client, events, 0}, {descriptor_, 0, 0}};  // of the second one the end alone
    const int ready = ::poll(waiting, 2, static_cast<int>(left > 0 ? left : 0));
    if (ready > 0 && waiting[0].revents != 0) {
      return true;
    }
    if ((ready < 0 && errno != EINTR) || (ready >= 0 && left <= 0) || waiting[1].revents != 0) {
      return false;
    }
  }
  return false;
}

}  // namespace refrain::layer
