#include "layer/opencl/lifecycle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "backends/opencl/opencl_backend.h"
#include "env/log.h"
#include "layer/elf_symbols.h"
#include "layer/ending.h"
#include "layer/opencl/helper_thread.h"
#include "layer/opencl/hooks.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/opencl/stubs.h"
#include "layer/process.h"

namespace refrain::layer {
namespace {

std::atomic<bool> tried{false};
std::mutex start_mutex;

/// The driver's handler that ours took the place of.
std::atomic<void (*)(int)> displaced{nullptr};

void on_report_signal(int number) {
  const int saved = errno;
  request_report();
  if (auto* theirs = displaced.load(); theirs != nullptr) {
    theirs(number);
  }
  errno = saved;
}

bool has_report_handler(struct sigaction* now) noexcept {
  return sigaction(SIGUSR1, nullptr, now) == 0 && (now->sa_flags & SA_SIGINFO) == 0 &&
         now->sa_handler == &on_report_signal;
}

/// Whether a handler is a driver's or LLVM's (whose compiler puts one there that prints what it is compiling),
/// and not the application's.
bool belongs_to_driver(void (*handler)(int)) noexcept {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(handler), &info) == 0 || info.dli_fname == nullptr) {
    return false;
  }
  const char* slash = std::strrchr(info.dli_fname, '/');
  if (std::strncmp(slash != nullptr ? slash + 1 : info.dli_fname, "libLLVM", 7) == 0) {
    return true;
  }
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return false;
  }
  const bool driver = DynamicSymbols(library).find("clIcdGetPlatformIDsKHR") != nullptr;
  dlclose(library);
  return driver;
}

/// Installs our handler if nobody but a driver has one.
void install_report_handler() noexcept {
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler == SIG_IGN ||
      now.sa_handler == &on_report_signal) {
    return;
  }
  if (now.sa_handler != SIG_DFL) {
    if (!belongs_to_driver(now.sa_handler)) {
      return;
    }
    displaced.store(now.sa_handler);
  }
  struct sigaction ours {};
  ours.sa_handler = &on_report_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR1, &ours, nullptr);
}

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
  if (state.settings.report) {
    install_report_handler();
  }
}

ReportSignalKeeper::ReportSignalKeeper() noexcept {
  struct sigaction now {};
  ours_ = has_report_handler(&now);
}

ReportSignalKeeper::~ReportSignalKeeper() {
  struct sigaction now {};
  if (ours_ && !has_report_handler(&now)) {
    install_report_handler();
  }
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
