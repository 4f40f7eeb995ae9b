#include "replay/graph/graph_builder.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>

#include "env/log.h"
#include "replay/runtime/clock.h"
#include "replay/runtime/machine.h"

namespace refrain::replay {

namespace {

/// The background thread gives way to the application's.
void become_background_thread() noexcept {
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10));
}

}  // namespace

GraphBuilder::GraphBuilder(const env::Settings& settings, backends::Backend& backend, LayerHooks& hooks,
                           const StateChanges& changes, GraphCache& cache, TrialBudget& budget, Discarder& discarder)
    : settings_(settings),
      backend_(backend),
      hooks_(hooks),
      changes_(changes),
      cache_(cache),
      budget_(budget),
      discarder_(discarder),
      build_share_(processors() >= 4 ? 16 : 1) {}

GraphBuilder::~GraphBuilder() {
  stop();
}

bool GraphBuilder::start() noexcept {
  const env::MutexLock guard(mutex_);
  if (stopping_ || thread_.running() || !starts_threads()) {
    return true;
  }
  return thread_.start<&GraphBuilder::run>("refrain-build", *this, env::OwnThread::Stack::kPrograms);
}

bool GraphBuilder::request(std::shared_ptr<GraphEntry> entry, Occurrence occurrence) {
  if (gave_up(entry)) {
    return true;
  }
  Job job{std::move(entry), std::move(occurrence)};
  cache_.build_begins();  // from now on it is noted what goes
  if (!retain(job)) {
    cache_.build_ends();
    return false;
  }
  try {
    const env::MutexLock guard(mutex_);
    if (!stopping_) {
      jobs_.push_back(std::move(job));
      changed_.notify_all();
      return true;
    }
  } catch (...) {  // no memory
    release(job);
    throw;
  }
  release(job);
  return true;
}

/// If the driver does not return to the thread: neither this graph nor another one that was requested will be made.
bool GraphBuilder::gave_up(const std::shared_ptr<GraphEntry>& entry) {
  if (!backend_.graph_maker().stuck()) {
    return false;
  }
  constexpr char kWhy[] = "the driver has not returned from making another graph";
  std::list<Job> left;
  {
    const env::MutexLock guard(mutex_);
    left.swap(jobs_);
  }
  for (const Job& job : left) {
    cache_.publish(job.entry, nullptr, kWhy);
    release(job);
  }
  cache_.publish(entry, nullptr, kWhy);
  return true;
}

void GraphBuilder::request_sweep() noexcept {
  if (!start()) {
    return;  // the table stays as full as it is
  }
  const env::MutexLock guard(mutex_);
  if (!stopping_) {
    sweep_wanted_ = true;
    changed_.notify_all();
  }
}

bool GraphBuilder::retain(const Job& job) noexcept {
  for (std::size_t i = 0; i < job.occurrence.size(); ++i) {
    if (!hooks_.retain_objects(job.occurrence.operation(i))) {
      for (std::size_t retained = 0; retained < i; ++retained) {
        hooks_.release_objects(job.occurrence.operation(retained));
      }
      return false;
    }
  }
  return true;
}

void GraphBuilder::release(const Job& job) noexcept {
  for (std::size_t i = 0; i < job.occurrence.size(); ++i) {
    hooks_.release_objects(job.occurrence.operation(i));
  }
  cache_.build_ends();
}

void GraphBuilder::run() noexcept {
  become_background_thread();
  while (true) {
    Task task;
    {
      env::UniqueLock lock(mutex_);
      while (!stopping_ && jobs_.empty() && !sweep_wanted_) {
        changed_.wait(lock);
      }
      if (stopping_) {
        ended_ = true;
        changed_.notify_all();
        return;
      }
      task = take_oldest();
    }
    perform(std::move(task));
  }
}

