// Graphs that the program records itself (ZE_extension_record_replay_graph), and lists that it appends to lists: each
// is one submission, which is counted and never held.
//
// While any list is recorded nothing is held, in no list: a list is recorded, too, once it waits for an event that a
// recorded one signals, and only the driver knows. What recorded commands do to events happens when the graph runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "layer/level_zero/level_zero_headers.h"

namespace refrain::layer::level_zero {

/// Lists that the program records just now.
extern std::atomic<std::uint32_t> recorded_lists;
[[nodiscard]] inline bool recording_anything() noexcept {
  return recorded_lists.load(std::memory_order_acquire) != 0;
}

/// Before a list is destroyed, which may be one that is recorded.
void recorded_list_gone(ze_command_list_handle_t list) noexcept;

}  // namespace refrain::layer::level_zero
