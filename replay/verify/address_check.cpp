#include "replay/verify/address_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "replay/layer_hooks.h"
#include "replay/verify/issue_again.h"

namespace refrain::replay {

using backends::AddressedMemory;
using backends::MemoryCopy;
using backends::MemoryRange;
using capture::OperationView;

namespace {

constexpr std::size_t kMostGraphs = 4096;  // limit: whose writes are remembered

using Ranges = std::vector<MemoryRange>;
using Numbers = std::vector<std::uint64_t>;

/// Pages of `ranges` whose numbers differ, neighbours together.
Ranges changed(const Ranges& ranges, const Numbers& before, const Numbers& after) {
  Ranges result;
  std::size_t index = 0;
  for (const MemoryRange& range : ranges) {
    for (std::uint64_t offset = 0; offset < range.bytes; offset += AddressedMemory::kPage, ++index) {
      if (before[index] == after[index]) {
        continue;
      }
      const MemoryRange page{range.start + offset, std::min(AddressedMemory::kPage, range.bytes - offset)};
      if (!result.empty() && result.back().start + result.back().bytes == page.start && offset != 0) {
        result.back().bytes += page.bytes;
      } else {
        result.push_back(page);
      }
    }
  }
  return result;
}

std::uint64_t bytes_of(std::span<const MemoryRange> ranges) {
  std::uint64_t sum = 0;
  for (const MemoryRange& range : ranges) {
    sum += range.bytes;
  }
  return sum;
}

/// What both have. Each is by address, without overlaps.
Ranges common(std::span<const MemoryRange> a, std::span<const MemoryRange> b) {
  Ranges result;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const std::uint64_t start = std::max(x->start, y->start);
    const std::uint64_t end = std::min(x->start + x->bytes, y->start + y->bytes);
    if (start < end) {
      result.push_back({start, end - start});
    }
    if (x->start + x->bytes < y->start + y->bytes) {
      ++x;
    } else {
      ++y;
    }
  }
  return result;
}

/// What any of both has.
Ranges united(std::span<const MemoryRange> a, std::span<const MemoryRange> b) {
  Ranges all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all, {}, &MemoryRange::start);
  Ranges result;
  for (const MemoryRange& range : all) {
    if (result.empty() || range.start > result.back().start + result.back().bytes) {
      result.push_back(range);
    } else {
      result.back().bytes = std::max(result.back().bytes, range.start + range.bytes - result.back().start);
    }
  }
  return result;
}

}  // namespace

/// One check.
class AddressCheck::Check {
 public:
  Check(AddressCheck& owner, const SubmitContext& context, Executable& executable,
        std::span<const OperationView> operations, const std::vector<capture::QueueInfo>& queues,
        VerificationPause& pause)
      : owner_(owner),
        context_(context),
        executable_(executable),
        operations_(operations),
        queues_(queues),
        pause_(pause),
        silent_(operations),
        memory_(context.backend.addressed_memory()) {}

  VerifyResult run(Ranges& written) {
    const char* why = nullptr;
    if (memory_ == nullptr) {
      return impossible("this API's backend cannot compare memory by address");
    }
    if (!context_.hooks.may_wait()) {
      return impossible("the application has events that it has not set yet");
    }
    if (!idle(true)) {
      return impossible("earlier work did not end in time: it may wait for what the program does next");
    }
    if (!memory_->begin(queues_.front(), &ranges_, &why)) {
      memory_->end(true);
      return impossible(why);
    }
    VerifyResult result;
    try {
      result = compare(written);
    } catch (const std::bad_alloc&) {
      result = impossible("the host has no memory for it");
    }
    copies_.clear();
    memory_->end(idle_);
    return result;
  }

 private:
  /// Everything that was submitted is done. `before`: by whoever it was; else what this check submitted.
  bool idle(bool before) {
    const auto until = std::chrono::steady_clock::now() + owner_.limits_.patience;
    idle_ = before ? pause_.finish_by(context_.backend, until, queues_) : true;
    for (const capture::QueueInfo& queue : queues_) {
      idle_ = idle_ && context_.backend.finish_by(queue, until, true);
    }
    return idle_;
  }

  VerifyResult impossible(const char* why) {
    error_ = issued_ ? error_ : issue(true);
    VerifyResult result;
    result.why = why;
    result.error = error_;
    return result;
  }

  int issue(bool for_the_program) {
    issued_ = issued_ || for_the_program;
    return issue_all(context_, for_the_program ? operations_ : silent_.operations(), queues_);
  }

  MemoryCopy* copy(std::span<const MemoryRange> ranges) {
    auto made = memory_->copy(ranges, owner_.limits_.copies);
    copies_.push_back(std::move(made));
    return copies_.back().get();
  }

  /// Writes a copy's contents of these ranges back. There need be no copy if there are no ranges.
  static bool put(MemoryCopy* copy, std::span<const MemoryRange> ranges) {
    return ranges.empty() || (copy != nullptr && copy->write_back(ranges).ok());
  }

