#include "replay/detect/detector.h"

#include <algorithm>
#include <bit>

namespace refrain::replay {

Detector::Detector(const History& history)
    : history_(history),
      shift_(64 - static_cast<int>(std::bit_width(history.capacity()))),
      index_(std::size_t{1} << static_cast<unsigned>(std::bit_width(history.capacity()))) {}

[[gnu::hot]] void Detector::look_up(std::uint32_t entry, std::uint32_t tag, std::uint64_t newest) noexcept {
  if (((entry ^ tag) & kTagMask) != 0 || newest < History::kGram) {
    return;
  }
  const std::uint64_t distance = (newest - entry) & kPositionMask;
  const std::uint64_t oldest = history_.oldest();
  if (distance == 0 || newest < oldest + distance + History::kGram) {
    return;
  }
  // What came before the six is compared as well, so that the match starts where the repetition does.
  const std::uint64_t most = std::min(newest - distance - oldest + 1, kLookBack);
  std::uint64_t length = 0;
  while (length < most && history_.at(newest - length) == history_.at(newest - distance - length)) {
    ++length;
  }
  if (length < History::kGram) {
    return;
  }
  distance_ = distance;
  length_ = length;
  next_report_ = std::max<std::uint64_t>({distance, tuning::kSignificantMatch, length + 1});
}

}  // namespace refrain::replay
