#include "layer/opencl/helper_thread.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <cerrno>

#include "env/log.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/promises.h"
#include "layer/report_signal.h"

namespace refrain::layer {
namespace {

sem_t wake;
pthread_t thread;
std::atomic<bool> running{false};
std::atomic<bool> stopping{false};

void* work(void*) {
  pthread_setname_np(pthread_self(), "refrain-opencl");
  while (!stopping.load(std::memory_order_acquire)) {
    while (sem_wait(&wake) != 0 && errno == EINTR) {
    }
    signal_handed_over();
    if (const replay::Engine* known = engine_pointer.load(std::memory_order_acquire); known != nullptr) {
      print_wanted_report(*known);
    }
  }
  return nullptr;
}

}  // namespace

void start_helper_thread() noexcept {
  if (running.load() || sem_init(&wake, 0, 0) != 0) {
    return;
  }
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the application's business
  stopping.store(false);
  running.store(pthread_create(&thread, nullptr, &work, nullptr) == 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!running.load()) {
    env::log_warning("no helper thread could be started: events of held work may be signalled late");
  }
}

void wake_helper_thread() noexcept {
  if (running.load(std::memory_order_relaxed)) {
    sem_post(&wake);
  }
}

void stop_helper_thread() noexcept {
  if (!running.load() || pthread_equal(pthread_self(), thread) != 0) {
    return;
  }
  stopping.store(true, std::memory_order_release);
  sem_post(&wake);
  pthread_join(thread, nullptr);
  running.store(false);
  signal_handed_over();
}

void forget_helper_thread() noexcept {
  running.store(false);
}

}  // namespace refrain::layer
