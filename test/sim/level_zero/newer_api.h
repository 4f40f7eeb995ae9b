// What is newer than Debian's headers (version 1.4 of the API), under names of our own, so that newer headers may
// declare theirs. For the simulated driver, and for programs of the tests.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>

namespace sim::level_zero {

/// Since 1.6.
inline constexpr ze_command_queue_flags_t kQueueInOrder = 1U << 1U;
inline constexpr ze_command_list_flags_t kListInOrder = 1U << 3U;

/// Every structure of the API begins so.
struct Described {
  ze_structure_type_t stype;
  const void* pNext;
};
/// The structure of this type in a chain; null: there is none.
template <class T>
T* find_in_chain(const void* chain, ze_structure_type_t stype) noexcept {
  for (auto* each = static_cast<const Described*>(chain); each != nullptr;
       each = static_cast<const Described*>(each->pNext)) {
    if (each->stype == stype) {
      return reinterpret_cast<T*>(const_cast<Described*>(each));
    }
  }
  return nullptr;
}

/// ZE_experimental_event_pool_counter_based, since 1.8: ze_event_pool_counter_based_exp_desc_t.
inline constexpr auto kCounterBasedPool = static_cast<ze_structure_type_t>(0x00020014);
struct CounterBasedPool {
  ze_structure_type_t stype = kCounterBasedPool;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;  ///< 0: kImmediate
  static constexpr std::uint32_t kImmediate = 1U << 0U, kNotImmediate = 1U << 1U;
};

/// ZE_experimental_mutable_command_list, since 1.9: the structures named ze_mutable_…_exp_…_t, in the order of their
/// types.
inline constexpr auto kMutableProperties = static_cast<ze_structure_type_t>(0x00020015);
inline constexpr auto kMutableList = static_cast<ze_structure_type_t>(0x00020016);
inline constexpr auto kMutableCommandId = static_cast<ze_structure_type_t>(0x00020017);
inline constexpr auto kMutableCommands = static_cast<ze_structure_type_t>(0x00020018);
inline constexpr auto kMutableArgument = static_cast<ze_structure_type_t>(0x00020019);
inline constexpr auto kMutableGroupCount = static_cast<ze_structure_type_t>(0x0002001A);
inline constexpr auto kMutableGroupSize = static_cast<ze_structure_type_t>(0x0002001B);
inline constexpr auto kMutableOffset = static_cast<ze_structure_type_t>(0x0002001C);

/// ze_mutable_command_exp_flag_t
inline constexpr std::uint32_t kMutatesArguments = 1U << 0U, kMutatesGroupCount = 1U << 1U,
                               kMutatesGroupSize = 1U << 2U, kMutatesOffset = 1U << 3U;

struct MutableProperties {
  ze_structure_type_t stype = kMutableProperties;
  void* pNext = nullptr;
  std::uint32_t list_flags = 0, command_flags = 0;
};
struct MutableList {
  ze_structure_type_t stype = kMutableList;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;
};
struct MutableCommandId {
  ze_structure_type_t stype = kMutableCommandId;
  const void* pNext = nullptr;
  std::uint32_t flags = 0;  ///< 0: all that there are
};
struct MutableCommands {
  ze_structure_type_t stype = kMutableCommands;
  const void* pNext = nullptr;  ///< what is changed, one after the other
  std::uint32_t flags = 0;
};
struct MutableArgument {
  ze_structure_type_t stype = kMutableArgument;
  const void* pNext = nullptr;
  std::uint64_t command = 0;
  std::uint32_t index = 0;
  std::size_t size = 0;
  const void* value = nullptr;
};
struct MutableGroupCount {
  ze_structure_type_t stype = kMutableGroupCount;
  const void* pNext = nullptr;
  std::uint64_t command = 0;
  const ze_group_count_t* count = nullptr;
};
struct MutableGroupSize {
  ze_structure_type_t stype = kMutableGroupSize;
  const void* pNext = nullptr;
  std::uint64_t command = 0;
  std::uint32_t x = 0, y = 0, z = 0;
};
struct MutableOffset {
  ze_structure_type_t stype = kMutableOffset;
  const void* pNext = nullptr;
  std::uint64_t command = 0;
  std::uint32_t x = 0, y = 0, z = 0;
};

/// zeCommandListGetNextCommandIdExp and zeCommandListUpdateMutableCommandsExp.
using GetNextCommandId = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, const MutableCommandId* description,
                                                  std::uint64_t* id);
using UpdateMutableCommands = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, const MutableCommands* changes);

