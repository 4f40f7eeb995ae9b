#include "layer/opencl/lifecycle.h"

#include <atomic>
#include <memory>
#include <stdexcept>

#include "backends/opencl/opencl_backend.h"
#include "env/aside.h"
#include "env/mutex.h"
#include "layer/control.h"
#include "layer/ending.h"
#include "layer/immortal.h"
#include "layer/opencl/helper_thread.h"
#include "layer/opencl/hooks.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/stubs.h"
#include "layer/process.h"
#include "layer/report_signal.h"
#include "layer/start_up.h"

namespace refrain::layer::opencl {
namespace {

std::atomic<bool> tried{false};
env::Mutex start_mutex;

void before_end() {
  if (replay::Engine* running = engine_pointer.load(std::memory_order_acquire); running != nullptr) {
    running->write_out();
  }
}

void in_child() {
  set_stubs_watching(false);
  forget_end_in_child();
  forget_control_in_child();
  forget_helper_thread();
  if (replay::Engine* running = engine_pointer.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
}

/// After the driver was loaded: our exit handler runs before its destructors.
void make_engine() {
  env::stand_aside(state.settings, env::Api::kOpenCl);
  static Immortal<Hooks> hooks;
  // Tests bring their own.
  std::unique_ptr<capture::Recorder> recorder(state.recorder == nullptr ? open_recorder(state.settings) : nullptr);
  capture::Recorder* const recording = state.recorder != nullptr ? state.recorder : recorder.get();
  auto backend = std::make_unique<backends::OpenClBackend>(target, &state.shared_memory);
  auto made = std::make_unique<replay::Engine>(state.settings, *backend, *hooks, recording);
  watch_process({&shut_down, &in_child, &before_end});
  if (!start_helper_thread()) {
    throw std::runtime_error("there can be no thread");
  }
  state.recorder = recording;
  static_cast<void>(recorder.release());
  state.backend = backend.release();
  engine_pointer.store(made.release(), std::memory_order_release);
  set_stubs_watching(true);
  install_report_handler(state.settings, &wake_helper_thread);
  open_control(*engine_pointer.load(std::memory_order_relaxed), "opencl", &common::flush_for_stub<Protocol>);
}

}  // namespace

void start_engine() noexcept {
  if (tried.load(std::memory_order_acquire)) {
    return;
  }
  const env::MutexLock guard(start_mutex);
  if (tried.load(std::memory_order_relaxed)) {
    return;
  }
  static_cast<void>(start_up("OpenCL", &make_engine));
  tried.store(true, std::memory_order_release);
}

void shut_down() noexcept {
  replay::Engine* running = engine_pointer.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  set_stubs_watching(false);
  running->shut_down();
  stop_watching_for_end();
  close_control();
  signal_promises();
  stop_helper_thread();
}

}  // namespace refrain::layer::opencl
