// How commands follow each other, and what appends them.
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "test/sim/core/graph.h"
#include "test/sim/level_zero/objects.h"

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

/// Whether everything that a command of a list names is still there.
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

}  // namespace

OperationRef put(const Lock& lock, Chain& chain, const Command& command, std::vector<OpenRef> open) {
  std::vector<OperationRef> after = {chain.barrier};
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
    if (event->pool->counters && event->counted == nullptr) {
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

namespace {

struct Call {
  const char* name;
  ze_command_list_handle_t list;
  ze_event_handle_t signal = nullptr;
  std::uint32_t wait_count = 0;
  ze_event_handle_t* waits = nullptr;
};

/// `describe(command, list)` under the lock.
template <class Describe>
ze_result_t append(const Call& call, Describe&& describe) {
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
  ze_result_t status = read_events(command, call.signal, call.wait_count, call.waits, call.name);
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
  const OperationRef last = put(lock, list->chain, command, {list->open, list->context->open});
  return !list->synchronous || wait_for(lock, last) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_DEVICE_LOST;
}

/// How a kernel is launched: `kIndirect`, `groups` is memory that is read when it runs.
enum class How { kPlain, kCooperative, kIndirect };

ze_result_t launch(const Call& call, ze_kernel_handle_t handle, const ze_group_count_t* groups, How how) {
  return append(call, [&](Command& command, const List& list) {
    KernelObject* kernel = find_or_complain(state().kernels, handle, call.name);
    if (kernel == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (groups == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    }
    if (!runs_kernels(list.ordinal)) {
      violation("%s to a list that can only copy", call.name);
      return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    }
    if (kernel->group[0] == 0) {
      violation("%s of %s without a group size", call.name, kernel->kernel->name);
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    if (!std::all_of(kernel->set.begin(), kernel->set.end(), [](bool set) { return set; })) {
      violation("%s of %s without all its arguments", call.name, kernel->kernel->name);
      return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    command.task.kind = Task::Kind::kKernel;
    command.task.kernel = kernel->kernel;
    command.task.arguments = kernel->arguments;
    if (how == How::kIndirect) {
      command.task.grid_in = address_of(groups);
    } else {
      command.task.shape.grid[0] = groups->groupCountX;
      command.task.shape.grid[1] = groups->groupCountY;
      command.task.shape.grid[2] = groups->groupCountZ;
    }
    std::copy_n(kernel->group, 3, command.task.shape.block);
    command.task.shape.variable = kernel->module->variable;
    // What was set, for kernels that tell it.
    command.task.shape.set = 0;
    for (const std::uint64_t each :
         {std::uint64_t{kernel->offset[0]}, std::uint64_t{kernel->offset[1]}, std::uint64_t{kernel->offset[2]},
          std::uint64_t{kernel->indirect}, std::uint64_t{kernel->cache}, std::uint64_t{how == How::kCooperative},
          state().set}) {
      command.task.shape.set = (command.task.shape.set + each) * 0x9E3779B97F4A7C15ULL;
    }
    command.kernel = kernel;
    command.kernel_serial = kernel->serial;
    return ZE_RESULT_SUCCESS;
  });
}

bool pageable(Address address) {
  return find_allocation(address) == nullptr && !was_freed(address);
}

/// Pageable memory is read and written when the command runs, as nothing forbids.
void mark_pageable(Task& task) {
  task.from_pageable = pageable(task.from.start);
  task.to_pageable = pageable(task.to.start);
}

ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                            const ze_group_count_t* groups, ze_event_handle_t signal,
                                            std::uint32_t count, ze_event_handle_t* waits) {
  pthread_testcancel();  // as in a driver that writes to a file
  return launch({"zeCommandListAppendLaunchKernel", list, signal, count, waits}, kernel, groups, How::kPlain);
}
ze_result_t zeCommandListAppendLaunchCooperativeKernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                       const ze_group_count_t* groups, ze_event_handle_t signal,
                                                       std::uint32_t count, ze_event_handle_t* waits) {
  return launch({"zeCommandListAppendLaunchCooperativeKernel", list, signal, count, waits}, kernel, groups,
                How::kCooperative);
}
ze_result_t zeCommandListAppendLaunchKernelIndirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                    const ze_group_count_t* groups, ze_event_handle_t signal,
                                                    std::uint32_t count, ze_event_handle_t* waits) {
  return launch({"zeCommandListAppendLaunchKernelIndirect", list, signal, count, waits}, kernel, groups,
                How::kIndirect);
}

ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void* to, const void* from, std::size_t bytes,
                                          ze_event_handle_t signal, std::uint32_t count, ze_event_handle_t* waits) {
  return append({"zeCommandListAppendMemoryCopy", list, signal, count, waits}, [&](Command& command, const List&) {
    if (to == nullptr || from == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    }
    command.task = copy_task(address_of(to), address_of(from), bytes);
    mark_pageable(command.task);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void* to, const void* pattern,
                                          std::size_t width, std::size_t bytes, ze_event_handle_t signal,
                                          std::uint32_t count, ze_event_handle_t* waits) {
  return append({"zeCommandListAppendMemoryFill", list, signal, count, waits}, [&](Command& command, const List&) {
    if (to == nullptr || pattern == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    }
    if (width == 0 || (width & (width - 1)) != 0 || width > 128 || bytes % width != 0) {
      return ZE_RESULT_ERROR_INVALID_SIZE;
    }
    command.task = fill_task(address_of(to), pattern, width, bytes);
    mark_pageable(command.task);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t list, void* to, const ze_copy_region_t* place,
                                                std::uint32_t pitch, std::uint32_t slice, const void* from,
                                                const ze_copy_region_t* source, std::uint32_t source_pitch,
                                                std::uint32_t source_slice, ze_event_handle_t signal,
                                                std::uint32_t count, ze_event_handle_t* waits) {
  return append({"zeCommandListAppendMemoryCopyRegion", list, signal, count, waits}, [&](Command& command,
                                                                                         const List&) {
    if (to == nullptr || from == nullptr || place == nullptr || source == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    }
    const auto start = [](const void* memory, const ze_copy_region_t& region, std::size_t rows, std::size_t slices) {
      return address_of(memory) + region.originX + region.originY * rows + region.originZ * slices;
    };
    command.task = copy_task({start(to, *place, pitch, slice), pitch, slice},
                             {start(from, *source, source_pitch, source_slice), source_pitch, source_slice},
                             place->width, place->height, std::max(place->depth, 1U));
    mark_pageable(command.task);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t count,
                                       ze_event_handle_t* waits) {
  return append({"zeCommandListAppendBarrier", list, signal, count, waits}, [&](Command& command, const List&) {
    command.order = count == 0 ? Command::Order::kBarrier : Command::Order::kWait;
    return ZE_RESULT_SUCCESS;
  });
}
ze_result_t zeCommandListAppendMemoryRangesBarrier(ze_command_list_handle_t list, std::uint32_t, const std::size_t*,
                                                   const void**, ze_event_handle_t signal, std::uint32_t count,
                                                   ze_event_handle_t* waits) {
  return append({"zeCommandListAppendMemoryRangesBarrier", list, signal, count, waits},
                [&](Command& command, const List&) {
                  command.order = count == 0 ? Command::Order::kBarrier : Command::Order::kWait;
                  return ZE_RESULT_SUCCESS;
                });
}
ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t list, std::uint32_t count,
                                            ze_event_handle_t* waits) {
  return append({"zeCommandListAppendWaitOnEvents", list, nullptr, count, waits}, [&](Command& command, const List&) {
    command.order = Command::Order::kWait;
    return ZE_RESULT_SUCCESS;
  });
}
ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t list, ze_event_handle_t signal) {
  return append({"zeCommandListAppendSignalEvent", list, signal},
                [](Command&, const List&) { return ZE_RESULT_SUCCESS; });
}
ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t list, ze_event_handle_t handle) {
  return append({"zeCommandListAppendEventReset", list}, [&](Command& command, const List&) {
    command.resets = find_or_complain(state().events, handle, "zeCommandListAppendEventReset");
    return command.resets == nullptr ? ZE_RESULT_ERROR_INVALID_NULL_HANDLE : ZE_RESULT_SUCCESS;
  });
}
ze_result_t zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list, const void*, std::size_t) {
  return append({"zeCommandListAppendMemoryPrefetch", list}, [](Command&, const List&) { return ZE_RESULT_SUCCESS; });
}
ze_result_t zeCommandListAppendMemAdvise(ze_command_list_handle_t list, ze_device_handle_t, const void*, std::size_t,
                                         ze_memory_advice_t) {
  return append({"zeCommandListAppendMemAdvise", list}, [](Command&, const List&) { return ZE_RESULT_SUCCESS; });
}

void write_time(void* to) {
  const auto now = static_cast<std::uint64_t>(host_ns());
  std::memcpy(to, &now, sizeof(now));
}

ze_result_t zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t list, std::uint64_t* to,
                                                    ze_event_handle_t signal, std::uint32_t count,
                                                    ze_event_handle_t* waits) {
  return append({"zeCommandListAppendWriteGlobalTimestamp", list, signal, count, waits},
                [&](Command& command, const List&) {
                  if (to == nullptr) {
                    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
                  }
                  command.task = host_task(&write_time, to);
                  command.task.to.start = address_of(to);
                  command.task.bytes = pageable(address_of(to)) ? 0 : sizeof(*to);
                  return ZE_RESULT_SUCCESS;
                });
}

/// Where the times of which events go. Never freed: a list may run again.
struct Times {
  std::vector<std::pair<Event*, std::uint64_t>> events;  ///< with their serial numbers
  std::vector<std::byte*> places;
};

void write_times(void* data) {
  const auto& times = *static_cast<const Times*>(data);
  const Lock lock;
  for (std::size_t i = 0; i < times.events.size(); ++i) {
    const auto& [event, serial] = times.events[i];
    if (state().events.find(event) == nullptr || event->serial != serial) {
      violation("zeCommandListAppendQueryKernelTimestamps: an event was destroyed");
      continue;
    }
    const bool counter = event->pool->counters && event->counted != nullptr;
    ze_kernel_timestamp_result_t result{};
    result.global.kernelStart = static_cast<std::uint64_t>(counter ? event->counted->started_ns : event->started_ns);
    result.global.kernelEnd = static_cast<std::uint64_t>(counter ? event->counted->done_ns : event->done_ns);
    result.context = result.global;
    std::memcpy(times.places[i], &result, sizeof(result));
  }
}

ze_result_t zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t list, std::uint32_t event_count,
                                                     ze_event_handle_t* events, void* to, const std::size_t* offsets,
                                                     ze_event_handle_t signal, std::uint32_t count,
                                                     ze_event_handle_t* waits) {
  constexpr const char* kName = "zeCommandListAppendQueryKernelTimestamps";
  return append({kName, list, signal, count, waits}, [&](Command& command, const List&) {
    if (events == nullptr || to == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    }
    auto times = std::make_unique<Times>();
    std::size_t end = 0;
    for (std::uint32_t i = 0; i < event_count; ++i) {
      Event* event = find_or_complain(state().events, events[i], kName);
      if (event == nullptr || (event->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) == 0) {
        return event == nullptr ? ZE_RESULT_ERROR_INVALID_NULL_HANDLE : ZE_RESULT_ERROR_INVALID_ARGUMENT;
      }
      const std::size_t offset = offsets != nullptr ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
      times->events.emplace_back(event, event->serial);
      times->places.push_back(static_cast<std::byte*>(to) + offset);
      end = std::max(end, offset + sizeof(ze_kernel_timestamp_result_t));
    }
    static std::vector<std::unique_ptr<Times>>& kept = *new std::vector<std::unique_ptr<Times>>;
    kept.push_back(std::move(times));
    command.task = host_task(&write_times, kept.back().get());
    command.task.to.start = address_of(to);
    command.task.bytes = pageable(address_of(to)) ? 0 : end;
    return ZE_RESULT_SUCCESS;
  });
}

}  // namespace

void fill_appends(ze_command_list_dditable_t& table) noexcept;
void fill_appends(ze_command_list_dditable_t& table) noexcept {
  table.pfnAppendLaunchKernel = zeCommandListAppendLaunchKernel;
  table.pfnAppendLaunchCooperativeKernel = zeCommandListAppendLaunchCooperativeKernel;
  table.pfnAppendLaunchKernelIndirect = zeCommandListAppendLaunchKernelIndirect;
  table.pfnAppendMemoryCopy = zeCommandListAppendMemoryCopy;
  table.pfnAppendMemoryFill = zeCommandListAppendMemoryFill;
  table.pfnAppendMemoryCopyRegion = zeCommandListAppendMemoryCopyRegion;
  table.pfnAppendWriteGlobalTimestamp = zeCommandListAppendWriteGlobalTimestamp;
  table.pfnAppendQueryKernelTimestamps = zeCommandListAppendQueryKernelTimestamps;
  table.pfnAppendBarrier = zeCommandListAppendBarrier;
  table.pfnAppendMemoryRangesBarrier = zeCommandListAppendMemoryRangesBarrier;
  table.pfnAppendWaitOnEvents = zeCommandListAppendWaitOnEvents;
  table.pfnAppendSignalEvent = zeCommandListAppendSignalEvent;
  table.pfnAppendEventReset = zeCommandListAppendEventReset;
  table.pfnAppendMemoryPrefetch = zeCommandListAppendMemoryPrefetch;
  table.pfnAppendMemAdvise = zeCommandListAppendMemAdvise;
}

}  // namespace sim::level_zero
