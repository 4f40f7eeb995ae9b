// What appends commands: the functions of the first version of the API.
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "test/sim/level_zero/append.h"

namespace sim::level_zero {
namespace {

bool pageable(Address address) {
  return find_allocation(address) == nullptr && !was_freed(address);
}

/// Pageable memory is read and written when the command runs, as nothing forbids.
void mark_pageable(Task& task) {
  task.from_pageable = pageable(task.from.start);
  task.to_pageable = pageable(task.to.start);
}

}  // namespace

ze_result_t describe_copy(Command& command, void* to, const void* from, std::size_t bytes) {
  if (to == nullptr || from == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  command.task = copy_task(address_of(to), address_of(from), bytes);
  mark_pageable(command.task);
  return ZE_RESULT_SUCCESS;
}

ze_result_t describe_fill(Command& command, void* to, const void* pattern, std::size_t width, std::size_t bytes) {
  if (to == nullptr || pattern == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (width == 0 || (width & (width - 1)) != 0 || width > 128 || bytes % width != 0) {
    return ZE_RESULT_ERROR_INVALID_SIZE;
  }
  command.task = fill_task(address_of(to), pattern, width, bytes);
  mark_pageable(command.task);
  return ZE_RESULT_SUCCESS;
}

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
          std::uint64_t{kernel->indirect}, std::uint64_t{kernel->cache}, std::uint64_t{kernel->tag},
          std::uint64_t{how == How::kCooperative}, state().set}) {
      command.task.shape.set = (command.task.shape.set + each) * 0x9E3779B97F4A7C15ULL;
    }
    command.kernel = kernel;
    command.kernel_serial = kernel->serial;
    return ZE_RESULT_SUCCESS;
  });
}

namespace {

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
  return append({"zeCommandListAppendMemoryCopy", list, signal, count, waits},
                [&](Command& command, const List&) { return describe_copy(command, to, from, bytes); });
}

ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void* to, const void* pattern,
                                          std::size_t width, std::size_t bytes, ze_event_handle_t signal,
                                          std::uint32_t count, ze_event_handle_t* waits) {
  return append({"zeCommandListAppendMemoryFill", list, signal, count, waits},
                [&](Command& command, const List&) { return describe_fill(command, to, pattern, width, bytes); });
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
