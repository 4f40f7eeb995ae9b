// Tells the capture file about the objects that recorded operations name. Only in capture mode.

#include <vector>

#include "capture/limits.h"
#include "env/log.h"
#include "layer/opencl/enqueue.h"
#include "layer/opencl/kernels.h"

namespace refrain::layer::opencl {
namespace {

void record_contents(const QueueState& queue, const MemoryState& memory, Handle handle) {
  if (!state.recorder->wants_contents() ||
      (memory.info.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0 ||
      state.unset_user_events.load(std::memory_order_relaxed) != 0) {
    return;
  }
  const std::uint64_t size = memory.info.is_image ? state.backend->size_of(memory.kind, handle) : memory.info.size;
  if (size == 0) {
    return;
  }
  if (size > capture::format::kMaxContents) {
    return state.recorder->leave_out_contents(size);
  }
  if (!queue.slot.info.in_order && !state.backend->finish(queue.slot.info).ok()) {
    return;
  }
  std::vector<std::byte> contents(size);
  if (state.backend->read(queue.slot.info, memory.kind, handle, contents).ok()) {
    state.recorder->contents(memory.id, contents);
  }
}

/// `maps`: it is mapped or unmapped. What the program writes meanwhile is in nobody's call: the contents are those that
/// the first other operation finds.
void record_memory(const QueueState& queue, Handle handle, bool maps, unsigned depth) {
  MemoryState* memory = objects.memory.find(handle);
  if (memory == nullptr || memory->recorded.load(std::memory_order_relaxed) ||
      (!maps && memory->recorded.exchange(true))) {
    return;
  }
  if (memory->parent != nullptr && depth < 4) {
    record_memory(queue, handle_of(memory->parent), maps, depth + 1);
  }
  state.recorder->define(memory->info);
  if (memory->parent == nullptr && !maps) {  // parts share their parent's bytes
    record_contents(queue, *memory, handle);
  }
}

void record_kernel(KernelState* kernel) {
  if (kernel == nullptr || kernel->recorded.load(std::memory_order_relaxed) || kernel->recorded.exchange(true)) {
    return;
  }
  state.recorder->define(capture::FunctionInfo{kernel->function, kernel->code, kernel->name, kernel->options});
}

}  // namespace

void notify_recorder(const QueueState& queue, const capture::OperationView& operation) noexcept {
  try {
    KernelState* kernel = nullptr;
    if (operation.header().function_handle != 0) {
      kernel = find_kernel(native<cl_kernel>(operation.header().function_handle));
      if (kernel != nullptr && kernel->arguments_recorded) {
        return;  // most launches: nothing new
      }
      record_kernel(kernel);
    }
    const bool maps =
        operation.kind() == capture::OperationKind::kMap || operation.kind() == capture::OperationKind::kUnmap;
    const std::byte* value = operation.values().data();
    for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
      if (argument.object != 0 && argument.stored_bytes() == sizeof(Handle)) {
        Handle handle = 0;
        std::memcpy(&handle, value, sizeof(handle));
        if (argument.kind == capture::ArgumentKind::kSampler) {
          SamplerState* sampler = objects.samplers.find(handle);
          if (sampler != nullptr && !sampler->recorded.exchange(true)) {
            state.recorder->define(sampler->info);
          }
        } else {
          record_memory(queue, handle, maps, 0);
        }
      }
      value += argument.stored_bytes();
    }
    if (kernel != nullptr) {
      kernel->arguments_recorded = true;
    }
  } catch (...) {
    static std::atomic<bool> said{false};
    log_once(said, "out of memory: the capture lacks some buffers and cannot be benchmarked");
  }
}

}  // namespace refrain::layer::opencl
