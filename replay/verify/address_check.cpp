#include "replay/verify/address_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "replay/layer_hooks.h"
#include "replay/verify/host_memory.h"
#include "replay/verify/issue_again.h"
#include "replay/verify/page_ranges.h"

namespace refrain::replay {

using backends::AddressedMemory;
using backends::MemoryCopy;
using backends::MemoryRange;
using capture::OperationView;

namespace {

constexpr std::size_t kMostGraphs = 4096;  // limit: whose writes are remembered

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
    // Whoever works together with another device waits for it, and it may wait for the program: first what takes no
    // waiting.
    if (in_several_contexts()) {
      return impossible("it is work of several devices or contexts, whose memory cannot be put back together");
    }
    if (why = memory_->why_not(queues_.front(), operations_); why != nullptr) {
      return impossible(why);
    }
    if (why = pause_.why_not(context_.hooks); why != nullptr) {
      return impossible(why);
    }
    if (!idle(true)) {
      return impossible("earlier work did not end in time: it may wait for what the program does next");
    }
    if (!memory_->begin(queues_.front(), &ranges_, &host_, &why)) {
      memory_->end(true);
      return impossible(why);
    }
    VerifyResult result;
    try {
      // What they say that they write of the host's memory is as the device's. The rest is looked at, and never
      // written.
      const Ranges told = written_of_host(operations_, host_);
      ranges_.insert(ranges_.end(), told.begin(), told.end());
      std::ranges::sort(ranges_, {}, &MemoryRange::start);
      host_ = without(host_, told);
      result = compare(written);
    } catch (const std::bad_alloc&) {
      static_cast<void>(put(result_, changes_));  // whatever was done since
      result = impossible("the host has no memory for it");
    }
    copies_.clear();
    memory_->end(idle_);
    return result;
  }