  VerifyResult compare(Ranges& written) {
    constexpr const char* kUnreadable = "the driver refused to read or write the program's memory";
    Numbers before;
    Numbers eager;
    Numbers replayed;
    if (!memory_->hash(ranges_, &before).ok()) {
      return impossible(kUnreadable);
    }
    // All of it, or at least what this graph was seen to write.
    Ranges copied = ranges_;
    MemoryCopy* old = copy(copied);
    if (old == nullptr) {
      copied = common(written, ranges_);
      old = copied.empty() ? nullptr : copy(copied);
    }
    error_ = issue(true);
    if (!idle(false)) {
      return impossible("it did not end in time: it may wait for what the program does next");
    }
    if (error_ != 0) {
      return impossible("the driver refused some of its operations");
    }
    if (!memory_->hash(ranges_, &eager).ok()) {
      return impossible(kUnreadable);
    }
    const Ranges changes = changed(ranges_, before, eager);
    written = united(written, changes);
    if (!changes.empty() && (old == nullptr || common(copied, changes) != changes)) {
      VerifyResult unknown =
          impossible("not all that it writes was known before, so that it could be put back (verify_memory_mb)");
      unknown.soon = true;
      return unknown;
    }
    MemoryCopy* const result = copy(changes);
    if (result == nullptr && !changes.empty()) {
      return impossible("there is no memory for a copy of what it writes");
    }
    if (!put(old, changes)) {
      static_cast<void>(put(result, changes));
      return impossible(kUnreadable);
    }
    bool failed = false;
    static_cast<void>(executable_.launch(context_, silent_.operations(), &failed));
    const bool ended = idle(false);
    const bool read = ended && memory_->hash(ranges_, &replayed).ok();
    if (!read || failed) {
      static_cast<void>(put(result, changes));
      return impossible(failed   ? "the driver refused to run its command buffer"
                        : !ended ? "its command buffer did not end in time, though its operations did"
                                 : kUnreadable);
    }
    VerifyResult verdict;
    verdict.error = error_;
    const Ranges differences = changed(ranges_, eager, replayed);
    if (differences.empty()) {
      verdict.outcome = Verified::kEqual;
      verdict.compared = bytes_of(ranges_);
      return verdict;
    }
    static_cast<void>(put(old, common(copied, differences)));  // the graph may have written where the work does not
    verdict.outcome = Verified::kDifferent;
    verdict.text = name(old, differences, changes);
    const std::uint64_t lost = bytes_of(differences) - bytes_of(common(united(copied, changes), differences));
    if (lost != 0) {
      verdict.text +=
          fmt::format("; {} bytes that only the graph writes could not be put back (verify_memory_mb)", lost);
    }
    if (!deterministic(old, changes, eager)) {
      verdict.outcome = Verified::kUnstable;
    }
    static_cast<void>(put(result, changes));
    return verdict;
  }

  /// Two more eager runs compute the same. (Programs with unordered floating-point atomics do not.)
  bool deterministic(MemoryCopy* old, const Ranges& changes, const Numbers& eager) {
    for (int i = 0; i < 2; ++i) {
      Numbers again;
      if (!put(old, changes) || issue(false) != 0 || !idle(false) || !memory_->hash(ranges_, &again).ok()) {
        return true;  // nothing is known
      }
      if (!common(changed(ranges_, eager, again), changes).empty()) {
        return false;
      }
    }
    return true;
  }

  /// The first operation that writes what differs, run eagerly one by one, and the first page of it.
  std::string name(MemoryCopy* old, const Ranges& differences, const Ranges& changes) {
    const MemoryRange& first = differences.front();
    std::string text = fmt::format("{} bytes at {:#x} and {} more differ", first.bytes, first.start,
                                   bytes_of(differences) - first.bytes);
    const Ranges inside = common(differences, changes);
    Numbers last;
    if (inside.empty() || !put(old, changes) || !memory_->hash(inside, &last).ok()) {
      return text + "; eager execution writes none of it";
    }
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      Numbers now;
      if (issue_all(context_, silent_.operations().subspan(i, 1), queues_) != 0 || !idle(false) ||
          !memory_->hash(inside, &now).ok()) {
        return text;
      }
      if (now != last) {
        const OperationView& writer = operations_[i];
        return text + fmt::format("; the first operation that writes some of it is number {} of {} ({}{}{})", i,
                                  operations_.size(), capture::name_of(writer.kind()),
                                  writer.header().function != 0 ? " " : "",
                                  writer.header().function != 0 ? context_.hooks.function_name(writer.header().function)
                                                                : std::string());
      }
    }
    return text;
  }

  AddressCheck& owner_;
  const SubmitContext& context_;
  Executable& executable_;
  const std::span<const OperationView> operations_;
  const std::vector<capture::QueueInfo>& queues_;
  VerificationPause& pause_;
  const SilentOperations silent_;
  AddressedMemory* const memory_;
  Ranges ranges_;
  std::vector<std::unique_ptr<MemoryCopy>> copies_;
  int error_ = 0;
  bool issued_ = false;
  bool idle_ = true;
};

VerifyResult AddressCheck::run(const SubmitContext& context, capture::Fingerprint graph, Executable& executable,
                               std::span<const OperationView> operations, const std::vector<capture::QueueInfo>& queues,
                               VerificationPause& pause) {
  if (written_.size() > kMostGraphs) {
    written_.clear();
  }
  return Check(*this, context, executable, operations, queues, pause).run(written_[graph]);
}

}  // namespace refrain::replay
