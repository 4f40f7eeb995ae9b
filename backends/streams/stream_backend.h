// The backend of an API whose command buffers are graphs launched on streams, as far as these APIs are alike.
//
// capture::QueueInfo::handle is the address of a Stream, arguments of kind kPointer are device or pinned host
// addresses; see operation.h for launches.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/recording_lock.h"
#include "backends/streams/command_buffer.h"
#include "backends/streams/idle_moment.h"
#include "env/mutex.h"

namespace refrain::backends {

/// Api has, besides what stream.h lists, submit(driver, operation, stream) (one recorded operation, the context being
/// current), copy(driver, to, from, bytes, stream), error_name(driver, status), Uploader (graph_uploader.h),
/// and Memory (stream_memory.h or host_stream_memory.h).
template <class Api>
class StreamBackend : public Backend {
 public:
  /// `driver` must outlive the backend. `too_old`: why the driver cannot replay, with static lifetime; null: it can.
  StreamBackend(const typename Api::Driver& driver, const char* too_old)
      : driver_(driver), too_old_(too_old), events_(driver, exclusive_call_yield()), addressed_memory_(driver) {}

  [[nodiscard]] Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept override;
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                std::unique_ptr<CommandBuffer>* result) noexcept override {
    return record_all(graph, {&nodes, 1}, {result, 1});
  }
  Status record_all(const capture::Graph& graph, std::span<const std::span<const capture::NodeIndex>> parts,
                    std::span<std::unique_ptr<CommandBuffer>> results) noexcept override;
  [[nodiscard]] std::uint64_t record_waited_ns() noexcept override { return idle_moment_.waited_ns(); }
  [[nodiscard]] bool may_replay() noexcept override { return !idle_moment_.wanted(); }
  Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept override;
  /// Streams start work by themselves.
  Status flush(const capture::QueueInfo& /*queue*/) noexcept override { return {}; }
  Status finish(const capture::QueueInfo& queue) noexcept override;
  bool finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point until,
                 bool held) noexcept override;
  void retain_event(Event event) noexcept override {
    NativeEvent<Api>::of(event).references.fetch_add(1, std::memory_order_relaxed);
  }
  void release_event(Event event) noexcept override { events_.release(NativeEvent<Api>::of(event)); }
  [[nodiscard]] bool complete(Event event) noexcept override {
    return Api::query_event(driver_, NativeEvent<Api>::of(event).handle) != Api::kNotReady;
  }
  [[nodiscard]] bool names_memory() const noexcept override { return false; }
  [[nodiscard]] AddressedMemory* addressed_memory() noexcept override {
    return addressed_memory_.usable() ? &addressed_memory_ : nullptr;
  }
  /// Lets verify compare all memory of the inventory, which must outlive the backend. Before anything is held.
  void compare(MemoryInventory& inventory) noexcept { addressed_memory_.use(inventory); }
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

  [[nodiscard]] NamedMemory& memory() noexcept { return memory_; }
  [[nodiscard]] IdleMoment<Api>& idle_moment() noexcept { return idle_moment_; }

  /// While it exists no graph is being recorded. To be made around destroying what graphs may name: streams, modules,
  /// contexts. Recording one graph takes about a millisecond, and no recording waits for work on the device; one that
  /// never ends, because the driver does not return, is not waited for.
  class [[nodiscard]] REFRAIN_SCOPED_CAPABILITY NoRecording {
   public:
    explicit NoRecording(StreamBackend& backend) noexcept REFRAIN_ACQUIRE(backend.recording_)
        : recording_(backend.recording_) {
      const NamedMemory::Waiting waiting(backend.memory_);
      recording_.lock();
    }
    ~NoRecording() REFRAIN_RELEASE() { recording_.unlock(); }
    NoRecording(const NoRecording&) = delete;
    NoRecording& operator=(const NoRecording&) = delete;

   private:
    RecordingLock& recording_;
  };
  /// Two events of Refrain's own: at the end of what a stream holds, and behind the wait for it in another stream.
  struct Handover {
    Event end = kNoEvent, behind = kNoEvent;
  };
  /// What comes next in `to` comes after everything in `from`, two streams of `context`, which is current; the calling
  /// thread can name both. Should the driver refuse events, the host waits. Returns what close() takes; nothing if
  /// nothing has to be waited for.
  Handover follow(typename Api::ContextHandle context, typename Api::StreamHandle from,
                  typename Api::StreamHandle to) noexcept;
  /// After a wait of the application's, which may know all before the end to be done, and must not be told that the
  /// stream behind is not ready: waits until it is and gives the events back. False: it is not after `patience`.
  bool close(Handover* handover, std::chrono::steady_clock::duration patience) noexcept;
  void give_back(Handover* handover) noexcept;
  /// A context is about to be destroyed (kNoContext: any may be): what the backend has in it goes.
  void context_gone(typename Api::ContextHandle context) noexcept REFRAIN_REQUIRES(recording_);

 private:
  struct Part {
    StreamCommandBuffer<Api>* buffer;
    std::span<const capture::NodeIndex> nodes;
  };
  using PartsByContext = std::map<typename Api::ContextHandle, std::vector<Part>>;
  /// Records, and begins to upload. Parts that were begun stand in `by_context` with their contexts.
  Status record_each(const capture::Graph& graph, std::span<const std::span<const capture::NodeIndex>> parts,
                     std::span<std::unique_ptr<CommandBuffer>> results, PartsByContext* by_context)
      REFRAIN_EXCLUDES(recording_);
  Status finish_recording(std::span<const Part> parts, typename Api::Uploader& uploader) REFRAIN_REQUIRES(recording_);
  Status await_upload(typename Api::ContextHandle context) REFRAIN_EXCLUDES(recording_);

  static constexpr const char* kNeverIdle = "the device was never idle while it was to be made";

  typename Api::Status copy_and_wait(const capture::QueueInfo& queue, std::uint64_t to, std::uint64_t from,
                                     std::size_t bytes) noexcept;

  const typename Api::Driver& driver_;
  const char* too_old_;
  EventPool<Api> events_;
  LiveBuffers<Api> live_;
  NamedMemory memory_{graph_maker()};
  IdleMoment<Api> idle_moment_{driver_, submission_pause()};
  typename Api::Memory addressed_memory_;
  RecordingLock recording_{graph_maker()};
  std::map<typename Api::ContextHandle, typename Api::Uploader> uploaders_ REFRAIN_GUARDED_BY(recording_);
  std::unordered_set<capture::FunctionId> gone_functions_ REFRAIN_GUARDED_BY(recording_);
  std::deque<capture::FunctionId> gone_in_order_ REFRAIN_GUARDED_BY(recording_);  ///< the same, oldest first
};

