// Copies and fills, with and without a stream.
#include "test/sim/cuda/face.h"

using sim::Returns;
using sim::Side;

namespace sim::cuda {
namespace {

/// One side of a copy descriptor. False if it is none that this driver knows.
bool read_side(CUmemorytype type, const void* host_address, CUdeviceptr device, std::size_t x, std::size_t y,
               std::size_t z, std::size_t pitch, std::size_t height, Box* box, Side* side) {
  const bool on_host = type == CU_MEMORYTYPE_HOST;
  if (!on_host && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
    return false;
  }
  *side = on_host ? Side::kHost : type == CU_MEMORYTYPE_DEVICE ? Side::kDevice : Side::kAny;
  box->pitch = pitch;
  box->slice = pitch * height;
  box->start = (on_host ? address_of(host_address) : device) + x + y * box->pitch + z * box->slice;
  return true;
}

Copy row(CUdeviceptr to, Side to_side, CUdeviceptr from, Side from_side, std::size_t bytes) {
  return {{to, bytes, bytes}, to_side, {from, bytes, bytes}, from_side, bytes};
}

Status copy_described(const CUDA_MEMCPY3D& wanted, CUstream stream, bool per_thread, Returns returns) {
  Copy described;
  const Status status = read_copy(wanted, &described);
  return status != Status::kOk ? status : copy(described, stream, per_thread, returns);
}

/// Each side's memory is of the context that is named.
Status copy_between(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
                    CUstream stream, bool per_thread) {
  {
    const Lock lock;
    for (const auto& [memory, handle] : {std::pair(to, to_context), std::pair(from, from_context)}) {
      const Context* const named = find_context(handle);
      const Allocation* const found = find_allocation(memory);
      if (named == nullptr) {
        return Status::kInvalidContext;
      }
      if (found != nullptr && found->owner != nullptr && found->owner != named) {
        return Status::kInvalidValue;
      }
    }
  }
  return copy(row(to, Side::kDevice, from, Side::kDevice, bytes), stream, per_thread, Returns::kAtOnce);
}

CUDA_MEMCPY3D in_3d(const CUDA_MEMCPY2D& flat) noexcept {
  CUDA_MEMCPY3D all{};
  all.srcXInBytes = flat.srcXInBytes;
  all.srcY = flat.srcY;
  all.srcMemoryType = flat.srcMemoryType;
  all.srcHost = flat.srcHost;
  all.srcDevice = flat.srcDevice;
  all.srcPitch = flat.srcPitch;
  all.dstXInBytes = flat.dstXInBytes;
  all.dstY = flat.dstY;
  all.dstMemoryType = flat.dstMemoryType;
  all.dstHost = flat.dstHost;
  all.dstDevice = flat.dstDevice;
  all.dstPitch = flat.dstPitch;
  all.WidthInBytes = flat.WidthInBytes;
  all.Height = flat.Height;
  all.Depth = 1;
  return all;
}

Status fill_rows(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned element, std::size_t count,
                 std::size_t height, CUstream stream, bool per_thread) {
  return fill({to, pitch, pitch * height}, value, element, count, height, stream, per_thread);
}

}  // namespace

Status read_copy(const CUDA_MEMCPY3D& wanted, Copy* copy) {
  // A pitch of 0 means rows without gaps.
  const std::size_t to_pitch = wanted.dstPitch != 0 ? wanted.dstPitch : wanted.WidthInBytes;
  const std::size_t from_pitch = wanted.srcPitch != 0 ? wanted.srcPitch : wanted.WidthInBytes;
  const std::size_t to_height = wanted.dstHeight != 0 ? wanted.dstHeight : wanted.Height;
  const std::size_t from_height = wanted.srcHeight != 0 ? wanted.srcHeight : wanted.Height;
  if (!read_side(wanted.dstMemoryType, wanted.dstHost, wanted.dstDevice, wanted.dstXInBytes, wanted.dstY, wanted.dstZ,
                 to_pitch, to_height, &copy->to, &copy->to_side) ||
      !read_side(wanted.srcMemoryType, wanted.srcHost, wanted.srcDevice, wanted.srcXInBytes, wanted.srcY, wanted.srcZ,
                 from_pitch, from_height, &copy->from, &copy->from_side)) {
    return Status::kNotSupported;  // arrays
  }
  copy->bytes = wanted.WidthInBytes;
  copy->height = wanted.Height;
  copy->depth = wanted.Depth;
  const bool wide = copy->height > 1 || copy->depth > 1;
  return wide && (to_pitch < copy->bytes || from_pitch < copy->bytes) ? Status::kInvalidValue : Status::kOk;
}

}  // namespace sim::cuda

