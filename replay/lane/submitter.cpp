#include "replay/lane/submitter.h"

#include <time.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <sstream>
#include <string>

#include "env/log.h"
#include "env/reserve.h"
#include "replay/lane/inside.h"
#include "replay/verify/verify.h"

namespace refrain::replay {

using capture::OperationView;

namespace {

/// For who wants to know how soon that is: with a profile, and without.
void tell_of_first_replay() noexcept {
  try {
    std::ifstream file("/proc/self/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream numbers(line.substr(line.rfind(')') + 1));
    std::string state;
    std::int64_t number = 0;
    numbers >> state;
    for (int i = 0; i < 19; ++i) {  // the last one is when the process began, in the clock's ticks
      numbers >> number;
    }
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const std::int64_t since = now.tv_sec * 1000 + now.tv_nsec / 1'000'000 - number * 1000 / sysconf(_SC_CLK_TCK);
    env::log_debug("the first replay comes " + std::to_string(since) + " ms after the process began");
  } catch (const std::exception&) {  // then nobody is told
  }
}

}  // namespace

[[gnu::hot]] void Submitter::apply(const Action& action) {
  const Inside guard;
  const env::UseReserve reserve;
  views_.resize(action.count);
  for (std::uint32_t i = 0; i < action.count; ++i) {
    views_[i] = held_.operation(i);
  }
  if (action.kind != Action::Kind::kLaunch) {
    issue();
  } else if (!launch(action)) {
    issue();
    counters_.not_ready.add(action.count);
  }
  pop(action.count);
  if (reserve.used()) [[unlikely]] {
    context_.state.fail("out of memory while held work was submitted");
  }
}

void Submitter::issue() {
  const Entered entered(context_.verification_pause.get());
  std::uint32_t issued = 0;
  try {
    for (const OperationView& operation : views_) {
      const DriverGate::Passage passage(gate_);
      held_.note_error(issue_held(submit_context(), operation, held_.queue_of(operation)));
      ++issued;
    }
  } catch (...) {
    pop(issued);  // the driver has these
    throw;
  }
  counters_.held_issued.add(views_.size());
}

void Submitter::issue_all() {
  if (const std::size_t left = held_.size(); left != 0) {
    apply({Action::Kind::kIssue, static_cast<std::uint32_t>(left), kNoChunk});
  }
  held_.publish();
}

void Submitter::issue_rest() noexcept {
  try {
    issue_all();
  } catch (const std::exception& failure) {
    env::log_error({"held work could not be submitted: ", failure.what()});
  }
}

/// False: nothing was submitted.
[[gnu::hot]] bool Submitter::launch(const Action& action) {
  const std::shared_ptr<GraphEntry>& entry = graphs_.entry(action.chunk, *held_.queues().front());
  if (entry == nullptr) {
    return false;
  }
  if (context_.settings.mode == env::Mode::kVerify) [[unlikely]] {
    switch (entry->verification().next(is_due())) {
      case Verification::Turn::kCompare: return launch_verified(entry);
      case Verification::Turn::kIssue: count_unchecked(entry->verification().why_not()); return false;
      case Verification::Turn::kReplay: break;
    }
    const Entered entered(context_.verification_pause.get());
    return launch(entry);
  }
  return launch(entry);
}

[[gnu::hot, gnu::always_inline]] inline bool Submitter::launch(const std::shared_ptr<GraphEntry>& entry) {
  const DriverGate::Passage passage(gate_);
  const GraphLaunch result =
      entry->launch(submit_context(), views_, tuner_.hold_cost_ns() * views_.size(), intervals_.proven());
  const bool done = result.launch == Launched::kDone;
  held_.note_error(result.error);
  try {
    if (!result.new_objects.empty()) {
      context_.graphs.objects_changed(entry, result.new_objects);
    }
    if (result.wants_build) {
      graphs_.request_variant(entry, views_, held_.queues());
    }
    if (done) {
      count_launch(entry, result);
    }
  } catch (const std::exception& failure) {
    context_.state.fail(failure.what());  // the driver has what was launched
  }
  return done;
}

[[gnu::hot]] GraphLaunch Submitter::launch_predicted(GraphEntry& entry, const Occurrence& occurrence,
                                                     std::span<const OperationView> operations) {
  if (context_.sampling != nullptr && !entry.verification().take_replay(is_due())) [[unlikely]] {
    return {};  // it is to be compared, or cannot be
  }
  const Inside guard;
  const env::UseReserve reserve;
  const Entered entered(context_.verification_pause.get());
  const DriverGate::Passage passage(gate_);
  GraphLaunch result =
      entry.launch_predicted(submit_context(), occurrence, operations, tuner_.hold_cost_ns() * occurrence.size(),
                             intervals_.proven(), held_.time_ns());
  if (reserve.used()) [[unlikely]] {
    context_.state.fail("out of memory while held work was submitted");
  }
  return result;
}

[[gnu::hot]] void Submitter::launched(const std::shared_ptr<GraphEntry>& entry, const GraphLaunch& launch,
                                      std::size_t count) {
  held_.note_error(launch.error);
  pop(count);
  held_.publish();
  count_launch(entry, launch);
}

[[gnu::hot]] void Submitter::count_replayed(std::size_t operations, std::size_t native) noexcept {
  counters_.replayed.add(native);
  counters_.between.add(operations - native);
  counters_.launches.add();
}

[[gnu::hot]] void Submitter::count_launch(const std::shared_ptr<GraphEntry>& entry, const GraphLaunch& launch) {
  count_replayed(entry->size(), launch.native);
  if (context_.replayed.fetch_add(launch.native, std::memory_order_relaxed) == 0 &&
      env::log_enabled(env::LogLevel::kDebug)) [[unlikely]] {
    tell_of_first_replay();
  }
  intervals_.launched(entry);
  if (launch.excess_ns != 0) {
    context_.budget.spend(launch.excess_ns);
  }
  if (launch.saved_ns != 0 && !intervals_.on_trial()) {  // what is cheap to submit may be late to finish
    context_.budget.earn(launch.saved_ns);
  }
}

[[gnu::hot]] void Submitter::pop(std::size_t count) {
  if (held_.pop(static_cast<std::uint32_t>(count))) {
    window_.clear(context_.backend);
  }
}

void Submitter::count_unchecked(const char* why) {
  counters_.unverified.add();
  counters_.unchecked.add(why);
}

/// False: nothing was submitted.
bool Submitter::launch_verified(const std::shared_ptr<GraphEntry>& entry) {
  std::vector<capture::QueueInfo> queues;
  for (const QueueSlot* queue : held_.queues()) {
    queues.push_back(queue->info);
  }
  // Nothing else is submitted until the comparison is done, or it would compare, and put back, what
  // other threads change meanwhile.
  VerificationPause& pause = *context_.verification_pause;
  const auto unchecked = [&](const char* why) REFRAIN_REQUIRES(held_right) {
    count_unchecked(why);
    entry->verification().failed(why);
  };
  if (!pause.begin()) {
    unchecked("another thread was inside the driver for too long");
    return false;
  }
  const std::uint64_t started_ns = now_ns();
  const SubmitContext context = submit_context();
  VerifyResult result;
  std::size_t native = 0;
  const std::span<const OperationView> views = views_;
  std::vector<capture::ObjectId> new_objects;
  const bool fits = entry->with_executable(views, &new_objects, [&](Executable& executable) {
    result = context.backend.names_memory()
                 ? verify(context, executable, views, queues, pause, context_.verify_memory)
                 : context_.address_check->run(context, entry->fingerprint(), executable, views, queues, pause);
    native = executable.native_nodes();
  });
  pause.end();
  context_.sampling->took(now_ns() - started_ns);
  if (!new_objects.empty()) {
    context_.graphs.objects_changed(entry, new_objects);
  }
  if (!fits) {
    entry->verification().soon("no graph of it has its arguments");
    return false;
  }
  held_.note_error(result.error);
  switch (result.outcome) {
    case Verified::kEqual:
      counters_.verified.add();
      entry->verification().equal();
      entry->launched_checked();
      counters_.compared.add(result.compared);
      count_replayed(views_.size(), native);
      break;
    case Verified::kDifferent:
      counters_.differences.add();
      env::log_error("verify: a graph of " + std::to_string(views_.size()) +
                     " operations computes something else than eager execution: " + result.text +
                     "; it is not replayed any more, and the application got the eager result");
      entry->retire(GraphEntry::Decline::kDiffers, result.text);
      break;
    case Verified::kUnstable:
      unchecked("two eager runs differ from each other");
      entry->retire(GraphEntry::Decline::kDiffers, "two eager runs differ from each other: " + result.text);
      break;
    case Verified::kImpossible:
      unchecked(result.why);
      if (result.soon) {
        entry->verification().soon(result.why);
      }
      break;
  }
  return true;
}

}  // namespace refrain::replay
