// Command lists of Level Zero as native command buffers. See list.h for queues, kernel_call.h for records.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/backend.h"
#include "backends/level_zero/command_buffer.h"
#include "backends/level_zero/level_zero_memory.h"
#include "backends/level_zero/list_ends.h"
#include "backends/recording_lock.h"
#include "backends/removals.h"
#include "env/mutex.h"

namespace refrain::backends {

class LevelZeroBackend final : public Backend {
 public:
  /// Whether the object that an argument of a record names is still the one it was then.
  using Alive = bool (*)(capture::ArgumentKind kind, capture::Handle handle, capture::ObjectId object) noexcept;

  /// `driver` must outlive the backend.
  LevelZeroBackend(const LevelZeroDriver& driver, Alive alive) noexcept
      : driver_(driver), alive_(alive), memory_(driver), ends_(driver), copies_(driver) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "level_zero"; }
  [[nodiscard]] ChunkSizes chunk_sizes() const noexcept override { return kLevelZeroChunkSizes; }
  [[nodiscard]] bool can_change(const capture::OperationView& operation) noexcept override {
    return operation.kind() == capture::OperationKind::kKernel;
  }
  [[nodiscard]] Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept override;
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                std::unique_ptr<CommandBuffer>* result) noexcept override;
  Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept override;
  Status flush(const capture::QueueInfo& /*queue*/) noexcept override { return {}; }
  Status finish(const capture::QueueInfo& queue) noexcept override;
  bool finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point until,
                 bool held) noexcept override;
  // Commands signal the application's own events: there are no others.
  void retain_event(Event /*event*/) noexcept override {}
  void release_event(Event /*event*/) noexcept override {}
  [[nodiscard]] bool complete(Event /*event*/) noexcept override { return true; }
  [[nodiscard]] bool names_memory() const noexcept override { return false; }
  [[nodiscard]] AddressedMemory* addressed_memory() noexcept override { return memory_.usable() ? &memory_ : nullptr; }
  [[nodiscard]] std::uint64_t size_of(capture::ArgumentKind kind, capture::Handle handle) noexcept override;
  Status read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
              std::span<std::byte> into) noexcept override;
  Status write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
               std::span<const std::byte> from) noexcept override;
  void forget_function(capture::FunctionId function) noexcept override;
  [[nodiscard]] const char* error_name(int code) const noexcept override;

  /// Gives back what read() and write() made in it, before it is destroyed.
  void context_gone(ze_context_handle_t context) noexcept;

  /// For verify mode.
  [[nodiscard]] LevelZeroMemory& memory() noexcept { return memory_; }

  /// While it exists no graph is being recorded. To be made around destroying what graphs may name. Recording one graph
  /// takes about a millisecond.
  class [[nodiscard]] REFRAIN_SCOPED_CAPABILITY NoRecording {
   public:
    explicit NoRecording(LevelZeroBackend& backend) noexcept REFRAIN_ACQUIRE(backend.recording_)
        : lock_(backend.recording_) {}
    ~NoRecording() REFRAIN_RELEASE() = default;
    NoRecording(const NoRecording&) = delete;
    NoRecording& operator=(const NoRecording&) = delete;

   private:
    env::MutexLock<RecordingLock> lock_;
  };

  /// A kernel that launches may name. May throw std::bad_alloc.
  void know_function(capture::FunctionId function, ze_module_handle_t module, const std::string& name);
  /// Before a list of the application is destroyed, when its graphs are gone: what is left of them on its way is waited
  /// for (the application may only destroy what is idle) and given back.
  void list_gone(ImmediateList& list) noexcept REFRAIN_REQUIRES(recording_);

  // For command buffers.
  [[nodiscard]] const LevelZeroDriver& driver() const noexcept { return driver_; }
  void add(LevelZeroCommandBuffer& buffer);
  /// Takes what the buffer has of the driver. What runs is given back later.
  void retire(LevelZeroCommandBuffer& buffer) noexcept;
  /// Appends a record's command; kernels are launched through a kernel object of ours, one per function, which keeps
  /// what is appended apart from what the application sets. May throw std::bad_alloc.
  ze_result_t append_to(ze_command_list_handle_t list, ze_device_handle_t device,
                        const capture::OperationView& operation);

 private:
  struct Function {
    ze_module_handle_t module = nullptr;
    std::string name;
    ze_kernel_handle_t kernel = nullptr;  ///< ours; null: not made yet
  };
  ze_result_t prepare(ImmediateList& list) noexcept REFRAIN_REQUIRES(recording_);
  [[nodiscard]] ze_result_t end_of(const capture::QueueInfo& queue,
                                   std::chrono::steady_clock::time_point until) noexcept;
  template <class Copy>
  Status with_copies(const capture::QueueInfo& queue, capture::ArgumentKind kind, Copy&& copy) noexcept;
  void sweep() noexcept;
  template <class Of>
  void give_back_those(Of&& of) noexcept;

  const LevelZeroDriver& driver_;
  const Alive alive_;
  LevelZeroMemory memory_;
  ListEnds ends_;
  env::Mutex copies_mutex_;
  MemoryCopies copies_ REFRAIN_GUARDED_BY(copies_mutex_);  ///< of read() and write()
  RecordingLock recording_ REFRAIN_ACQUIRED_BEFORE(kernels_mutex_, buffers_mutex_){graph_maker()};
  RecordingLock kernels_mutex_{graph_maker()};  ///< also of who sets arguments
  std::unordered_map<capture::FunctionId, Function> functions_ REFRAIN_GUARDED_BY(kernels_mutex_);
  env::Mutex buffers_mutex_;
  Removals removals_ REFRAIN_GUARDED_BY(buffers_mutex_);  ///< threads in retire()
  std::unordered_set<LevelZeroCommandBuffer*> buffers_ REFRAIN_GUARDED_BY(buffers_mutex_);
  /// Of buffers that are gone: running, or broken.
  std::vector<ListInstance> retired_ REFRAIN_GUARDED_BY(buffers_mutex_);
};

}  // namespace refrain::backends
