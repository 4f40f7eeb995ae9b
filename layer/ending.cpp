#include "layer/ending.h"

#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <cerrno>

#include "env/exit_hooks.h"
#include "env/own_thread.h"
#include "layer/immortal.h"

#pragma weak refrain_at_end
#pragma weak refrain_forget_end

namespace refrain::layer {
namespace {

// A driver or a lock that the end came in the middle of must not keep the program from ending.
constexpr int kMostWaitMs = 2000;

sem_t wake;
Immortal<env::OwnThread> thread;
std::atomic<bool> watching{false};
std::atomic<bool> ending{false};
std::atomic<bool> notified{false};
void (*notify_end)() = nullptr;

void work(void* /*unused*/) noexcept {
  while (sem_wait(&wake) != 0 && errno == EINTR) {
  }
  if (ending.load(std::memory_order_acquire)) {
    notify_end();
  }
  notified.store(true, std::memory_order_release);
}

/// Async-signal-safe.
void on_end() {
  if (!watching.load() || thread->is_caller() || ending.exchange(true)) {
    return;
  }
  sem_post(&wake);
  const timespec pause{0, 200'000};
  for (int waited = 0; waited < kMostWaitMs * 5 && !notified.load(std::memory_order_acquire); ++waited) {
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

bool watch_for_end(void (*notify)()) noexcept {
  if (&refrain_at_end == nullptr || watching.load()) {
    return true;
  }
  notify_end = notify;
  if (sem_init(&wake, 0, 0) != 0 || !thread->start("refrain-end", &work, nullptr)) {
    return false;
  }
  watching.store(true);
  refrain_at_end(&on_end);
  return true;
}

void stop_watching_for_end() noexcept {
  if (!watching.exchange(false)) {
    return;
  }
  if (&refrain_forget_end != nullptr) {
    refrain_forget_end(&on_end);
  }
  sem_post(&wake);
  static_cast<void>(thread->join_in_time());
}

void forget_end_in_child() noexcept {
  watching.store(false);
}

}  // namespace refrain::layer