using sim::address_of;
using sim::cuda::row;

SUBMIT_TWICE(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
             sim::copy(row(to, Side::kAny, from, Side::kAny, bytes), stream, per_thread, Returns::kAtOnce))
SUBMIT_TWICE(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream),
             sim::copy(row(to, Side::kDevice, address_of(from), Side::kHost, bytes), stream, per_thread,
                       Returns::kAtOnce))
SUBMIT_TWICE(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream),
             sim::copy(row(address_of(to), Side::kHost, from, Side::kDevice, bytes), stream, per_thread,
                       Returns::kAtOnce))
SUBMIT_TWICE(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
             sim::copy(row(to, Side::kDevice, from, Side::kDevice, bytes), stream, per_thread, Returns::kAtOnce))
SUBMIT_TWICE(cuMemcpyPeerAsync,
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
              CUstream stream),
             sim::cuda::copy_between(to, to_context, from, from_context, bytes, stream, per_thread))
SUBMIT_TWICE_PTDS(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                  sim::copy(row(to, Side::kAny, from, Side::kAny, bytes), nullptr, per_thread, Returns::kWhenRead))
SUBMIT_TWICE_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, std::size_t bytes),
                  sim::copy(row(to, Side::kDevice, address_of(from), Side::kHost, bytes), nullptr, per_thread,
                            Returns::kWhenRead))
SUBMIT_TWICE_PTDS(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, std::size_t bytes),
                  sim::copy(row(address_of(to), Side::kHost, from, Side::kDevice, bytes), nullptr, per_thread,
                            Returns::kWhenRead))
SUBMIT_TWICE_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                  sim::copy(row(to, Side::kDevice, from, Side::kDevice, bytes), nullptr, per_thread, Returns::kAtOnce))

SUBMIT_TWICE(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D* wanted, CUstream stream),
             sim::cuda::copy_described(sim::cuda::in_3d(*wanted), stream, per_thread, Returns::kAtOnce))
SUBMIT_TWICE(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D* wanted, CUstream stream),
             sim::cuda::copy_described(*wanted, stream, per_thread, Returns::kAtOnce))
SUBMIT_TWICE_PTDS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D* wanted),
                  sim::cuda::copy_described(sim::cuda::in_3d(*wanted), nullptr, per_thread, Returns::kWhenRead))
SUBMIT_TWICE_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* wanted),
                  sim::cuda::copy_described(sim::cuda::in_3d(*wanted), nullptr, per_thread, Returns::kWhenRead))
SUBMIT_TWICE_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D* wanted),
                  sim::cuda::copy_described(*wanted, nullptr, per_thread, Returns::kWhenRead))

#define FILLS(bits, type, element)                                                                             \
  SUBMIT_TWICE(cuMemsetD##bits##Async, (CUdeviceptr to, type value, std::size_t count, CUstream stream),       \
               sim::cuda::fill_rows(to, 0, value, element, count, 1, stream, per_thread))                      \
  SUBMIT_TWICE_PTDS(cuMemsetD##bits##_v2, (CUdeviceptr to, type value, std::size_t count),                     \
                    sim::cuda::fill_rows(to, 0, value, element, count, 1, nullptr, per_thread))                \
  SUBMIT_TWICE(                                                                                                \
      cuMemsetD2D##bits##Async,                                                                                \
      (CUdeviceptr to, std::size_t pitch, type value, std::size_t width, std::size_t height, CUstream stream), \
      sim::cuda::fill_rows(to, pitch, value, element, width, height, stream, per_thread))                      \
  SUBMIT_TWICE_PTDS(cuMemsetD2D##bits##_v2,                                                                    \
                    (CUdeviceptr to, std::size_t pitch, type value, std::size_t width, std::size_t height),    \
                    sim::cuda::fill_rows(to, pitch, value, element, width, height, nullptr, per_thread))
FILLS(8, unsigned char, 1)
FILLS(16, unsigned short, 2)
FILLS(32, unsigned, 4)
