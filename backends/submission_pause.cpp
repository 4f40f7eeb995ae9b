#include "backends/submission_pause.h"

#include <algorithm>
#include <thread>

namespace refrain::backends {

void SubmissionPause::add(Place& place) {
  const std::lock_guard guard(mutex_);
  places_.push_back(&place);
}

void SubmissionPause::remove(Place& place) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase(places_, &place);
}

void SubmissionPause::wait(Place& place) noexcept {
  const auto until = std::chrono::steady_clock::now() + kLongest;
  do {
    leave(place);
    while (closed_.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
    place.inside.store(true, std::memory_order_seq_cst);
  } while (closed_.load(std::memory_order_seq_cst) && std::chrono::steady_clock::now() < until);
}

bool SubmissionPause::close(std::chrono::microseconds patience) noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  closed_.store(true, std::memory_order_seq_cst);
  while (anybody_inside()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

bool SubmissionPause::anybody_inside() noexcept {
  const std::lock_guard guard(mutex_);
  return std::any_of(places_.begin(), places_.end(),
                     [](const Place* place) { return place->inside.load(std::memory_order_seq_cst); });
}

}  // namespace refrain::backends
