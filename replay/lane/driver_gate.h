// How a lane goes into the driver.
#pragma once

#include "backends/submission_pause.h"
#include "replay/lane/lane_context.h"
#include "replay/policy/interval_trial.h"

namespace refrain::replay {

/// Around every call of a lane that submits something: yields to calls that need the driver for themselves
/// (ExclusiveCallYield), waits while nobody may submit (SubmissionPause, VerificationPause). The lane's own thread, or
/// with its lock held any. Nothing throws but the constructor.
class DriverGate {
 public:
  /// `holds`: the lane may hold work.
  DriverGate(LaneContext& context, IntervalTrial& intervals, bool holds);
  ~DriverGate();
  DriverGate(const DriverGate&) = delete;
  DriverGate& operator=(const DriverGate&) = delete;

  void enter() noexcept {
    if (context_.backend.exclusive_call_yield().claimed()) [[unlikely]] {
      yield();
    }
    if (holds_) {
      context_.backend.submission_pause().enter(place_);
    }
  }
  void leave() noexcept { backends::SubmissionPause::leave(place_); }

  /// The same for a call of the program's, which may be one that waits: a verification does not go on meanwhile.
  void enter_for_call() noexcept {
    enter();
    if (context_.verification_pause != nullptr) [[unlikely]] {
      context_.verification_pause->enter();
      entered_ = true;
    }
  }
  void leave_all() noexcept {
    leave();
    if (entered_) [[unlikely]] {
      entered_ = false;
      context_.verification_pause->leave();
    }
  }

  /// While held work is submitted.
  class Passage {
   public:
    explicit Passage(DriverGate& gate) noexcept : gate_(gate) { gate_.enter(); }
    ~Passage() { gate_.leave(); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

   private:
    DriverGate& gate_;
  };

 private:
  void yield() noexcept;

  LaneContext& context_;
  IntervalTrial& intervals_;
  const bool holds_;
  bool entered_ = false;  ///< the verification pause
  backends::SubmissionPause::Place place_;
};

}  // namespace refrain::replay
