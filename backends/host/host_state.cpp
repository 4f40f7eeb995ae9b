// Submitted work: its order, its readiness, its execution.
#include "backends/host/host_state.h"

#include <algorithm>

#include "backends/shape.h"

namespace refrain::backends::host {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;

int HostBackend::State::count(Call call) {
  const auto index = static_cast<std::size_t>(call);
  const std::uint64_t now = ++counts[index];
  for (const Injection& injection : injections[index]) {
    if (injection.at == now) {
      return injection.code;
    }
  }
  return kSuccess;
}

std::shared_ptr<Memory> HostBackend::State::allocation_of(std::uint64_t pointer) const {
  auto found = allocations.upper_bound(pointer);
  if (found == allocations.begin()) {
    return nullptr;
  }
  --found;
  return pointer - found->first < found->second->size ? found->second : nullptr;
}

int HostBackend::State::prepare(const OperationView& operation, Prepared* result) const {
  const auto bytes = operation.bytes();
  if (!OperationView::well_formed(bytes) || !arguments_fit(operation)) {
    return kInvalidValue;
  }
  result->record.assign(bytes.begin(), bytes.end());
  result->memory.clear();
  const auto arguments = operation.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::shared_ptr<Memory> found;
    const ArgumentKind kind = arguments[i].kind;
    if (kind == ArgumentKind::kUnset) {
      return kInvalidValue;
    }
    if (kind == ArgumentKind::kBuffer || kind == ArgumentKind::kImage) {
      const auto place = memory.find(operation.handle_of(i));
      found = place != memory.end() ? place->second : nullptr;
    } else if (kind == ArgumentKind::kPointer) {
      found = allocation_of(operation.handle_of(i));
    }
    const bool wanted = kind == ArgumentKind::kBuffer || kind == ArgumentKind::kImage || kind == ArgumentKind::kPointer;
    const bool null_allowed = operation.kind() == OperationKind::kKernel && operation.handle_of(i) == 0;
    if (wanted && !found && !null_allowed) {
      return kInvalidHandle;
    }
    result->memory.push_back(std::move(found));
  }
  if (operation.kind() == OperationKind::kKernel || operation.kind() == OperationKind::kHostFunction) {
    const auto function = functions.find(operation.header().function);
    if (function == functions.end()) {
      return kUnknownFunction;
    }
    result->kernel = function->second;
  }
  return check(*result);
}

int HostBackend::State::resolve(std::span<const Event> waits, std::vector<ProgressPointer>* result) const {
  for (const Event event : waits) {
    const auto found = events.find(event);
    if (found == events.end()) {
      return kInvalidEvent;
    }
    result->push_back(found->second.progress);
  }
  return kSuccess;
}

void HostBackend::State::submit(Work work, bool waits_for_queue, bool blocks_queue, Event* done) {
  work.progress = std::make_shared<Progress>();
  QueueState& queue = queues[work.queue];
  work.in_order = queue.in_order;
  if (queue.in_order) {
    if (queue.last) {
      work.after.push_back(queue.last);
    }
    queue.last = work.progress;
  } else {
    std::erase_if(queue.open, [](const ProgressPointer& progress) { return progress->done; });
    if (waits_for_queue) {
      work.after = std::exchange(queue.open, {});
    }
    if (queue.blocker) {
      work.after.push_back(queue.blocker);
    }
    queue.open.push_back(work.progress);
    if (blocks_queue) {
      queue.blocker = work.progress;
    }
  }
  if (done != nullptr) {
    *done = next_event++;
    events[*done] = {1, work.progress};
  }
  pending.push_back(std::move(work));
  run_ready();
}

void HostBackend::State::run_ready() {
  while (!asynchronous && advance()) {
  }
}

bool HostBackend::State::advance() {
  const auto ready = [&](const Work& work) REFRAIN_REQUIRES(mutex) {
    const auto done = [](const ProgressPointer& progress) { return progress->done; };
    return (!asynchronous || !needs_flush || work.flushed) && std::ranges::all_of(work.after, done) &&
           std::ranges::all_of(work.waits, done);
  };
  auto chosen = std::ranges::find_if(pending, ready);
  if (seed != 0) {
    std::vector<decltype(chosen)> candidates;
    for (auto it = chosen; it != pending.end(); ++it) {
      if (ready(*it)) {
        candidates.push_back(it);
      }
    }
    if (!candidates.empty()) {
      chosen = candidates[random() % candidates.size()];
    }
  }
  if (chosen == pending.end()) {
    return false;
  }
  Work work = std::move(*chosen);
  pending.erase(chosen);
  run(work);
  changed.notify_all();
  return true;
}

void HostBackend::State::run(Work& work) {
  int error = std::ranges::any_of(work.waits, [](const ProgressPointer& p) { return p->failed; }) ? kWaitFailed : 0;
  if (error == 0 && work.operation) {
    error = execute(*work.operation);
  }
  if (error == 0 && work.commands) {
    const auto& list = work.commands->list;
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      left.push_back(i);
    }
    std::vector<bool> executed(list.size());
    while (!left.empty()) {
      std::size_t place = 0;
      if (seed != 0 && !work.in_order) {  // any order that the waits allow
        std::vector<std::size_t> candidates;
        for (std::size_t i = 0; i < left.size(); ++i) {
          if (std::ranges::all_of(list[left[i]].waits, [&](std::uint32_t wait) { return executed[wait]; })) {
            candidates.push_back(i);
          }
        }
        place = candidates[random() % candidates.size()];
      }
      (void)execute(list[left[place]].prepared);
      executed[left[place]] = true;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  if (work.running) {
    --*work.running;
  }
  work.progress->failed = error != 0;
  work.progress->done = true;
}

void HostBackend::State::flush(capture::ObjectId queue) {
  for (Work& work : pending) {
    work.flushed = work.flushed || work.queue == queue;
  }
}

void HostBackend::State::wait_for(env::UniqueLock& lock, const Progress& progress) {
  while (!progress.done) {
    if (!advance()) {
      changed.wait(lock);
    }
  }
}

void HostBackend::State::track(const std::shared_ptr<Memory>& fresh) {
  std::erase_if(all_memory, [](const auto& weak) { return weak.expired(); });
  all_memory.push_back(fresh);
}

}  // namespace refrain::backends::host
