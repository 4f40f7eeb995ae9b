// A Level Zero driver on the simulated device, loaded by the real loader (ZE_ENABLE_ALT_DRIVERS names the file): one
// driver, one device, memory of the device is memory of the process. As strict as the API: what it leaves undefined
// (an event signalled that is signalled, a list changed or destroyed while it runs, a kernel destroyed while it runs)
// is a violation, which fails the test. Work is done in any order that lists, barriers and events leave open.
//
// Beside the variables of core/settings.h:
//
//   SIM_ZE_EXTENSIONS   extensions that there are, separated by commas: "append" (lists are appended to an immediate
//                       one), "counter" (counter-based events), "mutable" (commands of closed lists are changed),
//                       "graph" (lists are recorded into graphs), "host" (functions of the host), "parameters"
//                       (appends with more parameters), "questions" (about lists and events), "table" (a table of
//                       functions), "address" (functions that are in tables, too, by their names).
//                       Not set: all of them, as with the newest drivers; empty: none
//   SIM_ZE_COPY_ENGINE  1: a second group of queues, with ordinal 1, which can only copy
//
// A module is made from any image: it has all kernels that the device finds by name (core/kernel.h); an image that
// begins with "broken" does not build. One that contains "calls" has a variable
// of that name, which the kernel `counted` counts in.
#pragma once

#include <level_zero/ze_ddi.h>

#include <span>
#include <string_view>

#include "test/sim/core/calls.h"
#include "test/sim/level_zero/newer_api.h"

namespace sim::level_zero {

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
void fill(ze_virtual_mem_dditable_t& table) noexcept;
void fill(ze_physical_mem_dditable_t& table) noexcept;
void fill(ze_image_dditable_t& table) noexcept;

/// Whether SIM_ZE_EXTENSIONS names it.
bool offered(std::string_view extension) noexcept;
/// A function of an extension, which is there if the setting offers it.
struct OfferedFunction {
  const char* setting;
  std::string_view name;
  void* function;
};
/// Null: none has that name, or it is not offered.
void* find_offered(std::span<const OfferedFunction> all, std::string_view name) noexcept;
/// Answers a question for the properties of mutable lists, if there is one in the chain.
void tell_mutable_properties(void* chain) noexcept;
void fill_extensions(ze_driver_dditable_t& table) noexcept;
/// The same for graphs that record and replay.
void tell_graph_properties(void* chain) noexcept;
/// Functions of extensions, by name; null: none of these.
void* graph_function(std::string_view name) noexcept;
void* append_function(std::string_view name) noexcept;
void* question_function(std::string_view name) noexcept;
/// zeCommandListImmediateAppendCommandListsExp, and its newer name.
ze_result_t append_lists(ze_command_list_handle_t handle, std::uint32_t count, ze_command_list_handle_t* lists,
                         ze_event_handle_t signal, std::uint32_t wait_count, ze_event_handle_t* waits);
ze_result_t append_lists_with_parameters(ze_command_list_handle_t handle, std::uint32_t count,
                                         ze_command_list_handle_t* lists, const void* more, ze_event_handle_t signal,
                                         std::uint32_t wait_count, ze_event_handle_t* waits);

}  // namespace sim::level_zero