 private:
  [[nodiscard]] bool in_several_contexts() const {
    const capture::QueueInfo& first = queues_.front();
    return std::ranges::any_of(queues_, [&](const capture::QueueInfo& queue) {
      return queue.context != first.context || queue.device != first.device;
    });
  }
  bool idle(bool all) { return idle_ = pause_.finish(context_.backend, queues_, all); }
  bool idle_again() { return idle_ = VerificationPause::finish_again(context_.backend, queues_); }

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
    auto made = memory_->copy(ranges, owner_.most_copies_);
    copies_.push_back(std::move(made));
    return copies_.back().get();
  }

  /// Writes a copy's contents of these ranges back. There need be no copy if there are no ranges.
  static bool put(MemoryCopy* copy, std::span<const MemoryRange> ranges) {
    return ranges.empty() || (copy != nullptr && copy->write_back(ranges).ok());
  }

  VerifyResult compare(Ranges& written) {
    constexpr const char* kUnreadable = "the driver refused to read or write the program's memory";
    constexpr const char* kHostChanged = "memory of the host changed that no operation is told to write";
    Numbers before;
    Numbers of_host;
    Numbers eager;
    Numbers replayed;
    if (!memory_->hash(ranges_, &before).ok() || (!host_.empty() && !memory_->hash(host_, &of_host).ok())) {
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
    if (!is_still(of_host)) {
      return impossible(kHostChanged);
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
    changes_ = changes;
    result_ = result;
    if (!put(old, changes)) {
      static_cast<void>(put(result, changes));
      return impossible(kUnreadable);
    }
    bool failed = false;
    static_cast<void>(executable_.launch(context_, silent_.operations(), &failed));
    const bool ended = idle_again();
    const bool read = ended && memory_->hash(ranges_, &replayed).ok();
    if (!read || failed) {
      static_cast<void>(put(result, changes));
      return impossible(failed   ? "the driver refused to run its command buffer"
                        : !ended ? "its command buffer did not end in time, though its operations did"
                                 : kUnreadable);
    }
    if (!is_still(of_host)) {
      static_cast<void>(put(result, changes));
      return impossible(kHostChanged);
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
    verdict.text = fmt::format("{} bytes at {:#x} and {} more differ", differences.front().bytes,
                               differences.front().start, bytes_of(differences) - differences.front().bytes);
    const std::uint64_t lost = bytes_of(differences) - bytes_of(common(united(copied, changes), differences));
    if (lost != 0) {
      verdict.text +=
          fmt::format("; {} bytes that only the graph writes could not be put back (verify_memory_mb)", lost);
    }
    if (!deterministic(old, changes, eager)) {
      verdict.outcome = Verified::kUnstable;
    } else if (copied == ranges_ && queues_.size() == 1) {  // in one queue nothing waits for what comes later
      verdict.text += culprit(old, common(united(changes, differences), ranges_));
      static_cast<void>(put(old, ranges_));  // part of the work may change what all of it does not
    }
    static_cast<void>(put(result, changes));
    return verdict;
  }

  /// Whether the rest of the host's memory has these numbers.
  bool is_still(const Numbers& of_host) {
    Numbers now;
    return host_.empty() || (memory_->hash(host_, &now).ok() && now == of_host);
  }

  /// Two more eager runs compute the same. (Programs with unordered floating-point atomics do not.)
  bool deterministic(MemoryCopy* old, const Ranges& changes, const Numbers& eager) {
    for (int i = 0; i < 2; ++i) {
      Numbers again;
      if (!put(old, changes) || issue(false) != 0 || !idle_again() || !memory_->hash(ranges_, &again).ok()) {
        return true;  // nothing is known
      }
      if (!common(changed(ranges_, eager, again), changes).empty()) {
        return false;
      }
    }
    return true;
  }

  struct Both {
    Numbers eager, replayed;
  };
  /// What the first `end` operations leave in `looked_at`, eagerly and as a graph. False: nobody knows. `old`: of all.
  bool run_before(std::size_t end, MemoryCopy* old, const Ranges& looked_at, Both* numbers) {
    bool failed = false;
    if (!put(old, ranges_) || issue_all(context_, silent_.operations().first(end), queues_) != 0 || !idle_again() ||
        !memory_->hash(looked_at, &numbers->eager).ok() || !read_page(&expected_)) {
      return false;
    }
    if (!put(old, ranges_) || !executable_.run_before(end)) {
      return false;
    }
    static_cast<void>(executable_.launch(context_, silent_.operations(), &failed));
    return idle_again() && !failed && memory_->hash(looked_at, &numbers->replayed).ok() && read_page(&found_);
  }
  bool read_page(std::vector<std::byte>* into) {
    into->resize(page_.bytes);
    return page_.bytes == 0 || memory_->read(page_, into->data()).ok();
  }

  /// The operation that the graph does otherwise, for users: the last one of the fewest that have to run for memory to
  /// differ. Empty if the device cannot leave work out.
  std::string culprit(MemoryCopy* old, const Ranges& looked_at) {
    Both numbers;
    std::size_t same = 0;
    std::size_t differ = operations_.size();
    while (differ - same > 1) {
      const std::size_t middle = (same + differ) / 2;
      if (!run_before(middle, old, looked_at, &numbers)) {
        return {};
      }
      (numbers.eager == numbers.replayed ? same : differ) = middle;
    }
    if (!run_before(differ, old, looked_at, &numbers) || numbers.eager == numbers.replayed) {
      return {};
    }
    page_ = changed(looked_at, numbers.eager, numbers.replayed).front();
    page_.bytes = std::min(page_.bytes, AddressedMemory::kPage);
    if (!run_before(differ, old, looked_at, &numbers)) {
      return {};
    }
    return fmt::format("; operation {} of {} is done otherwise: {}{}", differ - 1, operations_.size(),
                       text_of(operations_[differ - 1]), first_difference());
  }

  /// Of the page that was read.
  [[nodiscard]] std::string first_difference() const {
    const auto [expected, found] = std::ranges::mismatch(expected_, found_);
    if (expected == expected_.end()) {
      return {};
    }
    constexpr std::ptrdiff_t kShown = 8;  // limit
    const auto shown = std::min(kShown, expected_.end() - expected);
    const std::uint64_t address = page_.start + static_cast<std::uint64_t>(expected - expected_.begin());
    const auto owner =
        std::ranges::find_if(ranges_, [&](const MemoryRange& range) { return address - range.start < range.bytes; });
    const auto hex = [shown](auto from) {
      std::string text;
      for (auto byte = from; byte != from + shown; ++byte) {
        text += fmt::format(" {:02x}", std::to_integer<unsigned>(*byte));
      }
      return text;
    };
    return fmt::format("; of the {} bytes at {:#x} those from {} on are{}, not{}", owner->bytes, owner->start,
                       address - owner->start, hex(found), hex(expected));
  }

  /// With its arguments, as far as they are short.
  [[nodiscard]] std::string text_of(const OperationView& operation) const {
    std::string text(capture::name_of(operation.kind()));
    if (operation.header().function != 0) {
      text += " " + context_.hooks.function_name(operation.header().function);
    }
    std::string list;
    for (std::size_t i = 0; i < operation.arguments().size(); ++i) {
      const bool is_value = operation.arguments()[i].kind == capture::ArgumentKind::kValue;
      const std::span<const std::byte> bytes = is_value ? operation.value_of(i) : std::span<const std::byte>();
      std::uint64_t value = is_value ? 0 : operation.handle_of(i);
      if (is_value && bytes.empty()) {
        continue;
      }
      list += list.empty() ? "(" : ", ";
      if (bytes.size() > sizeof(value)) {
        list += fmt::format("{} bytes", bytes.size());
        continue;
      }
      if (is_value) {
        std::memcpy(&value, bytes.data(), bytes.size());
      }
      list += fmt::format("{:#x}", value);
    }
    return list.empty() ? text : text + list + ")";
  }

  AddressCheck& owner_;
  const SubmitContext& context_;
  Executable& executable_;
  const std::span<const OperationView> operations_;
  const std::vector<capture::QueueInfo>& queues_;
  VerificationPause& pause_;
  const SilentOperations silent_;
  AddressedMemory* const memory_;
  Ranges ranges_;  ///< what is compared, and put back
  Ranges host_;    ///< other memory of the host
  std::vector<std::unique_ptr<MemoryCopy>> copies_;
  Ranges changes_;                ///< by eager execution, once they are copied:
  MemoryCopy* result_ = nullptr;  ///< what the program is to have
  MemoryRange page_;              ///< with the first difference, once it is known
  std::vector<std::byte> expected_, found_;
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
