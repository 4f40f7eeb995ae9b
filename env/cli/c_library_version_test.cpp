#include "env/cli/c_library_version.h"

#include <gnu/libc-version.h>

#include <catch2/catch.hpp>
#include <string>

namespace refrain::env {
namespace {

TEST_CASE("only versions of glibc are told") {
  CHECK(parse_version_name("GLIBC_2.34").minor == 34);
  CHECK(parse_version_name("GLIBC_2.2.5").minor == 2);
  for (const char* other : {"GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBCXX_3.4.30", "CXXABI_1.3", ""}) {
    CHECK(parse_version_name(other).major == 0);
    CHECK(parse_version_name(other).minor == 0);
  }
}

TEST_CASE("this process needs no newer C library than it has") {
  const CLibraryVersion needed = newest_needed_version();
  const CLibraryVersion here = parse_version_name(("GLIBC_" + std::string(::gnu_get_libc_version())).c_str());
  CHECK(needed.major == 2);
  CHECK(needed.minor >= 2);
  CHECK(needed.minor <= here.minor);
}

}  // namespace
}  // namespace refrain::env
