// The program's events while the same commands run more than once, for a comparison.
//
// Recorded commands, and those that are issued, signal, reset and wait for the program's own events. Before they run
// again, each event that they name is made what it was before the first run, and behind the last run what the first
// one left.
#pragma once

#include <atomic>
#include <thread>
#include <unordered_map>

#include "backends/level_zero/driver_api.h"
#include "capture/operation.h"

namespace refrain::backends {

/// Concerns the thread that called begin(), until its end(): what other threads submit is not looked at.
class EventStates {
 public:
  /// `driver` must outlive this.
  explicit EventStates(const LevelZeroDriver& driver) noexcept : driver_(driver) {}

  /// All work is done, and until end() nobody else signals or resets an event that the commands name.
  void begin() noexcept;
  /// Leaves events as the first run did. An event that the last run did not set has no times then.
  void end() noexcept;
  /// Before a command is given to a list. Otherwise than ZE_RESULT_SUCCESS: it must not be, since it would wait for
  /// ever, or what its events were is not known.
  [[nodiscard]] ze_result_t before(const capture::OperationView& operation) noexcept;
  /// The same for a recorded list, whose commands were all given to a list once before.
  [[nodiscard]] ze_result_t before_list() noexcept;
  /// Everything submitted has ended: what comes next is another run.
  void run_ended() noexcept;

 private:
  struct State {
    bool before = false;  ///< the first run
    bool now = false;     ///< when what was given to lists so far has run
    bool after = false;   ///< the first run
  };
  [[nodiscard]] bool concerned() const noexcept {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  State& state_of(ze_event_handle_t event);
  [[nodiscard]] bool is_set(ze_event_handle_t event) const noexcept;
  [[nodiscard]] ze_result_t put(bool State::*wanted) noexcept;

  const LevelZeroDriver& driver_;
  std::atomic<std::thread::id> owner_{};
  // The owner's.
  std::unordered_map<ze_event_handle_t, State> states_;
  unsigned runs_ = 0;
  bool running_ = false;
  ze_result_t refused_ = ZE_RESULT_SUCCESS;  ///< why nothing runs again
};

}  // namespace refrain::backends
