#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/cuda/fake_driver/fake_driver.h"

namespace fake {
namespace {

std::uint64_t number_of(const char* variable) noexcept {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

std::atomic<std::uint64_t> submissions{0};
std::atomic<pid_t> owner{0};

void write_count() {
  if (const char* path = std::getenv("FAKE_CUDA_COUNT"); path != nullptr) {
    if (std::FILE* file = std::fopen(path, "w"); file != nullptr) {
      std::fprintf(file, "%llu\n", static_cast<unsigned long long>(submissions.load()));
      std::fclose(file);
    }
  }
}

}  // namespace

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

void violation(const char* format, ...) noexcept {
  char line[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "fake driver: violation: %s\n", line);
}

CUresult initialise() noexcept {
  pid_t expected = 0;
  if (owner.compare_exchange_strong(expected, getpid())) {
    std::atexit(&write_count);
    return CUDA_SUCCESS;
  }
  return expected == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult enter(const char* name) noexcept {
  log(name);
  return owner.load(std::memory_order_relaxed) == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult enter_submission(const char* name) noexcept {
  static const std::uint64_t failing = number_of("FAKE_CUDA_FAIL_AT");
  const CUresult status = enter(name);
  if (status != CUDA_SUCCESS || submissions.fetch_add(1) + 1 != failing) {
    return status;
  }
  std::fprintf(stderr, "fake driver: failure injected into %s\n", name);
  return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

std::uint64_t seed() noexcept {
  static const std::uint64_t given = number_of("FAKE_CUDA_SEED");
  return given;
}

}  // namespace fake
