#include "replay/verify/verification_pause.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace refrain::replay {

void VerificationPause::enter(Queues queues) noexcept {
  env::UniqueLock lock(mutex_);
  resumed_.wait_for(lock, kPatience, [&]() REFRAIN_REQUIRES(mutex_) { return !stopped_; });
  ++entered_;
  mark(queues);
}

void VerificationPause::leave() noexcept {
  const env::MutexLock lock(mutex_);
  if (--entered_ == 0 && stopped_) {
    all_left_.notify_one();
  }
}

bool VerificationPause::begin(Queues queues) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  env::UniqueLock lock(mutex_);
  if (!resumed_.wait_until(lock, deadline, [&]() REFRAIN_REQUIRES(mutex_) { return !stopped_; })) {
    return false;
  }
  stopped_ = true;  // keeps newcomers out while those inside finish
  if (!all_left_.wait_until(lock, deadline, [&]() REFRAIN_REQUIRES(mutex_) { return entered_ == 0; })) {
    stopped_ = false;
    resumed_.notify_all();
    return false;
  }
  mark(queues);
  return true;
}

void VerificationPause::end() noexcept {
  const env::MutexLock lock(mutex_);
  stopped_ = false;
  resumed_.notify_all();
}

bool VerificationPause::finish(backends::Backend& backend) {
  std::vector<capture::QueueInfo> used;
  {
    const env::MutexLock lock(mutex_);
    for (Known& known : queues_) {
      if (std::exchange(known.used, false)) {
        used.push_back(known.info);
      }
    }
  }
  bool ok = true;
  for (const capture::QueueInfo& queue : used) {
    ok = backend.finish(queue).ok() && ok;
  }
  return ok;
}

bool VerificationPause::finish_by(backends::Backend& backend, std::chrono::steady_clock::time_point until,
                                  const std::vector<capture::QueueInfo>& but) {
  std::vector<capture::QueueInfo> used;
  {
    const env::MutexLock lock(mutex_);
    for (const Known& known : queues_) {
      if (known.used && std::ranges::find(but, known.info.id, &capture::QueueInfo::id) == but.end()) {
        used.push_back(known.info);
      }
    }
  }
  for (const capture::QueueInfo& queue : used) {
    if (!backend.finish_by(queue, until, false)) {
      return false;
    }
    const env::MutexLock lock(mutex_);
    const auto known = std::ranges::find(queues_, queue.id, [](const Known& each) { return each.info.id; });
    if (known != queues_.end()) {
      known->used = false;
    }
  }
  return true;
}

void VerificationPause::add(const QueueSlot& queue) {
  const env::MutexLock lock(mutex_);
  queues_.push_back({queue.info});
}

void VerificationPause::forget(const QueueSlot& queue) noexcept {
  env::UniqueLock lock(mutex_);
  resumed_.wait_for(lock, kPatience, [&]() REFRAIN_REQUIRES(mutex_) { return !stopped_; });
  std::erase_if(queues_, [&](const Known& known) { return known.info.id == queue.info.id; });
}

void VerificationPause::mark(Queues queues) noexcept {
  for (Known& known : queues_) {
    known.used = known.used || std::any_of(queues.begin(), queues.end(),
                                           [&](const QueueSlot* queue) { return queue->info.id == known.info.id; });
  }
}

}  // namespace refrain::replay
