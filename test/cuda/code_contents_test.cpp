// What kernels of code images may change that no argument leads to: as nvcc made them, packed, and damaged.

#include "backends/cuda/code_contents.h"

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace {

using refrain::backends::CodeContents;
using refrain::backends::contents_of;
using refrain::backends::image_in;
using Names = std::vector<std::string>;

constexpr std::array kMajors = {8, 9};

CodeContents of_bytes(std::span<const char> bytes, std::span<const int> majors = kMajors) {
  return contents_of(image_in(std::as_bytes(bytes)), majors);
}
CodeContents of_text(const std::string& text) {
  return of_bytes({text.c_str(), text.size() + 1});
}

}  // namespace

TEST_CASE("code contents: variables of PTX, and nothing that only looks like one") {
  const CodeContents found = of_text(R"(
// .global .u32 in_a_comment;
/* .global .u32 in_another; */
.version 6.0
.target sm_50
.visible .global .align 4 .u32 calls = 0;
.global .align 8 .v2 .f32 pairs[8] = {1.0, 2.0}, more[2];
.extern .global .align 1 .b8 elsewhere[];
.global .attribute(.managed) .align 4 .u32 managed;
.global .align 1 .b8 $str[3] = {37, 100};
.const .align 4 .f32 factor;
.visible .entry run(.param .u64 .ptr .global .align 4 x) {
  ld.global.u32 %r1, [calls];
})");
  CHECK(found.unknown == nullptr);
  CHECK(found.variables == Names{"calls", "elsewhere", "managed", "more", "pairs"});
  CHECK(found.printing_or_allocating.empty());
}

TEST_CASE("code contents: all kernels of PTX that allocates or prints count") {
  const std::string kernels = ".entry one() { ret; } .visible .entry two() { call (r), malloc, (b); }";
  CHECK(of_text(".extern .func (.param .b64 r) malloc (.param .b64 b);" + kernels).printing_or_allocating ==
        Names{"one", "two"});
  CHECK(of_text(".extern .func (.param .b32 r) vprintf (.param .b64 b);" + kernels).printing_or_allocating ==
        Names{"one", "two"});
  CHECK(of_text(".entry one() { ret; }").printing_or_allocating.empty());
}

TEST_CASE("code contents: what is no image is not known") {
  CHECK(contents_of({}, kMajors).unknown != nullptr);
}

#if defined(IMAGE_CUBIN)
namespace {

std::vector<char> contents_of_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE(bytes.size() > 100);
  return bytes;
}

void check_compiled(const CodeContents& found) {
  CHECK(found.unknown == nullptr);
  CHECK(found.variables == Names{"_ZZ5scaleE5calls", "limit", "offsets"});
}

}  // namespace

TEST_CASE("code contents: what nvcc compiled, in every form") {
  const char* const name = GENERATE(IMAGE_CUBIN, IMAGE_FATBIN, IMAGE_ZSTD, IMAGE_LZ4);
  CAPTURE(name);
  const std::vector<char> bytes = contents_of_file(name);
  const CodeContents found = of_bytes(bytes);
  check_compiled(found);
  CHECK(found.printing_or_allocating == Names{"keep", "malloc", "print", "vprintf"});
}

TEST_CASE("code contents: PTX for other devices") {
  const char* const name = GENERATE(IMAGE_FATBIN, IMAGE_ZSTD, IMAGE_LZ4);
  CAPTURE(name);
  constexpr std::array kOther = {12};
  const std::vector<char> bytes = contents_of_file(name);
  const CodeContents found = of_bytes(bytes, kOther);
  check_compiled(found);
  CHECK(found.printing_or_allocating == Names{"add", "keep", "print", "scale"});
}

TEST_CASE("code contents: damaged images are read to their ends and no further") {
  const char* const name = GENERATE(IMAGE_CUBIN, IMAGE_FATBIN, IMAGE_ZSTD, IMAGE_LZ4, IMAGE_PTX);
  CAPTURE(name);
  const std::vector<char> bytes = contents_of_file(name);
  std::size_t unknown = 0;
  for (std::size_t place = 0; place < bytes.size(); place += place < 512 ? 1 : 61) {
    for (const int value : {0x00, 0x7F, 0xFF}) {
      std::vector<char> damaged = bytes;
      damaged[place] = static_cast<char>(value);
      unknown += of_bytes(damaged).unknown != nullptr ? 1 : 0;
    }
  }
  CHECK((unknown > 0 || name == std::string(IMAGE_PTX)));
}
#endif
