#include "backends/host/host_backend.h"

#include <algorithm>

#include "backends/host/host_state.h"

namespace refrain::backends::host {

using capture::ArgumentKind;
using capture::OperationKind;
using capture::OperationView;

// --- HostBackend: what the device is, memory, time -------------------------------------------------

HostBackend::HostBackend() : state_(std::make_unique<State>()) {
  Capabilities& all = state_->capabilities;
  all.native = all.out_of_order = all.update_arguments = all.update_sizes = all.simultaneous_use = true;
  for (const OperationKind kind :
       {OperationKind::kUnknown, OperationKind::kReadBuffer, OperationKind::kWriteBuffer,
        OperationKind::kReadBufferRect, OperationKind::kWriteBufferRect, OperationKind::kReadImage,
        OperationKind::kWriteImage, OperationKind::kMap, OperationKind::kUnmap, OperationKind::kMigrate,
        OperationKind::kPointerMap, OperationKind::kPointerUnmap, OperationKind::kPointerFree,
        OperationKind::kPointerMigrate, OperationKind::kEventRecord, OperationKind::kEventWait,
        OperationKind::kHostFunction, OperationKind::kCommandBuffer, OperationKind::kOther}) {
    state_->unrecordable[static_cast<std::size_t>(kind)] = "the host backend does not record this kind of operation";
  }
}

HostBackend::~HostBackend() = default;

void HostBackend::set_capabilities(const Capabilities& capabilities) {
  const env::MutexLock lock(state_->mutex);
  state_->capabilities = capabilities;
}

void HostBackend::add_function(capture::FunctionId function, Kernel kernel) {
  const env::MutexLock lock(state_->mutex);
  state_->functions[function] = std::move(kernel);
}

capture::Handle HostBackend::add_buffer(std::size_t bytes) {
  const env::MutexLock lock(state_->mutex);
  const auto fresh = std::make_shared<Memory>(bytes);
  state_->track(fresh);
  state_->next_handle += 16;
  state_->memory[state_->next_handle] = fresh;
  return state_->next_handle;
}

capture::Handle HostBackend::add_image(std::size_t element_bytes, std::size_t width, std::size_t height,
                                       std::size_t depth) {
  const capture::Handle handle = add_buffer(element_bytes * width * height * depth);
  const env::MutexLock lock(state_->mutex);
  state_->memory[handle]->element = element_bytes;
  state_->memory[handle]->extent = {width, height, depth};
  return handle;
}

void* HostBackend::add_allocation(std::size_t bytes) {
  const env::MutexLock lock(state_->mutex);
  const auto fresh = std::make_shared<Memory>(bytes);
  state_->track(fresh);
  state_->allocations[reinterpret_cast<std::uintptr_t>(fresh->data.get())] = fresh;
  return fresh->data.get();
}

bool HostBackend::release(capture::Handle handle) {
  const env::MutexLock lock(state_->mutex);
  return state_->memory.erase(handle) != 0;
}

bool HostBackend::release_allocation(void* pointer) {
  const env::MutexLock lock(state_->mutex);
  return state_->allocations.erase(reinterpret_cast<std::uintptr_t>(pointer)) != 0;
}

std::span<std::byte> HostBackend::bytes(capture::Handle handle) {
  const env::MutexLock lock(state_->mutex);
  const auto found = state_->memory.find(handle);
  return found != state_->memory.end() ? found->second->bytes() : std::span<std::byte>{};
}

void HostBackend::set_asynchronous(bool on) {
  const env::MutexLock lock(state_->mutex);
  state_->asynchronous = on;
  state_->run_ready();
}

void HostBackend::set_needs_flush(bool on) {
  const env::MutexLock lock(state_->mutex);
  state_->needs_flush = on;
}

void HostBackend::set_schedule(std::uint32_t seed) {
  const env::MutexLock lock(state_->mutex);
  state_->seed = seed;
  state_->random.seed(seed);
}

bool HostBackend::advance() {
  const env::MutexLock lock(state_->mutex);
  return state_->advance();
}

std::size_t HostBackend::run_all() {
  std::size_t done = 0;
  while (advance()) {
    ++done;
  }
  return done;
}

Event HostBackend::make_event() {
  const env::MutexLock lock(state_->mutex);
  const Event event = state_->next_event++;
  state_->events[event] = {1, std::make_shared<Progress>()};
  return event;
}

void HostBackend::complete_event(Event event, bool failed) {
  const env::MutexLock lock(state_->mutex);
  if (const auto found = state_->events.find(event); found != state_->events.end()) {
    found->second.progress->failed = failed;
    found->second.progress->done = true;
    state_->changed.notify_all();
    state_->run_ready();
  }
}

void HostBackend::fail(Call call, std::uint64_t nth, int code) {
  const env::MutexLock lock(state_->mutex);
  const auto index = static_cast<std::size_t>(call);
  state_->injections[index].push_back({state_->counts[index] + nth, code});
}

std::uint64_t HostBackend::calls(Call call) const {
  const env::MutexLock lock(state_->mutex);
  return state_->counts[static_cast<std::size_t>(call)];
}

std::vector<LogEntry> HostBackend::log() const {
  const env::MutexLock lock(state_->mutex);
  return state_->log;
}

std::size_t HostBackend::live_events() const {
  const env::MutexLock lock(state_->mutex);
  std::size_t references = 0;
  for (const auto& [event, entry] : state_->events) {
    references += entry.references;
  }
  return references;
}

std::size_t HostBackend::live_command_buffers() const {
  const env::MutexLock lock(state_->mutex);
  return state_->command_buffers;
}

std::size_t HostBackend::live_memory() const {
  const env::MutexLock lock(state_->mutex);
  return static_cast<std::size_t>(
      std::ranges::count_if(state_->all_memory, [](const auto& weak) { return !weak.expired(); }));
}

std::size_t HostBackend::pending() const {
  const env::MutexLock lock(state_->mutex);
  return state_->pending.size();
}

std::unique_ptr<HostCommandBuffer> HostBackend::create_command_buffer(const capture::QueueInfo& queue) {
  declare_queue(queue);
  const env::MutexLock lock(state_->mutex);
  return std::unique_ptr<HostCommandBuffer>(new HostCommandBuffer(*this, queue));
}

// --- Backend -----------------------------------------------------------------------------------------

Capabilities HostBackend::capabilities(const capture::QueueInfo& queue) noexcept {
  declare_queue(queue);
  const env::MutexLock lock(state_->mutex);
  return state_->capabilities;
}

Recordable HostBackend::can_record(const OperationView& operation, const capture::QueueInfo& queue) noexcept {
  const env::MutexLock lock(state_->mutex);
  const auto kind = static_cast<std::size_t>(operation.kind());
  if (!state_->capabilities.native) {
    return {false, state_->capabilities.why_not};
  }
  if (!queue.in_order && !state_->capabilities.out_of_order) {
    return {false, "command buffers are not for out-of-order queues here"};
  }
  if (kind >= capture::kOperationKindCount) {
    return {false, "unknown kind of operation"};
  }
  if (state_->unrecordable[kind] != nullptr) {
    return {false, state_->unrecordable[kind]};
  }
  if (operation.has(capture::kBlocking)) {
    return {false, "the call waits for its own completion"};
  }
  return {};
}

Status HostBackend::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                           std::unique_ptr<CommandBuffer>* result) noexcept try {
  std::uint32_t count = static_cast<std::uint32_t>(nodes.size());
  const capture::ObjectId queue = nodes.empty() ? 0 : graph.queue_of(nodes[0]).id;
  const auto finish = [&](int error) {
    const env::MutexLock lock(state_->mutex);
    state_->log.push_back({Call::kRecord, error, queue, OperationKind::kCommandBuffer, 0, count});
    return Status{error};
  };
  {
    const env::MutexLock lock(state_->mutex);
    if (const int error = state_->count(Call::kRecord); error != 0) {
      state_->log.push_back({Call::kRecord, error, queue, OperationKind::kCommandBuffer, 0, count});
      return {error};
    }
  }
  if (nodes.empty()) {
    return finish(kInvalidValue);
  }
  auto buffer = create_command_buffer(graph.queue_of(nodes[0]));
  for (const capture::NodeIndex node : nodes) {
    if (graph.queue_of(node).id != queue || !can_record(graph.operation(node), graph.queue_of(node)).ok) {
      return finish(kUnsupported);
    }
    std::vector<std::uint32_t> waits;
    for (const capture::NodeIndex before : graph.predecessors(node)) {
      if (const auto found = buffer->number_of_node_.find(before); found != buffer->number_of_node_.end()) {
        waits.push_back(found->second);
      } else if (std::ranges::find(nodes, before) != nodes.end()) {
        return finish(kInvalidValue);  // comes later in `nodes`: against the edges
      }
    }
    std::uint32_t number = 0;
    if (const Status status = buffer->append(graph.operation(node), waits, &number); !status.ok()) {
      return finish(status.code);
    }
    buffer->number_of_node_[node] = number;
  }
  if (const Status status = buffer->finalize(); !status.ok()) {
    return finish(status.code);
  }
  *result = std::move(buffer);
  return finish(kSuccess);
} catch (...) {
  return {kOutOfMemory};
}

