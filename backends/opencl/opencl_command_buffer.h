// One recorded part of a graph.
#pragma once

#include <unordered_map>
#include <vector>

#include "backends/opencl/opencl_backend.h"

namespace refrain::backends::opencl {

class OpenClCommandBuffer : public CommandBuffer {
 public:
  /// `facts` are native. Retains the queue.
  OpenClCommandBuffer(OpenClBackend& backend, const DeviceFacts& facts, const capture::QueueInfo& queue);
  ~OpenClCommandBuffer() override;

  cl_int record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes);

  Status enqueue(std::span<const Event> waits, Event* done) noexcept override;
  Status update(std::span<const NodeUpdate> updates) noexcept override;
  [[nodiscard]] bool busy() const noexcept override;

 private:
  // A launch that can be updated: its handle, the record it has now and what that names.
  struct Launch {
    MutableCommand command = nullptr;
    std::vector<std::byte> record;
    OpenClBackend::Objects objects;
  };

  cl_int add(const capture::OperationView& operation, capture::NodeIndex node, const CommandOrder& order);
  cl_int add_kernel(const capture::OperationView& operation, capture::NodeIndex node, const CommandOrder& order);
  cl_int retain_arguments(const capture::OperationView& operation, OpenClBackend::Objects& objects) const;
  // Gives objects back when the submissions running now are complete.
  void release_when_done(OpenClBackend::Objects objects);
  [[nodiscard]] bool is_complete(cl_event event) const noexcept;

  OpenClBackend& backend_;
  const cl_icd_dispatch& driver_;
  const DeviceFacts& facts_;
  bool in_order_;
  bool mutable_ = false;
  bool flag_simultaneous_ = false;
  std::size_t commands_ = 0;
  OpenClBackend::Objects objects_;
  mutable std::vector<cl_event> running_;  // in-order: the newest submission only
  std::size_t prune_at_ = 16;
  std::unordered_map<capture::NodeIndex, Launch> launches_;
};

/// Null if such an operation can be a command of a command buffer (or needs none), else why not.
const char* why_not_recordable(const DeviceFacts& facts, const capture::OperationView& operation) noexcept;

}  // namespace refrain::backends::opencl
