// The parameters of kernels, read from code objects of every form, whole and damaged.

#include "backends/hip/code_object.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

using refrain::backends::hip::ImageLayouts;
using refrain::backends::hip::KernelParameter;
using refrain::backends::hip::read_layouts;

namespace {

std::string image(const char* form) {
  std::ifstream file(std::string(IMAGES) + form, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  REQUIRE(!bytes.empty());
  return bytes;
}

ImageLayouts read(const std::string& bytes) {
  // A copy of its own, so that a sanitizer sees every byte read beyond it.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  return read_layouts(exact.data(), exact.size());
}

/// How large the image says that it is, of `bytes` and what is behind them in memory.
std::size_t size_told(const std::string& bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  return refrain::backends::hip::image_at(exact.data(), exact.size()).size();
}

}  // namespace

TEST_CASE("a code object alone and in a bundle") {
  for (const char* form : {"elf", "bundle"}) {
    CAPTURE(form);
    const ImageLayouts layouts = read(image(form));
    CHECK(std::string(layouts.why_not).empty());
    REQUIRE(layouts.kernels.contains("odd"));
    CHECK(layouts.kernels.find("odd")->second.parameters ==
          std::vector<KernelParameter>{{0, 1}, {8, 8}, {16, 2}, {24, 8}});
    CHECK_FALSE(layouts.kernels.find("odd")->second.differs);
    CHECK(layouts.kernels.find("nothing")->second.parameters.empty());
  }
}

TEST_CASE("kernels that differ between devices are known to") {
  const ImageLayouts layouts = read(image("other"));
  CHECK(layouts.kernels.find("scale")->second.differs);
}

TEST_CASE("what cannot be read says why") {
  CHECK(std::string(read(image("compressed")).why_not).find("compressed") != std::string::npos);
  CHECK(std::string(read("neither").why_not).find("not known") != std::string::npos);
  CHECK(std::string(read("").why_not).find("not known") != std::string::npos);
}

TEST_CASE("an image ends where its own headers say, and is none if that is not there") {
  for (const char* form : {"elf", "bundle", "other", "foreign", "variable"}) {
    CAPTURE(form);
    const std::string whole = image(form);
    CHECK(size_told(whole + "what is behind it") == size_told(whole));
    CHECK(size_told(whole) > whole.size() - 8);  // but for padding
    CHECK(size_told(whole.substr(0, size_told(whole) - 1)) == 0);
  }
  CHECK(size_told(image("compressed")) == 0);
  CHECK(size_told("neither") == 0);
  CHECK(size_told("") == 0);
  std::string damaged = image("bundle");
  damaged[24 + 8 + 24 + 27 + 7] = '\x7f';  // where the second entry begins: far beyond the end
  CHECK(size_told(damaged) == 0);
}

TEST_CASE("cut at any length, and with any byte changed, nothing bad happens") {
  for (const char* form : {"elf", "bundle"}) {
    const std::string whole = image(form);
    for (std::size_t length = 0; length < whole.size(); length += 7) {
      static_cast<void>(read(whole.substr(0, length)));
      static_cast<void>(size_told(whole.substr(0, length)));
    }
    for (std::size_t place = 0; place < whole.size(); ++place) {
      std::string damaged = whole;
      for (const char value : {'\xff', '\x00', '\xdd'}) {
        damaged[place] = value;
        static_cast<void>(read(damaged));
        CHECK(size_told(damaged) <= damaged.size());
      }
    }
  }
}

TEST_CASE("metadata nested too deep are given up") {
  std::string bytes = image("elf");
  const auto at = bytes.find("AMDGPU");
  REQUIRE(at != std::string::npos);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 8, bytes.end(), '\x91');  // a list in a list in a list …
  bytes.resize(bytes.size());
  CHECK(read(bytes).kernels.empty());
}

TEST_CASE("variables that can be written, what has no name, and kernels that need the device's heap") {
  const ImageLayouts plain = read(image("elf"));
  CHECK(plain.variables.empty());
  CHECK_FALSE(plain.has_unnamed);
  CHECK_FALSE(plain.kernels.find("counted")->second.prints_or_allocates);

  const std::string bytes = image("variable");
  const ImageLayouts named = read(bytes);
  CHECK(named.variables == std::set<std::string>{"calls"});
  CHECK_FALSE(named.has_unnamed);

  const ImageLayouts unnamed = read(image("unnamed"));
  CHECK(unnamed.variables == std::set<std::string>{"calls"});
  CHECK(unnamed.has_unnamed);

  CHECK(read(image("heap")).kernels.find("counted")->second.prints_or_allocates);

  for (std::size_t cut = 1; cut < 300; ++cut) {  // sections that are not all there
    CHECK(read(bytes.substr(0, bytes.size() - cut)).has_unnamed);
  }
}
