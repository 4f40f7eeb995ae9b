#include "layer/level_zero/runtime.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "env/log.h"
#include "layer/ending.h"
#include "layer/immortal.h"
#include "layer/interpose/host_stubs.h"
#include "layer/level_zero/hooks.h"
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
    running->tell_end();
  }
}

void in_child() {
  interpose::HostStubs::set_watching(false);
  forget_end_in_child();
  if (replay::Engine* running = engine_pointer.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
}

/// What stubs call.
void on_host_call(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  if (std::strstr(entry_point.name, "Capture") != nullptr) {
    give_up("the program captures command lists itself");
  } else if (std::strstr(entry_point.name, "Append") != nullptr) {
    // It may wait for an event that only the program will set: what is held must not wait for it.
    give_up("the program appends commands with a function whose events are not known here");
  }
  // One that gave up may still hold something.
  if (replay::Engine* running = engine_pointer.load(std::memory_order_acquire); running != nullptr) {
    running->flush_all_silently(entry_point);
    forget_quiet_lists();
    print_wanted_report(*running);
  }
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
  auto made = std::make_unique<replay::Engine>(settings, *backend, *hooks, recorder.get());
  watch_process({&shut_down, &in_child, &before_end});
  runtime.recorder = recorder.release();
  runtime.backend = backend.release();
  engine_pointer.store(made.release(), std::memory_order_release);
  interpose::HostStubs::set_hook(&on_host_call);
  interpose::HostStubs::set_watching(true);
  install_report_handler(settings);
}

void shut_down() noexcept {
  replay::Engine* running = engine_pointer.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  interpose::HostStubs::set_watching(false);
  running->shut_down();
  stop_watching_for_end();
}

template <class Flush>
void HostCall::begin(Flush&& flush) noexcept {
  if (engine_ != nullptr) {
    const NotCancelled during(engine_->anything_held());
    held_error_ = flush();
    print_wanted_report(*engine_);
  } else if (replay::Engine* failed = engine_pointer.load(std::memory_order_acquire); failed != nullptr) {
    const NotCancelled during(failed->anything_held());
    held_error_ = failed->flush_all(entry_point_);  // it may have given up while something was held
  }
}

HostCall::HostCall(const replay::EntryPoint& entry_point) noexcept
    : entry_point_(entry_point), engine_(level_zero::engine()) {
  begin([this] { return engine_->flush_all(entry_point_); });
}

HostCall::HostCall(const replay::EntryPoint& entry_point, Own /*own*/) noexcept
    : entry_point_(entry_point), engine_(level_zero::engine()) {
  begin([this] { return engine_->flush_own(entry_point_); });
}

HostCall::~HostCall() {
  if (engine_ != nullptr) {
    engine_->lane().host_call_done(entry_point_, false);
  }
}

ze_result_t HostCall::done(ze_result_t status, bool waited) noexcept {
  if (engine_ != nullptr) {
    std::exchange(engine_, nullptr)->lane().host_call_done(entry_point_, waited);
  }
  return held_error_ != 0 ? static_cast<ze_result_t>(held_error_) : status;
}

}  // namespace refrain::layer::level_zero
