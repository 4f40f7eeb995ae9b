// Questions about queues, lists and events that newer versions of the API have, functions that are in tables, too, and
// a setter of the driver's own.
#include <string_view>

#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

/// `answer(object)` under the lock.
template <class T, class Handle, class Answer>
ze_result_t question(const char* name, const Handles<T>& all, Handle handle, Answer&& answer) {
  if (const ze_result_t status = begin(name); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  const Lock lock;
  const T* object = find_or_complain(all, handle, name);
  return object == nullptr ? ZE_RESULT_ERROR_INVALID_NULL_HANDLE : answer(*object);
}

ze_command_queue_mode_t mode_of(bool synchronous) noexcept {
  return synchronous ? ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS : ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
}

#define QUESTION(name, all, Handle, Value, value)                             \
  ze_result_t name(Handle handle, Value* result) {                            \
    return question(#name, state().all, handle, [result](const auto& known) { \
      *result = (value);                                                      \
      return ZE_RESULT_SUCCESS;                                               \
    });                                                                       \
  }
QUESTION(zeCommandQueueGetFlags, queues, ze_command_queue_handle_t, ze_command_queue_flags_t, known.flags)
QUESTION(zeCommandQueueGetMode, queues, ze_command_queue_handle_t, ze_command_queue_mode_t, mode_of(known.synchronous))
QUESTION(zeCommandQueueGetPriority, queues, ze_command_queue_handle_t, ze_command_queue_priority_t, known.priority)
QUESTION(zeCommandListGetFlags, lists, ze_command_list_handle_t, ze_command_list_flags_t, known.flags)
QUESTION(zeCommandListGetOrdinal, lists, ze_command_list_handle_t, std::uint32_t, known.ordinal)
QUESTION(zeCommandListImmediateGetFlags, lists, ze_command_list_handle_t, ze_command_queue_flags_t, known.flags)
QUESTION(zeCommandListImmediateGetIndex, lists, ze_command_list_handle_t, std::uint32_t, known.index)
QUESTION(zeCommandListImmediateGetMode, lists, ze_command_list_handle_t, ze_command_queue_mode_t,
         mode_of(known.synchronous))
QUESTION(zeCommandListImmediateGetPriority, lists, ze_command_list_handle_t, ze_command_queue_priority_t,
         known.priority)
QUESTION(zeCommandListIsImmediate, lists, ze_command_list_handle_t, ze_bool_t, known.immediate ? 1 : 0)
QUESTION(zeEventGetCounterBasedFlags, events, ze_event_handle_t, std::uint32_t,
         known.pool->counters ? CounterBasedPool::kImmediate : 0U)
#undef QUESTION

ze_result_t zeCommandListIsMutableExp(ze_command_list_handle_t handle) {
  return question("zeCommandListIsMutableExp", state().lists, handle,
                  [](const List& list) { return list.is_mutable ? kQueryTrue : kQueryFalse; });
}

ze_result_t set_tag(ze_kernel_handle_t handle, std::uint32_t tag) {
  if (const ze_result_t status = begin(kSetTag); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  const Lock lock;
  KernelObject* kernel = find_or_complain(state().kernels, handle, kSetTag);
  if (kernel == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  kernel->tag = tag;
  return ZE_RESULT_SUCCESS;
}

/// What the tables hold, by name.
template <class Table, class Member>
void* in_table(Member Table::*member) noexcept {
  Table table{};
  fill(table);
  return reinterpret_cast<void*>(table.*member);
}

}  // namespace

void* question_function(std::string_view name) noexcept {
#define KNOWN(function) \
  { "questions", #function, reinterpret_cast<void*>(&(function)) }
  static const OfferedFunction kKnown[] = {
      KNOWN(zeCommandQueueGetFlags),
      KNOWN(zeCommandQueueGetMode),
      KNOWN(zeCommandQueueGetPriority),
      KNOWN(zeCommandListGetFlags),
      KNOWN(zeCommandListGetOrdinal),
      KNOWN(zeCommandListImmediateGetFlags),
      KNOWN(zeCommandListImmediateGetIndex),
      KNOWN(zeCommandListImmediateGetMode),
      KNOWN(zeCommandListImmediateGetPriority),
      KNOWN(zeCommandListIsImmediate),
      KNOWN(zeCommandListIsMutableExp),
      KNOWN(zeEventGetCounterBasedFlags),
      {"address", kSetTag, reinterpret_cast<void*>(&set_tag)},
      {"address", "zeKernelSetGlobalOffsetExp", in_table(&ze_kernel_exp_dditable_t::pfnSetGlobalOffsetExp)},
      {"address", "zeKernelSetArgumentValue", in_table(&ze_kernel_dditable_t::pfnSetArgumentValue)},
      {"address", "zeCommandListAppendLaunchKernel", in_table(&ze_command_list_dditable_t::pfnAppendLaunchKernel)},
      {"address", "zeMemFreeExt", in_table(&ze_mem_dditable_t::pfnFreeExt)},
  };
#undef KNOWN
  return find_offered(kKnown, name);
}

}  // namespace sim::level_zero
