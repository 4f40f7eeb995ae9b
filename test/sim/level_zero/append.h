// How a command is given to a list.
#pragma once

#include <functional>

#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {

struct Call {
  const char* name;
  ze_command_list_handle_t list;
  ze_event_handle_t signal = nullptr;
  std::uint32_t wait_count = 0;
  ze_event_handle_t* waits = nullptr;
};

/// Says what the command is, under the lock.
using Describe = std::function<ze_result_t(Command& command, const List& list)>;
/// Submits it, or adds it to what is recorded.
ze_result_t append(const Call& call, const Describe& describe);

/// How a kernel is launched: `kIndirect`, `groups` is memory that is read when it runs.
enum class How { kPlain, kCooperative, kIndirect };
ze_result_t launch(const Call& call, ze_kernel_handle_t handle, const ze_group_count_t* groups, How how);

ze_result_t describe_copy(Command& command, void* to, const void* from, std::size_t bytes);
ze_result_t describe_fill(Command& command, void* to, const void* pattern, std::size_t width, std::size_t bytes);

}  // namespace sim::level_zero
