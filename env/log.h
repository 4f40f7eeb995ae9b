// Logging: to stderr or a file, never to stdout. One line per message, prefixed "refrain".
// Messages are formatted by the caller (fmt or std::string), so that the logging library stays in log.cpp.
#pragma once

#include <initializer_list>
#include <string_view>

#include "env/settings.h"

namespace refrain::env {

/// Opens the log as the settings say. Called once at start; until then messages go to stderr at
/// level info. If the log file can't be opened, says so on stderr and logs there. Never throws.
void open_log(const Settings& settings) noexcept;

/// Thread-safe, never throws.
void log(LogLevel level, std::string_view message) noexcept;
/// The parts one behind the other, put together without memory from anywhere; cut where the line is longer than 1000
/// letters. For what is said where memory may be short, as in a handler of std::bad_alloc.
void log(LogLevel level, std::initializer_list<std::string_view> parts) noexcept;
[[nodiscard]] bool log_enabled(LogLevel level) noexcept;

inline void log_error(std::string_view message) noexcept {
  log(LogLevel::kError, message);
}
inline void log_error(std::initializer_list<std::string_view> parts) noexcept {
  log(LogLevel::kError, parts);
}
inline void log_warning(std::initializer_list<std::string_view> parts) noexcept {
  log(LogLevel::kWarning, parts);
}
inline void log_warning(std::string_view message) noexcept {
  log(LogLevel::kWarning, message);
}
inline void log_info(std::string_view message) noexcept {
  log(LogLevel::kInfo, message);
}
inline void log_debug(std::string_view message) noexcept {
  log(LogLevel::kDebug, message);
}

}  // namespace refrain::env
