// Copies and fills.

#include "layer/streams/copies.h"

#include <cstring>
#include <optional>

#include "layer/hip/submission.h"
#include "layer/streams/prefetch.h"
#include "layer/streams/rows.h"

namespace refrain::layer::hip {
namespace {

const char* const kOtherRows = "copies of rows are recorded from device to device only, and not of arrays";
const char* const kOwnGraph = "it is a graph that the application made itself";

/// What the program says of the direction may be wrong, which the runtime then has an answer to.
bool may_be_held(hipMemcpyKind kind) noexcept {
  return kind == hipMemcpyDeviceToDevice || kind == hipMemcpyDefault;
}

std::optional<streams::RowsCopy> rows_of(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                         size_t height, hipMemcpyKind kind) noexcept {
  if (!may_be_held(kind)) {
    return std::nullopt;
  }
  return streams::plain_copy({.to = {handle_of(to), to_pitch, height},
                              .from = {handle_of(from), from_pitch, height},
                              .row_bytes = width,
                              .rows = height,
                              .slices = 1});
}

std::optional<streams::RowsCopy> rows_of(const hipMemcpy3DParms& all) noexcept {
  if (!may_be_held(all.kind) || all.srcArray != nullptr || all.dstArray != nullptr) {
    return std::nullopt;
  }
  const auto side = [](const hipPitchedPtr& memory, const hipPos& at) {
    const std::size_t first = at.x + at.y * memory.pitch + at.z * memory.pitch * memory.ysize;
    return streams::Rows{handle_of(memory.ptr) + first, memory.pitch, memory.ysize};
  };
  return streams::plain_copy({.to = side(all.dstPtr, all.dstPos),
                              .from = side(all.srcPtr, all.srcPos),
                              .row_bytes = all.extent.width,
                              .rows = all.extent.height,
                              .slices = all.extent.depth});
}

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

hipError_t wrap::hipMemPrefetchAsync_v2(const void* memory, size_t bytes, hipMemLocation to, unsigned int flags,
                                        hipStream_t stream) noexcept {
  using To = capture::words::PointerPrefetchTo;
  const auto issue = [&] { return library.hipMemPrefetchAsync_v2(memory, bytes, to, flags, stream); };
  std::uint32_t kind = 0;  // the enumeration of an older header lacks some
  static_assert(sizeof(kind) == sizeof(to.type));
  std::memcpy(&kind, &to.type, sizeof(kind));
  const To numbers = {.bytes = bytes, .kind = kind, .place = static_cast<std::uint32_t>(to.id), .flags = flags};
  if ((numbers.kind != To::kToDevice && numbers.kind != To::kToHost) || flags != 0) {
    return streams::submit_unheld<HipLayer>(entry::hipMemPrefetchAsync_v2, OperationKind::kOther,
                                            "it fetches memory to a place that Refrain does not know", stream,
                                            DefaultStream::kLegacy, issue);
  }
  return streams::prefetch<HipLayer>(entry::hipMemPrefetchAsync_v2, handle_of(memory), numbers, stream,
                                     DefaultStream::kLegacy, issue);
}

#define COPY_ROWS(name, by_default)                                                                                  \
  hipError_t wrap::name(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, \
                        hipMemcpyKind kind, hipStream_t stream) noexcept {                                           \
    return streams::copy_rows<HipLayer>(                                                                             \
        entry::name, rows_of(to, to_pitch, from, from_pitch, width, height, kind), kOtherRows, stream, by_default,   \
        [&] { return library.name(to, to_pitch, from, from_pitch, width, height, kind, stream); });                  \
  }
COPY_ROWS(hipMemcpy2DAsync, DefaultStream::kLegacy)
COPY_ROWS(hipMemcpy2DAsync_spt, DefaultStream::kPerThread)
#undef COPY_ROWS

hipError_t wrap::hipMemcpy3DAsync(const hipMemcpy3DParms* copy, hipStream_t stream) noexcept {
  return streams::copy_rows<HipLayer>(entry::hipMemcpy3DAsync, copy == nullptr ? std::nullopt : rows_of(*copy),
                                      kOtherRows, stream, DefaultStream::kLegacy,
                                      [&] { return library.hipMemcpy3DAsync(copy, stream); });
}

hipError_t wrap::hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                  hipStream_t stream) noexcept {
  return streams::fill_rows<HipLayer>(
      entry::hipMemset2DAsync, handle_of(to), pitch, static_cast<unsigned char>(value), width, height, stream,
      DefaultStream::kLegacy, [&] { return library.hipMemset2DAsync(to, pitch, value, width, height, stream); });
}

/// The runtime looks at the devices' numbers, and then copies as hipMemcpyAsync() does.
hipError_t wrap::hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                    hipStream_t stream) noexcept {
  return streams::copy<HipLayer>(
      entry::hipMemcpyPeerAsync, handle_of(to), handle_of(from), bytes, stream, DefaultStream::kLegacy,
      [&] { return library.hipMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream); },
      [&](const streams::CopyPlaces& places) {
        return places.target.device == to_device && places.source.device == from_device
                   ? nullptr
                   : "a copy between devices of memory that is another one's";
      });
}

#define UNHELD(name, by_default, why, parameters, arguments)                                             \
  hipError_t wrap::name parameters noexcept {                                                            \
    return streams::submit_unheld<HipLayer>(entry::name, OperationKind::kOther, why, stream, by_default, \
                                            [&] { return library.name arguments; });                     \
  }
UNHELD(hipGraphLaunch, DefaultStream::kLegacy, kOwnGraph, (hipGraphExec_t graph, hipStream_t stream), (graph, stream))
UNHELD(hipGraphLaunch_spt, DefaultStream::kPerThread, kOwnGraph, (hipGraphExec_t graph, hipStream_t stream),
       (graph, stream))
#undef UNHELD

}  // namespace refrain::layer::hip
