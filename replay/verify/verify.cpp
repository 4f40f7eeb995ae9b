#include "replay/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <set>

#include "backends/memory_inventory.h"
#include "replay/layer_hooks.h"
#include "replay/verify/issue_again.h"

namespace refrain::replay {

using capture::ArgumentKind;
using capture::OperationView;

namespace {

/// Something that the operations may use, and its contents at one time.
struct Memory {
  capture::ObjectId object = 0;  ///< of shared memory its address
  capture::Handle handle = 0;
  ArgumentKind kind = ArgumentKind::kBuffer;
  std::size_t last_operation = 0;
  capture::QueueInfo queue;
  std::uint64_t bytes = 0;
  /// An operation names it. Other shared memory may be changed by kernels that find its address in memory, or by the
  /// program meanwhile: it is looked at, and never written.
  bool named = true;
};
using Contents = std::vector<std::vector<std::byte>>;

const char* name_of(ArgumentKind kind) {
  return kind == ArgumentKind::kImage ? "image" : kind == ArgumentKind::kPointer ? "shared memory at" : "buffer";
}

/// Text for the first difference; empty if there is none.
std::string difference(const std::vector<Memory>& memories, std::span<const OperationView> operations,
                       const Contents& eager, const Contents& replay, LayerHooks& hooks) {
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const auto [a, b] = std::mismatch(eager[i].begin(), eager[i].end(), replay[i].begin(), replay[i].end());
    if (a == eager[i].end()) {
      continue;
    }
    const OperationView& last = operations[memories[i].last_operation];
    return fmt::format(
        "byte {} of {} {} is {:#04x} eagerly and {:#04x} replayed; the last operation that uses it is "
        "number {} ({}{}{})",
        a - eager[i].begin(), name_of(memories[i].kind), memories[i].object, std::to_integer<unsigned>(*a),
        std::to_integer<unsigned>(*b), memories[i].last_operation, capture::name_of(last.kind()),
        last.header().function != 0 ? " " : "",
        last.header().function != 0 ? hooks.function_name(last.header().function) : "");
  }
  return {};
}

/// One check.
class Check {
 public:
  Check(const SubmitContext& context, std::span<const OperationView> operations,
        const std::vector<capture::QueueInfo>& queues, VerificationPause& pause, std::uint64_t most_copies)
      : context_(context),
        backend_(context.backend),
        operations_(operations),
        queues_(queues),
        pause_(pause),
        most_copies_(most_copies),
        shared_(context.backend.shared_memory()) {}

  VerifyResult run(Executable& executable) {
    const char* why = nullptr;
    try {
      why = collect();
    } catch (const std::bad_alloc&) {
      why = kNoHostMemory;
    }
    if (why != nullptr) {
      return impossible(why);
    }
    if (!context_.hooks.may_wait()) {
      return impossible("the application has user events that it has not set yet");
    }
    if (why = pause_.why_not(context_.hooks); why != nullptr) {
      return impossible(why);
    }
    if (!pause_.finish(backend_, queues_, true)) {
      return impossible("earlier work did not end in time: it may wait for what the program does next");
    }
    try {
      return compare(executable);
    } catch (const std::bad_alloc&) {
      if (eager_is_known_) {
        static_cast<void>(write(eager_, nullptr));  // whatever was done since
      }
      return impossible(kNoHostMemory);
    }
  }

 private:
  static constexpr const char* kNoHostMemory = "the host has no memory for it";
  static constexpr const char* kOthers = "shared memory that no operation names changed meanwhile";
  static constexpr const char* kUnreadable = "its memory could not be read or written";

  /// What they may use. Otherwise why that is not known.
  const char* collect() {
    std::set<std::uint64_t> pointed_to;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const auto* queue = queue_of(queues_, operations_[i]);
      if (queue == nullptr) {
        return "one of its queues is gone";
      }
      if (const auto function = operations_[i].header().function; function != 0 && context_.hooks.prints(function)) {
        return backends::kPrintsOrAllocates;
      }
      const auto arguments = operations_[i].arguments();
      for (std::size_t index = 0; index < arguments.size(); ++index) {
        const auto& argument = arguments[index];
        if (argument.kind == ArgumentKind::kHostPointer || argument.kind == ArgumentKind::kOtherHandle) {
          return "an operation uses memory that verify cannot copy";
        }
        const bool pointer = argument.kind == ArgumentKind::kPointer;
        if (!pointer && argument.kind != ArgumentKind::kBuffer && argument.kind != ArgumentKind::kImage) {
          continue;
        }
        const capture::Handle handle = operations_[i].handle_of(index);
        if (handle == 0) {
          continue;
        }
        if (pointer) {
          const auto found = shared_ && shared_->complete() ? shared_->find(handle) : std::nullopt;
          if (!found) {
            return "an operation is given a pointer to memory that is not known";
          }
          if (found->place == capture::MemoryPlace::kHost) {
            return "it uses fine-grained shared memory, which the program may change meanwhile";
          }
          pointed_to.insert(found->start);
          continue;
        }
        const auto known = std::ranges::find(memories_, argument.object, &Memory::object);
        if (known != memories_.end()) {
          known->last_operation = i;
        } else {
          memories_.push_back(
              {argument.object, handle, argument.kind, i, *queue, backend_.size_of(argument.kind, handle)});
        }
      }
    }
    for (const backends::LiveMemory& each :
         !pointed_to.empty() ? shared_->all() : std::vector<backends::LiveMemory>()) {
      if (static_cast<int>(queues_.front().context) == each.device) {
        memories_.push_back({each.start, each.start, ArgumentKind::kPointer, operations_.size() - 1, queues_.front(),
                             each.bytes, pointed_to.contains(each.start)});
      }
    }
    std::uint64_t bytes = 0;
    for (const Memory& memory : memories_) {
      bytes += memory.bytes;
    }
    constexpr std::uint64_t kCopies = 3;  // limit: before, after eager execution, after the graph
    return bytes > most_copies_ / kCopies ? "the copies of its memory would take too much (verify_memory_mb)" : nullptr;
  }

