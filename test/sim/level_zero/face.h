// A Level Zero driver on the simulated device, loaded by the real loader (ZE_ENABLE_ALT_DRIVERS names the file): one
// driver, one device, memory of the device is memory of the process. As strict as the API: what it leaves undefined
// (an event signalled that is signalled, a list changed or destroyed while it runs, a kernel destroyed while it runs)
// is a violation, which fails the test. Work is done in any order that lists, barriers and events leave open.
//
// Beside the variables of core/settings.h:
//
//   SIM_ZE_EXTENSIONS   functions offered through zeDriverGetExtensionFunctionAddress, separated by commas: "append"
//                       (zeCommandListImmediateAppendCommandListsExp)
//   SIM_ZE_COPY_ENGINE  1: a second group of queues, with ordinal 1, which can only copy
//
// A module is made from any image: it has all kernels that the device finds by name (core/kernel.h); an image that
// begins with "broken" does not build.
#pragma once

#include <level_zero/ze_ddi.h>

#include "test/sim/core/calls.h"

namespace sim::level_zero {

/// Since version 1.6 of the API, which is newer than Debian's header.
inline constexpr ze_command_queue_flags_t kQueueInOrder = 1U << 1U;
inline constexpr ze_command_list_flags_t kListInOrder = 1U << 3U;

/// The beginning of every call.
ze_result_t begin(const char* name) noexcept;
/// The same for calls that submit work, or make something that submitting needs: one of them may be told to fail.
ze_result_t begin_submission(const char* name) noexcept;

#define ENTER(name)                                                                                \
  if (const ze_result_t entered = ::sim::level_zero::begin(#name); entered != ZE_RESULT_SUCCESS) { \
    return entered;                                                                                \
  }                                                                                                \
  static_assert(true)
#define ENTER_SUBMISSION(name)                                                                                \
  if (const ze_result_t entered = ::sim::level_zero::begin_submission(#name); entered != ZE_RESULT_SUCCESS) { \
    return entered;                                                                                           \
  }                                                                                                           \
  static_assert(true)

/// Fill the tables that the loader asks for.
void fill(ze_global_dditable_t& table) noexcept;
void fill(ze_driver_dditable_t& table) noexcept;
void fill(ze_device_dditable_t& table) noexcept;
void fill(ze_context_dditable_t& table) noexcept;
void fill(ze_command_queue_dditable_t& table) noexcept;
void fill(ze_command_list_dditable_t& table) noexcept;
void fill(ze_fence_dditable_t& table) noexcept;
void fill(ze_event_pool_dditable_t& table) noexcept;
void fill(ze_event_dditable_t& table) noexcept;
void fill(ze_module_dditable_t& table) noexcept;
void fill(ze_module_build_log_dditable_t& table) noexcept;
void fill(ze_kernel_dditable_t& table) noexcept;
void fill(ze_kernel_exp_dditable_t& table) noexcept;
void fill(ze_mem_dditable_t& table) noexcept;

/// Null: not offered.
void* extension_function(const char* name) noexcept;

}  // namespace sim::level_zero
