#include "layer/common/stable_names.h"

#include <catch2/catch.hpp>
#include <set>

namespace refrain::layer {
namespace {
constexpr replay::EntryPoint kOne{"one"}, kOther{"other"};
}

TEST_CASE("Addresses have numbers in the order of their first use, whatever they are") {
  for (const std::uint64_t base : {std::uint64_t{0x1000}, std::uint64_t{0x7F00'1234'0000}}) {
    FirstUses names;
    for (std::uint64_t i = 0; i < 50; ++i) {
      CHECK(names.number_of(base + i * 16) == i + 1);
    }
    CHECK(names.number_of(base + 7 * 16) == 8);
  }
}

TEST_CASE("Where there is no place left, an address stands for itself") {
  FirstUses names;
  std::set<Token> given;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    const std::uint64_t address = i * 0x10'0000;
    const Token number = names.number_of(address);
    CHECK(given.insert(number).second);
    CHECK(names.number_of(address) == number);
  }
}

TEST_CASE("Entry points have other numbers each, which do not depend on where the library is") {
  CHECK(stable_name(kOne) != stable_name(kOther));
  CHECK(stable_name(kOne) == stable_name(kOne));
  CHECK(stable_name(kOne) - stable_name(kOther) ==
        reinterpret_cast<std::uint64_t>(&kOne) - reinterpret_cast<std::uint64_t>(&kOther));
}

}  // namespace refrain::layer
