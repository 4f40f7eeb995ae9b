// The backend of an API whose command buffers are graphs launched on streams, as far as these APIs are alike.
//
// capture::QueueInfo::handle is the address of a Stream, arguments of kind kPointer are device or pinned host
// addresses; see operation.h for launches.
#pragma once

#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>

#include "backends/backend.h"
#include "backends/streams/command_buffer.h"

namespace refrain::backends {

/// Api has, besides what stream.h lists, submit(driver, operation, stream) (one recorded operation, the context being
/// current), copy(driver, to, from, bytes, stream), error_name(driver, status) and Uploader (graph_uploader.h).
template <class Api>
class StreamBackend : public Backend {
 public:
  /// `driver` must outlive the backend. `too_old`: why the driver cannot replay, with static lifetime; null: it can.
  StreamBackend(const typename Api::Driver& driver, const char* too_old)
      : driver_(driver), too_old_(too_old), events_(driver, right_of_way()), links_(driver, events_, order_) {}

  [[nodiscard]] Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept override;
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                std::unique_ptr<CommandBuffer>* result) noexcept override;
  Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept override;
  /// Streams start work by themselves.
  Status flush(const capture::QueueInfo& /*queue*/) noexcept override { return {}; }
  Status finish(const capture::QueueInfo& queue) noexcept override;
  void retain_event(Event event) noexcept override {
    NativeEvent<Api>::of(event).references.fetch_add(1, std::memory_order_relaxed);
  }
  void release_event(Event event) noexcept override { events_.release(NativeEvent<Api>::of(event)); }
  [[nodiscard]] bool complete(Event event) noexcept override {
    return Api::query_event(driver_, NativeEvent<Api>::of(event).handle) != Api::kNotReady;
  }
  [[nodiscard]] bool names_memory() const noexcept override { return false; }
  /// Where memory behind pointers ends is not known here: 0. Who knows it can read and write, with an address as the
  /// handle.
  [[nodiscard]] std::uint64_t size_of(capture::ArgumentKind /*kind*/, capture::Handle /*handle*/) noexcept override {
    return 0;
  }
  Status read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
              std::span<std::byte> into) noexcept override;
  Status write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
               std::span<const std::byte> from) noexcept override;
  void forget_function(capture::FunctionId function) noexcept override;
  [[nodiscard]] const char* error_name(int code) const noexcept override {
    return Api::error_name(driver_, static_cast<typename Api::Status>(code));
  }

  [[nodiscard]] StreamOrder<Api>& order() noexcept { return order_; }
  [[nodiscard]] StreamLinks<Api>& links() noexcept { return links_; }
  [[nodiscard]] NamedMemory& memory() noexcept { return memory_; }

  /// While this is held no graph is being recorded. To be taken around destroying what graphs may name:
  /// streams, modules, contexts. Recording one graph takes about a millisecond.
  [[nodiscard]] std::unique_lock<std::mutex> no_recording() noexcept {
    const NamedMemory::Waiting waiting(memory_);
    return std::unique_lock(recording_);
  }
  /// What comes next in `to` comes after everything in `from`, two streams of `context`, which is current; the calling
  /// thread can name both. Should the driver refuse events, the host waits.
  void follow(typename Api::ContextHandle context, typename Api::StreamHandle from,
              typename Api::StreamHandle to) noexcept;
  /// A context is about to be destroyed (kNoContext: any may be): what the backend has in it goes. The caller holds
  /// no_recording().
  void context_gone(typename Api::ContextHandle context) noexcept;

 private:
  static constexpr const char* kNoRows = "copies and fills of rows are not recorded";

  typename Api::Status wait_for(const Stream<Api>& stream, typename Api::EventHandle event) noexcept;
  typename Api::Status copy_and_wait(const capture::QueueInfo& queue, std::uint64_t to, std::uint64_t from,
                                     std::size_t bytes) noexcept;

  const typename Api::Driver& driver_;
  const char* too_old_;
  EventPool<Api> events_;
  LiveBuffers<Api> live_;
  StreamOrder<Api> order_;
  StreamLinks<Api> links_;
  NamedMemory memory_;
  std::mutex recording_;
  std::map<typename Api::ContextHandle, typename Api::Uploader> uploaders_;  ///< under recording_
  std::unordered_set<capture::FunctionId> gone_functions_;                   ///< under recording_
};

