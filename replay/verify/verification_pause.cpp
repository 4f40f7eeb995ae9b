#include "replay/verify/verification_pause.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace refrain::replay {

void VerificationPause::enter() noexcept {
  env::UniqueLock lock(mutex_);
  resumed_.wait_for(lock, kLongest, [&]() REFRAIN_REQUIRES(mutex_) { return !stopped_; });
  ++entered_;
}

void VerificationPause::leave() noexcept {
  const env::MutexLock lock(mutex_);
  if (--entered_ == 0 && stopped_) {
    all_left_.notify_one();
  }
}

bool VerificationPause::begin() noexcept {
  env::UniqueLock lock(mutex_);
  const auto started = VerificationPatience::Clock::now();
  const auto deadline = patience_.until();
  if (!resumed_.wait_until(lock, deadline, [&]() REFRAIN_REQUIRES(mutex_) { return !stopped_; })) {
    return false;
  }
  stopped_ = true;  // keeps newcomers out while those inside finish
  if (!all_left_.wait_until(lock, deadline, [&]() REFRAIN_REQUIRES(mutex_) { return entered_ == 0; })) {
    stopped_ = false;
    patience_.in_vain(VerificationPatience::Clock::now() - started);
    resumed_.notify_all();
    return false;
  }
  return true;
}

void VerificationPause::end() noexcept {
  const env::MutexLock lock(mutex_);
  stopped_ = false;
  resumed_.notify_all();
}

/// `wait(until)`: whether what it waits for came.
template <class Wait>
bool VerificationPause::patiently(Wait&& wait) {
  const auto started = VerificationPatience::Clock::now();
  VerificationPatience::Clock::time_point until;
  {
    const env::MutexLock lock(mutex_);
    until = patience_.until(started);
  }
  const bool came = wait(until);
  if (!came) {
    const env::MutexLock lock(mutex_);
    patience_.in_vain(VerificationPatience::Clock::now() - started);
  }
  return came;
}

bool VerificationPause::finish(backends::Backend& backend, const std::vector<capture::QueueInfo>& queues, bool all) {
  return patiently([&](auto until) {
    return (!all || finish_others(backend, until, queues)) &&
           std::ranges::all_of(queues, [&](const auto& queue) { return backend.finish_by(queue, until, true); });
  });
}

bool VerificationPause::finish_again(backends::Backend& backend, const std::vector<capture::QueueInfo>& queues) {
  const auto until = VerificationPatience::Clock::now() + VerificationPatience::kLongest;
  return std::ranges::all_of(queues, [&](const auto& queue) { return backend.finish_by(queue, until, true); });
}

bool VerificationPause::finish_others(backends::Backend& backend, VerificationPatience::Clock::time_point until,
                                      const std::vector<capture::QueueInfo>& but) {
  std::vector<capture::QueueInfo> others;
  {
    const env::MutexLock lock(mutex_);
    std::ranges::copy_if(queues_, std::back_inserter(others), [&](const capture::QueueInfo& queue) {
      return std::ranges::find(but, queue.id, &capture::QueueInfo::id) == but.end();
    });
  }
  return std::ranges::all_of(others, [&](const auto& queue) { return backend.finish_by(queue, until, false); });
}

void VerificationPause::add(const capture::QueueInfo& queue) {
  const env::MutexLock lock(mutex_);
  queues_.push_back(queue);
}

void VerificationPause::cannot_know(const char* why) noexcept {
  const env::MutexLock lock(mutex_);
  unknown_ = unknown_ == nullptr ? why : unknown_;
}

const char* VerificationPause::why_not(LayerHooks& hooks) noexcept {
  {
    const env::MutexLock lock(mutex_);
    if (unknown_ != nullptr) {
      return unknown_;
    }
  }
  return hooks.why_not_all_queues();
}

void VerificationPause::forget(const QueueSlot& queue, backends::Backend& backend, bool wait) noexcept {
  if (!wait || !patiently([&](auto until) { return backend.finish_by(queue.info, until, true); })) {
    cannot_know("a queue was destroyed whose work may still run: it could not be waited for");
  }
  env::UniqueLock lock(mutex_);
  resumed_.wait_for(lock, kLongest, [&]() REFRAIN_REQUIRES(mutex_) { return !stopped_; });
  std::erase_if(queues_, [&](const capture::QueueInfo& known) { return known.id == queue.info.id; });
}

}  // namespace refrain::replay
