// Operations that were submitted, and the thread that does them: any that is ready, whichever the seed says.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "test/cuda/fake_driver/task.h"

namespace fake {

/// The one lock of the driver: every call holds it but while it waits, work runs without it.
class Lock {
 public:
  Lock();
  std::unique_lock<std::mutex> guard;
};

struct Operation {
  Task task;
  std::uint64_t number = 0;
  unsigned missing = 0;  ///< operations before it that are not done
  bool done = false;
  double done_ms = 0;
  std::set<std::uint64_t>* open = nullptr;  ///< of its context
  std::vector<std::shared_ptr<Operation>> next;
};
using OperationRef = std::shared_ptr<Operation>;

/// Submits `task`, to run after all of `after` (nulls are left out). `open`: what is not done of its context.
OperationRef schedule(const Lock& lock, std::set<std::uint64_t>& open, Task task, std::span<const OperationRef> after);

/// Returns when `operation` (may be null) is done.
void wait_for(Lock& lock, const OperationRef& operation);
/// Returns when all that is open now is done.
void wait_for_all(Lock& lock, const std::set<std::uint64_t>& open);

}  // namespace fake