template <class Api>
Capabilities StreamBackend<Api>::capabilities(const capture::QueueInfo& queue) noexcept {
  Capabilities result;
  const Stream<Api>& stream = Stream<Api>::of(queue.handle);
  result.native = too_old_ == nullptr;
  result.why_not = too_old_;
  result.update_arguments = true;
  result.simultaneous_use = true;
  if (stream.kind == StreamKind::kBlocking || stream.kind == StreamKind::kNonBlocking) {
    // Streams of one context, priority and kind. The legacy stream orders others around each launch, so its work
    // stays by itself; and blocking streams are ordered with it, which work launched in a non-blocking one is not. A
    // thread's own default stream is held in another one's place, which changes with what is not held.
    const std::uint64_t mixed =
        capture::mix(capture::mix(Api::number_of(stream.context), static_cast<std::uint64_t>(stream.priority)),
                     static_cast<std::uint64_t>(stream.kind));
    result.share_group = static_cast<std::uint32_t>(mixed) | 1U;
  }
  return result;
}

template <class Api>
Recordable StreamBackend<Api>::can_record(const capture::OperationView& operation,
                                          const capture::QueueInfo& queue) noexcept {
  using capture::OperationKind;
  if (too_old_ != nullptr) {
    return {false, too_old_};
  }
  switch (operation.kind()) {
    case OperationKind::kKernel:
      return Api::kStreamAttributes || !Stream<Api>::of(queue.handle).attributes.load(std::memory_order_relaxed)
                 ? Recordable{}
                 : Recordable{false, "its stream has attributes"};
    case OperationKind::kPointerFill:
    case OperationKind::kEventWait: return {};
    case OperationKind::kPointerFillRect: return Api::kRows ? Recordable{} : Recordable{false, kNoRows};
    case OperationKind::kPointerCopyRect:
    case OperationKind::kPointerCopy:
      if (operation.kind() == OperationKind::kPointerCopyRect && !Api::kRows) {
        return {false, kNoRows};
      }
      for (const auto& argument : operation.arguments()) {
        if (argument.kind != capture::ArgumentKind::kPointer) {
          return {false, "the copy names pageable host memory"};
        }
      }
      return {};
    case OperationKind::kEventRecord:
      // words[0]: the event takes times, which must be those of this place.
      return !operation.words().empty() && operation.words()[0] == 0
                 ? Recordable{}
                 : Recordable{false, "the event is made for measuring times"};
    default: return {false, "operations of this kind are not recorded"};
  }
}

template <class Api>
Status StreamBackend<Api>::record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                                  std::unique_ptr<CommandBuffer>* result) noexcept {
  try {
    const std::lock_guard guard(recording_);
    for (const capture::NodeIndex node : nodes) {
      const capture::QueueInfo& queue = graph.queue_of(node);
      if (Stream<Api>::of(queue.handle).id.load(std::memory_order_acquire) != queue.id ||
          gone_functions_.contains(graph.operation(node).header().function)) {
        return {Api::kInvalidHandle, "a stream or kernel of it was destroyed before the graph was made"};
      }
    }
    const Stream<Api>& stream = Stream<Api>::of(graph.queue_of(nodes.front()).handle);
    const typename Api::Scope scope(driver_, stream.context);
    if (scope.status() != Api::kSuccess) {
      return {scope.status()};
    }
    const typename Api::RelaxedCapture relaxed(driver_);
    auto made = std::make_unique<StreamCommandBuffer<Api>>(
        StreamParts<Api>{driver_, events_, order_, links_, live_, memory_, right_of_way()});
    const Status status = made->record(graph, nodes, uploaders_[stream.context]);
    if (status.ok()) {
      *result = std::move(made);
    }
    return status;
  } catch (...) {
    return {Api::kOutOfMemory};
  }
}

template <class Api>
void StreamBackend<Api>::follow(typename Api::ContextHandle context, typename Api::StreamHandle from,
                                typename Api::StreamHandle to) noexcept {
  if (Api::query_stream(driver_, from) == Api::kSuccess) {
    return;
  }
  typename Api::Status status = Api::kSuccess;
  if (NativeEvent<Api>* event = events_.take(context, &status); event != nullptr) {
    status = Api::record_event(driver_, event->handle, from);
    if (status == Api::kSuccess) {
      status = Api::wait_event(driver_, to, event->handle);
    }
    events_.release(*event);
  }
  if (status != Api::kSuccess) {
    static_cast<void>(Api::synchronize(driver_, from));
  }
}

