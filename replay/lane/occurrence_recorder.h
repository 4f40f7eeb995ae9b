// The stretch that is being described for a graph to come.
#pragma once

#include <algorithm>
#include <cstdint>

#include "capture/operation.h"
#include "replay/detect/matcher.h"
#include "replay/graph/executable.h"

namespace refrain::replay {

/// Only what is seen from its first operation to its last is an occurrence. Owner thread only.
class OccurrenceRecorder {
 public:
  /// An operation was described and issued to this queue, which took `host_ns`. True if the chunk is complete: then
  /// occurrence() is it, until the next one is added. May throw std::bad_alloc.
  [[nodiscard]] bool add(const Following& place, const capture::OperationView& operation,
                         const capture::QueueInfo& queue, std::uint32_t host_ns) {
    if (place.position == 0) {
      chunk_ = place.chunk;
      occurrence_.clear();
      took_ns_ = 0;
    } else if (chunk_ != place.chunk || occurrence_.size() != place.position) {
      abort();
      return false;
    }
    occurrence_.add(operation);
    auto& queues = occurrence_.queues;
    if (std::none_of(queues.begin(), queues.end(), [&](const auto& known) { return known.id == queue.id; })) {
      queues.push_back(queue);
    }
    took_ns_ += host_ns;
    if (place.complete) {
      abort();
    }
    return place.complete;
  }
  [[nodiscard]] const Occurrence& occurrence() const noexcept { return occurrence_; }
  /// What its calls of the driver took.
  [[nodiscard]] std::uint64_t took_ns() const noexcept { return took_ns_; }
  /// What comes next does not follow what was added.
  void abort() noexcept { chunk_ = kNoChunk; }
  /// The chunk's number is another one's from now on.
  void forget(ChunkId chunk) noexcept { chunk_ = chunk_ == chunk ? kNoChunk : chunk_; }

 private:
  ChunkId chunk_ = kNoChunk;
  Occurrence occurrence_;
  std::uint64_t took_ns_ = 0;
};

}  // namespace refrain::replay