/// What is to be swept is swept first.
GraphBuilder::Task GraphBuilder::take_oldest() noexcept {
  Task task;
  task.sweeps = std::exchange(sweep_wanted_, false);
  if (!jobs_.empty()) {
    task.job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  ++running_;
  return task;
}

void GraphBuilder::perform(Task task) noexcept {
  try {
    if (task.sweeps) {
      cache_.sweep();
    }
    if (task.job.has_value()) {
      build(*task.job);
    }
  } catch (const std::exception& error) {
    env::log_warning({"building a graph failed: ", error.what()});
    if (task.job.has_value()) {
      task.job->entry->build_cancelled();
    }
  }
  if (task.job.has_value()) {
    {
      const env::StuckCheck::Calls calls(backend_.graph_maker());
      release(*task.job);
    }
    task.job.reset();
  }
  const env::MutexLock guard(mutex_);
  --running_;
  changed_.notify_all();
}

std::size_t GraphBuilder::oldest_request() const noexcept {
  const env::MutexLock guard(mutex_);
  return jobs_.empty() ? 0 : jobs_.front().occurrence.size();
}

void GraphBuilder::build_oldest() noexcept {
  Task task;
  {
    const env::MutexLock guard(mutex_);
    if (jobs_.empty()) {
      return;
    }
    task = take_oldest();
  }
  perform(std::move(task));
}

bool GraphBuilder::is_current(const Occurrence& occurrence) const noexcept {
  for (std::size_t i = 0; i < occurrence.size(); ++i) {
    if (!hooks_.is_current(occurrence.operation(i))) {
      return false;
    }
  }
  return true;
}

void GraphBuilder::build(Job& job) {
  const std::uint64_t start = now_ns();
  const auto began = std::chrono::steady_clock::now();  // in the log: other clocks of the machine know it
  std::string why;
  cache_.make_room(job.entry.get());
  // What a driver takes into a graph is what is set when it is made: of operations from before a setter none is made,
  // nor published if a setter was called meanwhile. Who still wants it asks again.
  const std::uint64_t changes = changes_.count();
  if (changes == StateChanges::kUnderWay || !is_current(job.occurrence)) {
    job.entry->build_cancelled();
    return;
  }
  bool later = false;
  const std::uint64_t waited = backend_.record_waited_ns();
  const auto make = [&] {
    const env::StuckCheck::Calls calls(backend_.graph_maker());
    return Executable::build(job.occurrence, settings_, backend_, &why, &later);
  };
  auto executable = make();
  if (env::log_enabled(env::LogLevel::kDebug)) {
    const auto took = std::chrono::steady_clock::now() - began;
    env::log_debug(
        "a graph of " + std::to_string(job.occurrence.size()) + " operations was " +
        (executable != nullptr ? "built" : "not built (" + why + ")") + " in " +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()) +
        " us from monotonic time " +
        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(began.time_since_epoch()).count()) +
        " us");
  }
  // With processors to spare, building only costs what others wait for the driver's locks meanwhile.
  budget_.spend((now_ns() - start - (backend_.record_waited_ns() - waited)) / build_share_);
  if (executable != nullptr) {
    executable->give_back_through(discarder_);
  }
  if (later || changes_.begun() != changes) {
    job.entry->build_cancelled();
    return;
  }
  cache_.publish(job.entry, std::move(executable), why);
}

void GraphBuilder::wait_idle() {
  env::UniqueLock lock(mutex_);
  changed_.wait(lock, [this]() REFRAIN_REQUIRES(mutex_) {
    return (jobs_.empty() && !sweep_wanted_ && running_ == 0) || stopping_;
  });
}

void GraphBuilder::stop() noexcept {
  std::list<Job> left;
  {
    const env::MutexLock guard(mutex_);
    stopping_ = true;
    left.swap(jobs_);
    changed_.notify_all();
  }
  {
    env::UniqueLock lock(mutex_);
    const auto ended = [&]() REFRAIN_REQUIRES(mutex_) { return ended_; };
    if (thread_.running() && !backend_.graph_maker().wait(changed_, lock, ended)) {
      thread_.leave();
    }
  }
  thread_.join();
  for (Job& job : left) {
    release(job);
  }
}

void GraphBuilder::abandon_thread() noexcept {
  stopping_ = true;
  thread_.forget();
}

}  // namespace refrain::replay
