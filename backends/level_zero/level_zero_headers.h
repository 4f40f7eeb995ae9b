// The vendor's headers, and what is newer than Debian's (API version 1.4) and older headers lack.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>

// Since 1.6 (zeCommandListHostSynchronize), 1.9 (zeCommandListImmediateAppendCommandListsExp), 1.14 (launches), 1.16
// (copies, fills, lists) and 1.17 (graphs, functions of the host). The same declarations again, where the header has
// them.
// NOLINTBEGIN(readability-identifier-naming): the vendor's names
using ze_graph_handle_t = struct _ze_graph_handle_t*;
using ze_executable_graph_handle_t = struct _ze_executable_graph_handle_t*;
#if !defined(ZE_API_VERSION_CURRENT_M) || ZE_API_VERSION_CURRENT_M < ZE_MAKE_VERSION(1, 14)
struct ze_group_size_t {
  uint32_t groupSizeX, groupSizeY, groupSizeZ;
};
#endif
// NOLINTEND(readability-identifier-naming)
extern "C" {
ze_result_t ZE_APICALL zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);
ze_result_t ZE_APICALL zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t immediate, uint32_t count,
                                                                   ze_command_list_handle_t* lists,
                                                                   ze_event_handle_t signal, uint32_t wait_count,
                                                                   ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListImmediateAppendCommandListsWithParameters(
    ze_command_list_handle_t immediate, uint32_t count, ze_command_list_handle_t* lists, const void* more,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListAppendLaunchKernelWithParameters(ze_command_list_handle_t list,
                                                                     ze_kernel_handle_t kernel,
                                                                     const ze_group_count_t* groups, const void* more,
                                                                     ze_event_handle_t signal, uint32_t count,
                                                                     ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListAppendLaunchKernelWithArguments(ze_command_list_handle_t list,
                                                                    ze_kernel_handle_t kernel,
                                                                    const ze_group_count_t groups,
                                                                    const ze_group_size_t sizes, void** arguments,
                                                                    const void* more, ze_event_handle_t signal,
                                                                    uint32_t count, ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListAppendMemoryCopyWithParameters(ze_command_list_handle_t list, void* to,
                                                                   const void* from, size_t bytes, const void* more,
                                                                   ze_event_handle_t signal, uint32_t count,
                                                                   ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListAppendMemoryFillWithParameters(ze_command_list_handle_t list, void* to,
                                                                   const void* pattern, size_t width, size_t bytes,
                                                                   const void* more, ze_event_handle_t signal,
                                                                   uint32_t count, ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListAppendHostFunction(ze_command_list_handle_t list, void (*function)(void*),
                                                       void* data, const void* more, ze_event_handle_t signal,
                                                       uint32_t count, ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeCommandListBeginGraphCaptureExt(ze_command_list_handle_t list, const void* more);
ze_result_t ZE_APICALL zeCommandListBeginCaptureIntoGraphExt(ze_command_list_handle_t list, ze_graph_handle_t graph,
                                                             const void* more);
ze_result_t ZE_APICALL zeCommandListEndGraphCaptureExt(ze_command_list_handle_t list, const void* more,
                                                       ze_graph_handle_t* graph);
ze_result_t ZE_APICALL zeGraphInstantiateExt(ze_graph_handle_t graph, const void* more,
                                             ze_executable_graph_handle_t* executable);
ze_result_t ZE_APICALL zeCommandListAppendGraphExt(ze_command_list_handle_t list, ze_executable_graph_handle_t graph,
                                                   const void* more, ze_event_handle_t signal, uint32_t count,
                                                   ze_event_handle_t* waits);
ze_result_t ZE_APICALL zeExecutableGraphDestroyExt(ze_executable_graph_handle_t graph);
ze_result_t ZE_APICALL zeGraphDestroyExt(ze_graph_handle_t graph);
}

namespace refrain::backends::level_zero {

/// ZE_COMMAND_QUEUE_FLAG_IN_ORDER and ZE_COMMAND_LIST_FLAG_IN_ORDER, since 1.6.
inline constexpr ze_command_queue_flags_t kQueueInOrder = 1U << 1U;
inline constexpr ze_command_list_flags_t kListInOrder = 1U << 3U;
/// zeCommandListImmediateAppendCommandListsExp, since 1.9: closed lists as one command of an immediate list.
using ImmediateAppend = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t immediate, uint32_t count,
                                                 ze_command_list_handle_t* lists, ze_event_handle_t signal,
                                                 uint32_t wait_count, ze_event_handle_t* waits);

/// ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING, since 1.17.
inline constexpr auto kNotRecorded = static_cast<ze_result_t>(0x78000028);
/// zeCommandListGetGraphExt, since 1.17: the graph that a list is recorded into; if it is not, kNotRecorded.
using RecordedInto = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, ze_graph_handle_t* graph);

/// ze_event_pool_counter_based_exp_desc_t of ZE_experimental_event_pool_counter_based, since 1.8.
inline constexpr auto kCounterBasedPool = static_cast<ze_structure_type_t>(0x00020014);

/// ZE_experimental_mutable_command_list, since 1.9: commands of a closed list are changed. Names, types and members are
/// those of the header of version 1.17 without `ze_` and `_exp_…_t`; they are declared here for older ones.
inline constexpr const char* kMutableListsName = "ZE_experimental_mutable_command_list";
inline constexpr std::uint32_t kMutatesArguments = 1U << 0U;  ///< ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS

/// ze_mutable_command_list_exp_properties_t: what a device can do, behind zeDeviceGetProperties.
struct MutableListProperties {
  ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00020015);
  void* pNext = nullptr;
  std::uint32_t mutableCommandListFlags = 0;
  std::uint32_t mutableCommandFlags = 0;
};
/// ze_mutable_command_list_exp_desc_t: behind the description of a list that is to be mutable.
struct MutableListDescription {
  ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00020016);
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
};
/// ze_mutable_command_id_exp_desc_t: what of the next command may be changed.
struct MutableCommandId {
  ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00020017);
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
};
/// ze_mutable_commands_exp_desc_t: the head of a chain of changes.
struct MutableCommands {
  ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00020018);
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
};
/// ze_mutable_kernel_argument_exp_desc_t: one change.
struct MutableArgument {
  ze_structure_type_t stype = static_cast<ze_structure_type_t>(0x00020019);
  const void* pNext = nullptr;
  std::uint64_t commandId = 0;
  std::uint32_t argIndex = 0;
  std::size_t argSize = 0;
  const void* pArgValue = nullptr;
};

/// The functions, of which the driver gives addresses only.
struct MutableLists {
  /// zeCommandListGetNextCommandIdExp: before the command is appended.
  ze_result_t(ZE_APICALL* next_command)(ze_command_list_handle_t list, const MutableCommandId* what,
                                        std::uint64_t* id) = nullptr;
  /// zeCommandListUpdateMutableCommandsExp: the list does not run, and is closed again afterwards.
  ze_result_t(ZE_APICALL* update)(ze_command_list_handle_t list, const MutableCommands* changes) = nullptr;
};

}  // namespace refrain::backends::level_zero
