// A device that takes what the captured one took, and does nothing.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>

#include "backends/backend.h"
#include "capture/analysis.h"

namespace refrain::replay {

/// For who asks how the engine would divide graphs: everything is recorded, nothing runs.
class PlannedBackend final : public backends::Backend {
 public:
  explicit PlannedBackend(const capture::Capture& capture) noexcept
      : capture_(capture),
        updates_(capture::can_update(capture)),
        keeps_order_(std::ranges::any_of(capture.devices, &capture::DeviceInfo::keeps_order)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "planned"; }
  [[nodiscard]] backends::Capabilities capabilities(const capture::QueueInfo& /*queue*/) noexcept override {
    backends::Capabilities result;
    result.native = result.out_of_order = result.simultaneous_use = true;
    result.update_arguments = result.update_sizes = result.update_functions = updates_;
    result.keeps_order = keeps_order_;
    return result;
  }
  backends::Recordable can_record(const capture::OperationView& operation,
                                  const capture::QueueInfo& queue) noexcept override {
    const char* why = capture::why_not_recordable(capture_, operation, queue);
    return {why == nullptr, why == nullptr ? "" : why};
  }
  backends::Status record(const capture::Graph& /*graph*/, std::span<const capture::NodeIndex> /*nodes*/,
                          std::unique_ptr<backends::CommandBuffer>* result) noexcept override {
    result->reset(new (std::nothrow) Buffer);
    return {*result == nullptr ? 1 : 0};
  }
  backends::Status issue(const capture::OperationView& /*operation*/, std::span<const backends::Event> /*waits*/,
                         backends::Event* /*done*/) noexcept override {
    return {};
  }
  backends::Status flush(const capture::QueueInfo& /*queue*/) noexcept override { return {}; }
  backends::Status finish(const capture::QueueInfo& /*queue*/) noexcept override { return {}; }
  void retain_event(backends::Event /*event*/) noexcept override {}
  void release_event(backends::Event /*event*/) noexcept override {}
  [[nodiscard]] bool complete(backends::Event /*event*/) noexcept override { return true; }
  [[nodiscard]] std::uint64_t size_of(capture::ArgumentKind /*kind*/, capture::Handle /*handle*/) noexcept override {
    return 0;
  }
  backends::Status read(const capture::QueueInfo& /*queue*/, capture::ArgumentKind /*kind*/, capture::Handle /*handle*/,
                        std::span<std::byte> /*into*/) noexcept override {
    return {1};
  }
  backends::Status write(const capture::QueueInfo& /*queue*/, capture::ArgumentKind /*kind*/,
                         capture::Handle /*handle*/, std::span<const std::byte> /*from*/) noexcept override {
    return {1};
  }
  void forget_function(capture::FunctionId /*function*/) noexcept override {}
  [[nodiscard]] const char* error_name(int /*code*/) const noexcept override { return "no memory"; }

 private:
  struct Buffer final : backends::CommandBuffer {
    backends::Status enqueue(std::span<const backends::Event> /*waits*/, backends::Event* /*done*/) noexcept override {
      return {};
    }
    backends::Status update(std::span<const backends::NodeUpdate> updates) noexcept override {
      return {std::ranges::any_of(updates, [](const auto& each) { return each.operation.has(capture::kFixed); }) ? 1
                                                                                                                 : 0};
    }
    [[nodiscard]] bool busy() const noexcept override { return false; }
  };

  const capture::Capture& capture_;
  const bool updates_, keeps_order_;
};

}  // namespace refrain::replay
