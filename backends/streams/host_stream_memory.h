// Memory by address in APIs whose queues are streams, where no kernel of Refrain's own runs: through the host.
//
// Api has, besides what stream.h lists, copy, reach(driver, address): what the current context may do with memory, and
// device_of(driver, context).
#pragma once

#include <optional>

#include "backends/memory_through_host.h"
#include "backends/streams/stream.h"
#include "backends/streams/stream_memory.h"

namespace refrain::backends {

template <class Api>
class HostStreamMemory final : public MemoryThroughHost {
 public:
  explicit HostStreamMemory(const typename Api::Driver& driver) noexcept : driver_(driver) {}

  /// Before the first check. `inventory` must outlive this.
  void use(MemoryInventory& inventory) noexcept { inventory_ = &inventory; }
  [[nodiscard]] bool usable() const noexcept { return inventory_ != nullptr; }
  void context_gone(typename Api::ContextHandle /*context*/) noexcept {}  // nothing is kept there

  [[nodiscard]] const char* why_not(const capture::QueueInfo& queue,
                                    std::span<const capture::OperationView> operations) noexcept override {
    return why_not_now<Api>(driver_, *inventory_, queue, operations);
  }
  bool begin(const capture::QueueInfo& queue, std::vector<MemoryRange>* device, std::vector<MemoryRange>* host,
             const char** why) noexcept override {
    context_ = Stream<Api>::of(queue.handle).context;
    stream_ = Stream<Api>::of(queue.handle).handle;
    held_.emplace(inventory_);
    if (!*held_) {
      *why = "another thread frees memory";
      return false;
    }
    const typename Api::RelaxedCapture relaxed(driver_);
    const typename Api::Scope scope(driver_, context_);
    if (scope.status() != Api::kSuccess) {
      *why = "the device cannot be asked for its memory";
      return false;
    }
    return list_memory(
        *inventory_, Api::device_of(driver_, context_),
        [&](const LiveMemory& memory) { return reach_now<Api>(driver_, memory); }, device, host, why);
  }
  void end(bool /*idle*/) noexcept override { held_.reset(); }

 private:
  Status move(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept override {
    const typename Api::RelaxedCapture relaxed(driver_);
    const typename Api::Scope scope(driver_, context_);
    typename Api::Status status = scope.status();
    if (status == Api::kSuccess) {
      status = Api::copy(driver_, to, from, bytes, stream_);
    }
    return {status == Api::kSuccess ? Api::synchronize(driver_, stream_) : status};
  }
  [[nodiscard]] Status out_of_memory() const noexcept override { return {Api::kOutOfMemory}; }

  const typename Api::Driver& driver_;
  MemoryInventory* inventory_ = nullptr;
  // Of the check that is under way.
  std::optional<InventoryHeld> held_;
  typename Api::ContextHandle context_ = Api::kNoContext;
  typename Api::StreamHandle stream_ = {};
};

}  // namespace refrain::backends
