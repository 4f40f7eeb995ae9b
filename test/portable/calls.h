// For the implementations: every call of the API goes through CALL, is counted, and ends the program if it fails.
#pragma once

#include <cstdint>

namespace portable {

/// Counts a call that is about to be made. Ends the process as if by SIGKILL if it was told to at this one.
void count_call() noexcept;
/// The last call was one of many that ask the same: it does not count.
void discount_call() noexcept;
/// Calls made so far, by all threads.
std::uint64_t calls_made() noexcept;
/// The process kills itself before call number `call`, from 1. 0: never.
void kill_before_call(std::uint64_t call) noexcept;

/// A call failed in a thread that wants to go on.
struct Refused {
  long long error;
};
/// While it lives, calls of this thread that fail throw Refused.
class Tolerant {
 public:
  Tolerant() noexcept;
  ~Tolerant();
  Tolerant(const Tolerant&) = delete;
  Tolerant& operator=(const Tolerant&) = delete;
};
/// Prints "error N from CALL" and ends the process with exit code 3, unless the thread is tolerant.
[[noreturn]] void fail(long long error, const char* call);

#define PORTABLE_CALL(call)                                                          \
  do {                                                                               \
    ::portable::count_call();                                                        \
    if (const auto portable_error = (call); static_cast<int>(portable_error) != 0) { \
      ::portable::fail(static_cast<long long>(portable_error), #call);               \
    }                                                                                \
  } while (false)

}  // namespace portable
