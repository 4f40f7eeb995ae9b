#include "layer/opencl/lifecycle.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "backends/opencl/opencl_backend.h"
#include "env/aside.h"
#include "env/log.h"
#include "layer/ending.h"
#include "layer/opencl/helper_thread.h"
#include "layer/opencl/hooks.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/stubs.h"
#include "layer/process.h"
#include "layer/report_signal.h"

namespace refrain::layer {
namespace {

std::atomic<bool> tried{false};
std::mutex start_mutex;

void at_exit() {
  shut_down();
}

void before_end() {
  if (replay::Engine* running = engine_pointer.load(std::memory_order_acquire); running != nullptr) {
    running->tell_end();
  }
}

void in_child() {
  set_stubs_watching(false);
  forget_end_in_child();
  forget_helper_thread();
  if (replay::Engine* running = engine_pointer.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
}

}  // namespace

void start_engine() noexcept {
  if (tried.load(std::memory_order_acquire)) {
    return;
  }
  const std::lock_guard guard(start_mutex);
  if (tried.load(std::memory_order_relaxed)) {
    return;
  }
  try {
    env::stand_aside(state.settings, env::Api::kOpenCl);
    static Hooks& hooks = *new Hooks;
    if (state.recorder == nullptr) {  // tests bring their own
      state.recorder = open_recorder(state.settings);
    }
    state.backend = new backends::OpenClBackend(target);
    auto* made = new replay::Engine(state.settings, *state.backend, hooks, state.recorder);
    start_helper_thread();
    engine_pointer.store(made, std::memory_order_release);
    set_stubs_watching(true);
    watch_process();
  } catch (const std::exception& error) {
    env::log_error(std::string("Refrain could not start (") + error.what() + "); everything passes through");
  } catch (...) {
    env::log_error("Refrain could not start; everything passes through");
  }
  tried.store(true, std::memory_order_release);
}

void watch_process() noexcept {
  at_quick_exit(&at_exit);
  std::atexit(&at_exit);
  pthread_atfork(nullptr, nullptr, &in_child);
  watch_for_end(&before_end);
  install_report_handler(state.settings, &wake_helper_thread);
}

void shut_down() noexcept {
  replay::Engine* running = engine_pointer.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  set_stubs_watching(false);
  running->shut_down();
  stop_watching_for_end();
  signal_promises();
  stop_helper_thread();
  signal_handed_over();
}

}  // namespace refrain::layer