template <class Api>
Capabilities StreamBackend<Api>::capabilities(const capture::QueueInfo& queue) noexcept {
  Capabilities result;
  result.native = too_old_ == nullptr;
  result.why_not = too_old_;
  result.update_arguments = result.update_sizes = true;
  result.update_functions = Api::kUpdatesFunctions;
  result.simultaneous_use = true;
  result.keeps_order = true;
  idle_moment_.watch(Stream<Api>::of(queue.handle));
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
    case OperationKind::kPointerFillRect:
    case OperationKind::kHostFunction: return {};
    // What a graph leaves out comes to the device when it is used there, which counts as time of the graph. What the
    // host reads it reads later, and nobody measures that.
    case OperationKind::kPointerMigrate:
      if (const auto* to = operation.find<capture::words::PointerPrefetchTo>();
          to != nullptr && to->kind == capture::words::PointerPrefetchTo::kToDevice) {
        return {};
      }
      return {false, "memory is fetched to the host between graphs"};
    case OperationKind::kPointerCopyRect:
    case OperationKind::kPointerCopy:
      for (const auto& argument : operation.arguments()) {
        if (argument.kind != capture::ArgumentKind::kPointer) {
          return {false, "the copy names pageable host memory"};
        }
      }
      return {};
    // Whoever looks at the event, or waits for it, must wait for nothing else: so it is recorded where the application
    // recorded it, between one graph and the next.
    case OperationKind::kEventRecord:
    case OperationKind::kEventWait: return {false, "events are recorded and waited for between graphs"};
    default: return {false, "operations of this kind are not recorded"};
  }
}

template <class Api>
Status StreamBackend<Api>::record_all(const capture::Graph& graph,
                                      std::span<const std::span<const capture::NodeIndex>> parts,
                                      std::span<std::unique_ptr<CommandBuffer>> results) noexcept {
  try {
    PartsByContext by_context;
    const typename Api::RelaxedCapture relaxed(driver_);
    Status status = record_each(graph, parts, results, &by_context);
    for (const auto& [context, own_parts] : by_context) {
      const Status awaited = await_upload(context);
      status = status.ok() ? awaited : status;
    }
    return status;
  } catch (...) {
    return {Api::kOutOfMemory};
  }
}

