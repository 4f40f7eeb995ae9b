// JSON written as it comes: nothing of it is kept but how deep it is.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "capture/dump_output.h"

namespace refrain::capture {

/// Whoever uses it opens and closes in pairs, and gives each value of an object a key. Strings are escaped, so that the
/// result is JSON and safe to show, whatever is in them.
class JsonWriter {
 public:
  explicit JsonWriter(DumpOutput& out) noexcept : out_(out) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool truth) { token(truth ? "true" : "false"); }
  void value(double number);
  template <std::integral Number>
  void value(Number number) {
    token(std::to_string(number));
  }
  void null() { token("null"); }
  /// A number that JSON's readers could not hold exactly: "0x…".
  void hex(std::uint64_t number);

  /// A key and its value.
  template <typename Value>
  void member(std::string_view name, const Value& its_value) {
    key(name);
    value(its_value);
  }
  /// A key and an array; `write_element` writes each element.
  template <typename Range, typename WriteElement>
  void list(std::string_view name, const Range& elements, WriteElement&& write_element) {
    key(name);
    begin_array();
    for (const auto& element : elements) {
      write_element(element);
    }
    end_array();
  }
  void member_hex(std::string_view name, std::uint64_t number) {
    key(name);
    hex(number);
  }

 private:
  void begin(char bracket);
  void end(char bracket);
  void separate();
  void token(std::string_view text);

  DumpOutput& out_;
  unsigned depth_ = 0;
  bool first_ = true;  // of what is open
  bool after_key_ = false;
};

}  // namespace refrain::capture
