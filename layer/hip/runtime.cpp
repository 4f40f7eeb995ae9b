#include "layer/hip/runtime.h"

#include <string>

#include "env/aside.h"
#include "env/log.h"
#include "env/mutex.h"
#include "layer/hip/functions.h"
#include "layer/hip/last_error.h"
#include "layer/hip/real_library.h"
#include "layer/immortal.h"
#include "layer/streams/start_engine.h"

namespace refrain::layer::hip {

constinit Runtime runtime;
namespace {
Immortal<streams::Objects<backends::HipApi>> only_objects;
}  // namespace
streams::Objects<backends::HipApi>& objects = *only_objects;
std::atomic<bool> undecided{true};

interpose::StubTable& HipLayer::stubs() noexcept {
  return real_library.stubs();
}

void stay_out() noexcept {
  undecided.store(false);
}

namespace {

void in_child() noexcept {
  stay_out();
  runtime.inventory = nullptr;  // its lock may be taken for ever
  streams::disable_in_child<HipLayer>();
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
  runtime.driver.version = version;
  keeps_errors = version >= backends::kHipKeepsErrors;
  return {};
}

replay::Engine* decide() noexcept {
  replay::Engine* made = nullptr;
  const bool started = start_up("HIP", [&made] {
    env::Settings& settings = interpose::RealLibrary::settings();
    backends::fill(runtime.driver, [](const char* name) { return real_library.function(name); });
    if (const std::string why = why_too_old(); !why.empty()) {
      env::log_warning(why);
      return;
    }
    env::stand_aside(settings, env::Api::kHip);
    if (settings.mode == env::Mode::kVerify) {
      static Immortal<backends::MemoryInventory> inventory;
      inventory->find_rest_with(&add_variables);
      runtime.inventory = &*inventory;
    }
    made = streams::start_engine<HipLayer, backends::HipBackend>(
        "hip", settings, {&streams::shut_down<HipLayer>, &in_child, &streams::notify_end<HipLayer>},
        &streams::flush_for_stub<HipLayer>);
    if (runtime.inventory != nullptr) {
      runtime.backend->compare(*runtime.inventory);
    }
  });
  if (!started || made == nullptr) {
    real_library.pass_everything();
  }
  return made;
}

}  // namespace

bool keeps_errors = false;

replay::Engine* start_engine() noexcept {
  static Immortal<env::RecursiveMutex> mutex;
  const env::MutexLock guard(*mutex);
  if (undecided.exchange(false) && real_library.interposing()) {
    return decide();
  }
  return runtime.engine.load(std::memory_order_acquire);
}

void give_up(const char* why) noexcept {
  streams::give_up<HipLayer>(why);
}

}  // namespace refrain::layer::hip
