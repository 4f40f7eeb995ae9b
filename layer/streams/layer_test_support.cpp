#include "layer/streams/layer_test_support.h"

#include "layer/start_up.h"

namespace refrain::layer {

/// No driver here has an end that ours could come behind.
bool watch_exit() noexcept {
  return true;
}

void watch_end() noexcept {}

}  // namespace refrain::layer
