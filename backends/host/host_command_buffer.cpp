#include <algorithm>

#include "backends/host/host_state.h"

namespace refrain::backends::host {

using capture::OperationView;

HostCommandBuffer::HostCommandBuffer(HostBackend& backend, const capture::QueueInfo& queue)
    : backend_(backend),
      queue_(queue),
      commands_(std::make_shared<const Commands>()),
      running_(std::make_shared<std::uint32_t>(0)) {
  ++backend_.state_->command_buffers;
}

HostCommandBuffer::~HostCommandBuffer() {
  const env::MutexLock lock(backend_.state_->mutex);
  --backend_.state_->command_buffers;
}

Status HostCommandBuffer::append(const OperationView& operation, std::span<const std::uint32_t> waits,
                                 std::uint32_t* number) noexcept try {
  const env::MutexLock lock(backend_.state_->mutex);
  if (finalized_) {
    return {kInvalidOperation};
  }
  const auto kind = static_cast<std::size_t>(operation.kind());
  if (kind >= capture::kOperationKindCount || backend_.state_->unrecordable[kind] != nullptr ||
      operation.has(capture::kBlocking)) {
    return {kUnsupported};
  }
  if (operation.header().queue != queue_.id) {
    return {kInvalidValue};
  }
  const std::size_t size = commands_->list.size();
  if (std::ranges::any_of(waits, [&](std::uint32_t wait) { return wait >= size; })) {
    return {kInvalidValue};
  }
  Command command;
  command.waits.assign(waits.begin(), waits.end());
  if (const int error = backend_.state_->prepare(operation, &command.prepared); error != 0) {
    return {error};
  }
  // Not finalized: nothing else can hold these commands yet.
  std::const_pointer_cast<Commands>(commands_)->list.push_back(std::move(command));
  if (number != nullptr) {
    *number = static_cast<std::uint32_t>(size);
  }
  return {};
} catch (...) {
  return {kOutOfMemory};
}

Status HostCommandBuffer::finalize() noexcept {
  const env::MutexLock lock(backend_.state_->mutex);
  if (finalized_) {
    return {kInvalidOperation};
  }
  finalized_ = true;
  return {};
}

Status HostCommandBuffer::enqueue(std::span<const Event> waits, Event* done) noexcept try {
  auto& state = *backend_.state_;
  const env::MutexLock lock(state.mutex);
  int error = state.count(Call::kEnqueue);
  HostBackend::State::Work work;
  if (error == 0 && (!finalized_ || (*running_ != 0 && !state.capabilities.simultaneous_use))) {
    error = kInvalidOperation;
  }
  if (error == 0) {
    error = state.resolve(waits, &work.waits);
  }
  state.log.push_back({Call::kEnqueue, error, queue_.id, capture::OperationKind::kCommandBuffer, 0,
                       static_cast<std::uint32_t>(commands_->list.size())});
  if (error != 0) {
    return {error};
  }
  work.queue = queue_.id;
  work.commands = commands_;
  work.running = running_;
  ++*running_;
  bool flushes = false;
  for (const Command& command : commands_->list) {
    flushes = flushes || command.prepared.operation().kind() == capture::OperationKind::kFlush;
  }
  state.submit(std::move(work), false, false, done);
  if (flushes) {
    state.flush(queue_.id);
  }
  return {};
} catch (...) {
  return {kOutOfMemory};
}

Status HostCommandBuffer::update(std::span<const NodeUpdate> updates) noexcept try {
  auto& state = *backend_.state_;
  const env::MutexLock lock(state.mutex);
  int error = state.count(Call::kUpdate);
  if (error == 0 && (!finalized_ || !state.capabilities.update_arguments)) {
    error = kUnsupported;
  }
  auto fresh = std::make_shared<Commands>(*commands_);
  for (std::size_t i = 0; error == 0 && i < updates.size(); ++i) {
    const auto& [node, operation] = updates[i];
    const auto found = number_of_node_.find(node);
    const std::uint32_t number = found != number_of_node_.end() ? found->second : node;
    if ((!number_of_node_.empty() && found == number_of_node_.end()) || number >= fresh->list.size()) {
      error = kInvalidValue;
      break;
    }
    Prepared& old = fresh->list[number].prepared;
    const OperationView before = old.operation();
    const auto same_layout = [](const capture::ArgumentDescriptor& a, const capture::ArgumentDescriptor& b) {
      return a.kind == b.kind && (a.size == b.size || a.kind == capture::ArgumentKind::kLocalMemory);
    };
    if (operation.kind() != capture::OperationKind::kKernel || before.kind() != operation.kind() ||
        before.header().function != operation.header().function ||
        !std::ranges::equal(before.arguments(), operation.arguments(), same_layout)) {
      error = kInvalidValue;
      break;
    }
    Prepared replacement;
    error = state.prepare(operation, &replacement);
    old = std::move(replacement);
  }
  state.log.push_back({Call::kUpdate, error, queue_.id, capture::OperationKind::kCommandBuffer, 0,
                       static_cast<std::uint32_t>(updates.size())});
  if (error == 0) {
    commands_ = std::move(fresh);
  }
  return {error};
} catch (...) {
  return {kOutOfMemory};
}

bool HostCommandBuffer::busy() const noexcept {
  const env::MutexLock lock(backend_.state_->mutex);
  return *running_ != 0;
}

}  // namespace refrain::backends::host