template <class Api>
Status StreamBackend<Api>::record_each(const capture::Graph& graph,
                                       std::span<const std::span<const capture::NodeIndex>> parts,
                                       std::span<std::unique_ptr<CommandBuffer>> results, PartsByContext* by_context) {
  const env::MutexLock guard(recording_);
  if (idle_moment_.paused()) {
    return {Api::kNotReady, kNeverIdle, true};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const capture::NodeIndex node : parts[i]) {
      const capture::QueueInfo& queue = graph.queue_of(node);
      if (Stream<Api>::of(queue.handle).id.load(std::memory_order_acquire) != queue.id ||
          gone_functions_.contains(graph.operation(node).header().function)) {
        return {Api::kInvalidHandle, "a stream or kernel of it was destroyed before the graph was made"};
      }
    }
    auto made = std::make_unique<StreamCommandBuffer<Api>>(
        StreamParts<Api>{driver_, events_, live_, memory_, exclusive_call_yield(), graph_maker()});
    (*by_context)[Stream<Api>::of(graph.queue_of(parts[i].front()).handle).context].push_back({made.get(), parts[i]});
    results[i] = std::move(made);
  }
  for (const auto& [context, own_parts] : *by_context) {
    const typename Api::Scope scope(driver_, context);
    if (scope.status() != Api::kSuccess) {
      return {scope.status()};
    }
    for (const Part& part : own_parts) {
      if (const Status status = part.buffer->record(graph, part.nodes); !status.ok()) {
        return status;
      }
    }
    if (const Status status = finish_recording(own_parts, uploaders_[context]); !status.ok()) {
      return status;
    }
  }
  return {};
}

/// Makes graphs of what was recorded, all of one context, and begins to bring them to the device.
template <class Api>
Status StreamBackend<Api>::finish_recording(std::span<const Part> parts, typename Api::Uploader& uploader) {
  typename Api::Status status = Api::kSuccess;
  uploader.prepare(driver_, exclusive_call_yield());
  bool gone = false;
  const auto instantiate = [&] {
    gone = memory_.gone_meanwhile();
    if (gone) {
      return;
    }
    uploader.instantiate(driver_, exclusive_call_yield());
    for (const Part& part : parts) {
      graph_maker().goes_on();
      status = status == Api::kSuccess ? part.buffer->instantiate() : status;
    }
    graph_maker().goes_on();
  };
  // A thread that frees memory behind work, and waits for this, may be why the device is idle soon: not at once.
  constexpr std::chrono::milliseconds kGrace{5};
  std::chrono::steady_clock::time_point not_awaited = std::chrono::steady_clock::now();
  const auto hurry = [&] {
    const auto now = std::chrono::steady_clock::now();
    not_awaited = memory_.awaited() ? not_awaited : now;
    return now - not_awaited > kGrace;
  };
  if (!idle_moment_.use(instantiate, hurry)) {
    return {Api::kNotReady, kNeverIdle, true};
  }
  if (gone) {
    return {Api::kInvalidHandle, "memory that it copies or fills was freed while the graph was made", true};
  }
  if (status != Api::kSuccess) {
    return {status};
  }
  // The first launches would have to wait for this.
  std::vector<typename Api::ExecHandle> executables;
  for (const Part& part : parts) {
    if (part.buffer->executable() != nullptr) {
      executables.push_back(part.buffer->executable());
    }
  }
  status = uploader.upload(driver_, executables, exclusive_call_yield());
  graph_maker().goes_on();
  for (const Part& part : parts) {
    part.buffer->end_recording();
  }
  return {status};
}

/// Until what was uploaded is on the device, which may be busy with the program's kernels for any time: that is no
/// driver that does not return, and nothing that the program may have to wait for, at its end neither.
template <class Api>
Status StreamBackend<Api>::await_upload(typename Api::ContextHandle context) {
  constexpr std::chrono::microseconds kAgain{50};
  while (!graph_maker().awaited()) {
    {
      const env::MutexLock guard(recording_);
      const auto uploader = uploaders_.find(context);
      if (uploader == uploaders_.end()) {
        return {Api::kInvalidHandle, "its context was destroyed before the graph was ready", true};
      }
      const typename Api::Scope scope(driver_, context);
      if (scope.status() != Api::kSuccess) {
        return {scope.status()};
      }
      if (uploader->second.done(driver_)) {
        return {uploader->second.wait(driver_, exclusive_call_yield())};
      }
    }
    std::this_thread::sleep_for(kAgain);
  }
  return {Api::kNotReady, "the program ends, and the device is busy", true};
}

template <class Api>
auto StreamBackend<Api>::follow(typename Api::ContextHandle context, typename Api::StreamHandle from,
                                typename Api::StreamHandle to) noexcept -> Handover {
  Handover result;
  if (Api::query_stream(driver_, from) == Api::kSuccess) {
    return result;
  }
  typename Api::Status status = Api::kSuccess;
  NativeEvent<Api>* const end = events_.take(context, &status);
  if (end != nullptr) {
    result.end = end->as_event();
    status = Api::record_event(driver_, end->handle, from);
    if (status == Api::kSuccess) {
      status = Api::wait_event(driver_, to, end->handle);
    }
  }
  if (status != Api::kSuccess) {
    static_cast<void>(Api::synchronize(driver_, from));
    give_back(&result);
    return result;
  }
  if (NativeEvent<Api>* const behind = events_.take(context, &status); behind != nullptr) {
    result.behind = behind->as_event();
    status = Api::record_event(driver_, behind->handle, to);
  }
  if (status != Api::kSuccess) {
    give_back(&result);
  }
  return result;
}

