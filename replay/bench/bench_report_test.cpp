#include "replay/bench/bench_report.h"

#include <catch2/catch.hpp>
#include <cstdlib>

namespace refrain::replay {

TEST_CASE("bench: nothing in a capture reaches the terminal as it is") {
  const std::string evil = "\033]0;pwned\a\r\n";
  BenchResult result;
  result.file = result.device.name = result.device.platform = result.device.driver = evil;
  result.problems = {{1, "the kernel " + evil + " does not build", false}, {2, evil, true}};
  for (const auto print : {print_table, print_json}) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* out = ::open_memstream(&text, &size);
    REQUIRE(out != nullptr);
    print(result, {}, out);
    std::fclose(out);
    const std::string printed(text, size);
    std::free(text);
    CHECK(printed.find("pwned") != std::string::npos);
    for (const char control : {'\033', '\a', '\r'}) {
      CHECK(printed.find(control) == std::string::npos);
    }
  }
}

TEST_CASE("bench: that there were fewer rounds than wanted is told once of a graph") {
  BenchResult result;
  result.rows.resize(4);
  for (std::size_t i = 0; i < 4; ++i) {
    result.rows[i].graph = i < 3 ? 7 : 8;
    result.rows[i].pairs = 3;
  }
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  REQUIRE(out != nullptr);
  print_table(result, {}, out);
  std::fclose(out);
  const std::string printed(text, size);
  std::free(text);
  const std::size_t first = printed.find("graph 7: 3 rounds only");
  CHECK(first != std::string::npos);
  CHECK(printed.find("graph 7: 3 rounds only", first + 1) == std::string::npos);
  CHECK(printed.find("graph 8: 3 rounds only") != std::string::npos);
}

}  // namespace refrain::replay
