#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/cuda/fake_driver/fake_driver.h"

namespace fake {

void log(const char* text) noexcept {
  static const int file = [] {
    const char* path = std::getenv("FAKE_CUDA_LOG");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  if (file < 0) {
    return;
  }
  char line[256];
  const int length = std::snprintf(line, sizeof(line), "%s\n", text);
  [[maybe_unused]] const ssize_t written = write(file, line, static_cast<std::size_t>(length));
}

void logf(const char* format, ...) noexcept {
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  log(line);
}

}  // namespace fake
