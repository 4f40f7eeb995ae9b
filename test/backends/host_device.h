// The host backend as a device on which captures are made again.
#pragma once

#include "backends/host/host_backend.h"
#include "backends/standalone_device.h"

namespace refrain::test {

/// Its command buffers can be made to lose the last command.
class HostDevice : public backends::StandaloneDevice {
 public:
  class Faulty : public backends::host::HostBackend {
   public:
    std::size_t lose_last_of = 0;  ///< command buffers of at least so many nodes lose the last one; 0: none does
    backends::Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                            std::unique_ptr<backends::CommandBuffer>* result) noexcept override {
      return HostBackend::record(
          graph, lose_last_of != 0 && nodes.size() >= lose_last_of ? nodes.first(nodes.size() - 1) : nodes, result);
    }
  };
  Faulty host;

  backends::Backend& backend() noexcept override { return host; }
  const capture::DeviceInfo& info() const noexcept override { return info_; }
  bool make_queue(const capture::QueueInfo& wanted, capture::QueueInfo* made, std::string*) override {
    *made = wanted;
    host.declare_queue(wanted);
    return true;
  }
  capture::Handle make_memory(const capture::BufferInfo& wanted, capture::Handle, std::string*) override {
    return host.add_buffer(wanted.size);
  }
  capture::Handle make_function(const capture::FunctionInfo&, capture::CodeKind, std::span<const std::byte>,
                                std::string*) override {
    return 1;
  }
  void release_memory() noexcept override {}

 private:
  capture::DeviceInfo info_;
};

}  // namespace refrain::test
