#include "env/doctor_channel.h"

#include <catch2/catch.hpp>

namespace refrain::env {
namespace {

TEST_CASE("the doctor's channel is a number, alone or with the file that it must be") {
  REQUIRE(parse_doctor_channel("700"));
  CHECK(parse_doctor_channel("700")->descriptor == 700);
  CHECK_FALSE(parse_doctor_channel("700")->file);
  REQUIRE(parse_doctor_channel("3:1:2"));
  CHECK(parse_doctor_channel("3:1:2")->file == FileIdentity{1, 2});
  for (const char* wrong : {"", " 3", "+3", "-1", "3x", "3:", "3:1", "3:1:", "3:1:2:", "1000001", "99999999999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_doctor_channel(wrong));
  }
}

TEST_CASE("of what was written to the doctor only what a layer may have written is taken") {
  const std::string good = "refrain layer active 0.1.0 cuda";
  CHECK(doctor_lines("").empty());
  CHECK(doctor_lines(good + "\n" + good) == std::vector<std::string>{good, good});
  CHECK(doctor_lines("something else\n\nrefrain layer \x1b]0;title\x07\n" + good + "\r\n" + good + "\n" +
                     "refrain layer " + std::string(5000, 'x') + "\n") == std::vector<std::string>{good});
}

}  // namespace
}  // namespace refrain::env
