#include "layer/cuda/runtime.h"

#include "env/aside.h"
#include "env/log.h"
#include "layer/cuda/cudart.h"
#include "layer/cuda/module_variables.h"
#include "layer/cuda/real_library.h"
#include "layer/immortal.h"
#include "layer/streams/start_engine.h"

namespace refrain::layer::cuda {

constinit Runtime runtime;

interpose::StubTable& CudaLayer::stubs() noexcept {
  return real_library.stubs();
}

namespace {

/// What HOST stubs call.
void on_host_call(const replay::EntryPoint& entry_point) noexcept {
  streams::flush_for_stub<CudaLayer>(entry_point);
}

void shut_down() noexcept {
  stop_answering_runtime();
  streams::shut_down<CudaLayer>();
}

void in_child() noexcept {
  stop_answering_runtime();
  runtime.inventory = nullptr;  // its lock may be taken for ever
  streams::disable_in_child<CudaLayer>();
}

}  // namespace

void start_engine() {
  env::Settings& settings = interpose::RealLibrary::settings();
  env::stand_aside(settings, env::Api::kCuda);
  backends::fill(runtime.driver, [](const char* name) { return real_library.function(name); });
  const char* missing = nullptr;
  if (!backends::can_replay(runtime.driver, &missing)) {
    env::log_warning({"CUDA: the driver has no ", missing, " (it is older than CUDA 12.4): nothing is replayed"});
  }
  if (runtime.driver.cuCtxGetCurrent == nullptr || runtime.driver.cuStreamGetCtx == nullptr) {
    return;  // too old to be watched at all
  }
  if (settings.mode == env::Mode::kCapture || settings.mode == env::Mode::kVerify) {
    static Immortal<backends::MemoryInventory> inventory;
    inventory->find_rest_with(&add_variables);
    runtime.inventory = &*inventory;
  }
  streams::start_engine<CudaLayer, backends::CudaBackend>(
      "cuda", settings, {&shut_down, &in_child, &streams::notify_end<CudaLayer>}, &on_host_call);
  if (runtime.inventory != nullptr) {
    runtime.backend->compare(*runtime.inventory);
  }
  if (runtime.replays) {
    answer_runtime(runtime.driver, settings);
  }
}

void give_up(const char* why) noexcept {
  streams::give_up<CudaLayer>(why);
}

}  // namespace refrain::layer::cuda
