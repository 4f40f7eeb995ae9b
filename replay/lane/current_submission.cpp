#include "replay/lane/current_submission.h"

#include <algorithm>
#include <exception>

#include "replay/lane/inside.h"
#include "replay/runtime/clock.h"

namespace refrain::replay {

using capture::OperationView;

CurrentSubmission::CurrentSubmission(const Parts& parts) noexcept
    : context_(parts.shared.context),
      lane_(parts.shared.lane),
      front_(parts.prediction.front()),
      held_(parts.shared.held),
      matcher_(parts.shared.matcher),
      prediction_(parts.prediction),
      graphs_(parts.shared.graphs),
      submitter_(parts.shared.submitter),
      gate_(parts.gate),
      intervals_(parts.shared.intervals),
      tuner_(parts.shared.tuner),
      dormancy_(parts.shared.dormancy),
      counters_(parts.shared.counters),
      stream_(parts.stream),
      replaying_(parts.replaying) {}

void CurrentSubmission::take_lock() noexcept {
  if (!has_lock_) {
    held_.lock().lock();
    has_lock_ = true;
  }
}

void CurrentSubmission::give_lock() noexcept {
  if (has_lock_) {
    has_lock_ = false;
    held_.lock().unlock();
  }
}

/// The caller is about to call the driver, and will then call issued().
void CurrentSubmission::enter_driver() noexcept {
  bypass_ ? gate_.enter() : gate_.enter_for_call();
}

[[gnu::hot, gnu::flatten]] Verdict CurrentSubmission::look_at(const Submission& submission) noexcept {
  const IsLaneOwner owner;
  bypass_ = false;
  // While something is held, other threads may flush it: everything below is theirs as well then.
  if (held_.any()) {
    take_lock();
  }
  prediction_.drain();
  counters_.submissions.add();
  queue_ = submission.queue;
  first_of_stretch_ = dormancy_.stretch_begins(front_.sequence, counters_.hopeless());
  const char* unholdable = why_unholdable(submission.token, submission.unholdable);
  if (replaying_) {
    intervals_.pause_app_clock();
    intervals_.submitted(submission.token, intervals_.open() ? 0 : now_ns());
    const Lane* holder = queue_->holder.load(std::memory_order_acquire);
    if (unholdable == nullptr && holder != nullptr && holder != lane_) {
      unholdable = "another thread has work waiting for the same queue";
    }
  }
  if (unholdable != nullptr) {
    counters_.count_unholdable(unholdable);
  }
  unholdable_ = unholdable;
  ends_ = submission.ends;
  if (tuner_.app_clock_runs()) {
    tuner_.app_time(front_.sequence, held_.queues().size());
  }
  started_ns_ = replaying_ && tuner_.is_sample(front_.sequence) ? tuner_.begin_sample(front_.sequence) : 0;
  try {
    verdict_ = decide(submission.token, unholdable == nullptr, submission.ends);
  } catch (const std::exception& error) {
    context_.state.fail(error.what());
    bypass_ = true;
    verdict_ = Verdict::kIssue;
    if (has_lock_) {
      submitter_.issue_rest();
    }
  }
  if (verdict_ != Verdict::kHold) {
    give_lock();
    enter_driver();
  }
  return verdict_;
}

void CurrentSubmission::look_back_at(const Noted& noted) {
  const IsLaneOwner owner;
  const char* const unholdable = why_unholdable(noted.token, noted.unholdable);
  if (unholdable != nullptr) {
    counters_.count_unholdable(unholdable);
  }
  static_cast<void>(decide(noted.token, unholdable == nullptr, noted.ends));
  if (any_refused_) [[unlikely]] {
    note_refused(false);  // or issued() is called next, and knows better
  }
}

/// `why`: what the layer says. What the driver refuses would break each chunk that it is in.
[[gnu::hot]] const char* CurrentSubmission::why_unholdable(capture::Token token, const char* why) const noexcept {
  const bool refused = any_refused_ && std::ranges::find(refused_, token) != refused_.end();
  return why == nullptr && refused ? "the driver refused the last one like it" : why;
}

[[gnu::cold]] void CurrentSubmission::note_refused(bool refused) noexcept {
  std::ranges::replace(refused_, token_, capture::Token{0});
  if (refused) {
    std::rotate(refused_.begin(), refused_.end() - 1, refused_.end());
    refused_.front() = token_;
  }
  any_refused_ = std::ranges::any_of(refused_, [](capture::Token token) { return token != 0; });
}

[[gnu::hot]] Verdict CurrentSubmission::decide(capture::Token token, bool holdable, bool ends) {
  token_ = token;
  const auto actions = matcher_.feed(token, holdable, ends);
  const std::size_t older = held_.size();
  std::size_t seen = 0;
  bool newest_issued = false;
  bool changed = false;
  has_pending_ = false;
  for (const Action& action : actions) {
    seen += action.count;
    if (seen <= older) {
      changed = true;
      submitter_.apply(action);
      continue;
    }
    // This action ends with the newest operation, which is not described yet.
    if (action.kind == Action::Kind::kIssue) {
      if (action.count > 1) {
        changed = true;
        submitter_.apply({Action::Kind::kIssue, action.count - 1, kNoChunk});
      }
      newest_issued = true;
    } else {
      pending_ = action;
      has_pending_ = true;
    }
  }
  if (changed) {
    held_.publish();
  }
  if (!newest_issued) {
    if (begin_hold()) {
      return Verdict::kHold;
    }
    // Another lane got hold of the queue just now: nothing of this lane may wait behind it.
    issue_all_held();
    has_pending_ = false;
    return stream_ != nullptr ? Verdict::kDescribeAndIssue : Verdict::kIssue;
  }
  return follow();
}

[[gnu::hot]] Verdict CurrentSubmission::follow() {
  wants_time_ = first_of_stretch_ || (front_.sequence & 7U) == 0 || stream_ != nullptr;  // a capture tells each call's
  const Following& following = matcher_.following();
  if (following.chunk == kNoChunk) {
    graphs_.stretch_broken();
  } else if (following.mode == ChunkMode::kRecord && replaying_) {
    counters_.recorded.add();
    intervals_.looked_at();
    wants_time_ = true;
    return Verdict::kDescribeAndIssue;
  } else {
    counters_.followed.add();
    if (following.complete && following.mode == ChunkMode::kBypass && replaying_) {
      if (const auto& entry = graphs_.entry(following.chunk, *queue_)) {
        entry->bypassed();
      }
    }
  }
  return stream_ != nullptr ? Verdict::kDescribeAndIssue : Verdict::kIssue;
}

[[gnu::hot]] bool CurrentSubmission::begin_hold() {
  take_lock();
  if (!held_.claim(*queue_, lane_)) {
    return false;
  }
  held_.make_room();
  return true;
}

void CurrentSubmission::issue_all_held() {
  static_cast<void>(matcher_.expire());
  submitter_.issue_all();
}

[[gnu::hot]] capture::OperationWriter CurrentSubmission::writer() noexcept {
  const IsLaneOwner owner;
  if (verdict_ == Verdict::kHold) {
    return held_.write();
  }
  scratch_.clear();
  return capture::OperationWriter(scratch_);
}

[[gnu::hot, gnu::flatten]] int CurrentSubmission::hold() noexcept {
  const IsLaneOwner owner;
  try {
    stamp(held_.newest());
    held_.keep();
    if (has_pending_) {
      has_pending_ = false;
      submitter_.apply(pending_);
      held_.publish();
    } else if (held_.count() == 0) {
      held_.publish();
    } else {
      held_.count_one_more();  // the oldest one is the same
    }
    if (started_ns_ != 0) {
      tuner_.end_held(started_ns_, held_.count() != 0);
    }
  } catch (const std::exception& failure) {
    context_.state.fail(failure.what());
    submitter_.issue_rest();
  }
  const int error = held_.take_error();
  prediction_.predict_rest();
  give_lock();
  intervals_.resume_app_clock();
  return error;
}

[[gnu::hot]] void CurrentSubmission::stamp(std::byte* record) noexcept {
  auto& header = *reinterpret_cast<capture::OperationHeader*>(record);
  header.sequence = front_.sequence;
  // Of held operations only the oldest one's time counts (for the hold limit), and a little too old does no harm.
  const bool time_wanted =
      verdict_ == Verdict::kHold ? held_.count() == 0 || (front_.sequence & 15U) == 0 : wants_time_;
  if (time_wanted) {
    held_.set_time(now_ns() - header.host_ns);  // if it was issued, that long ago
  }
  header.time_ns = held_.time_ns();
  header.queue = queue_->info.id;
  header.queue_handle = queue_->info.handle;
}

void CurrentSubmission::abandon() noexcept {
  const IsLaneOwner owner;
  if (verdict_ == Verdict::kHold) {
    try {
      held_.drop_incomplete();
      issue_all_held();
    } catch (const std::exception& failure) {
      context_.state.fail(failure.what());
      submitter_.issue_rest();
    }
    has_pending_ = false;
    give_lock();
    enter_driver();
  }
  verdict_ = Verdict::kIssue;
}

[[gnu::hot]] int CurrentSubmission::issued(int status, std::uint32_t host_ns) noexcept {
  const IsLaneOwner owner;
  gate_.leave_all();
  if (bypass_) {
    return status != 0 || inside_lane ? status : held_.take_error();
  }
  if (status != 0 || any_refused_) [[unlikely]] {
    note_refused(status != 0);
  }
  try {
    if (status != 0) {
      // The driver refused it: not part of anything that repeats.
      graphs_.stretch_broken();
      static_cast<void>(matcher_.cut());
      if (stream_ != nullptr) {
        stream_->cut("a call that the driver refused", now_ns());
      }
    } else if (verdict_ == Verdict::kDescribeAndIssue) {
      described(host_ns);
    }
  } catch (const std::exception& failure) {
    context_.state.fail(failure.what());
  }
  const int held_error = held_.take_error();
  if (started_ns_ != 0) {
    tuner_.end_issued();
  }
  intervals_.resume_app_clock();
  return status != 0 ? status : held_error;
}

std::uint16_t CurrentSubmission::number_of_reason(const char* why) {
  const auto [known, is_new] = reasons_.try_emplace(why, std::uint16_t{0});
  if (is_new && *why != '\0') {
    known->second = context_.recorder->reason(why);
  }
  return known->second;
}

/// What a capture is told of the newest operation besides its record.
CurrentSubmission::Outlook CurrentSubmission::outlook_of(const OperationView& operation) {
  constexpr std::size_t kMost = 4096;  // limit: of memory
  if (unholdable_ != nullptr) {
    return {capture::kAtOnce, number_of_reason(unholdable_)};
  }
  if (recordable_.size() >= kMost) {
    recordable_.clear();
  }
  const auto [known, is_new] = recordable_.try_emplace(operation.token());
  Outlook& outlook = known->second;
  if (is_new) {
    const backends::Recordable answer = context_.backend.can_record(operation, queue_->info);
    if (!answer.ok) {
      outlook = {capture::kAtOnce | capture::kBetween, number_of_reason(answer.why)};
    } else {
      outlook.flags =
          context_.backend.can_change(operation) ? capture::kRecordable : capture::kRecordable | capture::kFixed;
    }
  }
  return {static_cast<std::uint16_t>(outlook.flags | (ends_ ? capture::kEndsHold : 0)), outlook.reason};
}

void CurrentSubmission::described(std::uint32_t host_ns) {
  reinterpret_cast<capture::OperationHeader*>(scratch_.data())->host_ns = host_ns;
  stamp(scratch_.data());
  const OperationView operation(scratch_.data());
  if (stream_ != nullptr) {
    auto& header = *reinterpret_cast<capture::OperationHeader*>(scratch_.data());
    const Outlook outlook = outlook_of(operation);
    header.flags |= outlook.flags;
    header.reason = outlook.reason;
    stream_->operation(operation);
  }
  const Following& following = matcher_.following();
  if (following.chunk != kNoChunk && following.mode == ChunkMode::kRecord && replaying_) {
    graphs_.issued(following, operation, *queue_, host_ns, tuner_.hold_cost_ns());
  }
}

}  // namespace refrain::replay
