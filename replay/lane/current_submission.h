// The submission that a lane's program is making: from its arrival until it is held, or the driver has it.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "capture/recorder.h"
#include "replay/detect/matcher.h"
#include "replay/lane/deferred_submission.h"
#include "replay/lane/prediction.h"

namespace refrain::replay {

enum class Verdict : std::uint8_t { kIssue, kDescribeAndIssue, kHold };

struct Submission {
  capture::Token token = 0;
  capture::OperationKind kind = capture::OperationKind::kUnknown;
  QueueSlot* queue = nullptr;
  /// Null if the operation may be held. Else why not, in the user's words, with static lifetime:
  /// "its event is profiled", "the call blocks", "the device cannot record image copies".
  const char* unholdable = nullptr;
  /// The program may wait for it by looking at memory alone: nothing stays held behind it, nor it itself.
  bool ends = false;
};

/// Asks the matcher what is to be done with it, and does that with what is held before it. For the lane's own thread.
/// From a verdict kHold until hold() or abandon() it has the lane's lock. Nothing throws where nothing else is said.
class CurrentSubmission {
 public:
  struct Parts {
    Prediction::Parts shared;
    Prediction& prediction;
    DriverGate& gate;
    capture::Stream* stream;  ///< of the capture; null: there is none
    bool replaying;           ///< work may be held
  };
  explicit CurrentSubmission(const Parts& parts) noexcept;
  CurrentSubmission(const CurrentSubmission&) = delete;
  CurrentSubmission& operator=(const CurrentSubmission&) = delete;

  [[nodiscard]] Verdict look_at(const Submission& submission) noexcept;
  /// Instead: it passes, and nobody looks at it.
  void pass() noexcept {
    bypass_ = true;
    verdict_ = Verdict::kIssue;
  }
  /// The same for one that goes on to issued(): no verification is under way meanwhile.
  void pass_to_driver() noexcept {
    pass();
    gate_.enter_for_call();
  }
  /// Whether the newest one, as far as it was looked at, was held, or wanted for a graph to come.
  [[nodiscard]] bool was_wanted() const noexcept { return verdict_ != Verdict::kIssue; }
  /// The same for one that is looked at later, when the driver has it long since. May throw std::bad_alloc.
  void look_back_at(const Noted& noted);

  /// See Lane, where these have the same names.
  [[nodiscard]] capture::OperationWriter writer() noexcept;
  int hold() noexcept;
  void abandon() noexcept;
  [[nodiscard]] bool wants_time() const noexcept { return wants_time_; }
  int issued(int status, std::uint32_t host_ns) noexcept;

 private:
  [[nodiscard]] Verdict decide(capture::Token token, bool holdable, bool ends) REFRAIN_REQUIRES(held_right);
  [[nodiscard]] Verdict follow() REFRAIN_REQUIRES(held_right);
  [[nodiscard]] bool begin_hold() REFRAIN_REQUIRES(held_right);
  void issue_all_held() REFRAIN_REQUIRES(held_right);
  /// The right is there already (IsLaneOwner), and the analysis cannot follow whether the lock is.
  void take_lock() noexcept REFRAIN_NO_THREAD_SAFETY_ANALYSIS;
  void give_lock() noexcept REFRAIN_NO_THREAD_SAFETY_ANALYSIS;
  void enter_driver() noexcept;
  void stamp(std::byte* record) noexcept REFRAIN_REQUIRES(held_right);
  void described(std::uint32_t host_ns) REFRAIN_REQUIRES(held_right);
  [[nodiscard]] const char* why_unholdable(capture::Token token, const char* why) const noexcept;
  void note_refused(bool refused) noexcept;
  /// For the capture: what becomes of an operation where it is replayed.
  struct Outlook {
    std::uint16_t flags = 0;   ///< capture::OperationFlags
    std::uint16_t reason = 0;  ///< capture::OperationHeader's
  };
  [[nodiscard]] Outlook outlook_of(const capture::OperationView& operation);
  [[nodiscard]] std::uint16_t number_of_reason(const char* why);

  LaneContext& context_;
  Lane* const lane_;
  LaneFront& front_;
  HeldOperations& held_;
  Matcher& matcher_;
  Prediction& prediction_;
  ChunkGraphs& graphs_;
  Submitter& submitter_;
  DriverGate& gate_;
  IntervalTrial& intervals_;
  ChunkTuner& tuner_;
  Dormancy& dormancy_;
  LaneCounters& counters_;
  capture::Stream* const stream_;
  const bool replaying_;

  QueueSlot* queue_ = nullptr;
  Verdict verdict_ = Verdict::kIssue;
  bool bypass_ = false;
  bool has_lock_ = false;
  bool wants_time_ = false;
  bool first_of_stretch_ = false;
  capture::Token token_ = 0;
  const char* unholdable_ = nullptr;  ///< as Submission's
  bool ends_ = false;                 ///< the same
  bool any_refused_ = false;
  std::array<capture::Token, 8> refused_{};  ///< of what the driver refused when it last came; 0: none
  bool has_pending_ = false;
  Action pending_;                                          ///< launch to be done when it is described
  std::uint64_t started_ns_ = 0;                            ///< if it is timed
  capture::RecordBytes scratch_;                            ///< its record, if it is issued
  std::unordered_map<capture::Token, Outlook> recordable_;  ///< what the backend says
  std::unordered_map<const char*, std::uint16_t> reasons_;  ///< their numbers in the capture
};

}  // namespace refrain::replay
