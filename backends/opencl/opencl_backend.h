// OpenCL behind the neutral interface.
//
// Every call to the driver goes through the dispatch table given at construction, so that a layer can pass
// the table of what is underneath it; the exported cl… functions are never used. Entries that a driver may
// lack (anything after OpenCL 1.1) may be null.
#pragma once

#include <atomic>

#include "backends/backend.h"
#include "backends/memory_inventory.h"
#include "backends/opencl/device_facts.h"
#include "backends/opencl/kernel_cache.h"
#include "backends/opencl/opencl_headers.h"
#include "env/mutex.h"

namespace refrain::backends {

class OpenClBackend : public Backend {
 public:
  /// `driver` must outlive the backend, and so must `shared`, the shared virtual memory that there is (null: none is
  /// freed while something is recorded). Touches no driver.
  explicit OpenClBackend(const cl_icd_dispatch& driver, MemoryInventory* shared = nullptr);
  /// All command buffers must be gone.
  ~OpenClBackend() override;
  OpenClBackend(const OpenClBackend&) = delete;
  OpenClBackend& operator=(const OpenClBackend&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "opencl"; }
  /// Of the queue behind `queue.handle`.
  [[nodiscard]] Capabilities capabilities(const capture::QueueInfo& queue) noexcept override;
  [[nodiscard]] std::vector<std::string> notes() override { return devices_.notes(); }
  /// Looks at the kind, the flags and the kinds of arguments only: a record without any may be given to ask
  /// about a kind.
  Recordable can_record(const capture::OperationView& operation, const capture::QueueInfo& queue) noexcept override;
  [[nodiscard]] bool can_change(const capture::OperationView& operation) noexcept override {
    return operation.kind() == capture::OperationKind::kKernel;
  }
  Status record(const capture::Graph& graph, std::span<const capture::NodeIndex> nodes,
                std::unique_ptr<CommandBuffer>* result) noexcept override;
  /// Cannot issue what only the application's own call can do (maps, native kernels, frees, command
  /// buffers of the application): CL_INVALID_OPERATION.
  Status issue(const capture::OperationView& operation, std::span<const Event> waits, Event* done) noexcept override;
  Status flush(const capture::QueueInfo& queue) noexcept override;
  Status finish(const capture::QueueInfo& queue) noexcept override;
  bool finish_by(const capture::QueueInfo& queue, std::chrono::steady_clock::time_point until,
                 bool held) noexcept override;
  void retain_event(Event event) noexcept override;
  void release_event(Event event) noexcept override;
  [[nodiscard]] bool complete(Event event) noexcept override;
  [[nodiscard]] MemoryInventory* shared_memory() noexcept override { return shared_; }
  /// Images: bytes of all elements without padding. 0 if the driver does not know the object.
  [[nodiscard]] std::uint64_t size_of(capture::ArgumentKind kind, capture::Handle handle) noexcept override;
  Status read(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
              std::span<std::byte> into) noexcept override;
  Status write(const capture::QueueInfo& queue, capture::ArgumentKind kind, capture::Handle handle,
               std::span<const std::byte> from) noexcept override;
  /// Kernel objects keep a program from being built again: call this when the application released its
  /// last kernel of a function.
  void forget_function(capture::FunctionId function) noexcept override;
  void give_back() noexcept override { sweep(true); }
  [[nodiscard]] bool has_to_give_back() const noexcept override {
    return leftover_count_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] const char* error_name(int code) const noexcept override;

  /// Objects that a command buffer owned while it was still running. backends/opencl only.
  struct Objects {
    std::vector<cl_mem> memory;
    std::vector<cl_sampler> samplers;
    std::vector<cl_kernel> kernels;
    cl_command_queue queue = nullptr;
    opencl::CommandBufferHandle buffer = nullptr;
    const opencl::DeviceFacts* facts = nullptr;
  };
  /// Releases `objects` once all `running` events (owned from now on) are complete: now, or at a later
  /// call of this function, of record() or give_back().
  void release_later(Objects objects, std::vector<cl_event> running) noexcept;
  [[nodiscard]] const cl_icd_dispatch& driver() const noexcept { return driver_; }

 private:
  struct Leftover {
    Objects objects;
    std::vector<cl_event> running;
  };
  void release(Objects& objects) noexcept;
  void sweep(bool buffers) noexcept;
  [[nodiscard]] bool drop_complete(std::vector<cl_event>& running) noexcept;

  const cl_icd_dispatch& driver_;
  MemoryInventory* const shared_;
  opencl::DeviceTable devices_;
  opencl::KernelCache kernels_;
  std::atomic<std::size_t> leftover_count_{0};
  env::Mutex leftover_mutex_;
  std::vector<Leftover> leftovers_ REFRAIN_GUARDED_BY(leftover_mutex_);
};

}  // namespace refrain::backends
