#include "layer/elf_exports.h"

#include <catch2/catch.hpp>

namespace refrain::layer {
namespace {

int number = 7;

TEST_CASE("code of a library is told from its data") {
  const auto* const function = reinterpret_cast<const void*>(&exported_functions);
  const Segments all(&number, Segments::Kind::kAll);
  CHECK(all.contains(&number, sizeof(number)));
  CHECK(all.contains(function, 1));
  const Segments code(&number, Segments::Kind::kExecutable);
  CHECK(code.contains(function, 1));
  CHECK_FALSE(code.contains(&number, 1));
  const int elsewhere = 7;
  CHECK_FALSE(all.contains(&elsewhere, 1));
}

}  // namespace
}  // namespace refrain::layer
