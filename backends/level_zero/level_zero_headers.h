// The vendor's headers, and what is newer than Debian's (API version 1.4) and older headers lack.
#pragma once

#include <level_zero/ze_api.h>

// Since 1.6. The same declaration again, where the header has it.
extern "C" ze_result_t ZE_APICALL zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);

namespace refrain::backends::level_zero {

/// ZE_COMMAND_QUEUE_FLAG_IN_ORDER and ZE_COMMAND_LIST_FLAG_IN_ORDER, since 1.6.
inline constexpr ze_command_queue_flags_t kQueueInOrder = 1U << 1U;
inline constexpr ze_command_list_flags_t kListInOrder = 1U << 3U;
/// zeCommandListImmediateAppendCommandListsExp, since 1.9: closed lists as one command of an immediate list.
using ImmediateAppend = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t immediate, uint32_t count,
                                                 ze_command_list_handle_t* lists, ze_event_handle_t signal,
                                                 uint32_t wait_count, ze_event_handle_t* waits);

}  // namespace refrain::backends::level_zero
