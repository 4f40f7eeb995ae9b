#include "layer/cuda/runtime.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "env/log.h"
#include "layer/cuda/capture.h"
#include "layer/cuda/hooks.h"
#include "layer/cuda/stubs.h"
#include "layer/process.h"

namespace refrain::layer::cuda {

Runtime& runtime = *new Runtime;
std::atomic<replay::Engine*> engine_pointer{nullptr};

namespace {

/// An error of held work that a stub flushed: the stub cannot report it, the next typed call does.
thread_local int pending_error __attribute__((tls_model("initial-exec"))) = 0;

/// SIGUSR1 came: the report is printed at the next call that waits or asks.
std::atomic<bool> report_wanted{false};

void on_report_signal(int /*number*/) {
  report_wanted.store(true, std::memory_order_relaxed);
}

/// Only if nobody else wants the signal.
void install_report_handler() noexcept {
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) {
    return;
  }
  struct sigaction ours {};
  ours.sa_handler = &on_report_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR1, &ours, nullptr);
}

void print_wanted_report(const replay::Engine& running) noexcept {
  if (report_wanted.load(std::memory_order_relaxed) && report_wanted.exchange(false)) [[unlikely]] {
    running.write_report();
  }
}

void in_child() {
  // CUDA does not work in a child that was forked after its start; nothing of ours may touch it there.
  set_stubs_watching(false);
  if (replay::Engine* running = engine_pointer.load(std::memory_order_relaxed); running != nullptr) {
    running->disable_after_fork();
  }
}

}  // namespace

void start_engine(const env::Settings& settings, void* (*lookup)(const char* name)) noexcept {
  try {
    backends::fill(runtime.driver, lookup);
    const char* missing = nullptr;
    if (!backends::can_replay(runtime.driver, &missing)) {
      env::log_warning(std::string("CUDA: the driver has no ") + missing +
                       " (it is older than CUDA 12.4): nothing is replayed");
    }
    if (runtime.driver.cuCtxGetCurrent == nullptr || runtime.driver.cuStreamGetCtx == nullptr) {
      return;  // too old to be watched at all
    }
    static Hooks& hooks = *new Hooks;
    runtime.recorder = open_recorder(settings);
    runtime.backend = new backends::CudaBackend(runtime.driver);
    auto* made = new replay::Engine(settings, *runtime.backend, hooks, runtime.recorder);
    engine_pointer.store(made, std::memory_order_release);
    set_host_call_hook(&on_host_call);
    set_stubs_watching(true);
    std::atexit(&shut_down);  // the driver was loaded before: ours runs first
    pthread_atfork(nullptr, nullptr, &in_child);
    if (settings.report) {
      install_report_handler();
    }
  } catch (const std::exception& error) {
    env::log_error(std::string("Refrain could not start (") + error.what() + "); everything passes through");
  }
}

void shut_down() noexcept {
  replay::Engine* running = engine_pointer.load(std::memory_order_acquire);
  if (running == nullptr) {
    return;
  }
  set_stubs_watching(false);
  running->shut_down();
  runtime.backend->links().settle_all();
}

HostCall::HostCall(const replay::EntryPoint& entry_point, bool unknown) noexcept
    : entry_point_(entry_point), engine_(cuda::engine()) {
  if (engine_ != nullptr) {
    held_error_ = engine_->flush_all(entry_point);
    print_wanted_report(*engine_);
    if (unknown) {
      runtime.backend->order().forget();
    }
  } else if (replay::Engine* failed = engine_pointer.load(std::memory_order_acquire);
             failed != nullptr && failed->anything_held()) {
    failed->flush_all(entry_point);  // it gave up while something was held
  }
  if (runtime.backend != nullptr) {
    runtime.backend->links().settle_all();
  }
}

CUresult HostCall::done(CUresult status, bool waited) noexcept {
  if (engine_ == nullptr) {
    return status;
  }
  engine_->lane().host_call_done(entry_point_, waited);
  const int pending = std::exchange(pending_error, 0);
  const int held = held_error_ != 0 ? held_error_ : pending;
  return held != 0 ? static_cast<CUresult>(held) : status;
}

void on_host_call(const replay::EntryPoint& entry_point) noexcept {
  const int saved_errno = errno;
  if (runtime.recorder != nullptr) {
    watch_memory(entry_point);
  }
  // One that gave up may still hold something.
  replay::Engine* running = engine_pointer.load(std::memory_order_acquire);
  if (running != nullptr && (running->active() || running->anything_held())) {
    if (const int error = running->flush_all(entry_point); error != 0) {
      pending_error = error;
    }
    runtime.backend->links().settle_all();
    runtime.backend->order().forget();
    print_wanted_report(*running);
  }
  errno = saved_errno;
}

}  // namespace refrain::layer::cuda
