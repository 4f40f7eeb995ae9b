// Copies and fills, and other work on memory in stream order.

#include <array>
#include <cstring>

#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"

namespace refrain::layer::cuda {
namespace {

using capture::ArgumentKind;

const char* const kPageable = "the copy names pageable host memory, which must not be read late";
const char* const kManyDimensions = "copies and fills of rows are not recorded";
const char* const kMemoryOrder = "memory is allocated or freed in stream order";

/// What an address belongs to.
struct Place {
  ArgumentKind kind = ArgumentKind::kHostPointer;
  unsigned type = 0;          ///< CUmemorytype; 0: pageable
  unsigned long long id = 0;  ///< of the allocation, never used again
  int device = 0;
};

Place place_of(CUdeviceptr address, std::size_t bytes) noexcept {
  Place place;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  std::array<CUpointer_attribute, 5> wanted = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                               CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 5> answers = {&place.type, &start, &size, &place.id, &place.device};
  if (driver.cuPointerGetAttributes(static_cast<unsigned>(wanted.size()), wanted.data(), answers.data(), address) !=
      CUDA_SUCCESS) {
    place.type = 0;
  }
  // A copy that reaches beyond one allocation is left to the driver.
  if ((place.type == CU_MEMORYTYPE_DEVICE || place.type == CU_MEMORYTYPE_HOST) && address >= start && bytes <= size &&
      address - start <= size - bytes) {
    place.kind = ArgumentKind::kPointer;
  } else {
    place.id = 0;
  }
  return place;
}

template <class Issue>
CUresult copy(const replay::EntryPoint& entry_point, CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
              CUstream stream, DefaultStream by_default, Issue&& issue) noexcept {
  if (CUresult status = CUDA_SUCCESS; short_way(entry_point, &status, issue)) {
    return status;
  }
  const Place target = place_of(to, bytes);
  const Place source = place_of(from, bytes);
  const bool pageable = target.kind != ArgumentKind::kPointer || source.kind != ArgumentKind::kPointer;
  Token token = mix(static_cast<Token>(OperationKind::kPointerCopy), bytes);
  token = mix(token, std::uint64_t{target.type} << 48U | std::uint64_t{source.type} << 32U |
                         (static_cast<std::uint64_t>(target.device) & 0xFFFFU) << 16U |
                         (static_cast<std::uint64_t>(source.device) & 0xFFFFU));
  const Call call{entry_point, OperationKind::kPointerCopy, token, pageable ? kPageable : nullptr,
                  target.type == 0};  // into pageable memory: done when it returns
  return submit(
      call, find_stream(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerCopy, whole);
        const std::array<std::uint64_t, 2> words = {bytes, call.blocks ? 1U : 0U};
        writer.words(words);
        writer.argument_handle(target.kind, target.id, to);
        writer.argument_handle(source.kind, source.id, from);
        writer.finish();
      },
      issue);
}

template <class Value, class Issue>
CUresult fill(const replay::EntryPoint& entry_point, CUdeviceptr to, Value value, std::size_t count, CUstream stream,
              DefaultStream by_default, Issue&& issue) noexcept {
  if (CUresult status = CUDA_SUCCESS; short_way(entry_point, &status, issue)) {
    return status;
  }
  const Call call{entry_point, OperationKind::kPointerFill,
                  mix(mix(static_cast<Token>(OperationKind::kPointerFill), count), sizeof(value))};
  return submit(
      call, find_stream(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerFill, whole);
        writer.word(count * sizeof(value));
        writer.argument_handle(ArgumentKind::kPointer, 0, to);
        writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&value, 1)));
        writer.finish();
      },
      issue);
}

CUdeviceptr address(const void* host) noexcept {
  return reinterpret_cast<CUdeviceptr>(host);
}

}  // namespace

// Each function exists twice: by_default says which stream 0 is.
#define COPY(name, by_default, to_type, to_address, from_type, from_address)                \
  CUresult wrap::name(to_type to, from_type from, size_t bytes, CUstream stream) noexcept { \
    return copy(entry::name, to_address, from_address, bytes, stream, by_default,           \
                [&] { return driver.name(to, from, bytes, stream); });                      \
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
    return fill(entry::name, to, value, count, stream, by_default,                           \
                [&] { return driver.name(to, value, count, stream); });                      \
  }
FILL(cuMemsetD8Async, DefaultStream::kLegacy, unsigned char)
FILL(cuMemsetD8Async_ptsz, DefaultStream::kPerThread, unsigned char)
FILL(cuMemsetD16Async, DefaultStream::kLegacy, unsigned short)
FILL(cuMemsetD16Async_ptsz, DefaultStream::kPerThread, unsigned short)
FILL(cuMemsetD32Async, DefaultStream::kLegacy, unsigned int)
FILL(cuMemsetD32Async_ptsz, DefaultStream::kPerThread, unsigned int)
#undef FILL

#define UNHELD(name, by_default, why, parameters, arguments)                          \
  CUresult wrap::name parameters noexcept {                                           \
    return submit_unheld(entry::name, OperationKind::kOther, why, stream, by_default, \
                         [&] { return driver.name arguments; });                      \
  }
#define UNHELD_TWICE(name, why, parameters, arguments)             \
  UNHELD(name, DefaultStream::kLegacy, why, parameters, arguments) \
  UNHELD(name##_ptsz, DefaultStream::kPerThread, why, parameters, arguments)
UNHELD_TWICE(cuMemcpy2DAsync_v2, kManyDimensions, (const CUDA_MEMCPY2D_v2* copy, CUstream stream), (copy, stream))
UNHELD_TWICE(cuMemcpy3DAsync_v2, kManyDimensions, (const CUDA_MEMCPY3D_v2* copy, CUstream stream), (copy, stream))
UNHELD_TWICE(cuMemcpyPeerAsync, "copies between devices are not recorded",
             (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
              CUstream stream),
             (to, to_context, from, from_context, bytes, stream))
UNHELD_TWICE(cuMemsetD2D8Async, kManyDimensions,
             (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream),
             (to, pitch, value, width, height, stream))
UNHELD_TWICE(cuMemsetD2D16Async, kManyDimensions,
             (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream),
             (to, pitch, value, width, height, stream))
UNHELD_TWICE(cuMemsetD2D32Async, kManyDimensions,
             (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream),
             (to, pitch, value, width, height, stream))
UNHELD_TWICE(cuMemAllocAsync, kMemoryOrder, (CUdeviceptr * address, size_t bytes, CUstream stream),
             (address, bytes, stream))
UNHELD_TWICE(cuMemAllocFromPoolAsync, kMemoryOrder,
             (CUdeviceptr * address, size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, stream))
UNHELD_TWICE(cuMemFreeAsync, kMemoryOrder, (CUdeviceptr address, CUstream stream), (address, stream))
UNHELD_TWICE(cuGraphLaunch, "it is a graph that the application made itself", (CUgraphExec graph, CUstream stream),
             (graph, stream))
#undef UNHELD_TWICE
#undef UNHELD

}  // namespace refrain::layer::cuda
