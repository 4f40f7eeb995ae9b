// What every lane of an engine asks for at each submission.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "env/log.h"
#include "env/mutex.h"
#include "replay/runtime/state_changes.h"

namespace refrain::replay {

/// What is asked for at each submission comes first, in one cache line. Any thread.
class alignas(64) EngineState {
 public:
  // Who finds that these have become 0 calls the driver behind whoever submitted the last of it: counted down with
  // release, read with acquire (docs/memory-order.md).
  std::atomic<std::uint32_t> held_lanes{0};      ///< lanes that hold work
  std::atomic<std::uint32_t> trailing_lanes{0};  ///< lanes with calls that wait behind what they hold, or held
  std::atomic<std::uint32_t> held_defaults{0};   ///< default queues for which any lane holds work
  std::atomic<bool> active{true};                ///< false: everything passes through
  /// What is held is nobody's to submit: this is a child, and it is its parent's, or the driver kept for good who
  /// submitted it at the end.
  std::atomic<bool> abandoned{false};
  std::atomic<bool> stopped{false};  ///< lanes are dormant until the program, or its user, wants them back
  /// How often a queue or an object went away, or another state came: nobody expects anything after that.
  std::atomic<std::uint64_t> gone{0};
  StateChanges changes;
  std::atomic<const char*> others_wait{nullptr};  ///< why another device or process may wait for what is held
  env::Mutex asking;                              ///< while the driver is asked about what a lane kept

  /// An internal failure (out of memory, say): one log line, and from then on everything passes through.
  void fail(const char* what) noexcept {
    if (active.exchange(false)) {
      env::log_error({"an internal failure (", what, "): from here on everything passes through"});
    }
  }
  /// The same where nothing failed, but nothing may be held any more; `why`: the parts of the log line.
  void stand_aside(std::initializer_list<std::string_view> why) noexcept {
    if (active.exchange(false)) {
      env::log_warning(why);
    }
  }
};

}  // namespace refrain::replay
