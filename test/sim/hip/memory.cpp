// Memory, copies, fills.
#include <cstring>

#include "test/sim/hip/face.h"

using sim::Address;
using sim::address_of;
using sim::Lock;
using sim::MemoryType;
using sim::Returns;
using sim::Side;
using sim::Status;

namespace {

Status allocate(std::size_t bytes, MemoryType type, void** memory) {
  Address address = 0;
  const Status status = sim::allocate_memory(bytes, type, &address);
  if (status == Status::kOk) {
    *memory = sim::host(address);
  }
  return status;
}

Side side_of(hipMemcpyKind kind, bool target) noexcept {
  switch (kind) {
    case hipMemcpyHostToHost: return Side::kHost;
    case hipMemcpyHostToDevice: return target ? Side::kDevice : Side::kHost;
    case hipMemcpyDeviceToHost: return target ? Side::kHost : Side::kDevice;
    case hipMemcpyDeviceToDevice: return Side::kDevice;
    default: return Side::kAny;
  }
}

Status copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream, bool per_thread,
            Returns returns) {
  return sim::copy({{address_of(to), bytes, bytes},
                    side_of(kind, true),
                    {address_of(from), bytes, bytes},
                    side_of(kind, false),
                    bytes},
                   stream, per_thread, returns);
}

Status allocate_in_order(std::size_t bytes, const void* pool, hipStream_t stream, void** memory) {
  Address address = 0;
  const Status status = sim::allocate_in_order(bytes, pool, stream, false, &address);
  *memory = sim::host(address);
  return status;
}

/// Without arrays, which the device does not have.
Status copy(const hipMemcpy3DParms& wanted, hipStream_t stream) {
  if (wanted.srcArray != nullptr || wanted.dstArray != nullptr) {
    return static_cast<Status>(hipErrorNotSupported);
  }
  if (wanted.srcPtr.pitch < wanted.extent.width || wanted.dstPtr.pitch < wanted.extent.width) {
    return Status::kInvalidValue;
  }
  return sim::copy({sim::hip::corner(wanted.dstPtr, wanted.dstPos), side_of(wanted.kind, true),
                    sim::hip::corner(wanted.srcPtr, wanted.srcPos), side_of(wanted.kind, false), wanted.extent.width,
                    wanted.extent.height, wanted.extent.depth},
                   stream, false, Returns::kAtOnce);
}

Status fill(void* to, unsigned value, unsigned element, std::size_t count, hipStream_t stream, bool per_thread) {
  return sim::fill({address_of(to), 0, 0}, value, element, count, 1, stream, per_thread);
}

/// Leaves alone what it cannot answer, as AMD's runtime does.
void answer(hipPointer_attribute wanted, const sim::Allocation& found, void* into) {
  const auto give = [into](auto value) { std::memcpy(into, &value, sizeof(value)); };
  switch (wanted) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      give((found.type == MemoryType::kHost ? 0U : 1U) + (sim::hip::version() >= 60000000 ? 1U : 0U));
      break;
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR: give(found.start); break;
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE: give(found.bytes); break;
    case HIP_POINTER_ATTRIBUTE_BUFFER_ID: give(static_cast<std::uint32_t>(found.id)); break;
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL: give(0); break;
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED: give(found.type == MemoryType::kShared); break;
    default: break;
  }
}

}  // namespace

CALL(hipMalloc, (void** memory, std::size_t bytes), allocate(bytes, MemoryType::kDevice, memory))
CALL(hipMallocManaged, (void** memory, std::size_t bytes, unsigned), allocate(bytes, MemoryType::kShared, memory))
CALL(hipHostMalloc, (void** memory, std::size_t bytes, unsigned), allocate(bytes, MemoryType::kHost, memory))
CALL(hipMallocPitch, (void** memory, std::size_t* pitch, std::size_t width, std::size_t height),
     (*pitch = (width + 255) / 256 * 256, allocate(*pitch* height, MemoryType::kDevice, memory)))
CALL(hipMalloc3D, (hipPitchedPtr * rows, hipExtent extent),
     (rows->pitch = (extent.width + 255) / 256 * 256, rows->xsize = extent.width, rows->ysize = extent.height,
      allocate(rows->pitch* extent.height* extent.depth, MemoryType::kDevice, &rows->ptr)))
