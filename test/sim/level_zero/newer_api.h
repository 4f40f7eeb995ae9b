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

}  // namespace sim::level_zero
