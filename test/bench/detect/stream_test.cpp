#include "test/bench/detect/stream.h"

#include <catch2/catch.hpp>
#include <sstream>
#include <stdexcept>

using refrain::bench::read_stream;
using refrain::bench::Stream;

namespace {

Stream read(const std::string& text) {
  std::istringstream input(text);
  return read_stream(input, "some.txt");
}

std::string problem(const std::string& text) {
  try {
    read(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("tokens, host calls and threads") {
  const Stream stream = read("7\n0\n 0x10\t3 \r\n\n18446744073709551615 7\n5 3\n1");
  REQUIRE(stream.entries.size() == 6);
  CHECK(stream.operations == 5);
  CHECK(stream.threads == std::vector<std::uint64_t>{0, 3, 7});
  CHECK(stream.entries[2].token == 16);
  CHECK(stream.entries[2].thread == 1);
  CHECK(stream.entries[3].token == ~std::uint64_t{0});
  CHECK(stream.entries[4].thread == 1);
  CHECK(stream.entries[5].thread == 0);
  CHECK(read("").entries.empty());
}

TEST_CASE("what is no token is named with its line") {
  for (const std::string bad : {"x", "-1", "1.5", "18446744073709551616", "0x", "0xg", "1 y", "1 2 3", "1,2"}) {
    const std::string message = problem("1\n" + bad + "\n2\n");
    INFO(message);
    CHECK(message.find("some.txt:2:") == 0);
    CHECK(message.find("'" + bad + "'") != std::string::npos);
  }
}