CALL(hipMemAllocPitch, (hipDeviceptr_t * memory, std::size_t* pitch, std::size_t width, std::size_t height, unsigned),
     (*pitch = (width + 255) / 256 * 256, allocate(*pitch* height, MemoryType::kDevice, memory)))
CALL(hipExtMallocWithFlags, (void** memory, std::size_t bytes, unsigned), allocate(bytes, MemoryType::kDevice, memory))
CALL(hipMallocHost, (void** memory, std::size_t bytes), allocate(bytes, MemoryType::kHost, memory))
CALL(hipMemAllocHost, (void** memory, std::size_t bytes), allocate(bytes, MemoryType::kHost, memory))
CALL(hipHostAlloc, (void** memory, std::size_t bytes, unsigned), allocate(bytes, MemoryType::kHost, memory))
CALL(hipExtHostAlloc, (void** memory, std::size_t bytes, unsigned), allocate(bytes, MemoryType::kHost, memory))
// There are no arrays, but this is what kernels would write them through.
CALL(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc,
     (hipSurfaceObject_t * surface, const hipResourceDesc*), [&] {
       static int one;
       *surface = reinterpret_cast<hipSurfaceObject_t>(&one);
       return Status::kOk;
     }())
SUBMITS(hipMemPrefetchAsync, (const void* memory, std::size_t bytes, int, hipStream_t stream),
        sim::prefetch(stream, false, address_of(memory), bytes))
SUBMITS(hipMemPrefetchAsync_v2,
        (const void* memory, std::size_t bytes, hipMemLocation, unsigned flags, hipStream_t stream),
        flags != 0 ? Status::kInvalidValue : sim::prefetch(stream, false, address_of(memory), bytes))
CALL(hipMemAdvise, (const void* memory, std::size_t bytes, hipMemoryAdvise, int),
     sim::advise(address_of(memory), bytes))
CALL(hipFree, (void* memory), sim::free_memory("hipFree", address_of(memory)))
CALL(hipFreeHost, (void* memory), sim::free_memory("hipFreeHost", address_of(memory)))
CALL(hipHostFree, (void* memory), sim::free_memory("hipHostFree", address_of(memory)))
CALL(hipHostRegister, (void* memory, std::size_t bytes, unsigned), [&] {
  const Lock lock;
  return sim::register_memory(sim::state().primary, address_of(memory), bytes)
             ? Status::kOk
             : static_cast<Status>(hipErrorHostMemoryAlreadyRegistered);
}())
CALL(hipHostUnregister, (void* memory), [&] {
  {
    const Lock lock;
    const sim::Allocation* found = sim::find_allocation(address_of(memory));
    if (found == nullptr || !found->registered) {
      return static_cast<Status>(hipErrorHostMemoryNotRegistered);
    }
  }
  return sim::free_memory("hipHostUnregister", address_of(memory));
}())
SUBMITS(hipMallocAsync, (void** memory, std::size_t bytes, hipStream_t stream),
        allocate_in_order(bytes, nullptr, stream, memory))
SUBMITS(hipMallocFromPoolAsync, (void** memory, std::size_t bytes, hipMemPool_t pool, hipStream_t stream),
        pool == nullptr ? Status::kInvalidValue : allocate_in_order(bytes, pool, stream, memory))
CALL(hipMemPoolCreate, (hipMemPool_t * pool, const hipMemPoolProps*), [&] {
  const void* made = nullptr;
  const Status status = sim::make_pool(&made);
  *pool = reinterpret_cast<hipMemPool_t>(const_cast<void*>(made));
  return status;
}())
CALL(hipMemPoolTrimTo, (hipMemPool_t, std::size_t), Status::kOk)
CALL(hipMemPoolDestroy, (hipMemPool_t pool), sim::destroy_pool(pool))
SUBMITS(hipFreeAsync, (void* memory, hipStream_t stream), sim::free_in_order(address_of(memory), stream, false))
CALL(hipDrvPointerGetAttributes, (unsigned count, hipPointer_attribute* wanted, void** answers, hipDeviceptr_t address),
     [&] {
       const Lock lock;
       if (const sim::Allocation* found = sim::find_allocation(address_of(address)); found != nullptr) {
         for (unsigned i = 0; i < count; ++i) {
           answer(wanted[i], *found, answers[i]);
         }
       }
       return Status::kOk;
     }())

