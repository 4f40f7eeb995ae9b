// What a wait for an event adds to a token: the role that the event has for the thread.
//
// A loop may name the same event in each round, for example that of an upload before it. How long ago the event was
// made differs from round to round, but not how long ago the thread last waited for it, and as which event of that
// wait. So the role says that; only an event that the thread did not wait for yet has its age as its role. Where the
// tokens of two stretches are the same, waits for one event in the first are waits for one event in the second.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "replay/lane/lane.h"

namespace refrain::layer::common {

/// Events that were made, and waited for, further back share one role.
inline constexpr std::uint64_t kFarBack = 4096;

struct WaitRole {
  std::uint64_t token = 0;
  bool repeated = false;  ///< it says which earlier submission waited for the same event
};

/// The newest wait for an event, of those whose tokens tell of it. Any thread may use it. Where several threads wait
/// for one event none of that counts, as it would depend on who comes first.
class NewestWait {
 public:
  /// Submission `sequence` of the lane waits for the event, which is number `place` of all that it waits for.
  void note(std::uint64_t lane, std::uint64_t sequence, std::uint64_t place) noexcept {
    const std::uint64_t before = packed_.load(std::memory_order_relaxed);
    const bool counts = (before == 0 || lane_of(before) == lane) && lane < kNobody && sequence <= kSequences &&
                        place < (1U << kPlaceBits);
    packed_.store((counts ? lane << kPlaceBits | place : kNobody << kPlaceBits) << kSequenceBits | sequence,
                  std::memory_order_relaxed);
  }
  /// The event is another one from now on, or means other work.
  void forget() noexcept { packed_.store(0, std::memory_order_relaxed); }

  /// For the next submission of the lane. `maker`: the lane whose submission `made` completes the event.
  [[nodiscard]] WaitRole role(const replay::Lane& lane, std::uint64_t maker, std::uint64_t made) const noexcept {
    const std::uint64_t next = lane.next_sequence();
    const std::uint64_t newest = packed_.load(std::memory_order_relaxed);
    const std::uint64_t age = (next - newest) & kSequences;
    if (newest != 0 && lane_of(newest) == lane.number() && age < kFarBack) {
      const std::uint64_t place = newest >> kSequenceBits & ((1U << kPlaceBits) - 1);
      return {kRepeated + place * kFarBack + age, true};
    }
    return {maker == lane.number() ? std::min(next - made, kFarBack) : kOthers, false};
  }

 private:
  static constexpr unsigned kSequenceBits = 40, kLaneBits = 16, kPlaceBits = 8;
  static constexpr std::uint64_t kSequences = (std::uint64_t{1} << kSequenceBits) - 1;
  static constexpr std::uint64_t kNobody = (1U << kLaneBits) - 1;
  static constexpr std::uint64_t kOthers = kFarBack + 1, kRepeated = 2 * kFarBack;

  static constexpr std::uint64_t lane_of(std::uint64_t packed) noexcept {
    return packed >> (kSequenceBits + kPlaceBits);
  }

  std::atomic<std::uint64_t> packed_{0};  ///< lane, place, sequence; 0: there is none
};

}  // namespace refrain::layer::common
