// Tests include and say what Catch2 2 has; where there is Catch2 3, this makes that of it.
#pragma once

#include <catch2/catch_all.hpp>
#include <string>

namespace Catch {

using TestEventListenerBase = EventListenerBase;

/// Of texts.
inline Matchers::StringContainsMatcher Contains(const std::string& part) {
  return Matchers::ContainsSubstring(part);
}

}  // namespace Catch

using Catch::Approx;
