// Copies and fills.

#include "layer/streams/copies.h"

#include <optional>

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"
#include "layer/streams/prefetch.h"
#include "layer/streams/rows.h"

namespace refrain::layer::cuda {
namespace {

namespace words = capture::words;

const char* const kArrays = "the copy names an array, or is described in a way that Refrain does not know";

CUdeviceptr address(const void* host) noexcept {
  return reinterpret_cast<CUdeviceptr>(host);
}

/// False for what is an array, or unknown.
bool is_memory(CUmemorytype type) noexcept {
  return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

std::optional<streams::RowsCopy> rows_of(const CUDA_MEMCPY3D_v2& all) noexcept {
  if (!is_memory(all.dstMemoryType) || !is_memory(all.srcMemoryType) || all.dstLOD != 0 || all.srcLOD != 0) {
    return std::nullopt;
  }
  const auto side = [](CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x, std::size_t y,
                       std::size_t z, std::size_t pitch, std::size_t rows_of_slice) {
    const CUdeviceptr first = type == CU_MEMORYTYPE_HOST ? address(host) : device;
    return streams::Rows{first + x + y * pitch + z * pitch * rows_of_slice, pitch, rows_of_slice};
  };
  return streams::plain_copy({.to = side(all.dstMemoryType, all.dstHost, all.dstDevice, all.dstXInBytes, all.dstY,
                                         all.dstZ, all.dstPitch, all.dstHeight),
                              .from = side(all.srcMemoryType, all.srcHost, all.srcDevice, all.srcXInBytes, all.srcY,
                                           all.srcZ, all.srcPitch, all.srcHeight),
                              .row_bytes = all.WidthInBytes,
                              .rows = all.Height,
                              .slices = all.Depth});
}

CUDA_MEMCPY3D_v2 with_one_slice(const CUDA_MEMCPY2D_v2& flat) noexcept {
  CUDA_MEMCPY3D_v2 all{};
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

/// What is held is submitted by its addresses alone.
const char* why_no_peer_copy(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context) noexcept {
  const auto is_of = [](CUdeviceptr memory, CUcontext context) {
    CUcontext its = nullptr;
    CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_CONTEXT;
    void* answer = &its;
    return driver.cuPointerGetAttributes(1, &wanted, &answer, memory) == CUDA_SUCCESS && its == context;
  };
  return is_of(to, to_context) && is_of(from, from_context)
             ? nullptr
             : "a copy between contexts of memory that is of none, or of another one";
}

std::uint64_t number_of(int place) noexcept {
  return static_cast<std::uint32_t>(place);
}

/// As the newer call says it.
words::PointerPrefetchTo fetched_to(std::size_t bytes, CUdevice device) noexcept {
  static_assert(words::PointerPrefetchTo::kToDevice == CU_MEM_LOCATION_TYPE_DEVICE &&
                words::PointerPrefetchTo::kToHost == CU_MEM_LOCATION_TYPE_HOST);
  const bool to_host = device == CU_DEVICE_CPU;
  return {.bytes = bytes,
          .kind = to_host ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
          .place = to_host ? 0 : number_of(device),
          .flags = 0};
}

}  // namespace

// Each function exists twice: by_default says which stream 0 is.
#define COPY(name, by_default, to_type, to_address, from_type, from_address)                          \
  CUresult wrap::name(to_type to, from_type from, size_t bytes, CUstream stream) noexcept {           \
    return streams::copy<CudaLayer>(entry::name, to_address, from_address, bytes, stream, by_default, \
                                    [&] { return driver.name(to, from, bytes, stream); });            \
  }
COPY(cuMemcpyAsync, DefaultStream::kLegacy, CUdeviceptr, to, CUdeviceptr, from)
COPY(cuMemcpyAsync_ptsz, DefaultStream::kPerThread, CUdeviceptr, to, CUdeviceptr, from)
COPY(cuMemcpyHtoDAsync_v2, DefaultStream::kLegacy, CUdeviceptr, to, const void*, address(from))
COPY(cuMemcpyHtoDAsync_v2_ptsz, DefaultStream::kPerThread, CUdeviceptr, to, const void*, address(from))
COPY(cuMemcpyDtoHAsync_v2, DefaultStream::kLegacy, void*, address(to), CUdeviceptr, from)
COPY(cuMemcpyDtoHAsync_v2_ptsz, DefaultStream::kPerThread, void*, address(to), CUdeviceptr, from)
COPY(cuMemcpyDtoDAsync_v2, DefaultStream::kLegacy, CUdeviceptr, to, CUdeviceptr, from)
COPY(cuMemcpyDtoDAsync_v2_ptsz, DefaultStream::kPerThread, CUdeviceptr, to, CUdeviceptr, from)
#undef COPY

// In a graph, and when what is held is issued, as a copy between these addresses: the driver knows whose they are.
#define PEER_COPY(name, by_default)                                                                                   \
  CUresult wrap::name(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,   \
                      CUstream stream) noexcept {                                                                     \
    return streams::copy<CudaLayer>(                                                                                  \
        entry::name, to, from, bytes, stream, by_default,                                                             \
        [&] { return driver.name(to, to_context, from, from_context, bytes, stream); },                               \
        [&](const streams::CopyPlaces& /*places*/) { return why_no_peer_copy(to, to_context, from, from_context); }); \
  }
PEER_COPY(cuMemcpyPeerAsync, DefaultStream::kLegacy)
PEER_COPY(cuMemcpyPeerAsync_ptsz, DefaultStream::kPerThread)
#undef PEER_COPY

#define FILL(name, by_default, Value)                                                        \
  CUresult wrap::name(CUdeviceptr to, Value value, size_t count, CUstream stream) noexcept { \
    return streams::fill<CudaLayer>(entry::name, to, value, count, stream, by_default,       \
                                    [&] { return driver.name(to, value, count, stream); });  \
  }
FILL(cuMemsetD8Async, DefaultStream::kLegacy, unsigned char)
FILL(cuMemsetD8Async_ptsz, DefaultStream::kPerThread, unsigned char)
FILL(cuMemsetD16Async, DefaultStream::kLegacy, unsigned short)
FILL(cuMemsetD16Async_ptsz, DefaultStream::kPerThread, unsigned short)
FILL(cuMemsetD32Async, DefaultStream::kLegacy, unsigned int)
FILL(cuMemsetD32Async_ptsz, DefaultStream::kPerThread, unsigned int)
#undef FILL

#define FILL_ROWS(name, by_default, Value)                                                                      \
  CUresult wrap::name(CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height,                   \
                      CUstream stream) noexcept {                                                               \
    return streams::fill_rows<CudaLayer>(entry::name, to, pitch, value, width, height, stream, by_default,      \
                                         [&] { return driver.name(to, pitch, value, width, height, stream); }); \
  }
FILL_ROWS(cuMemsetD2D8Async, DefaultStream::kLegacy, unsigned char)
FILL_ROWS(cuMemsetD2D8Async_ptsz, DefaultStream::kPerThread, unsigned char)
FILL_ROWS(cuMemsetD2D16Async, DefaultStream::kLegacy, unsigned short)
FILL_ROWS(cuMemsetD2D16Async_ptsz, DefaultStream::kPerThread, unsigned short)
FILL_ROWS(cuMemsetD2D32Async, DefaultStream::kLegacy, unsigned int)
FILL_ROWS(cuMemsetD2D32Async_ptsz, DefaultStream::kPerThread, unsigned int)
#undef FILL_ROWS

#define COPY_ROWS(name, by_default, Described, described)                                                            \
  CUresult wrap::name(const Described* copy, CUstream stream) noexcept {                                             \
    const auto issue = [&] { return driver.name(copy, stream); };                                                    \
    return copy == nullptr                                                                                           \
               ? issue()                                                                                             \
               : streams::copy_rows<CudaLayer>(entry::name, rows_of(described), kArrays, stream, by_default, issue); \
  }
COPY_ROWS(cuMemcpy2DAsync_v2, DefaultStream::kLegacy, CUDA_MEMCPY2D_v2, with_one_slice(*copy))
COPY_ROWS(cuMemcpy2DAsync_v2_ptsz, DefaultStream::kPerThread, CUDA_MEMCPY2D_v2, with_one_slice(*copy))
COPY_ROWS(cuMemcpy3DAsync_v2, DefaultStream::kLegacy, CUDA_MEMCPY3D_v2, *copy)
COPY_ROWS(cuMemcpy3DAsync_v2_ptsz, DefaultStream::kPerThread, CUDA_MEMCPY3D_v2, *copy)
#undef COPY_ROWS

#define PREFETCH(name, by_default)                                                                      \
  CUresult wrap::name(CUdeviceptr memory, size_t bytes, CUdevice to, CUstream stream) noexcept {        \
    return streams::prefetch<CudaLayer>(entry::name, memory, fetched_to(bytes, to), stream, by_default, \
                                        [&] { return driver.name(memory, bytes, to, stream); });        \
  }
PREFETCH(cuMemPrefetchAsync, DefaultStream::kLegacy)
PREFETCH(cuMemPrefetchAsync_ptsz, DefaultStream::kPerThread)
#undef PREFETCH

#define PREFETCH(name, by_default)                                                                                    \
  CUresult wrap::name(CUdeviceptr memory, size_t bytes, CUmemLocation to, unsigned flags, CUstream stream) noexcept { \
    const words::PointerPrefetchTo numbers = {                                                                        \
        .bytes = bytes, .kind = to.type, .place = number_of(to.id), .flags = flags};                                  \
    return streams::prefetch<CudaLayer>(entry::name, memory, numbers, stream, by_default,                             \
                                        [&] { return driver.name(memory, bytes, to, flags, stream); });               \
  }
PREFETCH(cuMemPrefetchAsync_v2, DefaultStream::kLegacy)
PREFETCH(cuMemPrefetchAsync_v2_ptsz, DefaultStream::kPerThread)
#undef PREFETCH

#define UNHELD(name, by_default, why, parameters, arguments)                                              \
  CUresult wrap::name parameters noexcept {                                                               \
    return streams::submit_unheld<CudaLayer>(entry::name, OperationKind::kOther, why, stream, by_default, \
                                             [&] { return driver.name arguments; });                      \
  }
#define UNHELD_TWICE(name, why, parameters, arguments)             \
  UNHELD(name, DefaultStream::kLegacy, why, parameters, arguments) \
  UNHELD(name##_ptsz, DefaultStream::kPerThread, why, parameters, arguments)
UNHELD_TWICE(cuGraphLaunch, "it is a graph that the application made itself", (CUgraphExec graph, CUstream stream),
             (graph, stream))
#undef UNHELD_TWICE
#undef UNHELD

}  // namespace refrain::layer::cuda
