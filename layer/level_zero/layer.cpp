#include "layer/level_zero/layer.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "env/aside.h"
#include "env/doctor_channel.h"
#include "env/level_zero_environment.h"
#include "env/log.h"
#include "env/preload.h"
#include "layer/level_zero/runtime.h"
#include "layer/level_zero/tables.h"

namespace refrain::layer::level_zero {
namespace {

std::atomic<const char*> why_not{nullptr};

void load() noexcept {
  try {
    std::vector<env::SettingProblem> problems;
    state().settings = env::load_settings(problems);
    env::open_log(state().settings);
    for (const env::SettingProblem& problem : problems) {
      env::log_warning(problem.source + ": " + problem.message);
    }
    env::restore_level_zero(state().settings);
    env::restore_preload(state().settings);
    const bool active = state().settings.mode != env::Mode::kOff && state().settings.level_zero;
    env::tell_doctor(std::string("refrain layer ") + (active ? "active" : "off") + " " REFRAIN_VERSION +
                     " level_zero\n");
  } catch (...) {
    state().settings.mode = env::Mode::kOff;
    env::log_error("out of memory while the Level Zero layer was loaded; everything passes through");
  }
}

std::once_flag& once(int which) noexcept {
  static auto& flags = *new std::once_flag[2];
  return (&flags)[which];
}

}  // namespace

Layer& state() noexcept {
  static auto& instance = *new Layer;
  return instance;
}

bool interposing() noexcept {
  std::call_once(once(0), &load);
  return state().settings.mode != env::Mode::kOff && state().settings.level_zero;
}

void start() noexcept {
  std::call_once(once(1), [] {
    env::stand_aside(state().settings, env::Api::kLevelZero);
    start_engine(state().settings, &next_function);
    if (const char* why = why_not.load(); why != nullptr) {
      give_up(why);
    }
  });
}

void on_newer_loader() noexcept {
  give_up("the Level Zero loader is newer than version 1.17 of the API, and has functions that are not known here");
}

void give_up(const char* why) noexcept {
  why_not.store(why);
  if (replay::Engine* running = engine(); running != nullptr) {
    running->fail(why);
  }
}

}  // namespace refrain::layer::level_zero
