#include "env/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#define SPDLOG_PREVENT_CHILD_FD
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include "env/escape.h"
#include "env/exit_hooks.h"
#include "env/file_name.h"
#include "env/immortal.h"
#include "env/keep_errno.h"
#include "env/own_file.h"

#pragma weak refrain_stderr_at_start

namespace refrain::env {
namespace {

// The program's standard error as it was at the start, or when we came, written to only while it is that: where the
// program has closed it, the number may be a file of the program's. Never duplicated, because who reads it would wait
// for us.
OwnFile& standard_error() {
  static Immortal<OwnFile> file;
  static const bool found = [] {
    std::optional<FileIdentity> there = FileIdentity::of(STDERR_FILENO);
    if (&refrain_stderr_at_start != nullptr) {
      const RefrainStderr* const before = refrain_stderr_at_start();
      there = before->open != 0 ? std::optional(FileIdentity{before->device, before->inode}) : std::nullopt;
    }
    if (there) file->borrow(STDERR_FILENO, *there);
    return true;
  }();
  static_cast<void>(found);
  return *file;
}

constexpr std::size_t kLongestLine = 1000;

/// Text of limited length on the stack; what is too much is cut off.
class Line {
 public:
  Line& operator+=(std::string_view part) noexcept {
    const std::size_t length = std::min(part.size(), sizeof(text_) - length_);
    memcpy(text_ + length_, part.data(), length);
    length_ += length;
    return *this;
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_, length_}; }

 private:
  char text_[kLongestLine];
  std::size_t length_ = 0;
};

/// For want of memory: one line.
void write_short(OwnFile& file, const char* level, std::string_view message) noexcept {
  Line line;
  (line += "[refrain] ") += level;
  (line += ": ") += message.substr(0, std::min(message.find('\n'), kLongestLine - 64));
  file.write((line += "\n").text());
}

// One write per message and no lock: none that a fork could copy in its locked state, nothing
// that is destroyed before the last message at exit, and whole lines even if several processes share a file.
class FileSink final : public spdlog::sinks::sink {
 public:
  explicit FileSink(OwnFile& file) : file_(file) {}

  void log(const spdlog::details::log_msg& message) override {
    try {
      write_lines(message);
    } catch (const std::bad_alloc&) {
      write_short(file_, kLevels[message.level], {message.payload.data(), message.payload.size()});
    }
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  static constexpr const char* kLevels[] = {"trace", "debug", "info", "warning", "error", "error", "off"};

  void write_lines(const spdlog::details::log_msg& message) {
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
      append(escaped({rest.data(), length}));  // names in it come from the program
      append("\n");
      if (end == nullptr || length + 1 == rest.size()) break;
      rest = {rest.data() + length + 1, rest.size() - length - 1};
    }
    const std::string_view lines(text.data(), text.size());
    const int error = lost_.load(std::memory_order_relaxed) ? EBADF : file_.write(lines);
    if (error == 0 || error == EAGAIN) return;  // who reads a pipe too slowly misses it
    if (&file_ == &standard_error()) return;
    if (!lost_.exchange(true)) {
      standard_error().write("[refrain] warning: the log file '" + escaped(file_.name()) + "' " +
                             (error == EBADF ? "was closed by the program"
                                             : "can't be written (" + std::system_category().message(error) + ")") +
                             "; logging to stderr\n");
    }
    standard_error().write(lines);
  }

  OwnFile& file_;
  std::atomic<bool> lost_{false};
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
spdlog::logger* make_logger(OwnFile& file) {
  auto* logger = new spdlog::logger("refrain", std::make_shared<FileSink>(file));
  logger->set_level(spdlog::level::trace);
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

std::atomic<spdlog::logger*> current_logger{nullptr};
std::atomic<LogLevel> current_level{LogLevel::kInfo};

spdlog::logger& logger() {
  spdlog::logger* found = current_logger.load(std::memory_order_acquire);
  if (found == nullptr) {
    static spdlog::logger* const to_stderr = make_logger(standard_error());
    current_logger.compare_exchange_strong(found, to_stderr, std::memory_order_acq_rel);
    found = current_logger.load(std::memory_order_acquire);
  }
  return *found;
}

}  // namespace

void open_log(const Settings& settings) noexcept {
  const KeepErrno keep;
  try {
    current_level.store(settings.log_level, std::memory_order_relaxed);
    standard_error();  // as it is now
    if (settings.log_file.empty()) {
      current_logger.store(nullptr, std::memory_order_release);
      return;
    }
    const FileName name(settings.log_file);
    auto file = std::make_unique<OwnFile>();
    if (const std::error_code error = file->append_to(name, permissions(settings.file_mode))) {
      current_logger.store(nullptr, std::memory_order_release);
      log(LogLevel::kError,
          "log_file '" + name.text() + "' can't be opened (" + error.message() + "); logging to stderr");
      return;
    }
    // Logging to a file opened twice is harmless; the earlier one stays open for threads still using it.
    current_logger.store(make_logger(*file.release()), std::memory_order_release);
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
    // Out of memory: there is no logger.
    if (level <= LogLevel::kWarning) {
      write_short(standard_error(), level == LogLevel::kError ? "error" : "warning", message);
    }
  }
}

void log(LogLevel level, std::initializer_list<std::string_view> parts) noexcept {
  Line line;
  for (const std::string_view part : parts) {
    line += part;
  }
  log(level, line.text());
}

bool log_enabled(LogLevel level) noexcept {
  return level != LogLevel::kOff && level <= current_level.load(std::memory_order_relaxed);
}

}  // namespace refrain::env
