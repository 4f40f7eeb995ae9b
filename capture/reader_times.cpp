// Times of calls of a capture file: checked when the file is read, read again when they are looked at.
#include "capture/call_times.h"
#include "capture/capture_reader.h"

namespace refrain::capture {

using format::RecordType;

void checked_calls(RecordView& record, const wire::Times& content, const std::function<void(const TimedCall&)>& visit) {
  const std::size_t kinds = record.count(content.kinds());
  const std::size_t calls = record.count(content.what());
  record.expect(kinds <= format::kMaxCallKinds && calls <= format::kMaxCalls, "more calls than a record may hold");
  record.expect(record.count(content.after_ns()) == calls && record.count(content.took_ns()) == calls,
                "calls without begin or end");
  const std::size_t longer = record.count(content.longer_ns());
  std::size_t long_calls = 0;
  TimedCall call;
  call.end_ns = content.begin_ns();
  for (std::size_t i = 0; i < calls; ++i) {
    const auto place = static_cast<flatbuffers::uoffset_t>(i);
    const std::uint16_t what = content.what()->Get(place);
    record.expect(what < kinds, "a call of an unknown kind");
    const wire::CallKind& kind = *content.kinds()->Get(what);
    record.expect(kind.kind() < kOperationKindCount, "a call of an unknown kind");
    call.what = {kind.queue(), kind.function(), kind.entry_point(), static_cast<OperationKind>(kind.kind()),
                 kind.blocking() != 0};
    call.begin_ns = call.end_ns + content.after_ns()->Get(place);
    record.expect(call.begin_ns >= call.end_ns, "a call at a time that cannot be");
    std::uint64_t took_ns = content.took_ns()->Get(place);
    if (took_ns == CallBatch::kLongest) {
      record.expect(long_calls < longer, "a long call whose time is missing");
      took_ns = content.longer_ns()->Get(static_cast<flatbuffers::uoffset_t>(long_calls++));
    }
    call.end_ns = call.begin_ns + took_ns;
    record.expect(call.end_ns >= call.begin_ns, "a call at a time that cannot be");
    visit(call);
  }
}

void CaptureReader::take_times(RecordView& record) {
  const auto& content = record.root<wire::Times>();
  const auto [known, is_new] = calls_numbers_.try_emplace(content.lane(), capture_.calls.size());
  if (is_new) {
    store_->charge(256);
    LaneCalls& calls = capture_.calls.emplace_back();
    calls.lane = content.lane();
    calls.begin_ns = content.begin_ns();
    calls.store_ = store_;
  }
  LaneCalls& lane = capture_.calls[known->second];
  record.expect(content.begin_ns() >= lane.end_ns, "calls before those in front of them");
  checked_calls(record, content, [&](const TimedCall& call) {
    record.expect(!call.what.is_host_call() || capture_.entry_points_.contains(call.what.entry_point),
                  "an unknown host call");
    lane.end_ns = call.end_ns;
    ++lane.count;
  });
  store_->charge(2 * sizeof(RecordPlace));
  lane.places_.push_back(place());
}

void LaneCalls::for_each(const std::function<void(const TimedCall&)>& visit) const {
  for (const RecordPlace& place : places_) {
    AgainRead<wire::Times> times(*store_, place, RecordType::kTimes);
    checked_calls(times.view(), times.root(), visit);
  }
}

}  // namespace refrain::capture
