#include "layer/cuda/inventory.h"

#include <array>

#include "capture/operation.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"
#include "layer/streams/ordered_memory.h"

namespace refrain::layer::cuda {

bool CudaLayer::describe_memory(std::uint64_t address, backends::LiveMemory* found) noexcept {
  unsigned type = 0;
  unsigned managed = 0;
  CUdeviceptr start = 0;
  CUdeviceptr on_device = 0;
  std::size_t bytes = 0;
  unsigned long long id = 0;
  int device = 0;
  std::array<CUpointer_attribute, 7> wanted = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
  };
  std::array<void*, 7> answers = {&type, &start, &bytes, &id, &device, &managed, &on_device};
  // Host memory may have another address on the device: then kernels are given that one.
  if (driver.cuPointerGetAttributes(static_cast<unsigned>(wanted.size()), wanted.data(), answers.data(), address) !=
          CUDA_SUCCESS ||
      (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_HOST) || address - start >= bytes) {
    return false;
  }
  // The attributes of what is mapped tell all that is reserved around it.
  CUdeviceptr mapped_at = 0;
  std::size_t mapped = 0;
  if (driver.cuMemGetAddressRange_v2 != nullptr &&
      driver.cuMemGetAddressRange_v2(&mapped_at, &mapped, address) == CUDA_SUCCESS) {
    start = mapped_at;
    bytes = mapped;
  }
  found->start = start;
  found->bytes = bytes;
  found->id = id != 0 ? id : capture::mix(start, bytes);  // a kind of memory that has none: where it is must do
  found->device = device;
  found->place = managed != 0                 ? capture::MemoryPlace::kManaged
                 : type == CU_MEMORYTYPE_HOST ? capture::MemoryPlace::kHost
                                              : capture::MemoryPlace::kDevice;
  return true;
}

namespace {

// What kernels may write from then on is run twice where it cannot be put back: nothing is compared any more.
constexpr const char* kShared = streams::kSharedMemory;
constexpr const char* kSurfaces = "kernels may write CUDA arrays, which cannot be compared";
constexpr const char* kOwnGraphs = "graphs of the program allocate memory, which cannot be compared";

std::uint64_t address_in(const CUdeviceptr* address) noexcept {
  return address != nullptr ? *address : 0;
}
std::uint64_t address_in(void* const* host) noexcept {
  return host != nullptr ? reinterpret_cast<std::uint64_t>(*host) : 0;
}

/// A call that allocates memory: there may be more, once what was freed in stream order and held is given back.
template <class Call>
CUresult with_memory(const replay::EntryPoint& entry_point, Call&& call) noexcept {
  return streams::or_without_held<CudaLayer>(entry_point, call(), call);
}

}  // namespace

// Calls that make memory, or tell where some is: neutral, since the driver waits for nothing.
#define ALLOCATE(name, parameters, arguments, where)                                         \
  CUresult wrap::name parameters noexcept {                                                  \
    const CUresult status = with_memory(entry::name, [&] { return driver.name arguments; }); \
    note_memory(status, status == CUDA_SUCCESS ? address_in(where) : 0);                     \
    return status;                                                                           \
  }
ALLOCATE(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes), (address, bytes), address)
ALLOCATE(cuMemAllocPitch_v2, (CUdeviceptr * address, size_t* pitch, size_t width, size_t height, unsigned element),
         (address, pitch, width, height, element), address)
ALLOCATE(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags), (address, bytes, flags), address)
ALLOCATE(cuMemAllocHost_v2, (void** host, size_t bytes), (host, bytes), host)
ALLOCATE(cuMemHostAlloc, (void** host, size_t bytes, unsigned flags), (host, bytes, flags), host)
ALLOCATE(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t* bytes, CUmodule module, const char* name),
         (address, bytes, module, name), address)
ALLOCATE(cuLibraryGetGlobal, (CUdeviceptr * address, size_t* bytes, CUlibrary library, const char* name),
         (address, bytes, library, name), address)
ALLOCATE(cuLibraryGetManaged, (CUdeviceptr * address, size_t* bytes, CUlibrary library, const char* name),
         (address, bytes, library, name), address)
#undef ALLOCATE

#define ALLOCATE_OTHER(name, parameters, arguments)                         \
  CUresult wrap::name parameters noexcept {                                 \
    return with_memory(entry::name, [&] { return driver.name arguments; }); \
  }
ALLOCATE_OTHER(cuMemCreate,
               (CUmemGenericAllocationHandle * memory, size_t bytes, const CUmemAllocationProp* what,
                unsigned long long flags),
               (memory, bytes, what, flags))
