#pragma once

namespace refrain::env {
struct StuckCheck {
  bool stuck() noexcept { return false; }
};
}  // namespace refrain::env