  VerifyResult impossible(const char* why) {
    if (!issued_) {
      issue_for_the_program();
    }
    VerifyResult result;
    result.why = why;
    result.error = error_;
    return result;
  }
  void issue_for_the_program() {
    issued_ = true;
    error_ = issue_all(context_, operations_, queues_);
  }

  bool read(Contents* contents) {
    contents->resize(memories_.size());
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      const Memory& memory = memories_[i];
      (*contents)[i].resize(memory.bytes);
      if (!backend_.read(memory.queue, memory.kind, memory.handle, (*contents)[i]).ok()) {
        return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool others_changed(const Contents& before, const Contents& after) const {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      if (!memories_[i].named && before[i] != after[i]) {
        return true;
      }
    }
    return false;
  }
  /// What operations name, where it has other contents `now` (null: nobody knows).
  bool write(const Contents& contents, const Contents* now) {
    bool ok = true;
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      const Memory& memory = memories_[i];
      if (memory.named && (now == nullptr || contents[i] != (*now)[i])) {
        ok = backend_.write(memory.queue, memory.kind, memory.handle, contents[i]).ok() && ok;
      }
    }
    return ok;
  }

  VerifyResult compare(Executable& executable) {
    const SilentOperations silent(operations_);
    Contents before;
    Contents replayed;
    if (!read(&before)) {
      return impossible(kUnreadable);
    }
    issue_for_the_program();
    if (!pause_.finish(backend_, queues_, false)) {
      return impossible("it did not end in time: it may wait for what the program does next");
    }
    if (error_ != 0) {
      return impossible("the driver refused some of its operations");
    }
    if (!read(&eager_)) {
      return impossible(kUnreadable);
    }
    eager_is_known_ = true;
    if (others_changed(before, eager_)) {
      return impossible(kOthers);
    }
    if (!write(before, &eager_)) {
      static_cast<void>(write(eager_, nullptr));
      return impossible(kUnreadable);
    }
    bool failed = false;
    static_cast<void>(executable.launch(context_, silent.operations(), &failed));
    const bool ended = VerificationPause::finish_again(backend_, queues_);
    if (!ended || failed || !read(&replayed)) {
      static_cast<void>(write(eager_, nullptr));
      return impossible(failed   ? "the driver refused to run its command buffer"
                        : !ended ? "its command buffer did not end in time, though its operations did"
                                 : kUnreadable);
    }
    if (others_changed(eager_, replayed)) {
      static_cast<void>(write(eager_, &replayed));
      return impossible(kOthers);
    }
    VerifyResult result;
    result.error = error_;
    result.text = difference(memories_, operations_, eager_, replayed, context_.hooks);
    if (result.text.empty()) {
      result.outcome = Verified::kEqual;
      for (const Memory& memory : memories_) {
        result.compared += memory.bytes;
      }
      return result;
    }
    // Would two eager runs agree? Programs with unordered floating-point atomics do not.
    result.outcome = Verified::kDifferent;
    const bool repeated = write(before, &replayed) && issue_all(context_, silent.operations(), queues_) == 0 &&
                          VerificationPause::finish_again(backend_, queues_) && read(&replayed);
    static_cast<void>(write(eager_, nullptr));
    if (repeated && !difference(memories_, operations_, eager_, replayed, context_.hooks).empty()) {
      result.outcome = Verified::kUnstable;
    }
    return result;
  }

  const SubmitContext& context_;
  backends::Backend& backend_;
  const std::span<const OperationView> operations_;
  const std::vector<capture::QueueInfo>& queues_;
  VerificationPause& pause_;
  const std::uint64_t most_copies_;
  const backends::InventoryHeld shared_;
  std::vector<Memory> memories_;
  Contents eager_;  ///< what the program is to have
  bool eager_is_known_ = false;
  int error_ = 0;
  bool issued_ = false;
};

}  // namespace

VerifyResult verify(const SubmitContext& context, Executable& executable, std::span<const OperationView> operations,
                    const std::vector<capture::QueueInfo>& queues, VerificationPause& pause,
                    std::uint64_t most_copies) {
  return Check(context, operations, queues, pause, most_copies).run(executable);
}

}  // namespace refrain::replay
