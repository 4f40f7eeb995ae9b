#include "layer/hip/layer.h"

#include <atomic>

#include "env/preload.h"
#include "layer/hip/runtime.h"
#include "layer/hip/stubs.h"
#include "layer/immortal.h"
#include "layer/start_up.h"

namespace refrain::layer::hip {

Layer& state() noexcept {
  static Immortal<Layer> instance;
  return *instance;
}

void start_layer() {
  state().settings = read_settings();
  env::restore_preload(state().settings, own_starter().file);
}

bool interposing() noexcept {
  return state().settings.mode != env::Mode::kOff && state().settings.hip;
}

void on_stubs_exhausted() noexcept {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    give_up("HIP: more functions than stubs, so that some calls are not seen");
  }
}

}  // namespace refrain::layer::hip
