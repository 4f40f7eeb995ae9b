// Sizes of code images, which programs hand over without one: as nvcc made them, cut short, and damaged.

#include "backends/cuda/code_image.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace {

using refrain::backends::CodeImage;
using refrain::backends::image_at;
using refrain::backends::image_in;
using refrain::capture::CodeKind;

std::size_t size_of(const std::vector<char>& bytes) {
  return image_in(std::as_bytes(std::span(bytes))).bytes.size();
}

#if defined(IMAGE_CUBIN)
std::vector<char> contents_of(const char* name) {
  std::ifstream file(name, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE(bytes.size() > 100);
  return bytes;
}

/// The image followed by something else is as large as before; cut short anywhere it is none. (Every copy is an
/// allocation of its own, so that a sanitizer sees what is read beyond it.)
void check_binary(const char* name) {
  const std::vector<char> bytes = contents_of(name);
  const CodeImage image = image_in(std::as_bytes(std::span(bytes)));
  CHECK(image.kind == CodeKind::kBinary);
  CHECK(image.bytes.size() == bytes.size());
  std::vector<char> longer = bytes;
  longer.insert(longer.end(), 1000, 'x');
  CHECK(size_of(longer) == bytes.size());
  for (std::size_t cut = 0; cut < bytes.size(); cut += cut < 512 ? 1 : 97) {
    const std::vector<char> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut));
    CAPTURE(cut);
    REQUIRE(size_of(part) == 0);
  }
  // Headers may say anything.
  for (std::size_t place = 4; place < 64; ++place) {
    for (const int value : {0x00, 0x7F, 0xFF}) {
      std::vector<char> damaged = bytes;
      damaged[place] = static_cast<char>(value);
      CHECK(size_of(damaged) <= damaged.size());
    }
  }
}
#endif

}  // namespace

#if defined(IMAGE_CUBIN)
TEST_CASE("code images: a cubin") {
  check_binary(IMAGE_CUBIN);
}

TEST_CASE("code images: a fat binary, and what nvcc puts in front of it") {
  check_binary(IMAGE_FATBIN);
  const std::vector<char> bytes = contents_of(IMAGE_FATBIN);
  const struct {
    std::uint32_t magic = 0x466243B1;
    std::uint32_t version = 1;
    const void* data;
    const void* more = nullptr;
  } wrapper{.data = bytes.data()};
  const CodeImage image = image_at(&wrapper);
  CHECK(image.bytes.size() == bytes.size());
  CHECK(static_cast<const void*>(image.bytes.data()) == bytes.data());
}

TEST_CASE("code images: PTX is text up to its zero") {
  std::vector<char> text = contents_of(IMAGE_PTX);
  while (text.back() == '\0') {
    text.pop_back();
  }
  CHECK(size_of(text) == 0);  // nothing ends it
  text.push_back('\0');
  const std::size_t size = text.size();
  text.insert(text.end(), 100, '\x7F');
  const CodeImage image = image_in(std::as_bytes(std::span(text)));
  CHECK(image.kind == CodeKind::kIntermediate);
  CHECK(image.bytes.size() == size);
}
#endif

TEST_CASE("code images: what is none") {
  CHECK(image_at(nullptr).bytes.empty());
  for (const std::string& text : {std::string("\0\0\0\0", 4), std::string("\x01\x02\x03\x04\0", 5), std::string("x"),
                                  std::string("\x7F"
                                              "ELF\0",
                                              5),
                                  std::string("\xB1\x43\x62\x46", 4), std::string("\x50\xED\x55\xBA", 4)}) {
    const std::vector<char> bytes(text.begin(), text.end());
    CHECK(size_of(bytes) == 0);
  }
  // A fat binary of nearly everything there is, and a wrapper around nothing.
  const std::uint64_t header[2] = {0x0010'0001'BA55'ED50, ~std::uint64_t{0} - 8};
  CHECK(image_at(header).bytes.empty());
  const std::uint64_t wrapper[3] = {0x1'4662'43B1, 0, 0};
  CHECK(image_at(wrapper).bytes.empty());
}

TEST_CASE("code images: no address that a file contains is followed") {
  // The structure that nvcc puts in front of a fat binary: address 1 is nobody's.
  const std::uint64_t wrapper[3] = {0x1'4662'43B1, 1, 0};
  CHECK(image_in(std::as_bytes(std::span(wrapper))).bytes.empty());
  // And of memory that is there, nothing is taken.
  const std::vector<std::uint64_t> fat = {0x0010'0001'BA55'ED50, 8, 0};
  const std::uint64_t good[3] = {0x1'4662'43B1, reinterpret_cast<std::uint64_t>(fat.data()), 0};
  CHECK(image_at(good).bytes.size() == 24);
  CHECK(image_in(std::as_bytes(std::span(good))).bytes.empty());
}
