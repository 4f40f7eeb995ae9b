#include "layer/hip/layer.h"

#include <atomic>
#include <string>
#include <vector>

#include "env/log.h"
#include "env/preload.h"
#include "layer/hip/runtime.h"
#include "layer/hip/stubs.h"
#include "layer/immortal.h"

namespace refrain::layer::hip {

Layer& state() noexcept {
  static Immortal<Layer> instance;
  return *instance;
}

void start_layer() noexcept {
  try {
    std::vector<env::SettingProblem> problems;
    state().settings = env::load_settings(problems);
    env::open_log(state().settings);
    for (const env::SettingProblem& problem : problems) {
      env::log_warning(problem.source + ": " + problem.message);
    }
    env::restore_preload(state().settings, own_starter().file);
  } catch (...) {
    state().settings.mode = env::Mode::kOff;
    env::log_error("out of memory while the HIP layer was loaded; everything passes through");
  }
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
