#include "replay/graph/submit.h"

#include <algorithm>
#include <limits>

#include "replay/layer_hooks.h"

namespace refrain::replay {

using capture::OperationKind;
using capture::OperationView;

backends::Event WindowEvents::find(std::uint64_t sequence) const noexcept {
  for (auto entry = events_.rbegin(); entry != events_.rend(); ++entry) {
    if (entry->first == sequence) {
      return entry->second;
    }
  }
  return backends::kNoEvent;
}

[[gnu::hot]] void WindowEvents::clear(backends::Backend& backend) noexcept {
  for (const auto& [sequence, event] : events_) {
    backend.release_event(event);
  }
  events_.clear();
}

WaitList::~WaitList() {
  for (const backends::Event event : owned_) {
    backend_.release_event(event);
  }
}

void WaitList::add(const SubmitContext& context, const OperationView& operation, std::uint64_t inside_from) {
  for (const capture::WaitRef wait : operation.waits()) {
    const std::uint64_t target = capture::target_of(wait);
    const bool internal = capture::is_internal(wait);
    if (internal && target >= inside_from) {
      continue;
    }
    const capture::WaitRef known = target | (internal ? capture::kInternalWait : 0);
    if (std::ranges::find(added_, known) != added_.end()) {
      continue;
    }
    added_.push_back(known);
    if (internal) {
      borrow(context.window.find(target));
      continue;
    }
    const backends::Event event = context.hooks.acquire_event(target);
    if (event != backends::kNoEvent) {
      owned_.push_back(event);
      events_.push_back(event);
    }
  }
}

void WaitList::borrow(backends::Event event) {
  if (event != backends::kNoEvent) {
    events_.push_back(event);
  }
}

void keep_promise(const SubmitContext& context, const OperationView& operation, backends::Event event, int status) {
  if (operation.header().promise == 0) {
    return;
  }
  if (status != 0 || event == backends::kNoEvent) {
    context.hooks.fulfil(operation, backends::kNoEvent, status);
    return;
  }
  context.backend.retain_event(event);
  context.window.add(operation.header().sequence, event);
  context.backend.retain_event(event);
  context.hooks.fulfil(operation, event, 0);
}

int issue_held(const SubmitContext& context, const OperationView& operation, const capture::QueueInfo& queue) {
  if (operation.kind() == OperationKind::kFlush) {
    return context.backend.flush(queue).code;
  }
  WaitList waits(context.backend);
  waits.add(context, operation, std::numeric_limits<std::uint64_t>::max());
  backends::Event done = backends::kNoEvent;
  const bool wanted = operation.header().promise != 0;
  const backends::Status status = context.backend.issue(operation, waits.events(), wanted ? &done : nullptr);
  keep_promise(context, operation, done, status.code);
  if (done != backends::kNoEvent) {
    context.backend.release_event(done);
  }
  return status.code;
}

}  // namespace refrain::replay