Status HostBackend::issue(const OperationView& operation, std::span<const Event> waits, Event* done) noexcept try {
  env::UniqueLock lock(state_->mutex);
  const auto& header = operation.header();
  State::Work work;
  work.queue = header.queue;
  int error = state_->count(Call::kIssue);
  if (error == 0) {
    error = state_->resolve(waits, &work.waits);
  }
  if (error == 0) {
    work.operation.emplace();
    error = state_->prepare(operation, &*work.operation);
  }
  state_->log.push_back({Call::kIssue, error, header.queue, operation.kind(), header.sequence, 1});
  if (error != 0) {
    return {error};
  }
  const bool blocking = operation.has(capture::kBlocking);
  const bool flush_only = operation.kind() == OperationKind::kFlush;
  Event own = kNoEvent;
  state_->submit(std::move(work), operation.has(capture::kWaitsForQueue), operation.has(capture::kBlocksQueue),
                 done != nullptr ? done
                 : blocking      ? &own
                                 : nullptr);
  if (flush_only || blocking) {
    state_->flush(header.queue);
  }
  if (blocking) {
    const ProgressPointer progress = state_->events[done != nullptr ? *done : own].progress;
    state_->wait_for(lock, *progress);
    state_->events.erase(own);
    return {progress->failed ? static_cast<int>(kWaitFailed) : 0};
  }
  return {};
} catch (...) {
  return {kOutOfMemory};
}

