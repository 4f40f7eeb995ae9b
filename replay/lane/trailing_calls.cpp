#include "replay/lane/trailing_calls.h"

#include <algorithm>

#include "replay/lane/inside.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

bool TrailingCalls::add(const TrailingCall& call) noexcept {
  const env::MutexLock guard(mutex_);
  if (calls_.size() == kMost || call.bytes > kMostBytes || bytes_ > kMostBytes - call.bytes) {
    return false;
  }
  try {
    calls_.push_back(call);
  } catch (...) {
    return false;
  }
  bytes_ += call.bytes;
  if (calls_.size() == 1) {
    context_.state.trailing_lanes.fetch_add(1, std::memory_order_seq_cst);
    // As HeldOperations::begin() does: only this must not be late, for the watchdog.
    since_ns_.store(now_ns(), std::memory_order_seq_cst);
    context_.watchdog.arm();
  }
  return true;
}

bool TrailingCalls::take_back(const TrailingCall& like, std::uint64_t* what) noexcept {
  if (inside_lane || !any()) {  // inside, the driver calls the program, which calls us
    return false;
  }
  const env::MutexLock guard(mutex_);
  const auto found =
      std::find_if(calls_.rbegin(), calls_.rend(), [&](const TrailingCall& call) { return call.like(like); });
  if (found == calls_.rend()) {
    return false;
  }
  *what = found->what;
  bytes_ -= found->bytes;
  calls_.erase(std::next(found).base());
  if (calls_.empty()) {
    none_left();
  }
  return true;
}

void TrailingCalls::make_all() noexcept {
  if (!any()) {
    return;
  }
  // What is freed meanwhile must not be read.
  const Entered entered(context_.verification_pause.get());
  const env::MutexLock guard(mutex_);
  const Inside inside;
  for (const TrailingCall& call : calls_) {
    const int error = call.make(call);
    if (int none = 0; error != 0) {
      error_.compare_exchange_strong(none, error, std::memory_order_relaxed);
    }
  }
  if (!calls_.empty()) {
    calls_.clear();
    bytes_ = 0;
    none_left();
  }
}

void TrailingCalls::none_left() noexcept {
  since_ns_.store(0, std::memory_order_seq_cst);
  context_.state.trailing_lanes.fetch_sub(1, std::memory_order_release);
}

}  // namespace refrain::replay
