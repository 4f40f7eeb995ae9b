#include "backends/submission_pause.h"

#include <algorithm>
#include <thread>

namespace refrain::backends {

void SubmissionPause::add(Place& place) {
  const env::MutexLock guard(mutex_);
  places_.push_back(&place);
}

void SubmissionPause::remove(Place& place) noexcept {
  const env::MutexLock guard(mutex_);
  std::erase(places_, &place);
}

void SubmissionPause::wait(Place& place) noexcept {
  std::uint32_t closing = 0;
  std::chrono::steady_clock::time_point until;
  const auto keeps_waiting = [&] {
    const std::uint32_t turn = turn_.load(std::memory_order_seq_cst);
    if (!closed(turn) || closer_.stuck()) {
      return false;
    }
    // Each closing anew: this thread may have had no processor since an earlier one.
    if (turn != closing) {
      closing = turn;
      until = std::chrono::steady_clock::now() + kLongest;
    }
    return std::chrono::steady_clock::now() < until;
  };
  do {
    leave(place);
    while (keeps_waiting()) {
      std::this_thread::yield();
    }
    place.inside.store(true, std::memory_order_seq_cst);
  } while (keeps_waiting());
}

bool SubmissionPause::close(std::chrono::microseconds patience) noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  turn_.fetch_add(1, std::memory_order_seq_cst);
  while (anybody_inside()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

bool SubmissionPause::anybody_inside() noexcept {
  const env::MutexLock guard(mutex_);
  return std::any_of(places_.begin(), places_.end(),
                     [](const Place* place) { return place->inside.load(std::memory_order_seq_cst); });
}

}  // namespace refrain::backends