SUBMITS_TWICE(hipMemcpyAsync, (void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream),
              copy(to, from, bytes, kind, stream, per_thread, Returns::kAtOnce))
SUBMITS_TWICE(hipMemcpy, (void* to, const void* from, std::size_t bytes, hipMemcpyKind kind),
              copy(to, from, bytes, kind, nullptr, per_thread, Returns::kWhenDone))
SUBMITS_TWICE(hipMemcpy2DAsync,
              (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
               std::size_t height, hipMemcpyKind kind, hipStream_t stream),
              to_pitch < width || from_pitch < width ? Status::kInvalidValue
                                                     : sim::copy({{address_of(to), to_pitch, to_pitch* height},
                                                                  side_of(kind, true),
                                                                  {address_of(from), from_pitch, from_pitch* height},
                                                                  side_of(kind, false),
                                                                  width,
                                                                  height},
                                                                 stream, per_thread, Returns::kAtOnce))
SUBMITS(hipMemcpy3DAsync, (const hipMemcpy3DParms* wanted, hipStream_t stream), copy(*wanted, stream))
SUBMITS(hipMemcpyPeerAsync,
        (void* to, int to_device, const void* from, int from_device, std::size_t bytes, hipStream_t stream),
        to_device != 0 || from_device != 0
            ? Status::kInvalidDevice
            : copy(to, from, bytes, hipMemcpyDeviceToDevice, stream, false, Returns::kAtOnce))
SUBMITS(hipMemcpyHtoD, (hipDeviceptr_t to, void* from, std::size_t bytes),
        copy(to, from, bytes, hipMemcpyHostToDevice, nullptr, false, Returns::kWhenDone))
SUBMITS(hipMemcpyDtoH, (void* to, hipDeviceptr_t from, std::size_t bytes),
        copy(to, from, bytes, hipMemcpyDeviceToHost, nullptr, false, Returns::kWhenDone))
// These call functions of the library by their names, as AMD's does with some: with a library in between, the calls go
// there.
FACE hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, std::size_t bytes, hipStream_t stream) {
  sim::log("hipMemcpyHtoDAsync");
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream);
}
FACE hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t bytes, hipStream_t stream) {
  sim::log("hipMemcpyDtoHAsync");
  const hipError_t status = hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream);
  return sim::hip::told(status);
}
FACE hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t bytes, hipStream_t stream) {
  sim::log("hipMemcpyDtoDAsync");
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}
FACE hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  sim::log("hipMemcpyWithStream");
  const hipError_t status = hipMemcpyAsync(to, from, bytes, kind, stream);
  return status == hipSuccess ? hipStreamSynchronize(stream) : status;
}
SUBMITS_TWICE(hipMemsetAsync, (void* to, int value, std::size_t bytes, hipStream_t stream),
              fill(to, static_cast<unsigned char>(value), 1, bytes, stream, per_thread))
SUBMITS(hipMemsetD8Async, (hipDeviceptr_t to, unsigned char value, std::size_t count, hipStream_t stream),
        fill(to, value, 1, count, stream, false))
SUBMITS(hipMemsetD16Async, (hipDeviceptr_t to, unsigned short value, std::size_t count, hipStream_t stream),
        fill(to, value, 2, count, stream, false))
SUBMITS(hipMemsetD32Async, (hipDeviceptr_t to, int value, std::size_t count, hipStream_t stream),
        fill(to, static_cast<unsigned>(value), 4, count, stream, false))
SUBMITS(hipMemset2DAsync,
        (void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, hipStream_t stream),
        pitch < width ? Status::kInvalidValue
                      : sim::fill({address_of(to), pitch, pitch* height}, static_cast<unsigned char>(value), 1, width,
                                  height, stream, false))
FACE hipMemset(void* to, int value, std::size_t bytes) {
  sim::log("hipMemset");
  const hipError_t status = hipMemsetAsync(to, value, bytes, nullptr);
  return status == hipSuccess ? hipStreamSynchronize(nullptr) : status;
}
