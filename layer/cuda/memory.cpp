// Memory that goes, and memory in stream order.

#include "layer/streams/memory.h"

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/inventory.h"
#include "layer/cuda/submission.h"

namespace refrain::layer::cuda {
namespace {

const char* const kMemoryOrder = "memory is allocated or freed in stream order";

std::uint64_t start_of(CUdeviceptr address) noexcept {
  return address;
}
std::uint64_t start_of(const void* host) noexcept {
  return reinterpret_cast<std::uint64_t>(host);
}

}  // namespace

#define FREE(name, start, parameters, arguments)                                                       \
  CUresult wrap::name parameters noexcept(!may_wait(#name)) {                                          \
    return streams::free_memory<CudaLayer>(entry::name, start, [&] { return driver.name arguments; }); \
  }
FREE(cuMemFree_v2, start_of(address), (CUdeviceptr address), (address))
FREE(cuMemFreeHost, start_of(host), (void* host), (host))
FREE(cuMemHostUnregister, start_of(host), (void* host), (host))
FREE(cuIpcCloseMemHandle, start_of(address), (CUdeviceptr address), (address))
// More than one allocation, or nobody knows which.
FREE(cuMemUnmap, backends::NamedMemory::kAny, (CUdeviceptr address, size_t bytes), (address, bytes))
FREE(cuMemPoolDestroy, backends::NamedMemory::kAny, (CUmemoryPool pool), (pool))
FREE(cuMemPoolTrimTo, backends::NamedMemory::kAny, (CUmemoryPool pool, size_t left), (pool, left))
FREE(cuDestroyExternalMemory, backends::NamedMemory::kAny, (CUexternalMemory memory), (memory))
FREE(cuGraphicsUnmapResources, backends::NamedMemory::kAny,
     (unsigned count, CUgraphicsResource* resources, CUstream stream), (count, resources, stream))
FREE(cuGraphicsUnmapResources_ptsz, backends::NamedMemory::kAny,
     (unsigned count, CUgraphicsResource* resources, CUstream stream), (count, resources, stream))
FREE(cuGraphicsUnregisterResource, backends::NamedMemory::kAny, (CUgraphicsResource resource), (resource))
#undef FREE

#define ALLOCATE(name, by_default, parameters, arguments)                                                  \
  CUresult wrap::name parameters noexcept {                                                                \
    return streams::submit_unheld<CudaLayer>(                                                              \
        entry::name, OperationKind::kOther, kMemoryOrder, stream, by_default, [&] {                        \
          const CUresult status = driver.name arguments;                                                   \
          streams::allocated_in_order<CudaLayer>(status, status == CUDA_SUCCESS ? start_of(*address) : 0); \
          return status;                                                                                   \
        });                                                                                                \
  }
ALLOCATE(cuMemAllocAsync, DefaultStream::kLegacy, (CUdeviceptr * address, size_t bytes, CUstream stream),
         (address, bytes, stream))
ALLOCATE(cuMemAllocAsync_ptsz, DefaultStream::kPerThread, (CUdeviceptr * address, size_t bytes, CUstream stream),
         (address, bytes, stream))
ALLOCATE(cuMemAllocFromPoolAsync, DefaultStream::kLegacy,
         (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, stream))
ALLOCATE(cuMemAllocFromPoolAsync_ptsz, DefaultStream::kPerThread,
         (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, stream))
#undef ALLOCATE

#define FREE_IN_ORDER(name, by_default)                                                              \
  CUresult wrap::name(CUdeviceptr address, CUstream stream) noexcept {                               \
    return streams::submit_unheld<CudaLayer>(                                                        \
        entry::name, OperationKind::kOther, kMemoryOrder, stream, by_default, [&] {                  \
          return streams::freeing_in_order<CudaLayer>(start_of(address), 0,                          \
                                                      [&] { return driver.name(address, stream); }); \
        });                                                                                          \
  }
FREE_IN_ORDER(cuMemFreeAsync, DefaultStream::kLegacy)
FREE_IN_ORDER(cuMemFreeAsync_ptsz, DefaultStream::kPerThread)
#undef FREE_IN_ORDER

}  // namespace refrain::layer::cuda
