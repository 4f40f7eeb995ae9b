#include "capture/call_times.h"

#include <algorithm>
#include <utility>

#include "capture/limits.h"

namespace refrain::capture {

void CallTimes::submission(const OperationView& operation) {
  if (allowance_.ended()) {
    return;
  }
  const OperationHeader& header = operation.header();
  CallKind kind;
  kind.queue = header.queue;
  kind.function = operation.kind() == OperationKind::kKernel ? header.function : 0;
  kind.kind = operation.kind();
  kind.blocking = operation.has(kBlocking);
  add(kind, header.time_ns, header.time_ns + header.host_ns);
}

void CallTimes::host_call(std::uint32_t entry_point, std::uint64_t begin_ns) {
  if (!allowance_.ended()) {
    open_ = Open{entry_point, begin_ns};
  }
}

void CallTimes::host_call_done(std::uint64_t end_ns) {
  if (const auto call = std::exchange(open_, {})) {
    CallKind kind;
    kind.entry_point = call->entry_point;
    add(kind, call->begin_ns, end_ns);
  }
}

void CallTimes::add(const CallKind& kind, std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (!allowance_.take()) {
    return;
  }
  begin_ns = std::max(begin_ns, end_ns_);  // one after the other, though clocks are read before and behind
  end_ns = std::max(begin_ns, end_ns);
  const bool begins = batches_.empty() || batches_.back().what.size() >= format::kMaxCalls ||
                      kinds_.size() >= format::kMaxCallKinds || begin_ns - end_ns_ > CallBatch::kLongest;
  if (begins) {
    CallBatch& batch = batches_.emplace_back();
    batch.lane = lane_;
    batch.begin_ns = end_ns_ = begin_ns;
    kinds_.clear();
  }
  CallBatch& batch = batches_.back();
  const auto [known, is_new] = kinds_.try_emplace(kind, static_cast<std::uint16_t>(batch.kinds.size()));
  if (is_new) {
    batch.kinds.push_back(kind);
  }
  batch.what.push_back(known->second);
  batch.after_ns.push_back(static_cast<std::uint32_t>(begin_ns - end_ns_));
  const std::uint64_t took_ns = std::min(end_ns - begin_ns, CallBatch::kLongest);
  batch.took_ns.push_back(static_cast<std::uint32_t>(took_ns));
  if (took_ns == CallBatch::kLongest) {
    batch.longer_ns.push_back(end_ns - begin_ns);
  }
  end_ns_ = end_ns;
  ++calls_;
}

std::vector<CallBatch> CallTimes::take() {
  kinds_.clear();
  calls_ = 0;
  return std::exchange(batches_, {});
}

}  // namespace refrain::capture
