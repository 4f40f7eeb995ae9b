// What appends commands since later versions of the API, by its names; and a driver's own table.
#include <algorithm>
#include <cstring>
#include <memory>

#include "test/sim/level_zero/append.h"

namespace sim::level_zero {
namespace {

/// What a chain of more parameters may have.
ze_result_t read_chain(const void* more, bool* cooperative) {
  for (const auto* each = static_cast<const Described*>(more); each != nullptr;
       each = static_cast<const Described*>(each->pNext)) {
    if (cooperative == nullptr || each->stype != kCooperativeLaunch) {
      return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    }
    *cooperative = reinterpret_cast<const CooperativeLaunch*>(each)->cooperative != 0;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                          const ze_group_count_t* groups, const void* more,
                                                          ze_event_handle_t signal, std::uint32_t count,
                                                          ze_event_handle_t* waits) {
  bool cooperative = false;
  const ze_result_t status = read_chain(more, &cooperative);
  return status != ZE_RESULT_SUCCESS
             ? status
             : launch({"zeCommandListAppendLaunchKernelWithParameters", list, signal, count, waits}, kernel, groups,
                      cooperative ? How::kCooperative : How::kPlain);
}

/// The kernel's arguments and its group size stay set.
ze_result_t zeCommandListAppendLaunchKernelWithArguments(ze_command_list_handle_t list, ze_kernel_handle_t handle,
                                                         ze_group_count_t groups, GroupSize sizes, void** arguments,
                                                         const void* more, ze_event_handle_t signal,
                                                         std::uint32_t count, ze_event_handle_t* waits) {
  constexpr const char* kName = "zeCommandListAppendLaunchKernelWithArguments";
  bool cooperative = false;
  if (const ze_result_t status = read_chain(more, &cooperative); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  if (sizes.x == 0 || sizes.y == 0 || sizes.z == 0 || std::uint64_t{sizes.x} * sizes.y * sizes.z > 1024) {
    return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  }
  {
    const Lock lock;
    KernelObject* kernel = find_or_complain(state().kernels, handle, kName);
    if (kernel == nullptr) {
      return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    for (std::size_t i = 0; arguments != nullptr && i < kernel->set.size(); ++i) {
      const Parameter& parameter = kernel->kernel->parameters[i];
      std::byte* const to = kernel->arguments.data() + parameter.offset;
      arguments[i] != nullptr ? std::memcpy(to, arguments[i], parameter.size) : std::memset(to, 0, parameter.size);
      kernel->set[i] = true;
    }
    std::copy_n(&sizes.x, 3, kernel->group);
  }
  return launch({kName, list, signal, count, waits}, handle, &groups, cooperative ? How::kCooperative : How::kPlain);
}

ze_result_t zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void* to, const void* from,
                                                        std::size_t bytes, const void* more, ze_event_handle_t signal,
                                                        std::uint32_t count, ze_event_handle_t* waits) {
  const ze_result_t status = read_chain(more, nullptr);
  return status != ZE_RESULT_SUCCESS
             ? status
             : append({"zeCommandListAppendMemoryCopyWithParameters", list, signal, count, waits},
                      [&](Command& command, const List&) { return describe_copy(command, to, from, bytes); });
}

ze_result_t zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void* to, const void* pattern,
                                                        std::size_t width, std::size_t bytes, const void* more,
                                                        ze_event_handle_t signal, std::uint32_t count,
                                                        ze_event_handle_t* waits) {
  const ze_result_t status = read_chain(more, nullptr);
  return status != ZE_RESULT_SUCCESS
             ? status
             : append({"zeCommandListAppendMemoryFillWithParameters", list, signal, count, waits},
                      [&](Command& command, const List&) { return describe_fill(command, to, pattern, width, bytes); });
}

ze_result_t zeCommandListAppendHostFunction(ze_command_list_handle_t list, void (*function)(void*), void* data,
                                            const void* more, ze_event_handle_t signal, std::uint32_t count,
                                            ze_event_handle_t* waits) {
  if (const ze_result_t status = read_chain(more, nullptr); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  return append({"zeCommandListAppendHostFunction", list, signal, count, waits}, [&](Command& command, const List&) {
    command.task = host_task(function, data);
    return ZE_RESULT_SUCCESS;
  });
}

/// Of the driver's own table: words are added to.
ze_result_t append_add(ze_command_list_handle_t list, std::uint32_t* to, std::uint32_t words, std::uint32_t value) {
  struct Add {
    std::uint32_t* to;
    std::uint32_t words, value;
  };
  return append({"append_add", list}, [&](Command& command, const List&) {
    command.task = host_task(
        [](void* data) {
          const std::unique_ptr<Add> add(static_cast<Add*>(data));
          for (std::uint32_t i = 0; i < add->words; ++i) {
            add->to[i] += add->value;
          }
        },
        new Add{to, words, value});
    command.task.to.start = address_of(to);
    command.task.bytes = words * sizeof(*to);
    return ZE_RESULT_SUCCESS;
  });
}
const FunctionTable own_table = {&append_add};

}  // namespace

void* append_function(std::string_view name) noexcept {
#define KNOWN(setting, function) \
  { setting, #function, reinterpret_cast<void*>(&(function)) }
  static const OfferedFunction kKnown[] = {
      KNOWN("parameters", zeCommandListAppendLaunchKernelWithParameters),
      KNOWN("parameters", zeCommandListAppendLaunchKernelWithArguments),
      KNOWN("parameters", zeCommandListAppendMemoryCopyWithParameters),
      KNOWN("parameters", zeCommandListAppendMemoryFillWithParameters),
      KNOWN("host", zeCommandListAppendHostFunction),
      {"parameters", "zeCommandListImmediateAppendCommandListsWithParameters",
       reinterpret_cast<void*>(&append_lists_with_parameters)},
      {"append", "zeCommandListImmediateAppendCommandListsExp", reinterpret_cast<void*>(&append_lists)},
      {"table", kTableExtension, const_cast<FunctionTable*>(&own_table)},
  };
#undef KNOWN
  return find_offered(kKnown, name);
}

}  // namespace sim::level_zero
