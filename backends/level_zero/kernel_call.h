// How commands of Level Zero are written into records, and given to a command list.
//
// Each record ends with arguments for its events: the one it signals (kOtherHandle; 0: none), then those it waits for.
// Their handles are used as they are: a command in a recorded list signals and waits for what the application's own
// call names. A record's waits (WaitRef) only order the parts of a graph.
//
//   kKernel          words as for every kernel. Arguments: the kernel's, then one kValue: KernelSettings, then events
//   kPointerCopy     words: bytes, 0. Arguments: destination, source, then events
//   kPointerFill     words: bytes. Arguments: destination, pattern, then events
//   kCopyBufferRect  words as there. Arguments: source, destination (pointers), then events
//   kPointerMigrate  words: bytes. Arguments: pointer, signal; of advice: pointer, one kValue: which, signal
//   kBarrier, kEventWait, kEventRecord (signals one)
//                    only events
//   kOther           resets the event that stands in the place of the signal
#pragma once

#include <cstdint>
#include <vector>

#include "backends/level_zero/driver_api.h"
#include "capture/operation.h"

namespace refrain::backends {

/// What a kernel was set to besides its arguments. Each is a word of its own: captures take two of them in one word for
/// an address. // format
struct KernelSettings {
  std::uint64_t cooperative = 0;
  std::uint64_t indirect = 0;  ///< ze_kernel_indirect_access_flags_t
  std::uint64_t cache = 0;     ///< ze_cache_config_flags_t
};
static_assert(sizeof(KernelSettings) == 24);

/// Number of arguments in front of the events, or -1: no command of this kind is known.
[[nodiscard]] int arguments_before_events(const capture::OperationView& operation) noexcept;

/// The events of a record.
struct CommandEvents {
  ze_event_handle_t signal = nullptr;
  std::vector<ze_event_handle_t> waits;
  /// False if the record has none. May throw std::bad_alloc.
  bool read(const capture::OperationView& operation);
};

/// Appends the record's command to `list`, which is of `device`. `kernel`: a kernel object of ours for kKernel, which
/// nobody else may use meanwhile; it is left with the record's arguments.
ze_result_t append(const LevelZeroDriver& driver, const capture::OperationView& operation, ze_device_handle_t device,
                   ze_command_list_handle_t list, ze_kernel_handle_t kernel);

}  // namespace refrain::backends