template <class Api>
bool StreamBackend<Api>::close(Handover* handover, std::chrono::steady_clock::duration patience) noexcept {
  constexpr int kQuestions = 200;  // at least: on a busy machine the time may pass while this thread does not run
  const auto until = std::chrono::steady_clock::now() + patience;
  for (const Event event : {handover->end, handover->behind}) {
    for (int asked = 0; event != kNoEvent && !complete(event); ++asked) {
      if (asked > kQuestions && std::chrono::steady_clock::now() > until) {
        return false;
      }
      std::this_thread::yield();
    }
  }
  give_back(handover);
  return true;
}

template <class Api>
void StreamBackend<Api>::give_back(Handover* handover) noexcept {
  for (Event* event : {&handover->end, &handover->behind}) {
    if (*event != kNoEvent) {
      release_event(std::exchange(*event, kNoEvent));
    }
  }
}

template <class Api>
Status StreamBackend<Api>::issue(const capture::OperationView& operation, std::span<const Event> waits,
                                 Event* done) noexcept {
  Stream<Api>& stream = Stream<Api>::of(operation.header().queue_handle);
  const typename Api::Scope scope(driver_, stream.context);
  typename Api::Status status = scope.status();
  // None if the graph is run without the application that made it. The application was told that the call is done, and
  // more is held behind it: should the driver refuse it now, its order is kept by waiting, which is slow and right.
  if (const auto event = reinterpret_cast<typename Api::EventHandle>(operation.header().function_handle);
      event != nullptr && operation.kind() == capture::OperationKind::kEventRecord) {
    status = status == Api::kSuccess ? Api::record_event(driver_, event, stream.handle) : status;
    if (status != Api::kSuccess) {
      static_cast<void>(Api::synchronize(driver_, stream.handle));
    }
    return {status};
  } else if (event != nullptr && operation.kind() == capture::OperationKind::kEventWait) {
    status = status == Api::kSuccess ? Api::wait_event(driver_, stream.handle, event) : status;
    while (status != Api::kSuccess && Api::query_event(driver_, event) == Api::kNotReady) {
      std::this_thread::yield();
    }
    return {status};
  }
  for (const Event wait : waits) {
    if (status == Api::kSuccess) {
      status = Api::wait_event(driver_, stream.handle, NativeEvent<Api>::of(wait).handle);
    }
  }
  if (status != Api::kSuccess) {
    return {status};
  }
  status = Api::submit(driver_, operation, stream.handle);
  if (status == Api::kSuccess && done != nullptr) {
    NativeEvent<Api>* event = events_.take(stream.context, &status);
    if (event != nullptr && Api::record_event(driver_, event->handle, stream.handle) == Api::kSuccess) {
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
bool StreamBackend<Api>::finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point until,
                                   bool held) noexcept {
  const Stream<Api>& stream = Stream<Api>::of(queue.handle);
  if (stream.kind == StreamKind::kPerThread && !held) {
    return false;  // its thread alone can ask
  }
  const typename Api::Scope scope(driver_, stream.context);
  if (scope.status() != Api::kSuccess) {
    return true;  // the context is gone, and its work
  }
  while (Api::query_stream(driver_, stream.handle) == Api::kNotReady) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
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
    // An operation that was looked at before, by another thread, may still be recorded; but not one of long ago. Far
    // more than one call takes away, which may be all that a program has.
    constexpr std::size_t kRemembered = 65536;
    const env::MutexLock guard(recording_);
    if (gone_functions_.insert(function).second) {
      gone_in_order_.push_back(function);
    }
    if (gone_in_order_.size() > kRemembered) {
      gone_functions_.erase(gone_in_order_.front());
      gone_in_order_.pop_front();
    }
  } catch (...) {
    // Out of memory: recording a graph with it fails in the driver instead.
  }
}

template <class Api>
void StreamBackend<Api>::context_gone(typename Api::ContextHandle context) noexcept {
  memory_.changed();
  live_.context_gone(context, graph_maker().given_up());
  events_.context_gone(context);
  addressed_memory_.context_gone(context);
  if (graph_maker().given_up()) {
    return;  // it may be inside one of these calls
  }
  for (auto entry = uploaders_.begin(); entry != uploaders_.end();) {
    if (context != Api::kNoContext && entry->first != context) {
      ++entry;
      continue;
    }
    entry->second.context_gone(driver_);
    entry = uploaders_.erase(entry);
  }
}

}  // namespace refrain::backends
