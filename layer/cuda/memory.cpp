// Memory that goes, and memory in stream order.

#include "layer/streams/memory.h"

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/inventory.h"
#include "layer/cuda/submission.h"
#include "layer/streams/ordered_memory.h"
#include "layer/streams/setters.h"

namespace refrain::layer::cuda {
namespace {

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

CUresult CudaLayer::free_in_order(std::uint64_t address, CUstream stream) noexcept {
  return driver.cuMemFreeAsync(address, stream);
}

CudaLayer::WithoutPoolWaits::WithoutPoolWaits(const std::uint64_t* pool, CUcontext context) noexcept {
  // A stream that nobody knows yet is nearly always one of the current context.
  const backends::ContextScope scope(cuda::runtime.driver, context != nullptr ? context : current_context());
  const backends::RelaxedCapture relaxed(cuda::runtime.driver);
  CUdevice device = 0;
  auto its_pool = reinterpret_cast<CUmemoryPool>(pool == nullptr ? 0 : *pool);
  if (pool == nullptr && (scope.status() != CUDA_SUCCESS || driver.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
                          driver.cuDeviceGetMemPool(&its_pool, device) != CUDA_SUCCESS)) {
    return;
  }
  int waits = 0;
  int none = 0;
  if (driver.cuMemPoolGetAttribute(its_pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &waits) ==
          CUDA_SUCCESS &&
      waits != 0 &&
      driver.cuMemPoolSetAttribute(its_pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &none) ==
          CUDA_SUCCESS) {
    pool_ = its_pool;
  }
}
CudaLayer::WithoutPoolWaits::~WithoutPoolWaits() {
  if (pool_ != nullptr) {
    const backends::RelaxedCapture relaxed(cuda::runtime.driver);
    int waits = 1;
    driver.cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &waits);
  }
}

#define ALLOCATE(name, by_default, parameters, pool, arguments)                                           \
  CUresult wrap::name parameters noexcept {                                                               \
    return streams::allocate_in_order<CudaLayer>({entry::name, stream, by_default}, address, bytes, pool, \
                                                 [&] { return driver.name arguments; });                  \
  }
#define ALLOCATE_FROM_POOL(name, by_default)                                                                   \
  CUresult wrap::name(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) noexcept {       \
    const std::uint64_t its_pool = handle_of(pool);                                                            \
    return streams::allocate_in_order<CudaLayer>({entry::name, stream, by_default}, address, bytes, &its_pool, \
                                                 [&] { return driver.name(address, bytes, pool, stream); });   \
  }
ALLOCATE(cuMemAllocAsync, DefaultStream::kLegacy, (CUdeviceptr * address, size_t bytes, CUstream stream), nullptr,
         (address, bytes, stream))
ALLOCATE(cuMemAllocAsync_ptsz, DefaultStream::kPerThread, (CUdeviceptr * address, size_t bytes, CUstream stream),
         nullptr, (address, bytes, stream))
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync, DefaultStream::kLegacy)
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, DefaultStream::kPerThread)
#undef ALLOCATE
#undef ALLOCATE_FROM_POOL

#define FREE_IN_ORDER(name, by_default)                                                     \
  CUresult wrap::name(CUdeviceptr address, CUstream stream) noexcept {                      \
    return streams::free_in_order<CudaLayer>({entry::name, stream, by_default}, address,    \
                                             [&] { return driver.name(address, stream); }); \
  }
FREE_IN_ORDER(cuMemFreeAsync, DefaultStream::kLegacy)
FREE_IN_ORDER(cuMemFreeAsync_ptsz, DefaultStream::kPerThread)
#undef FREE_IN_ORDER

// What comes behind is not what would be given again: memory of another pool, or memory that somebody else uses too.
#define CHANGE(name, start, parameters, arguments)                                                       \
  CUresult wrap::name parameters noexcept(!may_wait(#name)) {                                            \
    return streams::change_memory<CudaLayer>(entry::name, start, [&] { return driver.name arguments; }); \
  }
CHANGE(cuDeviceSetMemPool, backends::NamedMemory::kAny, (CUdevice device, CUmemoryPool pool), (device, pool))
CHANGE(cuMemSetMemPool, backends::NamedMemory::kAny,
       (CUmemLocation * where, CUmemAllocationType type, CUmemoryPool pool), (where, type, pool))
CHANGE(cuMemPoolExportPointer, address, (CUmemPoolPtrExportData * data, CUdeviceptr address), (data, address))
CHANGE(cuMemGetHandleForAddressRange, address,
       (void* handle, CUdeviceptr address, size_t bytes, CUmemRangeHandleType type, unsigned long long flags),
       (handle, address, bytes, type, flags))
#undef CHANGE

CUresult wrap::cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) noexcept {
  if (engine() != nullptr) {
    streams::ordered_blocks<CudaLayer>().forget(address);
  }
  return streams::Setters<CudaLayer>::all().of_all(
      entry::cuPointerSetAttribute, reinterpret_cast<std::uint64_t>(&entry::cuPointerSetAttribute), 0, {},
      [&] { return driver.cuPointerSetAttribute(value, attribute, address); });
}

#define ASK(name, parameters, arguments)                                                                   \
  CUresult wrap::name parameters noexcept {                                                                \
    return streams::ask_of_memory<CudaLayer>(entry::name, address, [&] { return driver.name arguments; }); \
  }
ASK(cuMemGetAddressRange_v2, (CUdeviceptr * start, size_t* bytes, CUdeviceptr address), (start, bytes, address))
ASK(cuPointerGetAttribute, (void* answer, CUpointer_attribute attribute, CUdeviceptr address),
    (answer, attribute, address))
ASK(cuPointerGetAttributes, (unsigned count, CUpointer_attribute* attributes, void** answers, CUdeviceptr address),
    (count, attributes, answers, address))
#undef ASK

}  // namespace refrain::layer::cuda
