#include "env/doctor_channel.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>

namespace refrain::env {

void tell_doctor(const std::string& line) noexcept {
  if (::getauxval(AT_SECURE) != 0) {
    return;
  }
  const char* number = std::getenv("REFRAIN_DOCTOR_FD");
  if (number == nullptr) {
    return;
  }
  char* end = nullptr;
  const long descriptor = std::strtol(number, &end, 10);
  if (end == number || *end != '\0' || descriptor < 0 || descriptor > 1'000'000) {
    return;
  }
  // Short enough for one write to a pipe; if nobody listens, nobody is told.
  [[maybe_unused]] const ssize_t written = ::write(static_cast<int>(descriptor), line.data(), line.size());
}

}  // namespace refrain::env
