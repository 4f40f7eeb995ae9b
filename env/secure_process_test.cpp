#include "env/secure_process.h"

#include <catch2/catch.hpp>

namespace refrain::env {
namespace {

TEST_CASE("a process is secure if the kernel said so, where nobody told, if its ids differ") {
  const unsigned long no = 0;
  const unsigned long yes = 1;
  CHECK(is_secure(&yes, false));
  CHECK_FALSE(is_secure(&no, true));  // it changed its ids itself, later
  CHECK(is_secure(nullptr, true));
  CHECK_FALSE(is_secure(nullptr, false));
  CHECK_FALSE(in_secure_process());
}

}  // namespace
}  // namespace refrain::env
