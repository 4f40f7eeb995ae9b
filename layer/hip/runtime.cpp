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

replay::Engine* decide() noexcept {
  replay::Engine* made = nullptr;
  const bool started = start_up("HIP", [&made] {
    env::Settings& settings = interpose::RealLibrary::settings();
    backends::fill(runtime.driver, [](const char* name) { return real_library.function(name); });
    if (const std::string why = backends::why_unusable(runtime.driver); !why.empty()) {
      env::log_warning("HIP: " + why + ": everything passes through");
      return;
    }
    keeps_errors = runtime.driver.version >= backends::kHipKeepsErrors;
    env::stand_aside(settings, env::Api::kHip);
    if (settings.mode == env::Mode::kCapture || settings.mode == env::Mode::kVerify) {
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
