#include "env/doctor_channel.h"

#include <cstdlib>

#include "env/own_file.h"
#include "env/secure_process.h"

namespace refrain::env {

void tell_doctor(const std::string& line) noexcept {
  if (in_secure_process()) {
    return;
  }
  const char* number = std::getenv("REFRAIN_DOCTOR_FD");
  if (number == nullptr) {
    return;
  }
  // "number:device:inode", or a number alone from somebody who knows that it is open.
  char* end = nullptr;
  const long descriptor = std::strtol(number, &end, 10);
  if (end == number || (*end != '\0' && *end != ':') || descriptor < 0 || descriptor > 1'000'000) {
    return;
  }
  const std::optional<FileIdentity> file =
      *end == ':' ? FileIdentity::from(end + 1) : FileIdentity::of(static_cast<int>(descriptor));
  if (!file) {
    return;
  }
  OwnFile channel;
  channel.borrow(static_cast<int>(descriptor), *file);
  // Short enough for one write to a pipe; if nobody listens, nobody is told.
  static_cast<void>(channel.write(line));
}

}  // namespace refrain::env
