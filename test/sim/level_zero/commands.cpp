// How commands follow each other in lists.
#include <algorithm>
#include <cstring>
#include <utility>

#include "test/sim/core/graph.h"
#include "test/sim/level_zero/append.h"

namespace sim::level_zero {
namespace {

/// What runs when a command has ended, before its event is set: by then nothing may have set it.
struct Ended {
  Event* event = nullptr;
  std::uint64_t serial = 0;
  OperationRef work;
};

void end_of_command(void* data) {
  const std::unique_ptr<Ended> ended(static_cast<Ended*>(data));
  const Lock lock;
  if (state().events.find(ended->event) == nullptr || ended->event->serial != ended->serial) {
    return;  // destroyed in flight, which was a violation
  }
  if (ended->event->signal->set) {
    violation("a command signals an event that is signalled");
  }
  ended->event->started_ns = ended->work->started_ns;
  ended->event->done_ns = ended->work->done_ns;
}

std::vector<Event*> events_of(const Command& command) {
  std::vector<Event*> all = command.waits;
  all.push_back(command.sets);
  all.push_back(command.resets);
  return all;
}

}  // namespace

bool complete(const Command& command, const char* by) {
  if (command.kernel != nullptr &&
      (state().kernels.find(command.kernel) == nullptr || command.kernel->serial != command.kernel_serial)) {
    violation("%s: a list names a kernel that was destroyed", by);
    return false;
  }
  const std::vector<Event*> events = events_of(command);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i] != nullptr &&
        (state().events.find(events[i]) == nullptr || events[i]->serial != command.event_serials[i])) {
      violation("%s: a list names an event that was destroyed", by);
      return false;
    }
  }
  return true;
}

OperationRef put(const Lock& lock, Chain& chain, const Command& command, std::vector<OpenRef> open) {
  std::vector<OperationRef> after = command.after;
  after.push_back(chain.barrier);
  if (chain.in_order || command.order == Command::Order::kBarrier) {
    after.insert(after.end(), chain.since.begin(), chain.since.end());
  }
  if (command.kernel != nullptr) {
    open.push_back(command.kernel->open);
  }
  Signals signals;
  for (const Event* wait : command.waits) {
    if (wait->pool->counters) {
      after.push_back(wait->counted);
    } else {
      signals.waits.push_back(wait->signal);
    }
  }
  if (command.resets != nullptr) {
    signals.resets.push_back(command.resets->signal);
  }
  OperationRef last = schedule(lock, open, command.task, after, std::move(signals));
  if (command.sets != nullptr && command.sets->pool->counters) {
    command.sets->counted = last;
  } else if (command.sets != nullptr) {
    Signals end;
    end.sets.push_back(command.sets->signal);
    auto* ended = new Ended{command.sets, command.sets->serial, last};
    const OperationRef before[] = {last};
    last = schedule(lock, std::move(open), host_task(&end_of_command, ended), before, std::move(end));
  }
  if (command.order == Command::Order::kBarrier || chain.in_order) {
    chain.barrier = last;
    chain.since.clear();
  } else if (command.order == Command::Order::kWait) {
    chain.barrier = last;
  } else {
    chain.since.push_back(last);
  }
  return last;
}

OperationRef put_list(const Lock& lock, List& list, const OperationRef& begin, std::vector<OpenRef> open,
                      const char* by) {
  if (!list.closed) {
    violation("%s of a list that is not closed", by);
    return nullptr;
  }
  if (!list.open->numbers.empty()) {
    violation("%s of a list that is in flight", by);
    return nullptr;
  }
  if (!std::all_of(list.commands.begin(), list.commands.end(),
                   [by](const Command& command) { return complete(command, by); })) {
    return nullptr;
  }
  open.push_back(list.open);
  Chain chain;
  chain.in_order = list.chain.in_order;
  chain.barrier = begin;
  // Commands that only order others are no work, for SIM_WRONG.
  std::vector<const Command*> work;
  for (const Command& command : list.commands) {
    if (command.task.kind != Task::Kind::kEmpty) {
      work.push_back(&command);
    }
  }
  const auto task_at = [&](std::size_t place) -> const Task& { return work[place]->task; };
  std::size_t place = 0;
  for (const Command& command : list.commands) {
    if (place < work.size() && work[place] == &command) {
      Command done = command;
      done.task = done_task(place, work.size(), task_at, command.at_first);
      ++place;
      put(lock, chain, done, open);
    } else {
      put(lock, chain, command, open);
    }
  }
  Command end;
  end.order = Command::Order::kBarrier;
  return put(lock, chain, end, std::move(open));
}

ze_result_t read_events(Command& command, ze_event_handle_t signal, std::uint32_t count, ze_event_handle_t* waits,
                        const char* by) {
  if (count != 0 && waits == nullptr) {
    return ZE_RESULT_ERROR_INVALID_SIZE;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Event* event = find_or_complain(state().events, waits[i], by);
    if (event == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (event->pool->counters && event->counted == nullptr && event->recording == nullptr) {
      violation("%s waits for a counter-based event that nothing signals", by);
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    command.waits.push_back(event);
  }
  if (signal != nullptr) {
    command.sets = find_or_complain(state().events, signal, by);
    if (command.sets == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_counters(const Command& command, const List& list, const char* by) {
  const auto counter = [](const Event* event) { return event != nullptr && event->pool->counters; };
  if (counter(command.resets)) {
    violation("%s: a counter-based event is reset", by);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  if ((counter(command.sets) || std::ranges::any_of(command.waits, counter)) &&
      !(list.immediate && list.chain.in_order)) {
    violation("%s: a counter-based event in a list that is not immediate and in order", by);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t append(const Call& call, const Describe& describe) {
  if (const ze_result_t status = begin_submission(call.name); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  Lock lock;
  List* list = find_or_complain(state().lists, call.list, call.name);
  if (list == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (list->closed || list->updated) {
    violation("%s to a list that is closed", call.name);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  Command command;
  RecordedGraph* graph = nullptr;
  ze_result_t status = read_events(command, call.signal, call.wait_count, call.waits, call.name);
  if (status == ZE_RESULT_SUCCESS) {
    status = find_recording(*list, call.wait_count, call.waits, &graph);
  }
  if (status == ZE_RESULT_SUCCESS) {
    status = describe(command, *list);
  }
  if (status == ZE_RESULT_SUCCESS) {
    status = check_counters(command, *list, call.name);
  }
  if (status != ZE_RESULT_SUCCESS) {
    return status;
  }
  for (const Event* event : events_of(command)) {
    command.event_serials.push_back(event == nullptr ? 0 : event->serial);
  }
  if (!list->immediate) {
    command.mutated = std::exchange(list->next, {});
    command.at_first = command.task;
    list->commands.push_back(std::move(command));
    return ZE_RESULT_SUCCESS;
  }
  if (graph != nullptr) {
    return record(*graph, *list, std::move(command), call.name);
  }
  const OperationRef last = put(lock, list->chain, command, {list->open, list->context->open});
  return !list->synchronous || wait_for(lock, last) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
}

}  // namespace sim::level_zero
