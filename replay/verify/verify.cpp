#include "replay/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "replay/layer_hooks.h"
#include "replay/verify/issue_again.h"

namespace refrain::replay {

using capture::ArgumentKind;
using capture::OperationView;

namespace {

/// One buffer or image that the operations name, and its contents at one time.
struct Memory {
  capture::ObjectId object = 0;
  capture::Handle handle = 0;
  ArgumentKind kind = ArgumentKind::kBuffer;
  std::size_t last_operation = 0;
  capture::QueueInfo queue;
};
using Contents = std::vector<std::vector<std::byte>>;

bool collect(std::span<const OperationView> operations, const std::vector<capture::QueueInfo>& queues,
             std::vector<Memory>* memories, const char** why) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto* queue = queue_of(queues, operations[i]);
    if (queue == nullptr) {
      *why = "one of its queues is gone";
      return false;
    }
    const auto arguments = operations[i].arguments();
    for (std::size_t index = 0; index < arguments.size(); ++index) {
      const auto& argument = arguments[index];
      if (argument.kind == ArgumentKind::kPointer || argument.kind == ArgumentKind::kHostPointer ||
          argument.kind == ArgumentKind::kOtherHandle) {
        *why = "an operation uses memory by pointer, which verify cannot copy";
        return false;
      }
      if (argument.kind != ArgumentKind::kBuffer && argument.kind != ArgumentKind::kImage) {
        continue;
      }
      const capture::Handle handle = operations[i].handle_of(index);
      if (handle == 0) {
        continue;
      }
      const auto known = std::find_if(memories->begin(), memories->end(),
                                      [&](const Memory& memory) { return memory.object == argument.object; });
      if (known != memories->end()) {
        known->last_operation = i;
      } else {
        memories->push_back({argument.object, handle, argument.kind, i, *queue});
      }
    }
  }
  return true;
}

bool finish(backends::Backend& backend, const std::vector<capture::QueueInfo>& queues) {
  bool ok = true;
  for (const auto& queue : queues) {
    ok = backend.finish(queue).ok() && ok;
  }
  return ok;
}

bool read(backends::Backend& backend, const std::vector<Memory>& memories, Contents* contents) {
  contents->resize(memories.size());
  for (std::size_t i = 0; i < memories.size(); ++i) {
    const Memory& memory = memories[i];
    (*contents)[i].resize(backend.size_of(memory.kind, memory.handle));
    if (!backend.read(memory.queue, memory.kind, memory.handle, (*contents)[i]).ok()) {
      return false;
    }
  }
  return true;
}

bool write(backends::Backend& backend, const std::vector<Memory>& memories, const Contents& contents) {
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (!backend.write(memories[i].queue, memories[i].kind, memories[i].handle, contents[i]).ok()) {
      return false;
    }
  }
  return true;
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
        a - eager[i].begin(), memories[i].kind == ArgumentKind::kImage ? "image" : "buffer", memories[i].object,
        std::to_integer<unsigned>(*a), std::to_integer<unsigned>(*b), memories[i].last_operation,
        capture::name_of(last.kind()), last.header().function != 0 ? " " : "",
        last.header().function != 0 ? hooks.function_name(last.header().function) : "");
  }
  return {};
}

}  // namespace

VerifyResult verify(const SubmitContext& context, Executable& executable, std::span<const OperationView> operations,
                    const std::vector<capture::QueueInfo>& queues, VerificationPause& pause) {
  VerifyResult result;
  std::vector<Memory> memories;
  Contents before;
  Contents replayed;
  Contents eager;
  bool possible = collect(operations, queues, &memories, &result.why);
  if (possible && !context.hooks.may_wait()) {
    possible = false;
    result.why = "the application has user events that it has not set yet";
  }
  if (!possible || !pause.finish(context.backend) || !read(context.backend, memories, &before)) {
    result.why = *result.why == 0 ? "its buffers could not be read" : result.why;
    result.error = issue_all(context, operations, queues);
    return result;
  }
  const SilentOperations silent(operations);
  bool failed = false;
  static_cast<void>(executable.launch(context, silent.operations(), &failed));
  bool compared = finish(context.backend, queues) && read(context.backend, memories, &replayed);
  compared = write(context.backend, memories, before) && compared;
  result.error = issue_all(context, operations, queues);
  compared = finish(context.backend, queues) && read(context.backend, memories, &eager) && compared && !failed;
  if (!compared) {
    result.why = failed ? "the driver refused to run its command buffer" : "its buffers could not be read back";
    return result;
  }
  result.text = difference(memories, operations, eager, replayed, context.hooks);
  result.outcome = result.text.empty() ? Verified::kEqual : Verified::kDifferent;
  for (const auto& contents : eager) {
    result.compared += contents.size();
  }
  if (result.outcome == Verified::kDifferent) {
    // Would two eager runs agree? Programs with unordered floating-point atomics do not.
    Contents again;
    const bool repeated = write(context.backend, memories, before) &&
                          issue_all(context, silent.operations(), queues) == 0 && finish(context.backend, queues) &&
                          read(context.backend, memories, &again);
    static_cast<void>(write(context.backend, memories, eager));
    if (repeated && !difference(memories, operations, eager, again, context.hooks).empty()) {
      result.outcome = Verified::kUnstable;
    }
  }
  return result;
}

}  // namespace refrain::replay
