#include "layer/start_up.h"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "env/program_choice.h"
#include "layer/ending.h"

namespace refrain::layer {
namespace {

void (*exit_handler)() = nullptr;
void (*end_handler)() = nullptr;

void require(int error, const char* what) {
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), what);
  }
}

}  // namespace

env::Settings read_settings() {
  std::vector<env::SettingProblem> problems;
  env::Settings settings = env::load_settings(problems);
  if (!env::ProgramChoice::of(settings).chosen()) return settings;  // not even a log
  env::open_log(settings);
  for (const env::SettingProblem& problem : problems) {
    env::log_warning({problem.source, ": ", problem.message});
  }
  return settings;
}

void watch_process(const ProcessHooks& hooks) {
  exit_handler = hooks.at_exit;
  end_handler = hooks.before_end;
  require(at_quick_exit(hooks.at_exit) == 0 ? 0 : ENOMEM, "at_quick_exit()");
  require(watch_exit() ? 0 : ENOMEM, "atexit()");  // the driver was loaded before: ours runs first
  require(pthread_atfork(nullptr, nullptr, hooks.in_child), "pthread_atfork()");
}

void watch_end() noexcept {
  if (!watch_for_end(end_handler)) {
    env::log_debug(
        {"there can be no thread for the end of the process: where it runs no exit handlers nothing is told"});
  }
}

bool watch_exit() noexcept {
  return std::atexit(exit_handler) == 0;
}

}  // namespace refrain::layer
