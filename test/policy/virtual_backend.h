// The virtual device behind the interface of backends/: the real engine runs on it. Kernels take the time that their
// record says (global size x), nothing is computed.
#pragma once

#include "backends/backend.h"
#include "replay/engine.h"
#include "test/policy/virtual_device.h"
#include "test/policy/virtual_time.h"

namespace refrain::policy {

/// Events are times: nothing is owned, nothing released.
class VirtualBackend : public backends::Backend {
 public:
  VirtualBackend(const Costs& costs, VirtualTime& time) noexcept : costs_(costs), time_(time), device_(costs) {}

  [[nodiscard]] VirtualDevice& device() noexcept { return device_; }
  /// The application's own calls come here as well. Returns the completion, for events.
  Ns submit(const capture::OperationView& operation, Ns event_waited_for) noexcept;
  /// Number of the queue behind a record.
  static std::size_t queue_of(const capture::OperationView& operation) noexcept {
    return static_cast<std::size_t>(operation.header().queue - 1) % kQueues;
  }
  static Ns duration_of(const capture::OperationView& operation) noexcept {
    return operation.kind() == capture::OperationKind::kKernel ? operation.as<capture::words::Kernel>().global[0] : 0;
  }

  [[nodiscard]] backends::ChunkSizes chunk_sizes() const noexcept override { return costs_.chunks; }
  [[nodiscard]] std::string_view name() const noexcept override { return "virtual"; }
  backends::Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  /// Events are recorded and waited for between graphs, as with CUDA.
  backends::Recordable can_record(const capture::OperationView& operation,
                                  const capture::QueueInfo& /*queue*/) noexcept override {
    const bool event = operation.kind() == capture::OperationKind::kEventRecord ||
                       operation.kind() == capture::OperationKind::kEventWait;
    return event ? backends::Recordable{false, "events are recorded and waited for between graphs"}
                 : backends::Recordable{};
  }
  backends::Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                          std::unique_ptr<backends::CommandBuffer>* result) noexcept override;
  backends::Status issue(const capture::OperationView& operation, std::span<const backends::Event> waits,
                         backends::Event* done) noexcept override;
  backends::Status flush(const capture::QueueInfo&) noexcept override { return {}; }
  backends::Status finish(const capture::QueueInfo&) noexcept override { return {}; }
  void retain_event(backends::Event) noexcept override {}
  void release_event(backends::Event) noexcept override {}
  bool complete(backends::Event event) noexcept override { return event <= time_.now(); }
  std::uint64_t size_of(capture::ArgumentKind, capture::Handle) noexcept override { return 0; }
  backends::Status read(const capture::QueueInfo&, capture::ArgumentKind, capture::Handle,
                        std::span<std::byte>) noexcept override {
    return {-1};
  }
  backends::Status write(const capture::QueueInfo&, capture::ArgumentKind, capture::Handle,
                         std::span<const std::byte>) noexcept override {
    return {-1};
  }
  void forget_function(capture::FunctionId) noexcept override {}
  const char* error_name(int) const noexcept override { return "error"; }

 private:
  class Buffer;
  const Costs& costs_;
  VirtualTime& time_;
  VirtualDevice device_;
};

}  // namespace refrain::policy
