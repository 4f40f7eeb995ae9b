#include "layer/cuda/runtime.h"

#include "env/log.h"
#include "layer/cuda/capture.h"
#include "layer/cuda/cudart.h"
#include "layer/cuda/stubs.h"
#include "layer/ending.h"
#include "layer/report_signal.h"
#include "layer/streams/start_engine.h"

namespace refrain::layer::cuda {

constinit Runtime runtime;

namespace {

/// What HOST stubs call.
void on_host_call(const replay::EntryPoint& entry_point) noexcept {
  if (runtime.recorder != nullptr) {
    watch_memory(entry_point);
  }
  streams::flush_for_stub<CudaLayer>(entry_point);
}

void before_end() {
  if (replay::Engine* running = runtime.engine.load(std::memory_order_acquire); running != nullptr) {
    running->tell_end();
  }
}

void in_child() {
  // CUDA does not work in a child that was forked after its start; nothing of ours may touch it there.
  set_stubs_watching(false);
  forget_end_in_child();
  stop_answering_runtime();
  if (replay::Engine* running = runtime.engine.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
  streams::forget_stand_ins<backends::CudaApi>();
}

}  // namespace

void start_engine(const env::Settings& settings, void* (*lookup)(const char* name)) {
  backends::fill(runtime.driver, lookup);
  const char* missing = nullptr;
  if (!backends::can_replay(runtime.driver, &missing)) {
    env::log_warning({"CUDA: the driver has no ", missing, " (it is older than CUDA 12.4): nothing is replayed"});
  }
  if (runtime.driver.cuCtxGetCurrent == nullptr || runtime.driver.cuStreamGetCtx == nullptr) {
    return;  // too old to be watched at all
  }
  streams::start_engine<CudaLayer, backends::CudaBackend>(settings, {&shut_down, &in_child, &before_end});
  set_host_call_hook(&on_host_call);
  set_stubs_watching(true);
  if (runtime.replays) {
    answer_runtime(runtime.driver, settings);
  }
  install_report_handler(settings);
}

void shut_down() noexcept {
  replay::Engine* running = runtime.engine.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  set_stubs_watching(false);
  stop_answering_runtime();
  running->shut_down();
  stop_watching_for_end();
  streams::leave_stand_in<CudaLayer>();  // stubs do not look any more
}

}  // namespace refrain::layer::cuda
