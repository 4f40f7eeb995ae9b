// Verify mode only: the inventory of the program's memory, and what must not happen while it is compared. Where nobody
// compares, all of this does nothing, but for what captures with contents need: numbers of devices, and the program's
// command queues.
#pragma once

#include <chrono>
#include <optional>

#include "backends/level_zero/level_zero_memory.h"
#include "capture/definitions.h"
#include "layer/level_zero/level_zero_headers.h"

namespace refrain::layer::level_zero {

/// Makes the inventory, before the program has any memory. May throw std::bad_alloc.
void start_inventory();
/// The other half of what the inventory knows. Static lifetime.
[[nodiscard]] backends::LevelZeroFacts& facts() noexcept;

/// The same for a device and its parts, which share memory. Asks the driver.
[[nodiscard]] int device_number(ze_device_handle_t device) noexcept;

/// What a call made.
void note_memory(ze_context_handle_t context, ze_device_handle_t device, capture::MemoryPlace place, const void* start,
                 std::size_t bytes) noexcept;
/// The chain of a description of memory, which may say that others use it as well.
void note_sharing(const void* more) noexcept;
/// Kernels may write what cannot be put back: nothing is compared from then on. `why` has static lifetime.
void note_incomparable(const char* why) noexcept;
/// It is memory that others use as well.
void note_shared() noexcept;
/// Before a call of whose work nothing else is known: by its name.
void note_call(const char* name) noexcept;

/// Around a call that frees the allocation at `start`: waits while memory is compared.
class Freeing {
 public:
  explicit Freeing(const void* start) noexcept;
  ~Freeing();
  Freeing(const Freeing&) = delete;
  Freeing& operator=(const Freeing&) = delete;
  /// The driver refused: it is still there.
  void refused() noexcept;

 private:
  std::optional<backends::LiveMemory> memory_;  ///< what was there; none: it was not known
};
/// While it lives nothing is compared; waits until nothing is.
class Uncompared {
 public:
  Uncompared() noexcept;
  ~Uncompared();
  Uncompared(const Uncompared&) = delete;
  Uncompared& operator=(const Uncompared&) = delete;
};
/// What was in a context is gone; under Uncompared, before the context is.
void forget_context(ze_context_handle_t context) noexcept;
/// Waits while memory is compared: events are put back then. Before the program changes an event, and before it is told
/// that work has ended, whose results it would look at.
void wait_for_comparison() noexcept;

/// Lists are given to a command queue of the program; under Uncompared.
void note_queue_used(ze_command_queue_handle_t queue) noexcept;
/// Whether the program's command queues have no work; waits so long for each.
[[nodiscard]] bool queues_are_idle(std::chrono::nanoseconds patience) noexcept;
/// Before the queue is destroyed.
void forget_queue(ze_command_queue_handle_t queue) noexcept;

}  // namespace refrain::layer::level_zero
