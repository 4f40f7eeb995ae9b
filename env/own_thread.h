// Threads of Refrain's own. The program's signals are for its own threads: these block them, but for those that a
// thread causes itself and would be killed by if it blocked them. What the program set for the thread that happens to
// start one is not meant for them either: see start().
#pragma once

#include <pthread.h>

namespace refrain::env {

/// Of those that the process may use; 0 if that is not known. Thread-safe.
[[nodiscard]] unsigned processors_at_start() noexcept;

/// A thread that the process may refuse to have: whoever starts one goes on without it, which std::thread in a function
/// that is noexcept could not. Not thread-safe.
class OwnThread {
 public:
  enum class Stack {
    kOwn,       ///< 1 MiB: it counts against the program's limits, which may leave little for the driver
    kPrograms,  ///< as the program's threads have: the driver may compile on it, or call the program
  };

  enum class Signals {
    kOwn,       ///< those that it causes itself
    kStarters,  ///< as a thread of the driver's: functions of the program run on it as a rule, and what a program does
                ///< to its threads by signals must reach it
  };

  OwnThread() = default;
  ~OwnThread() { join(); }
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  /// Runs `(object.*work)()` on a thread of this name (at most 15 letters). False if there can be none. It is scheduled
  /// as threads usually are, on the processors that the process was given at its start, as far as the system lets it.
  template <auto work, class Object>
  [[nodiscard]] bool start(const char* name, Object& object, Stack stack = Stack::kOwn) noexcept {
    static_assert(noexcept((object.*work)()), "an exception that leaves a thread ends the process");
    return start(
        name, [](void* what) noexcept { (static_cast<Object*>(what)->*work)(); }, &object, stack);
  }
  /// The same for a function. `name` has static lifetime.
  [[nodiscard]] bool start(const char* name, void (*work)(void*) noexcept, void* what, Stack stack = Stack::kOwn,
                           Signals signals = Signals::kOwn) noexcept;
  /// It was started, and nobody has waited for its end.
  [[nodiscard]] bool running() const noexcept { return running_; }
  /// True for the thread itself.
  [[nodiscard]] bool is_caller() const noexcept { return running_ && pthread_equal(pthread_self(), thread_) != 0; }
  /// Only where nothing but a lock and its condition, or a time, is between the thread and its end.
  void join() noexcept {
    if (running_) {
      running_ = false;
      pthread_join(thread_, nullptr);
    }
  }
  /// Waits for two seconds at most. False: it is left to itself, see leave().
  [[nodiscard]] bool join_in_time() noexcept;
  /// Waits for nothing: the thread is left to itself, and all that it uses must last as long as the process.
  void leave() noexcept;
  /// In a forked child: it does not exist there.
  void forget() noexcept { running_ = false; }

 private:
  static void* run(void* self) noexcept;

  const char* name_ = nullptr;
  void (*work_)(void*) noexcept = nullptr;
  void* what_ = nullptr;
  Signals signals_ = Signals::kOwn;
  pthread_t thread_{};
  bool running_ = false;
};

}  // namespace refrain::env
