#include "env/escape.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace refrain::env {

TEST_CASE("nothing that a terminal obeys is left, and printable text stays") {
  CHECK(escaped("stencil<float, 4>") == "stencil<float, 4>");
  CHECK(escaped("Wärmeströmung 熱 \"q\" \\") == "Wärmeströmung 熱 \"q\" \\");
  CHECK(escaped("\033]0;title\a") == "\\x1b]0;title\\x07");
  CHECK(escaped("one\ntwo\rthree\tfour") == "one\\ntwo\\rthree\\tfour");
  CHECK(escaped(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(escaped("\x7f\xc2\x9b") == "\\x7f\\x9b");                                  // DEL, and CSI as one character
  CHECK(escaped("\xff\xc0\xaf\xed\xa0\x80") == "\\xff\\xc0\\xaf\\xed\\xa0\\x80");  // not UTF-8, overlong, surrogate
  CHECK(escaped("cut \xe2\x82") == "cut \\xe2\\x82");
  CHECK(escaped("\u202egpj.exe") == "\\u202egpj.exe");
}

TEST_CASE("JSON stays JSON, whatever the bytes") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  all += "\"}\\\u202e\U000E0001";
  const auto parsed = nlohmann::json::parse("\"" + escaped(all, EscapeFor::kJson) + "\"");
  CHECK(parsed.get<std::string>().substr(0, 128) == all.substr(0, 128));
  CHECK(parsed.get<std::string>().ends_with("\"}\\\u202e\U000E0001"));
  CHECK(escaped(all, EscapeFor::kJson).find('\033') == std::string::npos);
}

TEST_CASE("no byte ends a string of dot") {
  CHECK(escaped("a\"b\\", EscapeFor::kDot) == "a\\\"b\\\\");
  CHECK(escaped("a\nb", EscapeFor::kDot) == "a\\\\nb");
}

TEST_CASE("what is too long says how much is missing") {
  CHECK(shortened("short", 100) == "short");
  const std::string text = shortened(std::string(1000, 'x'), 100);
  CHECK(text.size() <= 100);
  CHECK(text == std::string(68, 'x') + "…[+932 bytes]");
  std::string wide;
  for (int i = 0; i < 100; ++i) {
    wide += "熱";
  }
  for (std::size_t limit = 64; limit < 70; ++limit) {
    const std::string cut = shortened(wide, limit);
    CHECK(cut.size() <= limit);
    CHECK(escaped(cut) == cut);
  }
}

}  // namespace refrain::env