ALLOCATE_OTHER(cuArrayCreate_v2, (CUarray * array, const CUDA_ARRAY_DESCRIPTOR* what), (array, what))
ALLOCATE_OTHER(cuArray3DCreate_v2, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR* what), (array, what))
ALLOCATE_OTHER(cuMipmappedArrayCreate, (CUmipmappedArray * array, const CUDA_ARRAY3D_DESCRIPTOR* what, unsigned levels),
               (array, what, levels))
#undef ALLOCATE_OTHER

CUresult wrap::cuSurfObjectCreate(CUsurfObject* surface, const CUDA_RESOURCE_DESC* what) noexcept {
  const CUresult status = driver.cuSurfObjectCreate(surface, what);
  note_incomparable(status, kSurfaces);
  return status;
}
CUresult wrap::cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                      CUDA_MEM_ALLOC_NODE_PARAMS* what) noexcept {
  const CUresult status = driver.cuGraphAddMemAllocNode(node, graph, after, count, what);
  note_incomparable(status, kOwnGraphs);
  return status;
}

CUresult wrap::cuMemHostRegister_v2(void* host, size_t bytes,
                                    unsigned flags) noexcept(!may_wait("cuMemHostRegister_v2")) {
  HostCall host_call(entry::cuMemHostRegister_v2);
  const CUresult status = driver.cuMemHostRegister_v2(host, bytes, flags);
  streams::note_registered<CudaLayer>(status, host, bytes);
  return host_call.done(status, false);
}

CUresult wrap::cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle memory,
                        unsigned long long flags) noexcept(!may_wait("cuMemMap")) {
  HostCall host_call(entry::cuMemMap);
  const CUresult status = driver.cuMemMap(address, bytes, offset, memory, flags);
  backends::LiveMemory made;
  if (runtime.inventory != nullptr && status == CUDA_SUCCESS && CudaLayer::describe_memory(address, &made)) {
    made.start = address;
    made.bytes = bytes;
    runtime.inventory->add(made);
  }
  return host_call.done(status, false);
}

#define REACH_BEYOND(name, why, parameters, arguments)        \
  CUresult wrap::name parameters noexcept(!may_wait(#name)) { \
    HostCall host_call(entry::name);                          \
    const CUresult status = driver.name arguments;            \
    note_incomparable(status, why);                           \
    return host_call.done(status, false);                     \
  }
REACH_BEYOND(cuIpcOpenMemHandle_v2, kShared, (CUdeviceptr * address, CUipcMemHandle handle, unsigned flags),
             (address, handle, flags))
REACH_BEYOND(cuMemPoolImportPointer, kShared, (CUdeviceptr * address, CUmemoryPool pool, CUmemPoolPtrExportData* data),
             (address, pool, data))
REACH_BEYOND(cuExternalMemoryGetMappedBuffer, kShared,
             (CUdeviceptr * address, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* what),
             (address, memory, what))
REACH_BEYOND(cuGraphicsResourceGetMappedPointer_v2, kShared,
             (CUdeviceptr * address, size_t* bytes, CUgraphicsResource resource), (address, bytes, resource))
REACH_BEYOND(cuMemImportFromShareableHandle, kShared,
             (CUmemGenericAllocationHandle * memory, void* handle, CUmemAllocationHandleType type),
             (memory, handle, type))
REACH_BEYOND(cuMulticastCreate, kShared, (CUmemGenericAllocationHandle * memory, const CUmulticastObjectProp* what),
             (memory, what))
REACH_BEYOND(cuModuleGetSurfRef, kSurfaces, (CUsurfref * surface, CUmodule module, const char* name),
             (surface, module, name))
#undef REACH_BEYOND

// Who gets memory may write what kernels here wait for, and wait for what they write.
#define GIVE(name, parameters, arguments)                     \
  CUresult wrap::name parameters noexcept(!may_wait(#name)) { \
    HostCall host_call(entry::name);                          \
    const CUresult status = driver.name arguments;            \
    streams::note_others<CudaLayer>(status, kShared);         \
    return host_call.done(status, false);                     \
  }
GIVE(cuIpcGetMemHandle, (CUipcMemHandle * handle, CUdeviceptr address), (handle, address))
GIVE(cuMemExportToShareableHandle,
     (void* handle, CUmemGenericAllocationHandle memory, CUmemAllocationHandleType type, unsigned long long flags),
     (handle, memory, type, flags))
#undef GIVE

}  // namespace refrain::layer::cuda
