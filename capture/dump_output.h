// Where a dump goes, piece by piece, so that never more than a line of it is in memory.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "env/escape.h"

namespace refrain::capture {

/// What cannot be written ends the dump.
class OutputFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

#if FMT_VERSION >= 80000
template <typename... Arguments>
using FormatString = fmt::format_string<Arguments...>;
#else
template <typename... Arguments>
using FormatString = fmt::string_view;  // checked when it is used
#endif

/// Does not own the stream. Every member may throw OutputFailed, whose message is the system's reason.
class DumpOutput {
 public:
  explicit DumpOutput(std::FILE* out) noexcept : out_(out) {}

  /// One line of text. All of it is escaped: names in it come from the captured program.
  template <typename... Arguments>
  void line(FormatString<Arguments...> format, Arguments&&... arguments) {
    raw(env::escaped(fmt::format(format, std::forward<Arguments>(arguments)...)));
    raw("\n");
  }
  void blank() { raw("\n"); }
  /// Text that holds nothing from elsewhere, or that is escaped already.
  void raw(std::string_view text);
  void flush();

 private:
  std::FILE* out_;
};

}  // namespace refrain::capture
