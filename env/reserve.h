// Memory that is set aside for what must not fail: work that is held is the program's, and reaches its driver whatever
// becomes of us.
#pragma once

namespace refrain::env {

/// While one lives, `new` on this thread takes what the process does not give from a reserve that is never given back.
/// For small pieces that do not live long: it has 256 KiB for all threads, so that who had to use it holds nothing
/// more. Does nothing where the memory is not ours to manage (tests, sanitizers): see layer/own_memory.cpp.
class UseReserve {
 public:
  UseReserve() noexcept : before_(taken) { ++depth; }
  ~UseReserve() { --depth; }
  UseReserve(const UseReserve&) = delete;
  UseReserve& operator=(const UseReserve&) = delete;

  /// Something was taken from it meanwhile.
  [[nodiscard]] bool used() const noexcept { return taken != before_; }

  // For `new`.
  [[nodiscard]] static bool now() noexcept { return depth != 0; }
  static void count() noexcept { ++taken; }

 private:
  static inline constinit thread_local unsigned depth __attribute__((tls_model("initial-exec"))) = 0;
  static inline constinit thread_local unsigned taken __attribute__((tls_model("initial-exec"))) = 0;
  const unsigned before_;
};

}  // namespace refrain::env
