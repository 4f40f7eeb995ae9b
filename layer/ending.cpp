#include "layer/ending.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>

#include "env/exit_hooks.h"

namespace refrain::layer {
namespace {

// A driver or a lock that the end came in the middle of must not keep the program from ending.
constexpr int kMostWaitMs = 2000;

sem_t wake;
pthread_t thread;
std::atomic<bool> watching{false};
std::atomic<bool> ending{false};
std::atomic<bool> told{false};
void (*tell_end)() = nullptr;

void* work(void* /*unused*/) {
  pthread_setname_np(pthread_self(), "refrain-end");
  while (sem_wait(&wake) != 0 && errno == EINTR) {
  }
  if (ending.load(std::memory_order_acquire)) {
    tell_end();
  }
  told.store(true, std::memory_order_release);
  return nullptr;
}

/// Async-signal-safe.
void on_end() {
  if (!watching.load() || pthread_equal(pthread_self(), thread) != 0 || ending.exchange(true)) {
    return;
  }
  sem_post(&wake);
  const timespec pause{0, 200'000};
  for (int waited = 0; waited < kMostWaitMs * 5 && !told.load(std::memory_order_acquire); ++waited) {
    nanosleep(&pause, nullptr);
  }
}

template <class Function>
Function* hook(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void watch_for_end(void (*tell)()) noexcept {
  auto* at_end = hook<decltype(refrain_at_end)>("refrain_at_end");
  if (at_end == nullptr || watching.load() || sem_init(&wake, 0, 0) != 0) {
    return;
  }
  tell_end = tell;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's business
  watching.store(pthread_create(&thread, nullptr, &work, nullptr) == 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (watching.load()) {
    at_end(&on_end);
  }
}

void stop_watching_for_end() noexcept {
  if (!watching.exchange(false)) {
    return;
  }
  if (auto* forget = hook<decltype(refrain_forget_end)>("refrain_forget_end"); forget != nullptr) {
    forget(&on_end);
  }
  sem_post(&wake);
  pthread_join(thread, nullptr);
}

void forget_end_in_child() noexcept {
  watching.store(false);
}

}  // namespace refrain::layer
