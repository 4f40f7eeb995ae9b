#include "test/sim/core/schedule.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "test/sim/core/history.h"
#include "test/sim/core/races.h"
#include "test/sim/core/settings.h"

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;

/// Never destroyed: the program's exit does not wait for its work.
struct Schedule {
  std::mutex mutex;
  std::condition_variable work, done;
  std::vector<OperationRef> ready;  ///< in the order in which they became so
  std::uint64_t last_number = 0;
  std::uint64_t changes = 0;  ///< counts whatever may end somebody's wait
  unsigned busy = 0;          ///< operations that run
  std::uint64_t random = settings().seed * 0x9E3779B97F4A7C15ULL + 1;
  unsigned workers = 0;  ///< that were started
  Chains chains;
  Past host;                             ///< what the host knows to have happened
  std::vector<const Operation*> parked;  ///< ready but for a signal
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

/// All predecessors are done: it is ready, or waits for the first signal that is not set.
void release_operation(Schedule& all, const OperationRef& operation) {
  for (const SignalRef& signal : operation->signals.waits) {
    if (!signal->set) {
      signal->waiting.push_back(operation);
      all.parked.push_back(operation.get());
      return;
    }
  }
  all.ready.push_back(operation);
  all.work.notify_one();
}

void set(Schedule& all, Signal& signal, const Past& past) {
  signal.set = true;
  signal.past = past;
  for (const OperationRef& operation : std::exchange(signal.waiting, {})) {
    std::erase(all.parked, operation.get());
    release_operation(all, operation);
  }
}

/// Null if everything that seemed ready has lost a signal again.
OperationRef take(Schedule& all) {
  std::size_t index = 0;
  switch (settings().seed % 3) {
    case 0: index = next_random(all) % all.ready.size(); break;
    case 1: index = all.ready.size() - 1; break;  // the newest: long dependent chains first
    default: break;
  }
  OperationRef taken = std::move(all.ready[index]);
  all.ready.erase(all.ready.begin() + static_cast<std::ptrdiff_t>(index));
  for (const SignalRef& signal : taken->signals.waits) {
    if (!signal->set) {  // reset again since
      all.parked.push_back(taken.get());
      signal->waiting.push_back(std::move(taken));
      return nullptr;
    }
  }
  return taken;
}

template <class Function>
void for_all_signals(const Signals& signals, Function&& function) {
  for (const auto* list : {&signals.waits, &signals.sets, &signals.resets}) {
    for (const SignalRef& signal : *list) {
      function(*signal);
    }
  }
}

void finish(Schedule& all, const OperationRef& operation) {
  operation->running = false;
  operation->done = true;
  operation->done_ms = device_ms();
  operation->task = {};
  for (const OpenRef& open : operation->open) {
    open->numbers.erase(operation->number);
    open->past.merge(operation->past);
  }
  for (OperationRef& next : std::exchange(operation->next, {})) {
    next->past.merge(operation->past);
    if (--next->missing == 0) {
      release_operation(all, next);
    }
  }
  const Signals signals = std::exchange(operation->signals, {});
  for_all_signals(signals, [](Signal& signal) { --signal.users; });
  for (const SignalRef& signal : signals.resets) {
    signal->set = false;
  }
  for (const SignalRef& signal : signals.sets) {
    set(all, *signal, operation->past);
  }
  ++all.changes;
  all.done.notify_all();
}

/// Gives it its place in the order. False if it must not run.
bool start(Schedule& all, Operation& operation) {
  operation.running = true;
  operation.started_ms = device_ms();
  for (const SignalRef& signal : operation.signals.waits) {
    operation.past.merge(signal->past);
  }
  const Task& task = operation.task;
  const Accesses accesses = task.accesses();
  const Place self = all.chains.next(operation.past, operation.number);
  if (settings().races) {
    check_races(accesses, operation.past, self, task.name());
  }
  operation.past.add(self);
  const bool seen = task.kind == Task::Kind::kHost || (task.kind == Task::Kind::kKernel && task.kernel->observable);
  if (seen) {  // the program may know of it before it is done here
    all.host.merge(operation.past);
  }
  return task.usable(accesses, operation.number);
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
    const OperationRef operation = all.ready.empty() ? nullptr : take(all);  // another worker may have had it
    if (operation == nullptr) {
      continue;
    }
    if (start(all, *operation)) {
      ++all.busy;
      lock.unlock();
      operation->task.run();
      lock.lock();
      --all.busy;
    }
    finish(all, operation);
  }
}

enum class Waited { kDone, kTimeout, kStuck };

