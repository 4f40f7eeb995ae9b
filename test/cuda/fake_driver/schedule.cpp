#include "test/cuda/fake_driver/schedule.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

namespace fake {
namespace {

/// Never destroyed: the program's exit does not wait for its work.
struct Schedule {
  std::mutex mutex;
  std::condition_variable work, done;
  std::vector<OperationRef> ready;  ///< in the order in which they became so
  std::uint64_t last_number = 0;
  std::uint64_t random = seed() * 0x9E3779B97F4A7C15ULL + 1;
  bool running = false;
};
Schedule& everything() noexcept {
  static Schedule& instance = *new Schedule;
  return instance;
}

std::uint64_t next_random(Schedule& all) noexcept {
  all.random ^= all.random << 13U;
  all.random ^= all.random >> 7U;
  all.random ^= all.random << 17U;
  return all.random;
}

OperationRef take(Schedule& all) {
  std::size_t index = 0;
  switch (seed() % 3) {
    case 0: index = next_random(all) % all.ready.size(); break;
    case 1: index = all.ready.size() - 1; break;  // the newest: long dependent chains first
    default: break;
  }
  OperationRef taken = std::move(all.ready[index]);
  all.ready.erase(all.ready.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

void finish(Schedule& all, Operation& operation) {
  using Clock = std::chrono::steady_clock;
  operation.done = true;
  operation.done_ms = std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
  operation.task = {};
  operation.open->erase(operation.number);
  for (OperationRef& next : operation.next) {
    if (--next->missing == 0) {
      all.ready.push_back(std::move(next));
    }
  }
  operation.next.clear();
  all.done.notify_all();
}

void work() {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Schedule& all = everything();
  std::unique_lock lock(all.mutex);
  for (;;) {
    all.work.wait(lock, [&all] { return !all.ready.empty(); });
    if (next_random(all) % 32 == 0) {  // more comes in meanwhile: there is more to choose from
      const auto pause = static_cast<useconds_t>(next_random(all) % 64);
      lock.unlock();
      usleep(pause);
      lock.lock();
    }
    const OperationRef operation = take(all);
    lock.unlock();
    operation->task.run();
    lock.lock();
    finish(all, *operation);
  }
}

}  // namespace

Lock::Lock() : guard(everything().mutex) {}

OperationRef schedule(const Lock& /*lock*/, std::set<std::uint64_t>& open, Task task,
                      std::span<const OperationRef> after) {
  Schedule& all = everything();
  if (!std::exchange(all.running, true)) {
    std::thread(&work).detach();
  }
  auto made = std::make_shared<Operation>();
  made->task = std::move(task);
  made->number = ++all.last_number;
  made->open = &open;
  open.insert(made->number);
  for (const OperationRef& before : after) {
    if (before != nullptr && !before->done) {
      ++made->missing;
      before->next.push_back(made);
    }
  }
  if (made->missing == 0) {
    all.ready.push_back(made);
    all.work.notify_one();
  }
  return made;
}

void wait_for(Lock& lock, const OperationRef& operation) {
  if (operation != nullptr) {
    everything().done.wait(lock.guard, [held = operation] { return held->done; });
  }
}

void wait_for_all(Lock& lock, const std::set<std::uint64_t>& open) {
  const std::uint64_t last = everything().last_number;
  everything().done.wait(lock.guard, [&] { return open.empty() || *open.begin() > last; });
}

}  // namespace fake
