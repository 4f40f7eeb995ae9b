#include "layer/hip/runtime.h"

#include <mutex>
#include <string>

#include "env/aside.h"
#include "env/log.h"
#include "layer/ending.h"
#include "layer/hip/last_error.h"
#include "layer/hip/layer.h"
#include "layer/hip/real_library.h"
#include "layer/hip/stubs.h"
#include "layer/immortal.h"
#include "layer/report_signal.h"
#include "layer/streams/start_engine.h"

namespace refrain::layer::hip {

constinit Runtime runtime;
namespace {
Immortal<streams::Objects<backends::HipApi>> only_objects;
}  // namespace
streams::Objects<backends::HipApi>& objects = *only_objects;
std::atomic<bool> undecided{true};

namespace {

/// What HOST stubs call.
void on_host_call(const replay::EntryPoint& entry_point) noexcept {
  streams::flush_for_stub<HipLayer>(entry_point);
}

void before_end() {
  if (replay::Engine* running = runtime.engine.load(std::memory_order_acquire); running != nullptr) {
    running->tell_end();
  }
}

void in_child() {
  // HIP does not work in a child that was forked after its start; nothing of ours may touch it there.
  set_stubs_watching(false);
  forget_end_in_child();
  undecided.store(false);
  if (replay::Engine* running = runtime.engine.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
  streams::forget_stand_ins<backends::HipApi>();
}

std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
         std::to_string(version % 100000);
}

/// Why nothing can be replayed with this runtime; empty: it can.
std::string why_too_old() {
  const char* missing = nullptr;
  int version = 0;
  if (runtime.driver.hipRuntimeGetVersion == nullptr || runtime.driver.hipGetLastError == nullptr) {
    return "HIP: the runtime tells no version: everything passes through";
  }
  const hipError_t status = backends::quiet(runtime.driver, runtime.driver.hipRuntimeGetVersion(&version));
  if (status != hipSuccess) {
    return "HIP: the runtime does not work (error " + std::to_string(status) + "): everything passes through";
  }
  if (version < backends::kOldestHip) {
    return "HIP: the runtime is HIP " + version_text(version) +
           ", older than that of ROCm 5.5.1, whose graphs can be changed: everything passes through";
  }
  if (!backends::has_everything(runtime.driver, &missing)) {
    return "HIP: the runtime (HIP " + version_text(version) + ") has no " + missing + ": everything passes through";
  }
  keeps_errors = version >= backends::kHipKeepsErrors;
  return {};
}

replay::Engine* decide() noexcept {
  replay::Engine* made = nullptr;
  const bool started = start_up("HIP", [&made] {
    backends::fill(runtime.driver, &real_function);
    if (const std::string why = why_too_old(); !why.empty()) {
      env::log_warning(why);
      return;
    }
    env::stand_aside(state().settings, env::Api::kHip);
    made =
        streams::start_engine<HipLayer, backends::HipBackend>(state().settings, {&shut_down, &in_child, &before_end});
    set_host_call_hook(&on_host_call);
    set_stubs_watching(true);
    install_report_handler(state().settings);
  });
  if (!started || made == nullptr) {
    pass_everything();
  }
  return made;
}

}  // namespace

bool keeps_errors = false;

replay::Engine* start_engine() noexcept {
  static Immortal<std::recursive_mutex> mutex;
  const std::lock_guard guard(*mutex);
  if (undecided.exchange(false) && interposing()) {
    return decide();
  }
  return runtime.engine.load(std::memory_order_acquire);
}

void give_up(const char* why) noexcept {
  if (replay::Engine* running = runtime.engine.load(std::memory_order_acquire);
      running != nullptr && running->active()) {
    running->fail(why);
  }
}

void shut_down() noexcept {
  replay::Engine* running = runtime.engine.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  set_stubs_watching(false);
  running->shut_down();
  stop_watching_for_end();
  streams::leave_stand_in<HipLayer>();  // stubs do not look any more
}

}  // namespace refrain::layer::hip
