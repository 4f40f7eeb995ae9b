// Wait lists of submissions. The rule for what a wait is, in one place:
//
//   done      the event is known to be complete, without an error: the wait is none.
//   ordered   the order of the queue implies it, as work of the same in-order queue completes the event or waited for
//   it
//             before. The token does not tell of it. The driver still gets it, because an event may fail, and what
//             waits for it must then fail as well.
//   told      all others: the token has the role of the event (layer/common/wait_role.h).
//
// An event that the driver may refuse, or that Refrain does not know, keeps the submission from being held (doubts.h).
#pragma once

#include "layer/opencl/layer.h"

namespace refrain::layer::opencl {

class Waits {
 public:
  Waits(cl_uint count, const cl_event* events) noexcept : count_(count), events_(events) {}
  [[nodiscard]] cl_uint count() const noexcept { return count_; }
  [[nodiscard]] const cl_event* events() const noexcept { return events_; }

  /// Before the submission: submits what other lanes hold of it, finds out what each wait is, and adds it to `token`.
  /// Returns why the operation cannot be held for its waits, or null.
  const char* look(replay::Engine& running, const QueueState& queue, capture::Token* token) noexcept;
  /// Behind the arguments of the record.
  void write(const replay::Lane& lane, bool held, capture::OperationWriter& writer) const;
  /// It is held, as `sequence` of the lane, or the driver accepted it.
  void submitted(const replay::Lane& lane, std::uint64_t sequence, const QueueState& queue) const noexcept;
  /// Marks the events, so that their release by another thread flushes this lane.
  void mark_held(std::uint64_t lane) const noexcept;

 private:
  [[nodiscard]] static bool has(std::uint64_t set, cl_uint i) noexcept { return i < 64 && (set >> i & 1U) != 0; }
  static void add(std::uint64_t* set, cl_uint i) noexcept { *set |= i < 64 ? std::uint64_t{1} << i : 0; }

  cl_uint count_;
  const cl_event* events_;
  // Of the first 64; of the others all is told.
  std::uint64_t done_ = 0, ordered_ = 0, repeated_ = 0;
};

/// A call of this thread waited for the device.
void note_host_wait() noexcept;

}  // namespace refrain::layer::opencl
