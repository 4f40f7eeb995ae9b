// Setters of memory and devices, which concern everything that is submitted later. (What is set for a kernel is part of
// its records: kernels.cpp.)

#include <atomic>

#include "layer/level_zero/inventory.h"
#include "layer/level_zero/mapped_memory.h"
#include "layer/level_zero/submission.h"

namespace refrain::layer::level_zero {
namespace {

std::atomic<std::uint64_t> calls{0};

/// Values are not looked at: no other call sets the same.
template <class Issue>
ze_result_t set(const replay::EntryPoint& entry_point, Issue&& issue) noexcept {
  HostCall host_call(entry_point);
  replay::Engine* const running = engine();
  if (running == nullptr) {
    return host_call.done(issue());
  }
  running->state_changing();
  const ze_result_t status = issue();
  if (status == ZE_RESULT_SUCCESS) {
    calls.fetch_add(1, std::memory_order_seq_cst);
  }
  running->state_changed(status == ZE_RESULT_SUCCESS);
  return host_call.done(status);
}

}  // namespace

std::uint64_t set_around() noexcept {
  return calls.load(std::memory_order_seq_cst);
}

ze_result_t wrap::zeDeviceSetCacheAdviceExt(ze_device_handle_t device, void* memory, size_t bytes,
                                            ze_cache_ext_region_t region) noexcept {
  return set(entry::zeDeviceSetCacheAdviceExt,
             [&] { return next.zeDeviceSetCacheAdviceExt(device, memory, bytes, region); });
}
ze_result_t wrap::zeVirtualMemSetAccessAttribute(ze_context_handle_t context, const void* memory, size_t bytes,
                                                 ze_memory_access_attribute_t access) noexcept {
  return set(entry::zeVirtualMemSetAccessAttribute, [&] {
    const Uncompared uncompared;
    const ze_result_t status = next.zeVirtualMemSetAccessAttribute(context, memory, bytes, access);
    if (status == ZE_RESULT_SUCCESS) {
      note_access(memory, bytes, access);
    }
    return status;
  });
}

}  // namespace refrain::layer::level_zero
