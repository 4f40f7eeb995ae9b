#include "env/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#define SPDLOG_PREVENT_CHILD_FD
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

namespace refrain::env {
namespace {

constexpr int kSlowReaderMs = 100;

// A reader that went away (app 2>&1 | head) must not kill the application because of a line of ours.
class WithoutBrokenPipe {
 public:
  WithoutBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    blocked_ = !was_pending_ && pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
  }
  ~WithoutBrokenPipe() {
    if (!blocked_) return;
    const timespec none{};
    while (sigtimedwait(&pipe_, nullptr, &none) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipe(const WithoutBrokenPipe&) = delete;
  WithoutBrokenPipe& operator=(const WithoutBrokenPipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
  bool blocked_ = false;
};

void write_whole(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written > 0) {
      data += written;
      size -= static_cast<std::size_t>(written);
    } else if (written < 0 && errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      if (::poll(&room, 1, kSlowReaderMs) <= 0) return;  // the line is lost rather than the application stuck
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

// One write per message and no state at all: no lock that a fork could copy in its locked state, nothing
// that is destroyed before the last message at exit, and whole lines even if several processes share a file.
class DescriptorSink final : public spdlog::sinks::sink {
 public:
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

  void log(const spdlog::details::log_msg& message) override {
    static constexpr const char* kLevels[] = {"trace", "debug", "info", "warning", "error", "error", "off"};
    spdlog::memory_buf_t text;
    const auto append = [&text](spdlog::string_view_t part) { text.append(part.data(), part.data() + part.size()); };
    spdlog::string_view_t rest = message.payload;
    for (;;) {
      const void* const end = rest.size() == 0 ? nullptr : memchr(rest.data(), '\n', rest.size());
      const std::size_t length =
          end == nullptr ? rest.size() : static_cast<std::size_t>(static_cast<const char*>(end) - rest.data());
      append("[refrain] ");
      append(kLevels[message.level]);
      append(": ");
      append({rest.data(), length});
      append("\n");
      if (end == nullptr || length + 1 == rest.size()) break;
      rest = {rest.data() + length + 1, rest.size() - length - 1};
    }
    const WithoutBrokenPipe guard;
    write_whole(descriptor_, text.data(), text.size());
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  int descriptor_;
};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kTrace: return spdlog::level::trace;
    case LogLevel::kOff: break;
  }
  return spdlog::level::off;
}

// The logger is never destroyed, because messages are written until the very end of the process.
spdlog::logger* make_logger(int descriptor) {
  auto* logger = new spdlog::logger("refrain", std::make_shared<DescriptorSink>(descriptor));
  logger->set_level(spdlog::level::trace);
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

std::atomic<spdlog::logger*> current_logger{nullptr};
std::atomic<LogLevel> current_level{LogLevel::kInfo};

spdlog::logger& logger() {
  spdlog::logger* found = current_logger.load(std::memory_order_acquire);
  if (found == nullptr) {
    static spdlog::logger* const standard_error = make_logger(STDERR_FILENO);
    current_logger.compare_exchange_strong(found, standard_error, std::memory_order_acq_rel);
    found = current_logger.load(std::memory_order_acquire);
  }
  return *found;
}

// The application may look at errno after a call that we logged in.
class KeepErrno {
 public:
  KeepErrno() : value_(errno) {}
  ~KeepErrno() { errno = value_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int value_;
};

}  // namespace

void open_log(const Settings& settings) noexcept {
  const KeepErrno keep;
  try {
    current_level.store(settings.log_level, std::memory_order_relaxed);
    if (settings.log_file.empty()) {
      static spdlog::logger* const standard_error = make_logger(STDERR_FILENO);
      current_logger.store(standard_error, std::memory_order_release);
      return;
    }
    const std::string path = expand_file_name(settings.log_file);
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (descriptor < 0) {
      const std::string reason = strerror(errno);
      current_logger.store(nullptr, std::memory_order_release);
      log(LogLevel::kError, "log_file '" + path + "' can't be opened (" + reason + "); logging to stderr");
      return;
    }
    // Logging to a file opened twice is harmless; the earlier descriptor stays open for threads still using
    // it.
    current_logger.store(make_logger(descriptor), std::memory_order_release);
  } catch (...) {
    // Out of memory: the log stays where it was.
  }
}

void log(LogLevel level, std::string_view message) noexcept {
  if (!log_enabled(level)) return;
  const KeepErrno keep;
  try {
    logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    // Out of memory: the line is lost.
  }
}

bool log_enabled(LogLevel level) noexcept {
  return level != LogLevel::kOff && level <= current_level.load(std::memory_order_relaxed);
}

}  // namespace refrain::env
