// Copies and fills.

#include "layer/streams/copies.h"

#include "layer/hip/submission.h"
#include "layer/streams/prefetch.h"

namespace refrain::layer::hip {
namespace {

const char* const kManyDimensions = "copies and fills of rows are not recorded";
const char* const kOwnGraph = "it is a graph that the application made itself";

}  // namespace

#define COPY(name, by_default)                                                                                       \
  hipError_t wrap::name(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) noexcept { \
    return streams::copy<HipLayer>(entry::name, handle_of(to), handle_of(from), bytes, stream, by_default,           \
                                   [&] { return library.name(to, from, bytes, kind, stream); });                     \
  }
COPY(hipMemcpyAsync, DefaultStream::kLegacy)
COPY(hipMemcpyAsync_spt, DefaultStream::kPerThread)
#undef COPY

#define COPY(name, to_type, from_type)                                                                                 \
  hipError_t wrap::name(to_type to, from_type from, size_t bytes, hipStream_t stream) noexcept {                       \
    return streams::copy<HipLayer>(entry::name, handle_of(to), handle_of(from), bytes, stream, DefaultStream::kLegacy, \
                                   [&] { return library.name(to, from, bytes, stream); });                             \
  }
COPY(hipMemcpyHtoDAsync, hipDeviceptr_t, void*)
COPY(hipMemcpyDtoHAsync, void*, hipDeviceptr_t)
COPY(hipMemcpyDtoDAsync, hipDeviceptr_t, hipDeviceptr_t)
#undef COPY

#define FILL(name, by_default, Given, Value)                                                                         \
  hipError_t wrap::name(void* to, Given value, size_t count, hipStream_t stream) noexcept {                          \
    return streams::fill<HipLayer>(entry::name, handle_of(to), static_cast<Value>(value), count, stream, by_default, \
                                   [&] { return library.name(to, value, count, stream); });                          \
  }
FILL(hipMemsetAsync, DefaultStream::kLegacy, int, unsigned char)
FILL(hipMemsetAsync_spt, DefaultStream::kPerThread, int, unsigned char)
FILL(hipMemsetD8Async, DefaultStream::kLegacy, unsigned char, unsigned char)
FILL(hipMemsetD16Async, DefaultStream::kLegacy, unsigned short, unsigned short)
FILL(hipMemsetD32Async, DefaultStream::kLegacy, int, std::uint32_t)
#undef FILL

hipError_t wrap::hipMemPrefetchAsync(const void* memory, size_t bytes, int device, hipStream_t stream) noexcept {
  using To = capture::words::PointerPrefetchTo;
  const bool to_host = device == hipCpuDeviceId;
  const To numbers = {.bytes = bytes,
                      .kind = to_host ? To::kToHost : To::kToDevice,
                      .place = to_host ? 0 : static_cast<std::uint32_t>(device),
                      .flags = 0};
  return streams::prefetch<HipLayer>(entry::hipMemPrefetchAsync, handle_of(memory), numbers, stream,
                                     DefaultStream::kLegacy,
                                     [&] { return library.hipMemPrefetchAsync(memory, bytes, device, stream); });
}

#define UNHELD(name, by_default, why, parameters, arguments)                                             \
  hipError_t wrap::name parameters noexcept {                                                            \
    return streams::submit_unheld<HipLayer>(entry::name, OperationKind::kOther, why, stream, by_default, \
                                            [&] { return library.name arguments; });                     \
  }
UNHELD(hipMemcpy2DAsync, DefaultStream::kLegacy, kManyDimensions,
       (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind,
        hipStream_t stream),
       (to, to_pitch, from, from_pitch, width, height, kind, stream))
UNHELD(hipMemcpy2DAsync_spt, DefaultStream::kPerThread, kManyDimensions,
       (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind,
        hipStream_t stream),
       (to, to_pitch, from, from_pitch, width, height, kind, stream))
UNHELD(hipMemcpy3DAsync, DefaultStream::kLegacy, kManyDimensions,
       (const hipMemcpy3DParms* parameters, hipStream_t stream), (parameters, stream))
UNHELD(hipMemset2DAsync, DefaultStream::kLegacy, kManyDimensions,
       (void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream),
       (to, pitch, value, width, height, stream))
UNHELD(hipMemcpyPeerAsync, DefaultStream::kLegacy, "copies between devices are not recorded",
       (void* to, int to_device, const void* from, int from_device, size_t bytes, hipStream_t stream),
       (to, to_device, from, from_device, bytes, stream))
UNHELD(hipGraphLaunch, DefaultStream::kLegacy, kOwnGraph, (hipGraphExec_t graph, hipStream_t stream), (graph, stream))
UNHELD(hipGraphLaunch_spt, DefaultStream::kPerThread, kOwnGraph, (hipGraphExec_t graph, hipStream_t stream),
       (graph, stream))
#undef UNHELD

}  // namespace refrain::layer::hip