void HostBackend::declare_queue(const capture::QueueInfo& queue) {
  const env::MutexLock lock(state_->mutex);
  state_->queues[queue.id].in_order = queue.in_order;
}

Status HostBackend::flush(const capture::QueueInfo& queue) noexcept try {
  const env::MutexLock lock(state_->mutex);
  const int error = state_->count(Call::kFlush);
  state_->log.push_back({Call::kFlush, error, queue.id, OperationKind::kFlush, 0, 0});
  if (error == 0) {
    state_->flush(queue.id);
  }
  return {error};
} catch (...) {
  return {kOutOfMemory};
}

Status HostBackend::finish(const capture::QueueInfo& queue) noexcept try {
  env::UniqueLock lock(state_->mutex);
  const int error = state_->count(Call::kFinish);
  state_->log.push_back({Call::kFinish, error, queue.id, OperationKind::kUnknown, 0, 0});
  if (error != 0) {
    return {error};
  }
  state_->flush(queue.id);
  std::vector<ProgressPointer> mine;
  for (const State::Work& work : state_->pending) {
    if (work.queue == queue.id) {
      mine.push_back(work.progress);
    }
  }
  for (const ProgressPointer& progress : mine) {
    state_->wait_for(lock, *progress);
  }
  return {};
} catch (...) {
  return {kOutOfMemory};
}

void HostBackend::retain_event(Event event) noexcept {
  const env::MutexLock lock(state_->mutex);
  if (const auto found = state_->events.find(event); found != state_->events.end()) {
    ++found->second.references;
  }
}

void HostBackend::release_event(Event event) noexcept {
  const env::MutexLock lock(state_->mutex);
  const auto found = state_->events.find(event);
  if (found != state_->events.end() && --found->second.references == 0) {
    state_->events.erase(found);
  }
}

bool HostBackend::complete(Event event) noexcept {
  const env::MutexLock lock(state_->mutex);
  const auto found = state_->events.find(event);
  return found == state_->events.end() || found->second.progress->done;
}

std::uint64_t HostBackend::size_of(ArgumentKind, capture::Handle handle) noexcept {
  return bytes(handle).size();
}

Status HostBackend::read(const capture::QueueInfo& queue, ArgumentKind, capture::Handle handle,
                         std::span<std::byte> into) noexcept {
  {
    const env::MutexLock lock(state_->mutex);
    if (const int error = state_->count(Call::kRead); error != 0) {
      return {error};
    }
  }
  if (const Status status = finish(queue); !status.ok()) {
    return status;
  }
  const auto from = bytes(handle);
  if (from.size() != into.size() || from.empty()) {
    return {kInvalidValue};
  }
  std::memcpy(into.data(), from.data(), into.size());
  return {};
}

Status HostBackend::write(const capture::QueueInfo& queue, ArgumentKind, capture::Handle handle,
                          std::span<const std::byte> from) noexcept {
  {
    const env::MutexLock lock(state_->mutex);
    if (const int error = state_->count(Call::kWrite); error != 0) {
      return {error};
    }
  }
  if (const Status status = finish(queue); !status.ok()) {
    return status;
  }
  const auto into = bytes(handle);
  if (into.size() != from.size() || into.empty()) {
    return {kInvalidValue};
  }
  std::memcpy(into.data(), from.data(), from.size());
  return {};
}

void HostBackend::forget_function(capture::FunctionId) noexcept {}

const char* HostBackend::error_name(int code) const noexcept {
  switch (code) {
    case kSuccess: return "HOST_SUCCESS";
    case kOutOfMemory: return "HOST_OUT_OF_MEMORY";
    case kInvalidHandle: return "HOST_INVALID_HANDLE";
    case kUnknownFunction: return "HOST_UNKNOWN_FUNCTION";
    case kInvalidOperation: return "HOST_INVALID_OPERATION";
    case kInvalidValue: return "HOST_INVALID_VALUE";
    case kUnsupported: return "HOST_UNSUPPORTED";
    case kInvalidEvent: return "HOST_INVALID_EVENT";
    case kWaitFailed: return "HOST_WAIT_FAILED";
    default: return "unknown host error";
  }
}

}  // namespace refrain::backends::host