/// `is_done` under the lock.
template <class Done>
Waited wait_until(Lock& lock, Clock::time_point end, Done&& is_done) {
  Schedule& all = everything();
  while (!is_done()) {
    const std::uint64_t seen = all.changes;
    const bool idle = all.busy == 0 && all.ready.empty();
    const auto patience = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(settings().patience_s));
    all.done.wait_until(lock.guard, std::min(end, patience), [&] { return is_done() || all.changes != seen; });
    if (is_done()) {
      break;
    }
    if (Clock::now() >= end) {
      return Waited::kTimeout;
    }
    if (idle && all.changes == seen && all.busy == 0 && all.ready.empty()) {
      return Waited::kStuck;
    }
  }
  return Waited::kDone;
}

constexpr Clock::time_point kNever = Clock::time_point::max();

Clock::time_point after(std::uint64_t nanoseconds) {
  const auto now = Clock::now();
  const auto most = static_cast<std::uint64_t>((kNever - now).count());
  return nanoseconds >= most ? kNever : now + std::chrono::nanoseconds(nanoseconds);
}

template <class Done>
bool wait_or_complain(Lock& lock, Clock::time_point end, Done&& is_done) {
  const Waited waited = wait_until(lock, end, is_done);
  if (waited == Waited::kStuck) {
    const auto& parked = everything().parked;
    const std::uint64_t first = parked.empty() ? 0 : parked.front()->number;
    violation_of({first},
                 "a wait that nothing ends: %zu operations, the first of them %llu, wait for signals that nobody sets",
                 parked.size(), static_cast<unsigned long long>(first));
  }
  return waited == Waited::kDone;
}

bool wait(Lock& lock, const OperationRef& operation, Clock::time_point end) {
  const OperationRef held = operation;
  return held == nullptr || (wait_or_complain(lock, end, [&held] { return held->done; }) && is_done(lock, held));
}

bool wait(Lock& lock, const SignalRef& signal, Clock::time_point end) {
  const SignalRef held = signal;
  return wait_or_complain(lock, end, [&held] { return held->set; }) && is_set(lock, held);
}

}  // namespace

Lock::Lock() : guard(everything().mutex) {}

OperationRef schedule(const Lock& lock, OpenRef open, Task task, std::span<const OperationRef> after_all,
                      Signals signals, const void* queue) {
  return schedule(lock, std::vector<OpenRef>{std::move(open)}, std::move(task), after_all, std::move(signals), queue);
}

OperationRef schedule(const Lock& /*lock*/, std::vector<OpenRef> open, Task task,
                      std::span<const OperationRef> after_all, Signals signals, const void* queue) {
  Schedule& all = everything();
  for (; all.workers < std::max(settings().workers, 1U); ++all.workers) {
    std::thread(&work).detach();
  }
  auto made = std::make_shared<Operation>();
  made->task = std::move(task);
  made->signals = std::move(signals);
  made->number = ++all.last_number;
  made->open = std::move(open);
  for (const OpenRef& each : made->open) {
    each->numbers.insert(made->number);
  }
  for_all_signals(made->signals, [](Signal& signal) { ++signal.users; });
  made->past = all.host;
  for (const OperationRef& before : after_all) {
    if (before == nullptr) {
      continue;
    }
    if (before->done) {
      made->past.merge(before->past);
    } else {
      ++made->missing;
      before->next.push_back(made);
    }
  }
  remember_submission(*made, after_all, queue);
  ++all.changes;
  if (made->missing == 0) {
    release_operation(all, made);
  }
  return made;
}

void set_signal(const Lock& /*lock*/, const SignalRef& signal) {
  Schedule& all = everything();
  set(all, *signal, all.host);
  ++all.changes;
  all.done.notify_all();
}

void reset_signal(const Lock& /*lock*/, const SignalRef& signal) {
  signal->set = false;
}

bool wait_for(Lock& lock, const OperationRef& operation) {
  return wait(lock, operation, kNever);
}

bool wait_for(Lock& lock, const SignalRef& signal) {
  return wait(lock, signal, kNever);
}

bool wait_for_all(Lock& lock, const OpenRef& open) {
  const std::uint64_t last = everything().last_number;
  const OpenRef held = open;
  if (!wait_or_complain(lock, kNever,
                        [held, last] { return held->numbers.empty() || *held->numbers.begin() > last; })) {
    return false;
  }
  everything().host.merge(held->past);
  return true;
}

bool wait_at_most(Lock& lock, const OperationRef& operation, std::uint64_t nanoseconds) {
  return wait(lock, operation, after(nanoseconds));
}

bool wait_at_most(Lock& lock, const SignalRef& signal, std::uint64_t nanoseconds) {
  return wait(lock, signal, after(nanoseconds));
}

bool is_done(const Lock& /*lock*/, const OperationRef& operation) {
  if (operation == nullptr || !operation->done) {
    return operation == nullptr;
  }
  everything().host.merge(operation->past);
  return true;
}

bool is_set(const Lock& /*lock*/, const SignalRef& signal) {
  if (signal->set) {
    everything().host.merge(signal->past);
  }
  return signal->set;
}

void poll(Lock& /*lock*/) {}

double device_ms() noexcept {
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

}  // namespace sim
