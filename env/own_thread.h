// Threads of Refrain's own. The program's signals are for its own threads: these block all of them.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace refrain::env {

/// A thread that the process may refuse to have: whoever starts one goes on without it, which std::thread in a function
/// that is noexcept could not. Not thread-safe.
class OwnThread {
 public:
  OwnThread() = default;
  ~OwnThread() { join(); }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  /// Runs `(object.*work)()` on a thread of this name (at most 15 letters). False if there can be none.
  template <auto work, class Object>
  [[nodiscard]] bool start(const char* name, Object& object) noexcept {
    static_assert(noexcept((object.*work)()), "an exception that leaves a thread ends the process");
    return start(
        name, [](void* what) noexcept { (static_cast<Object*>(what)->*work)(); }, &object);
  }
  /// The same for a function. `name` has static lifetime.
  [[nodiscard]] bool start(const char* name, void (*work)(void*) noexcept, void* what) noexcept {
    name_ = name;
    work_ = work;
    what_ = what;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running_ = pthread_create(&thread_, nullptr, &run, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return running_;
  }
  /// It was started, and nobody has waited for its end.
  [[nodiscard]] bool running() const noexcept { return running_; }
  /// True for the thread itself.
  [[nodiscard]] bool is_caller() const noexcept { return running_ && pthread_equal(pthread_self(), thread_) != 0; }
  [[nodiscard]] pthread_t handle() const noexcept { return thread_; }
  void join() noexcept {
    if (running_) {
      running_ = false;
      pthread_join(thread_, nullptr);
    }
  }
  /// In a forked child: it does not exist there.
  void forget() noexcept { running_ = false; }

 private:
  static void* run(void* self) noexcept {
    const auto& mine = *static_cast<const OwnThread*>(self);
    pthread_setname_np(pthread_self(), mine.name_);
    mine.work_(mine.what_);
    return nullptr;
  }

  const char* name_ = nullptr;
  void (*work_)(void*) noexcept = nullptr;
  void* what_ = nullptr;
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace refrain::env
