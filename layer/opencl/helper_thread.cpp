#include "layer/opencl/helper_thread.h"

#include <semaphore.h>

#include <atomic>
#include <cerrno>

#include "env/own_thread.h"
#include "layer/immortal.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/report_signal.h"

namespace refrain::layer::opencl {
namespace {

sem_t wake;
Immortal<env::OwnThread> thread;
std::atomic<bool> running{false};
std::atomic<bool> stopping{false};

void work(void* /*unused*/) noexcept {
  bool last = false;
  while (!last) {
    while (sem_wait(&wake) != 0 && errno == EINTR) {
    }
    last = stopping.load(std::memory_order_acquire);
    signal_handed_over();
    if (const replay::Engine* known = engine_pointer.load(std::memory_order_acquire); known != nullptr) {
      print_wanted_report(*known);
    }
  }
}

}  // namespace

bool start_helper_thread() noexcept {
  if (running.load()) {
    return true;
  }
  stopping.store(false);
  running.store(sem_init(&wake, 0, 0) == 0 &&
                thread->start("refrain-opencl", &work, nullptr, env::OwnThread::Stack::kPrograms,
                              env::OwnThread::Signals::kStarters));
  return running.load();
}

bool helper_thread_runs() noexcept {
  return running.load();
}

void wake_helper_thread() noexcept {
  if (running.load(std::memory_order_relaxed)) {
    sem_post(&wake);
  }
}

void stop_helper_thread() noexcept {
  if (!running.load() || thread->is_caller()) {
    return;
  }
  running.store(false);
  stopping.store(true, std::memory_order_release);
  sem_post(&wake);
  static_cast<void>(thread->join_in_time());  // a callback of the program's may take any time
}

void forget_helper_thread() noexcept {
  running.store(false);
}

}  // namespace refrain::layer::opencl
