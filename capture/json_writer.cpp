#include "capture/json_writer.h"

#include <cerrno>
#include <cmath>
#include <cstring>

namespace refrain::capture {

void DumpOutput::raw(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) {
    throw OutputFailed(std::strerror(errno));
  }
}

void DumpOutput::flush() {
  if (std::fflush(out_) != 0) {
    throw OutputFailed(std::strerror(errno));
  }
}

// A line for each value near the top; what is deeper is one line.
void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  constexpr unsigned kLines = 3;
  static constexpr std::string_view kIndent = "\n   ";
  out_.raw(first_ ? "" : ",");
  if (depth_ != 0 && depth_ <= kLines) {
    out_.raw(kIndent.substr(0, 1 + depth_));
  }
  first_ = false;
}

void JsonWriter::begin(char bracket) {
  separate();
  out_.raw({&bracket, 1});
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  out_.raw({&bracket, 1});
  first_ = false;
  if (depth_ == 0) {
    out_.raw("\n");
  }
}

void JsonWriter::key(std::string_view name) {
  separate();
  out_.raw("\"");
  out_.raw(env::escaped(name, env::EscapeFor::kJson));
  out_.raw("\": ");
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  out_.raw("\"");
  out_.raw(env::escaped(text, env::EscapeFor::kJson));
  out_.raw("\"");
}

void JsonWriter::value(double number) {
  if (std::isfinite(number)) {
    token(fmt::format("{}", number));
  } else {
    null();
  }
}

void JsonWriter::hex(std::uint64_t number) {
  token(fmt::format("\"{:#018x}\"", number));
}

void JsonWriter::token(std::string_view text) {
  separate();
  out_.raw(text);
}

}  // namespace refrain::capture
