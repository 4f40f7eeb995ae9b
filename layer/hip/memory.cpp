// Memory that goes, and memory in stream order.

#include "layer/streams/memory.h"

#include "layer/hip/submission.h"

namespace refrain::layer::hip {

#define FREE(name, start, parameters, arguments)                                                       \
  hipError_t wrap::name parameters noexcept(!may_wait(#name)) {                                        \
    return streams::free_memory<HipLayer>(entry::name, start, [&] { return library.name arguments; }); \
  }
FREE(hipFree, handle_of(memory), (void* memory), (memory))
FREE(hipFreeHost, handle_of(memory), (void* memory), (memory))
FREE(hipHostFree, handle_of(memory), (void* memory), (memory))
FREE(hipHostUnregister, handle_of(memory), (void* memory), (memory))
FREE(hipIpcCloseMemHandle, handle_of(memory), (void* memory), (memory))
// More than one allocation, or nobody knows which.
FREE(hipMemUnmap, backends::NamedMemory::kAny, (void* memory, size_t bytes), (memory, bytes))
FREE(hipMemPoolDestroy, backends::NamedMemory::kAny, (hipMemPool_t pool), (pool))
FREE(hipMemPoolTrimTo, backends::NamedMemory::kAny, (hipMemPool_t pool, size_t left), (pool, left))
FREE(hipDestroyExternalMemory, backends::NamedMemory::kAny, (hipExternalMemory_t memory), (memory))
#undef FREE

// An allocation is told from one that was freed at its address by its id. Where a runtime gives it the same one, no
// graph has copies or fills of it.
hipError_t wrap::hipFreeAsync(void* memory, hipStream_t stream) noexcept {
  return streams::submit_unheld<HipLayer>(entry::hipFreeAsync, OperationKind::kOther, "memory is freed in stream order",
                                          stream, DefaultStream::kLegacy, [&] {
                                            return streams::freeing_in_order<HipLayer>(
                                                handle_of(memory), streams::place_of<HipLayer>(handle_of(memory), 1).id,
                                                [&] { return library.hipFreeAsync(memory, stream); });
                                          });
}

}  // namespace refrain::layer::hip
