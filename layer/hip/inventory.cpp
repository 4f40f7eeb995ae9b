// Calls that make memory, for the inventory of verify mode. See layer/streams/inventory.h.
#include "layer/streams/inventory.h"

#include "layer/hip/real_library.h"
#include "layer/hip/submission.h"
#include "layer/streams/memory.h"

namespace refrain::layer::hip {

bool HipLayer::describe_memory(std::uint64_t address, backends::LiveMemory* found) noexcept {
  backends::Allocation allocation;
  if (!Api::find_allocation(hip::runtime.driver, address, &allocation) ||
      address - allocation.start >= allocation.bytes) {
    return false;
  }
  found->start = allocation.start;
  found->bytes = allocation.bytes;
  found->id = allocation.id != 0 ? allocation.id : mix(allocation.start, allocation.bytes);
  found->device = allocation.device;
  found->place = Api::is_managed(hip::runtime.driver, address)    ? capture::MemoryPlace::kManaged
                 : allocation.type == backends::MemoryType::kHost ? capture::MemoryPlace::kHost
                                                                  : capture::MemoryPlace::kDevice;
  return true;
}

namespace {

// What kernels may write from then on is run twice where it cannot be put back: nothing is compared any more.
constexpr const char* kShared = streams::kSharedMemory;
constexpr const char* kMapped = "memory is mapped, of which the runtime tells too little";
constexpr const char* kSurfaces = "kernels may write arrays, which cannot be compared";
constexpr const char* kOwnGraphs = "graphs of the program allocate memory, which cannot be compared";

/// The first call of a program may be one of these: verify mode has its inventory from then on.
void start_inventory() noexcept {
  if (undecided.load(std::memory_order_relaxed) && interpose::RealLibrary::settings().mode == env::Mode::kVerify)
      [[unlikely]] {
    static_cast<void>(start_engine());
  }
}

hipError_t note(hipError_t status, void* const* memory) noexcept {
  start_inventory();
  streams::note_memory<HipLayer>(status, status == hipSuccess && memory != nullptr ? handle_of(*memory) : 0);
  return status;
}

/// Who makes a graph of memory that comes back may wait for it.
hipError_t note_in_order(hipError_t status, void* const* memory) noexcept {
  start_inventory();
  streams::allocated_in_order<HipLayer>(status, status == hipSuccess && memory != nullptr ? handle_of(*memory) : 0);
  return status;
}

/// What a host call submits, as far as others are concerned that submit.
template <class Call>
hipError_t submitted(Call&& call) noexcept {
  replay::Engine* const running = HipLayer::engine();
  return running == nullptr ? call() : running->lane().beside(call);
}

hipError_t note_incomparable(hipError_t status, const char* why) noexcept {
  start_inventory();
  streams::note_incomparable<HipLayer>(status, why);
  return status;
}

}  // namespace

// Neutral, since the runtime waits for nothing.
#define ALLOCATE(name, parameters, arguments, where) \
  hipError_t wrap::name parameters noexcept {        \
    return note(library.name arguments, where);      \
  }
ALLOCATE(hipMalloc, (void** memory, size_t bytes), (memory, bytes), memory)
ALLOCATE(hipExtMallocWithFlags, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags), memory)
ALLOCATE(hipMallocManaged, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags), memory)
ALLOCATE(hipMallocHost, (void** memory, size_t bytes), (memory, bytes), memory)
ALLOCATE(hipMemAllocHost, (void** memory, size_t bytes), (memory, bytes), memory)
ALLOCATE(hipHostMalloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags), memory)
ALLOCATE(hipHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags), memory)
ALLOCATE(hipExtHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags), memory)
ALLOCATE(hipMallocPitch, (void** memory, size_t* pitch, size_t width, size_t height), (memory, pitch, width, height),
         memory)
ALLOCATE(hipMemAllocPitch, (hipDeviceptr_t * memory, size_t* pitch, size_t width, size_t height, unsigned element),
         (memory, pitch, width, height, element), memory)
ALLOCATE(hipMalloc3D, (hipPitchedPtr * memory, hipExtent extent), (memory, extent),
         memory != nullptr ? &memory->ptr : nullptr)
#undef ALLOCATE

hipError_t wrap::hipHostRegister(void* memory, size_t bytes, unsigned flags) noexcept {
  HostCall host_call(entry::hipHostRegister);
  const hipError_t status = library.hipHostRegister(memory, bytes, flags);
  streams::note_registered<HipLayer>(status, memory, bytes);
  return host_call.done(status, false);
}

#define ALLOCATE_IN_ORDER(name, parameters, arguments)                                                      \
  hipError_t wrap::name parameters noexcept {                                                               \
    HostCall host_call(entry::name);                                                                        \
    return host_call.done(submitted([&] { return note_in_order(library.name arguments, memory); }), false); \
  }
ALLOCATE_IN_ORDER(hipMallocAsync, (void** memory, size_t bytes, hipStream_t stream), (memory, bytes, stream))
ALLOCATE_IN_ORDER(hipMallocFromPoolAsync, (void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream),
                  (memory, bytes, pool, stream))
#undef ALLOCATE_IN_ORDER

#define NEUTRAL_BEYOND(name, why, parameters, arguments)   \
  hipError_t wrap::name parameters noexcept {              \
    return note_incomparable(library.name arguments, why); \
  }
NEUTRAL_BEYOND(hipCreateSurfaceObject, kSurfaces, (hipSurfaceObject_t * surface, const hipResourceDesc* what),
               (surface, what))
NEUTRAL_BEYOND(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc, kSurfaces,
               (hipSurfaceObject_t * surface, const hipResourceDesc* what), (surface, what))
NEUTRAL_BEYOND(hipGraphAddMemAllocNode, kOwnGraphs,
               (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* before, std::size_t count, void* what),
               (node, graph, before, count, what))
#undef NEUTRAL_BEYOND

#define REACH_BEYOND(name, why, parameters, arguments)                            \
  hipError_t wrap::name parameters noexcept {                                     \
    HostCall host_call(entry::name);                                              \
    return host_call.done(note_incomparable(library.name arguments, why), false); \
  }
REACH_BEYOND(hipMemMap, kMapped,
             (void* address, size_t bytes, size_t offset, hipMemGenericAllocationHandle_t memory,
              unsigned long long flags),
             (address, bytes, offset, memory, flags))
REACH_BEYOND(hipIpcOpenMemHandle, kShared, (void** address, hipIpcMemHandle_t handle, unsigned flags),
             (address, handle, flags))
REACH_BEYOND(hipMemPoolImportPointer, kShared, (void** address, hipMemPool_t pool, hipMemPoolPtrExportData* data),
             (address, pool, data))
REACH_BEYOND(hipExternalMemoryGetMappedBuffer, kShared,
             (void** address, hipExternalMemory_t memory, const hipExternalMemoryBufferDesc* what),
             (address, memory, what))
REACH_BEYOND(hipGraphicsResourceGetMappedPointer, kShared,
             (void** address, size_t* bytes, hipGraphicsResource_t resource), (address, bytes, resource))
REACH_BEYOND(hipMemImportFromShareableHandle, kShared,
             (hipMemGenericAllocationHandle_t * memory, void* handle, hipMemAllocationHandleType type),
             (memory, handle, type))
#undef REACH_BEYOND

}  // namespace refrain::layer::hip
