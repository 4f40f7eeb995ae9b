#include "layer/level_zero/runtime.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "env/log.h"
#include "layer/control.h"
#include "layer/ending.h"
#include "layer/immortal.h"
#include "layer/interpose/host_stubs.h"
#include "layer/level_zero/hooks.h"
#include "layer/level_zero/inventory.h"
#include "layer/level_zero/layer.h"
#include "layer/level_zero/objects.h"
#include "layer/level_zero/tables.h"
#include "layer/process.h"
#include "layer/report_signal.h"
#include "layer/start_up.h"

namespace refrain::layer::level_zero {

namespace {
Immortal<Runtime> only_runtime;
}  // namespace
Runtime& runtime = *only_runtime;
std::atomic<replay::Engine*> engine_pointer{nullptr};

namespace {

void before_end() {
  if (replay::Engine* running = engine_pointer.load(std::memory_order_acquire); running != nullptr) {
    running->write_out();
  }
}

void in_child() {
  interpose::HostStubs::set_watching(false);
  forget_end_in_child();
  forget_control_in_child();
  runtime.inventory = nullptr;  // its lock may be taken for ever
  if (replay::Engine* running = engine_pointer.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
}

/// What stubs call.
void on_host_call(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  if (std::strstr(entry_point.name, "Capture") != nullptr) {
    stand_aside("the program captures command lists with a function that is not known here");
  } else if (std::strstr(entry_point.name, "KernelSet") != nullptr ||
             std::strstr(entry_point.name, "VariableSet") != nullptr) {
    stand_aside("the program sets something for kernels with a function that is not known here");
  } else if (std::strstr(entry_point.name, "Append") != nullptr) {
    // It may wait for an event that only the program will set: what is held must not wait for it.
    stand_aside("the program appends commands with a function whose events are not known here");
  }
  common::flush_for_stub<Protocol>(entry_point);
  wait_for_comparison();
  note_call(entry_point.name);
  forget_quiet_lists();
  errno = saved_errno;
}

}  // namespace

void start_engine(const env::Settings& settings, void* (*lookup)(const char* name)) {
  backends::fill(runtime.driver, lookup);
  const char* missing = nullptr;
  if (!backends::can_replay(runtime.driver, &missing)) {
    env::log_warning({"Level Zero: the driver has no ", missing, "; everything passes through"});
    return;
  }
  static Immortal<Hooks> hooks;
  std::unique_ptr<capture::Recorder> recorder(open_recorder(settings));
  auto backend = std::make_unique<backends::LevelZeroBackend>(runtime.driver, &is_alive);
  if (settings.mode == env::Mode::kVerify) {
    start_inventory();
    backend->memory().use(*runtime.inventory, facts());
  }
  auto made = std::make_unique<replay::Engine>(settings, *backend, *hooks, recorder.get());
  watch_process({&shut_down, &in_child, &before_end});
  runtime.recorder = recorder.release();
  runtime.backend = backend.release();
  engine_pointer.store(made.release(), std::memory_order_release);
  interpose::HostStubs::set_hook(&on_host_call);
  interpose::HostStubs::set_watching(true);
  install_report_handler(settings);
  open_control(*engine_pointer.load(std::memory_order_relaxed), "level_zero", &on_host_call);
}

void shut_down() noexcept {
  replay::Engine* running = engine_pointer.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  interpose::HostStubs::set_watching(false);
  running->shut_down();
  stop_watching_for_end();
  close_control();
}

}  // namespace refrain::layer::level_zero
