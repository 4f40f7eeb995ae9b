#include "layer/level_zero/layer.h"

#include <atomic>
#include <mutex>
#include <string>

#include "env/aside.h"
#include "env/doctor_channel.h"
#include "env/level_zero_environment.h"
#include "env/preload.h"
#include "layer/immortal.h"
#include "layer/level_zero/runtime.h"
#include "layer/level_zero/tables.h"
#include "layer/start_up.h"

namespace refrain::layer::level_zero {
namespace {

std::atomic<const char*> why_not{nullptr};

void load() noexcept {
  const bool started = start_up("Level Zero", [] {
    state().settings = read_settings();
    env::restore_level_zero(state().settings);
    env::restore_preload(state().settings);
    const bool active = state().settings.mode != env::Mode::kOff && state().settings.level_zero;
    env::notify_doctor(std::string("refrain layer ") + (active ? "active" : "off") + " " REFRAIN_VERSION +
                       " level_zero\n");
  });
  if (!started) {
    state().settings.mode = env::Mode::kOff;
  }
}

constinit std::once_flag settings_read;
constinit std::once_flag engine_started;

}  // namespace

Layer& state() noexcept {
  static Immortal<Layer> instance;
  return *instance;
}

bool interposing() noexcept {
  std::call_once(settings_read, &load);
  return state().settings.mode != env::Mode::kOff && state().settings.level_zero;
}

void start() noexcept {
  std::call_once(engine_started, [] {
    static_cast<void>(start_up("Level Zero", [] {
      env::stand_aside(state().settings, env::Api::kLevelZero);
      start_engine(state().settings, &next_function);
    }));
    if (const char* why = why_not.load(); why != nullptr) {
      stand_aside(why);
    }
  });
}

void on_newer_loader() noexcept {
  stand_aside("the Level Zero loader is newer than version 1.17 of the API, and has functions that are not known here");
}

void stand_aside(const char* why) noexcept {
  why_not.store(why);
  if (replay::Engine* running = engine(); running != nullptr) {
    running->stand_aside({why, ": from here on everything passes through"});
  }
}

void give_up(const char* why) noexcept {
  why_not.store(why);
  if (replay::Engine* running = engine(); running != nullptr) {
    running->fail(why);
  }
}

}  // namespace refrain::layer::level_zero