/// The program has been told that the wait is there, and more work was held behind it. Should the driver refuse it, the
/// host waits: slow and right.
template <class Api>
typename Api::Status StreamBackend<Api>::wait_for(const Stream<Api>& stream, typename Api::EventHandle event) noexcept {
  typename Api::Status status = Api::wait_event(driver_, stream.handle, event);
  if (status != Api::kSuccess) {
    while ((status = Api::query_event(driver_, event)) == Api::kNotReady) {
      std::this_thread::yield();
    }
  }
  return status;
}

template <class Api>
Status StreamBackend<Api>::issue(const capture::OperationView& operation, std::span<const Event> waits,
                                 Event* done) noexcept {
  Stream<Api>& stream = Stream<Api>::of(operation.header().queue_handle);
  const typename Api::Scope scope(driver_, stream.context);
  typename Api::Status status = scope.status();
  links_.settle(stream);
  for (const Event wait : waits) {
    if (status == Api::kSuccess) {
      status = wait_for(stream, NativeEvent<Api>::of(wait).handle);
    }
  }
  if (status == Api::kSuccess) {
    status = Api::submit(driver_, operation, stream.handle);
  }
  StreamOrder<Api>::submitted(stream);
  if (status == Api::kSuccess && done != nullptr) {
    NativeEvent<Api>* event = events_.take(stream.context, &status);
    const StreamPoint<Api> point = order_.now(stream);
    if (event != nullptr && Api::record_event(driver_, event->handle, stream.handle) == Api::kSuccess) {
      links_.ended(stream, *event, point);
      *done = event->as_event();
    } else {
      if (event != nullptr) {
        events_.release(*event);
      }
      // The work is submitted. Who would have waited for the event finds the work done.
      static_cast<void>(Api::synchronize(driver_, stream.handle));
      status = Api::kSuccess;
    }
  }
  return {status};
}

template <class Api>
Status StreamBackend<Api>::finish(const capture::QueueInfo& queue) noexcept {
  const Stream<Api>& stream = Stream<Api>::of(queue.handle);
  const typename Api::Scope scope(driver_, stream.context);
  return {scope.status() != Api::kSuccess ? scope.status() : Api::synchronize(driver_, stream.handle)};
}

template <class Api>
typename Api::Status StreamBackend<Api>::copy_and_wait(const capture::QueueInfo& queue, std::uint64_t to,
                                                       std::uint64_t from, std::size_t bytes) noexcept {
  const Stream<Api>& stream = Stream<Api>::of(queue.handle);
  const typename Api::Scope scope(driver_, stream.context);
  typename Api::Status status = scope.status();
  if (status == Api::kSuccess) {
    status = Api::copy(driver_, to, from, bytes, stream.handle);
  }
  return status == Api::kSuccess ? Api::synchronize(driver_, stream.handle) : status;
}

template <class Api>
Status StreamBackend<Api>::read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
                                std::span<std::byte> into) noexcept {
  return {kind == capture::ArgumentKind::kPointer
              ? copy_and_wait(queue, reinterpret_cast<std::uint64_t>(into.data()), handle, into.size())
              : Api::kNotSupported};
}

template <class Api>
Status StreamBackend<Api>::write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
                                 std::span<const std::byte> from) noexcept {
  return {kind == capture::ArgumentKind::kPointer
              ? copy_and_wait(queue, handle, reinterpret_cast<std::uint64_t>(from.data()), from.size())
              : Api::kNotSupported};
}

template <class Api>
void StreamBackend<Api>::forget_function(capture::FunctionId function) noexcept {
  try {
    const std::lock_guard guard(recording_);
    gone_functions_.insert(function);
  } catch (...) {
    // Out of memory: recording a graph with it fails in the driver instead.
  }
}

template <class Api>
void StreamBackend<Api>::context_gone(typename Api::ContextHandle context) noexcept {
  order_.forget();
  order_.forget_ends();  // ends of graphs in it are never asked for again
  memory_.changed();
  live_.context_gone(context);
  events_.context_gone(context);
  std::erase_if(uploaders_,
                [context](const auto& entry) { return context == Api::kNoContext || entry.first == context; });
}

}  // namespace refrain::backends
