// CUDA graphs as native command buffers.
//
// capture::QueueInfo::handle is the address of a CudaStream, arguments of kind kPointer are device or
// pinned host addresses; see kernel_call.h for launches.
#pragma once

#include <map>
#include <mutex>
#include <unordered_set>

#include "backends/backend.h"
#include "backends/cuda/cuda_command_buffer.h"

namespace refrain::backends {

class CudaBackend final : public Backend {
 public:
  /// `driver` must outlive the backend.
  explicit CudaBackend(const CudaDriver& driver);

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  /// Measured on an H200 (docs/performance.md): a chunk must be held before the device is done with the one in
  /// front of it, so that it grows by less than the device is slower than the host; and each launch costs the
  /// device about 2 us.
  [[nodiscard]] ChunkSizes chunk_sizes() const noexcept override { return {8, 2, 256}; }
  /// A launch costs some 3.5 us (H200), looking at it about a hundredth of that (docs/performance.md).
  [[nodiscard]] bool lanes_may_sleep() const noexcept override { return false; }
  [[nodiscard]] Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept override;
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                std::unique_ptr<CommandBuffer>* result) noexcept override;
  Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept override;
  Status flush(const capture::QueueInfo& queue) noexcept override;
  Status finish(const capture::QueueInfo& queue) noexcept override;
  void retain_event(Event event) noexcept override;
  void release_event(Event event) noexcept override;
  [[nodiscard]] bool complete(Event event) noexcept override;
  [[nodiscard]] bool names_memory() const noexcept override { return false; }
  /// Where memory behind CUDA's pointers ends is not known here: 0. Who knows it can read and write, with an
  /// address as the handle.
  [[nodiscard]] std::uint64_t size_of(capture::ArgumentKind kind, capture::Handle handle) noexcept override;
  Status read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
              std::span<std::byte> into) noexcept override;
  Status write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
               std::span<const std::byte> from) noexcept override;
  void forget_function(capture::FunctionId function) noexcept override;
  [[nodiscard]] const char* error_name(int code) const noexcept override;

  [[nodiscard]] StreamOrder& order() noexcept { return order_; }
  [[nodiscard]] StreamLinks& links() noexcept { return links_; }

  /// While this is held no graph is being recorded. To be taken around destroying what graphs may name:
  /// streams, modules, contexts. Recording one graph takes about a millisecond.
  [[nodiscard]] std::unique_lock<std::mutex> no_recording() noexcept { return std::unique_lock(recording_); }
  /// A context is about to be destroyed (null: any may be): what the backend has in it goes. The caller holds
  /// no_recording().
  void context_gone(CUcontext context) noexcept;

 private:
  CUresult copy_and_wait(const capture::QueueInfo& queue, CUdeviceptr to, CUdeviceptr from, std::size_t bytes) noexcept;
  CUresult uploader_for(CUcontext context, CUstream* uploader);

  const CudaDriver& driver_;
  const char* missing_ = nullptr;
  EventPool events_;
  LiveBuffers live_;
  StreamOrder order_;
  StreamLinks links_;
  std::mutex recording_;
  std::map<CUcontext, CUstream> uploaders_;
  std::unordered_set<capture::FunctionId> gone_functions_;  ///< under recording_
};

}  // namespace refrain::backends
