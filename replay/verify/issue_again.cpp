#include "replay/verify/issue_again.h"

#include <algorithm>

namespace refrain::replay {

using capture::OperationView;

SilentOperations::SilentOperations(std::span<const OperationView> operations) {
  for (const OperationView& operation : operations) {
    copy_.add(operation);
  }
  for (const std::size_t offset : copy_.offsets) {
    reinterpret_cast<capture::OperationHeader*>(copy_.storage.data() + offset)->promise = 0;
  }
  for (std::size_t i = 0; i < copy_.size(); ++i) {
    views_.push_back(copy_.operation(i));
  }
}

const capture::QueueInfo* queue_of(const std::vector<capture::QueueInfo>& queues,
                                   const OperationView& operation) noexcept {
  const auto found = std::ranges::find(queues, operation.header().queue, &capture::QueueInfo::id);
  return found == queues.end() ? nullptr : &*found;
}

int issue_all(const SubmitContext& context, std::span<const OperationView> operations,
              const std::vector<capture::QueueInfo>& queues) {
  int error = 0;
  for (const OperationView& operation : operations) {
    const capture::QueueInfo* const queue = queue_of(queues, operation);
    const int status = issue_held(context, operation, queue != nullptr ? *queue : capture::QueueInfo{});
    error = error != 0 ? error : status;
  }
  return error;
}

}  // namespace refrain::replay
