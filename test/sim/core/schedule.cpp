#include "test/sim/core/schedule.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include "test/sim/core/history.h"
#include "test/sim/core/races.h"
#include "test/sim/core/settings.h"

namespace sim {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t first_random() noexcept {
  return settings().seed * 0x9E3779B97F4A7C15ULL + 1;
}

/// Never destroyed: the program's exit does not wait for its work.
struct Schedule {
  std::mutex mutex;
  std::condition_variable work, done;
  std::vector<OperationRef> ready;  ///< in the order in which they became so
  OperationRef turn;                ///< in virtual time: what a worker is to do now
  std::uint64_t last_number = 0;
  std::uint64_t changes = 0;                        ///< counts whatever may end somebody's wait
  std::uint64_t asked_in_vain = ~std::uint64_t{0};  ///< `changes` when a question was last waited for
  unsigned busy = 0;                                ///< operations that run
  std::uint64_t random = first_random();
  unsigned workers = 0;  ///< that were started
  unsigned wanted = 0;   ///< operations that somebody waits for or asked about, where no more is done than that
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

/// One operation is ready. Any worker will do, but where some rest, or wait for something else.
void wake_worker(Schedule& all) {
  if (settings().lazy || all.workers != std::max(settings().workers, 1U)) {
    all.work.notify_all();
  } else {
    all.work.notify_one();
  }
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
  wake_worker(all);
}

void set(Schedule& all, Signal& signal, const Past& past, double ns) {
  signal.set = true;
  signal.past = past;
  signal.set_ns = ns;
  for (const OperationRef& operation : std::exchange(signal.waiting, {})) {
    std::erase(all.parked, operation.get());
    release_operation(all, operation);
  }
}

/// The time of one that is ready at which it ends.
double end_of(const Operation& operation) {
  return operation.started_ns + settings().costs.of(operation.task, operation.node);
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// One that is ready, in virtual time one that ends until then. Null if there is none, or it has lost a signal again.
OperationRef take(Schedule& all, double until) {
  std::vector<std::size_t> possible;
  for (std::size_t index = 0; index < all.ready.size() && until != kNever; ++index) {
    if (end_of(*all.ready[index]) <= until) {
      possible.push_back(index);
    }
  }
  const std::size_t count = until == kNever ? all.ready.size() : possible.size();
  if (count == 0) {
    return nullptr;
  }
  std::size_t index = 0;
  switch (settings().seed % 3) {
    case 0: index = next_random(all) % count; break;
    case 1: index = count - 1; break;  // the newest: long dependent chains first
    default: break;
  }
  index = until == kNever ? index : possible[index];
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
  if (!settings().virtual_time) {
    operation->done_ns = host_ns();
  }
  operation->task = {};
  for (const OpenRef& open : operation->open) {
    open->numbers.erase(operation->number);
    open->past.merge(operation->past);
    open->done_ns = std::max(open->done_ns, operation->done_ns);
  }
  for (OperationRef& next : std::exchange(operation->next, {})) {
    next->past.merge(operation->past);
    next->started_ns = std::max(next->started_ns, operation->done_ns);
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
    set(all, *signal, operation->past, operation->done_ns);
  }
  ++all.changes;
  all.done.notify_all();
}

/// Gives it its place in the order. False if it must not run.
bool start(Schedule& all, Operation& operation) {
  operation.running = true;
  for (const SignalRef& signal : operation.signals.waits) {
    operation.past.merge(signal->past);
    operation.started_ns = std::max(operation.started_ns, signal->set_ns);
  }
  if (settings().virtual_time) {
    operation.done_ns = operation.started_ns + settings().costs.of(operation.task, operation.node);
  } else {
    operation.started_ns = host_ns();
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

void want(Schedule& all) {
  all.wanted = 1;
  all.work.notify_all();
}

/// Nothing is done that nobody asks for, but for what a host that looks at memory needs to go on.
void be_lazy(Schedule& all, std::unique_lock<std::mutex>& lock) {
  constexpr auto kPause = std::chrono::microseconds(500);
  if (all.work.wait_for(lock, kPause, [&all] { return all.wanted != 0; })) {
    --all.wanted;
  }
}

/// `number`: from 0. Those that are more than wanted rest.
void work(unsigned number) {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Schedule& all = everything();
  std::unique_lock lock(all.mutex);
  for (;;) {
    all.work.wait(lock, [&all, number] {
      return number < std::max(settings().workers, 1U) &&
             (settings().virtual_time ? all.turn != nullptr : !all.ready.empty());
    });
    const bool stepped = settings().virtual_time;
    if (settings().lazy && !stepped) {
      be_lazy(all, lock);
    } else if (!stepped && next_random(all) % 32 == 0) {  // more comes in meanwhile: there is more to choose from
      const auto pause = static_cast<useconds_t>(next_random(all) % 64);
      lock.unlock();
      usleep(pause);
      lock.lock();
    }
    OperationRef operation = stepped             ? std::exchange(all.turn, nullptr)
                             : all.ready.empty() ? nullptr  // another worker had it
                                                 : take(all, kNever);
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

/// In virtual time: has a worker do one operation. False if there is none to do.
bool step(Lock& lock, double until) {
  Schedule& all = everything();
  if (all.turn != nullptr || all.busy != 0) {  // another thread's
    const std::uint64_t seen = all.changes;
    all.done.wait(lock.guard, [&] { return all.changes != seen; });
    return true;
  }
  const std::size_t left = all.ready.size();
  const OperationRef chosen = take(all, until);
  if (chosen == nullptr) {
    return all.ready.size() < left;
  }
  all.turn = chosen;
  all.work.notify_all();
  // A host function may wait for something that the program does after a query.
  const bool wait = until == kNever || chosen->task.kind != Task::Kind::kHost;
  all.done.wait(lock.guard, [&] { return chosen->done || (!wait && all.turn != chosen); });
  return true;
}

enum class Waited { kDone, kTimeout, kStuck };

/// `is_done` under the lock. `timeout`: nanoseconds.
template <class Done>
Waited wait_until(Lock& lock, double timeout, Done&& is_done) {
  Schedule& all = everything();
  const Clock::time_point end = timeout < 1e17
                                    ? Clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(timeout))
                                    : Clock::time_point::max();
  while (!is_done()) {
    if (settings().virtual_time && step(lock, kNever)) {
      continue;
    }
    if (settings().virtual_time && timeout < kNever) {
      return Waited::kTimeout;
    }
    if (settings().lazy) {
      want(all);
    }
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

template <class Done>
bool wait_or_complain(Lock& lock, double timeout, Done&& is_done) {
  const Waited waited = wait_until(lock, timeout, is_done);
  if (waited == Waited::kStuck) {
    const auto& parked = everything().parked;
    const std::uint64_t first = parked.empty() ? 0 : parked.front()->number;
    violation_of({first},
                 "a wait that nothing ends: %zu operations, the first of them %llu, wait for signals that nobody sets",
                 parked.size(), static_cast<unsigned long long>(first));
  }
  return waited == Waited::kDone;
}

/// The host goes on at `ns`, or when its patience ends, in virtual time.
bool arrive(double ns, double timeout) {
  const double end = host_ns() + timeout;
  spend_until(std::min(ns, end));
  return !settings().virtual_time || ns <= end;
}

bool wait(Lock& lock, const OperationRef& operation, double timeout) {
  const OperationRef held = operation;
  if (held == nullptr) {
    return true;
  }
  if (!wait_or_complain(lock, timeout, [&held] { return held->done; })) {
    spend(timeout < kNever ? timeout : 0);
    return false;
  }
  return arrive(held->done_ns, timeout) && is_done(lock, held);
}

bool wait(Lock& lock, const SignalRef& signal, double timeout) {
  const SignalRef held = signal;
  if (!wait_or_complain(lock, timeout, [&held] { return held->set; })) {
    spend(timeout < kNever ? timeout : 0);
    return false;
  }
  return arrive(held->set_ns, timeout) && is_set(lock, held);
}

OperationRef submit(std::vector<OpenRef> open, Task task, std::span<const OperationRef> after, Signals signals,
                    const void* queue, bool node) {
  Schedule& all = everything();
  for (; all.workers < std::max(settings().workers, 1U); ++all.workers) {
    std::thread(&work, all.workers).detach();
  }
  auto made = std::make_shared<Operation>();
  made->task = std::move(task);
  made->signals = std::move(signals);
  made->number = ++all.last_number;
  made->node = node;
  made->started_ns = host_ns();
  made->open = std::move(open);
  for (const OpenRef& each : made->open) {
    each->numbers.insert(made->number);
  }
  for_all_signals(made->signals, [](Signal& signal) { ++signal.users; });
  made->past = all.host;
  for (const OperationRef& before : after) {
    if (before == nullptr) {
      continue;
    }
    if (before->done) {
      made->past.merge(before->past);
      made->started_ns = std::max(made->started_ns, before->done_ns);
    } else {
      ++made->missing;
      before->next.push_back(made);
    }
  }
  remember_submission(*made, after, queue);
  ++all.changes;
  if (made->missing == 0) {
    release_operation(all, made);
  }
  return made;
}

/// Now and then, for as long as it takes another thread to do something.
void linger() {
  if (!settings().linger || settings().virtual_time) {
    return;
  }
  static std::atomic<std::uint64_t> threads{0};
  static thread_local std::minstd_rand chance(
      static_cast<std::uint32_t>(settings().seed * 977 + threads.fetch_add(1, std::memory_order_relaxed) + 1));
  const auto dice = chance() % 64;
  if (dice == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(20 + chance() % 200));
  } else if (dice < 8) {
    std::this_thread::yield();
  }
}

std::unique_lock<std::mutex> take(std::mutex& mutex) {
  linger();
  return std::unique_lock(mutex);
}

}  // namespace

Lock::Lock() : guard(take(everything().mutex)) {}

Lock::~Lock() {
  if (guard.owns_lock()) {
    guard.unlock();
  }
  linger();
}

OperationRef schedule(const Lock& lock, OpenRef open, Task task, std::span<const OperationRef> after, Signals signals,
                      const void* queue) {
  return schedule(lock, std::vector<OpenRef>{std::move(open)}, std::move(task), after, std::move(signals), queue);
}

OperationRef schedule(const Lock& /*lock*/, std::vector<OpenRef> open, Task task, std::span<const OperationRef> after,
                      Signals signals, const void* queue) {
  spend(settings().costs.submit);
  return submit(std::move(open), std::move(task), after, std::move(signals), queue, false);
}

OperationRef schedule_node(const Lock& /*lock*/, std::vector<OpenRef> open, Task task,
                           std::span<const OperationRef> after, Signals signals) {
  return submit(std::move(open), std::move(task), after, std::move(signals), nullptr, true);
}

void set_signal(const Lock& /*lock*/, const SignalRef& signal) {
  Schedule& all = everything();
  set(all, *signal, all.host, host_ns());
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
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the owner of `open` may go while this waits
  const OpenRef held = open;
  if (!wait_or_complain(lock, kNever,
                        [held, last] { return held->numbers.empty() || *held->numbers.begin() > last; })) {
    return false;
  }
  everything().host.merge(held->past);
  spend_until(held->done_ns);
  return true;
}

bool wait_at_most(Lock& lock, const OperationRef& operation, std::uint64_t nanoseconds) {
  return wait(lock, operation, static_cast<double>(nanoseconds));
}

bool wait_at_most(Lock& lock, const SignalRef& signal, std::uint64_t nanoseconds) {
  return wait(lock, signal, static_cast<double>(nanoseconds));
}

bool is_done(const Lock& /*lock*/, const OperationRef& operation) {
  if (operation == nullptr) {
    return true;
  }
  const bool done = operation->done && (!settings().virtual_time || operation->done_ns <= host_ns());
  if (done) {
    everything().host.merge(operation->past);
  }
  return done;
}

bool is_set(const Lock& /*lock*/, const SignalRef& signal) {
  const bool set = signal->set && (!settings().virtual_time || signal->set_ns <= host_ns());
  if (set) {
    everything().host.merge(signal->past);
  }
  return set;
}

void reseed() {
  const Lock lock;
  everything().random = first_random();
}

void poll(Lock& lock) {
  spend(settings().costs.query);
  Schedule& all = everything();
  if (settings().lazy && all.changes != all.asked_in_vain && (!all.ready.empty() || all.busy != 0)) {
    // Not for ever, and not each time: what is done next may wait for what the program does after the question.
    constexpr double kPatienceNs = 1e7;
    const std::uint64_t seen = all.changes;
    wait_until(lock, kPatienceNs, [&all, seen] { return all.changes != seen; });
    all.asked_in_vain = seen;
  }
  while (settings().virtual_time && step(lock, host_ns())) {
  }
}

}  // namespace sim