/// Appends with a chain of further parameters, since 1.14 and 1.16. Chains are empty, or have this structure
/// (ze_command_list_append_launch_kernel_param_cooperative_desc_t).
inline constexpr auto kCooperativeLaunch = static_cast<ze_structure_type_t>(0x00020036);
struct CooperativeLaunch {
  ze_structure_type_t stype = kCooperativeLaunch;
  const void* pNext = nullptr;
  ze_bool_t cooperative = 1;
};
/// ze_group_size_t
struct GroupSize {
  std::uint32_t x, y, z;
};
using LaunchWithParameters = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                      const ze_group_count_t* groups, const void* more,
                                                      ze_event_handle_t signal, std::uint32_t count,
                                                      ze_event_handle_t* waits);
using LaunchWithArguments = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                     ze_group_count_t groups, GroupSize sizes, void** arguments,
                                                     const void* more, ze_event_handle_t signal, std::uint32_t count,
                                                     ze_event_handle_t* waits);
using CopyWithParameters = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, void* to, const void* from,
                                                    std::size_t bytes, const void* more, ze_event_handle_t signal,
                                                    std::uint32_t count, ze_event_handle_t* waits);
using FillWithParameters = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, void* to, const void* pattern,
                                                    std::size_t width, std::size_t bytes, const void* more,
                                                    ze_event_handle_t signal, std::uint32_t count,
                                                    ze_event_handle_t* waits);
using AppendLists = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t immediate, std::uint32_t count,
                                             ze_command_list_handle_t* lists, ze_event_handle_t signal,
                                             std::uint32_t wait_count, ze_event_handle_t* waits);
using AppendListsWithParameters = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t immediate, std::uint32_t count,
                                                           ze_command_list_handle_t* lists, const void* more,
                                                           ze_event_handle_t signal, std::uint32_t wait_count,
                                                           ze_event_handle_t* waits);
/// zeCommandListAppendHostFunction, since 1.17.
using AppendHostFunction = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, void (*function)(void*), void* data,
                                                    const void* more, ze_event_handle_t signal, std::uint32_t count,
                                                    ze_event_handle_t* waits);

/// ZE_extension_record_replay_graph, since 1.17.
struct GraphHandle;
struct ExecutableGraphHandle;
inline constexpr auto kQueryTrue = static_cast<ze_result_t>(0x78000022);
inline constexpr auto kQueryFalse = static_cast<ze_result_t>(0x78000023);
inline constexpr auto kInvalidGraph = static_cast<ze_result_t>(0x78000024);
inline constexpr auto kCaptureUnsupported = static_cast<ze_result_t>(0x78000025);
inline constexpr auto kCaptureMergeAttempt = static_cast<ze_result_t>(0x78000027);
inline constexpr auto kNotCapturing = static_cast<ze_result_t>(0x78000028);
inline constexpr auto kUnjoinedForks = static_cast<ze_result_t>(0x78000029);
inline constexpr auto kGraphProperties = static_cast<ze_structure_type_t>(0x00020047);
/// ze_record_replay_graph_ext_properties_t
struct GraphProperties {
  ze_structure_type_t stype = kGraphProperties;
  void* pNext = nullptr;
  std::uint32_t flags = 0;
  static constexpr std::uint32_t kImmutable = 1U << 0U;
};
using CreateGraph = ze_result_t(ZE_APICALL*)(ze_context_handle_t context, const void* more, GraphHandle** graph);
using BeginCapture = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, const void* more);
using BeginCaptureInto = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, GraphHandle* graph, const void* more);
using IsCapturing = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list);
using EndCapture = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, const void* more, GraphHandle** graph);
using InstantiateGraph = ze_result_t(ZE_APICALL*)(GraphHandle* graph, const void* more,
                                                  ExecutableGraphHandle** executable);
using AppendGraph = ze_result_t(ZE_APICALL*)(ze_command_list_handle_t list, ExecutableGraphHandle* graph,
                                             const void* more, ze_event_handle_t signal, std::uint32_t count,
                                             ze_event_handle_t* waits);
using IsGraphEmpty = ze_result_t(ZE_APICALL*)(GraphHandle* graph);
using DestroyGraph = ze_result_t(ZE_APICALL*)(GraphHandle* graph);
using DestroyExecutableGraph = ze_result_t(ZE_APICALL*)(ExecutableGraphHandle* graph);
using SetDestructionCallback = ze_result_t(ZE_APICALL*)(GraphHandle* graph, void (*function)(void*), void* data,
                                                        const void* more);

/// A driver's own table of functions, which it hands out by the name of an extension, as those of NPUs do.
inline constexpr const char* kTableExtension = "ZE_extension_simulated_table";
struct FunctionTable {
  ze_result_t(ZE_APICALL* append_add)(ze_command_list_handle_t list, std::uint32_t* to, std::uint32_t words,
                                      std::uint32_t value);
};

/// A driver's own setter: kernels tell what was set.
inline constexpr const char* kSetTag = "zexKernelSetSimulatedTag";
using SetTag = ze_result_t(ZE_APICALL*)(ze_kernel_handle_t kernel, std::uint32_t tag);

}  // namespace sim::level_zero
