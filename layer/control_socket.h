// The socket by which `refrain ctl` reaches a process: one line asked, one answer, one connection at a time.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "env/own_file.h"
#include "env/own_thread.h"

namespace refrain::layer {

/// Answers on a thread of its own, and only to its user and to root. Nothing that whoever asks does keeps the process
/// from going on or ending. The program knows nothing of the descriptor: where it closes it, there are no more answers.
class ControlSocket {
 public:
  /// Waits so many milliseconds. False: at once, because nobody waits for the answer any more, or the process ends.
  using Wait = std::function<bool(int)>;
  /// What is answered; what it throws is not answered. Called on the socket's thread.
  using Answer = std::string (*)(std::string_view request, const Wait& wait);

  ControlSocket() = default;
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// False, and nothing is there, if there can be no such socket. Not thread-safe, as stop() and forget_in_child().
  [[nodiscard]] bool start(const std::string& address, Answer answer);
  /// Ends the thread, and removes the socket. A thread that does not hear of it, or does not end soon, stays until the
  /// process ends: this has to last as long.
  void stop() noexcept;
  /// After fork() in the child: it is the parent's.
  void forget_in_child() noexcept;
  /// Removes its name. Async-signal-safe.
  void remove_name() noexcept;

 private:
  void serve() noexcept;
  void converse(int client);
  [[nodiscard]] bool is_ours() const noexcept;
  /// False: not within `timeout_ms`, or the process ends.
  [[nodiscard]] bool wait_for(int client, short events, int timeout_ms) const noexcept;

  int descriptor_ = -1;
  env::FileIdentity socket_;
  std::string address_;
  Answer answer_ = nullptr;
  std::atomic<bool> listening_{false};
  env::OwnThread thread_;
};

}  // namespace refrain::layer
