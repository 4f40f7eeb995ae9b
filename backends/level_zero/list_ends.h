// Waits for everything that was given to an immediate list, but not for ever.
#pragma once

#include <chrono>
#include <unordered_map>

#include "backends/level_zero/list.h"
#include "env/mutex.h"

namespace refrain::backends {

/// By a barrier with an event of ours, which drivers of every version have. Thread-safe.
class ListEnds {
 public:
  /// `driver` must outlive this.
  explicit ListEnds(const LevelZeroDriver& driver) noexcept : driver_(driver) {}

  /// ZE_RESULT_NOT_READY: it did not end by then; other errors: nobody knows. (Of a list without order all that comes
  /// later then comes after what is in it now.)
  [[nodiscard]] ze_result_t finish_by(ImmediateList& list, std::chrono::steady_clock::time_point until) noexcept;
  /// Before the list is destroyed; it is idle.
  void list_gone(const ImmediateList& list) noexcept;

 private:
  struct End {
    ze_event_pool_handle_t pool = nullptr;
    ze_event_handle_t event = nullptr;
    bool pending = false;  ///< in the list, and not seen yet
  };
  [[nodiscard]] ze_result_t make(const ImmediateList& list, End& end) noexcept;
  [[nodiscard]] ze_result_t seen_by(End& end, std::chrono::steady_clock::time_point until) noexcept;

  const LevelZeroDriver& driver_;
  env::Mutex mutex_;
  std::unordered_map<const ImmediateList*, End> ends_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::backends
