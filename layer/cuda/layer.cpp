#include "layer/cuda/layer.h"

#include <atomic>

#include "env/aside.h"
#include "env/preload.h"
#include "layer/cuda/driver.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/stubs.h"
#include "layer/immortal.h"
#include "layer/start_up.h"

namespace refrain::layer::cuda {

Layer& state() noexcept {
  static Immortal<Layer> instance;
  return *instance;
}

void start_layer() {
  state().settings = read_settings();
  env::restore_preload(state().settings, own_starter().file);
}

void on_driver_loaded() {
  if (interposing()) {
    env::stand_aside(state().settings, env::Api::kCuda);
    start_engine(state().settings, &real_function);
  }
}

bool interposing() noexcept {
  return state().settings.mode != env::Mode::kOff && state().settings.cuda;
}

void on_stubs_exhausted() noexcept {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    // What is not seen may observe anything: nothing may be held any more.
    if (replay::Engine* running = engine(); running != nullptr) {
      running->fail("CUDA: more functions than stubs, so that some calls are not seen");
    }
  }
}

}  // namespace refrain::layer::cuda
