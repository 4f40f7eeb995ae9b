// Copies and fills.

#include "layer/streams/copies.h"

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"
#include "layer/streams/prefetch.h"

namespace refrain::layer::cuda {
namespace {

using capture::ArgumentKind;
namespace words = capture::words;
using streams::CopyPlaces;
using streams::Place;

const char* const kArrays = "the copy names an array, or is described in a way that Refrain does not know";

CUdeviceptr address(const void* host) noexcept {
  return reinterpret_cast<CUdeviceptr>(host);
}

/// One side of a copy of rows.
struct Box {
  CUdeviceptr start = 0;
  std::size_t pitch = 0;
  std::size_t rows_of_slice = 0;
  bool known = false;
};

Box box_of(CUmemorytype type, const void* host, CUdeviceptr device, std::size_t x, std::size_t y, std::size_t z,
           std::size_t pitch, std::size_t rows_of_slice, const CUDA_MEMCPY3D_v2& all) noexcept {
  const bool on_host = type == CU_MEMORYTYPE_HOST;
  const bool many = all.Height > 1 || all.Depth > 1;
  Box box;
  // Numbers that the driver may refuse, or read in its own way, are left to it.
  box.known = (on_host || type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) && all.WidthInBytes != 0 &&
              all.Height != 0 && all.Depth != 0 && (!many || pitch >= all.WidthInBytes) &&
              (all.Depth == 1 || rows_of_slice >= all.Height);
  box.pitch = many ? pitch : all.WidthInBytes;
  box.rows_of_slice = all.Depth > 1 ? rows_of_slice : all.Height;
  box.start = (on_host ? address(host) : device) + x + y * pitch + z * pitch * rows_of_slice;
  return box;
}

template <class Issue>
CUresult copy_rows(const replay::EntryPoint& entry_point, const CUDA_MEMCPY3D_v2& all, CUstream stream,
                   DefaultStream by_default, Issue&& issue) noexcept {
  if (CUresult status = CUDA_SUCCESS; streams::short_way<CudaLayer>(entry_point, &status, issue, true)) {
    return status;
  }
  const Box to = box_of(all.dstMemoryType, all.dstHost, all.dstDevice, all.dstXInBytes, all.dstY, all.dstZ,
                        all.dstPitch, all.dstHeight, all);
  const Box from = box_of(all.srcMemoryType, all.srcHost, all.srcDevice, all.srcXInBytes, all.srcY, all.srcZ,
                          all.srcPitch, all.srcHeight, all);
  if (!to.known || !from.known || all.dstLOD != 0 || all.srcLOD != 0) {
    return streams::submit_unheld<CudaLayer>(entry_point, OperationKind::kOther, kArrays, stream, by_default, issue);
  }
  const auto whole = [&](const Box& box) {
    return ((all.Depth - 1) * box.rows_of_slice + all.Height - 1) * box.pitch + all.WidthInBytes;
  };
  const CopyPlaces places = CopyPlaces::find<CudaLayer>(to.start, whole(to), from.start, whole(from));
  const words::PointerCopyRect numbers = {.row_bytes = all.WidthInBytes,
                                          .rows = all.Height,
                                          .slices = all.Depth,
                                          .to_pitch = to.pitch,
                                          .to_rows = to.rows_of_slice,
                                          .from_pitch = from.pitch,
                                          .from_rows = from.rows_of_slice,
                                          .blocking = places.blocks() ? 1U : 0U};
  Token token = static_cast<Token>(OperationKind::kPointerCopyRect);
  for (const std::uint64_t word : words::in_order(numbers)) {
    token = mix(token, word);
  }
  const Call call{entry_point, OperationKind::kPointerCopyRect, places.mixed_into(token), places.why_not(),
                  places.blocks()};
  return streams::submit<CudaLayer>(
      call, find_stream(stream, by_default),
      [&](capture::OperationWriter& writer, Token token_of_all, bool) {
        writer.begin(OperationKind::kPointerCopyRect, token_of_all);
        writer.words(numbers);
        writer.argument_handle(places.target.kind, places.target.id, to.start);
        writer.argument_handle(places.source.kind, places.source.id, from.start);
        writer.finish();
      },
      issue);
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

template <class Value, class Issue>
CUresult fill_rows(const replay::EntryPoint& entry_point, CUdeviceptr to, std::size_t pitch, Value value,
                   std::size_t width, std::size_t height, CUstream stream, DefaultStream by_default,
                   Issue&& issue) noexcept {
  if (CUresult status = CUDA_SUCCESS; streams::short_way<CudaLayer>(entry_point, &status, issue)) {
    return status;
  }
  const words::PointerFillRect numbers = {.row_bytes = width * sizeof(value), .rows = height, .pitch = pitch};
  Token token = mix(static_cast<Token>(OperationKind::kPointerFillRect), sizeof(value));
  for (const std::uint64_t word : words::in_order(numbers)) {
    token = mix(token, word);
  }
  const bool odd = width == 0 || height == 0 || (height > 1 && pitch < numbers.row_bytes);
  const Place target = odd ? Place{} : streams::filled_place<CudaLayer>(to, (height - 1) * pitch + numbers.row_bytes);
  const char* const why = odd ? "a fill of no rows, or of rows that lie in each other"
                          : target.kind != ArgumentKind::kPointer ? streams::kUnknownFill
                                                                  : nullptr;
  const Call call{entry_point, OperationKind::kPointerFillRect, token, why};
  return streams::submit<CudaLayer>(
      call, find_stream(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerFillRect, whole);
        writer.words(numbers);
        writer.argument_handle(ArgumentKind::kPointer, target.id, to);
        writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&value, 1)));
        writer.finish();
      },
      issue);
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

#define FILL_ROWS(name, by_default, Value)                                                    \
  CUresult wrap::name(CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height, \
                      CUstream stream) noexcept {                                             \
    return fill_rows(entry::name, to, pitch, value, width, height, stream, by_default,        \
                     [&] { return driver.name(to, pitch, value, width, height, stream); });   \
  }
FILL_ROWS(cuMemsetD2D8Async, DefaultStream::kLegacy, unsigned char)
FILL_ROWS(cuMemsetD2D8Async_ptsz, DefaultStream::kPerThread, unsigned char)
FILL_ROWS(cuMemsetD2D16Async, DefaultStream::kLegacy, unsigned short)
FILL_ROWS(cuMemsetD2D16Async_ptsz, DefaultStream::kPerThread, unsigned short)
FILL_ROWS(cuMemsetD2D32Async, DefaultStream::kLegacy, unsigned int)
FILL_ROWS(cuMemsetD2D32Async_ptsz, DefaultStream::kPerThread, unsigned int)
#undef FILL_ROWS

#define COPY_ROWS(name, by_default, Described, described)                                            \
  CUresult wrap::name(const Described* copy, CUstream stream) noexcept {                             \
    const auto issue = [&] { return driver.name(copy, stream); };                                    \
    return copy == nullptr ? issue() : copy_rows(entry::name, described, stream, by_default, issue); \
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
UNHELD_TWICE(cuMemcpyPeerAsync, "copies between devices are not recorded",
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
              CUstream stream),
             (to, to_context, from, from_context, bytes, stream))
UNHELD_TWICE(cuGraphLaunch, "it is a graph that the application made itself", (CUgraphExec graph, CUstream stream),
             (graph, stream))
#undef UNHELD_TWICE
#undef UNHELD

}  // namespace refrain::layer::cuda
