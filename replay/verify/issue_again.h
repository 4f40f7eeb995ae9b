// The operations of one occurrence, run several times, of which the application is to notice one.
#pragma once

#include <span>
#include <vector>

#include "replay/graph/executable.h"
#include "replay/graph/submit.h"

namespace refrain::replay {

/// The same operations without promises: for runs that the application must not notice. May throw std::bad_alloc.
class SilentOperations {
 public:
  explicit SilentOperations(std::span<const capture::OperationView> operations);
  [[nodiscard]] std::span<const capture::OperationView> operations() const noexcept { return views_; }

 private:
  Occurrence copy_;
  std::vector<capture::OperationView> views_;
};

/// Null if it is none of them.
[[nodiscard]] const capture::QueueInfo* queue_of(const std::vector<capture::QueueInfo>& queues,
                                                 const capture::OperationView& operation) noexcept;

/// Issues all eagerly, whatever fails. Returns the first error.
int issue_all(const SubmitContext& context, std::span<const capture::OperationView> operations,
              const std::vector<capture::QueueInfo>& queues);

}  // namespace refrain::replay
