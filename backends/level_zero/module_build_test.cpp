#include "backends/level_zero/module_build.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace refrain::backends::level_zero;

ModuleBuild build(const std::string& flags, const std::vector<ModuleBuild::Constant>& constants = {}) {
  return {flags, constants};
}

}  // namespace

TEST_CASE("how a module is built comes back from its text") {
  const std::byte a{0xA0};
  const std::byte zero{0};
  for (const ModuleBuild& each :
       {build(""), build("-ze-opt-level=2 -x"), build("flags=-x"), build("constant 3=00 flags="), build("constantly"),
        build("", {{7, {a, zero, zero, zero}}}), build("-x", {{4294967295U, {a}}, {0, {zero, a}}}),
        build("constant 1=ff flags=", {{1, {a, a, a, a, a, a, a, a}}})}) {
    CAPTURE(text_of(each));
    CHECK(read_build(text_of(each)) == each);
  }
  CHECK(text_of(build("-ze-opt-level=2")) == "-ze-opt-level=2");
  CHECK(text_of(build("-x", {{7, {a, zero}}})) == "constant 7=a000 flags=-x");
}

TEST_CASE("damaged text is no build") {
  for (const char* text :
       {"constant ", "constant x=00 flags=", "constant 1", "constant 1=", "constant 1= flags=", "constant 1=0 flags=",
        "constant 1=0g flags=", "constant 1=g0 flags=", "constant 1=00", "constant 1=00 ", "constant 1=00 -x",
        "constant 99999999999=00 flags=", "constant 1=000000000000000000 flags=", "constant -1=00 flags="}) {
    CAPTURE(text);
    CHECK_FALSE(read_build(text));
  }
}

TEST_CASE("what the program asked for is kept, or it is known that it cannot be asked for again") {
  // A constant of 32 bits with the number 7, and one of 16.
  const std::vector<std::uint32_t> code = {0x07230203, 0x00010200,     0,  100, 0, 4U << 16U | 71, 20, 1,
                                           7,          4U << 16U | 71, 21, 1,   8, 4U << 16U | 21, 2,  32,
                                           0,          4U << 16U | 21, 3,  16,  0, 4U << 16U | 50, 2,  20,
                                           1,          4U << 16U | 50, 3,  21,  1};
  const std::uint32_t word = 0x01020304;
  const std::uint16_t half = 0x0506;
  const std::uint32_t ids[] = {8, 7};
  const void* values[] = {&half, &word};
  ze_module_constants_t constants{2, ids, values};
  ze_module_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  description.format = ZE_MODULE_FORMAT_IL_SPIRV;
  description.inputSize = code.size() * sizeof(code[0]);
  description.pInputModule = reinterpret_cast<const std::uint8_t*>(code.data());
  CHECK(build_of(description) == build(""));
  description.pBuildFlags = "-x";
  description.pConstants = &constants;
  const auto made = build_of(description);
  REQUIRE(made);
  CHECK(text_of(*made) == "constant 8=0605 constant 7=04030201 flags=-x");
  const std::uint32_t unknown[] = {8, 9};
  constants.pConstantIds = unknown;
  CHECK_FALSE(build_of(description));
  description.format = ZE_MODULE_FORMAT_NATIVE;  // has none
  CHECK(build_of(description) == build("-x"));
  const ze_base_desc_t more{ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, nullptr};
  description.pNext = &more;
  CHECK_FALSE(build_of(description));
}
