// Copies and fills.

#include "layer/hip/submission.h"
#include "layer/streams/expected.h"
#include "layer/streams/memory.h"

namespace refrain::layer::hip {
namespace {

using capture::ArgumentKind;
namespace words = capture::words;
using streams::Place;

const char* const kPageable = "the copy names pageable host memory, which must not be read late";
const char* const kManyDimensions = "copies and fills of rows are not recorded";
const char* const kOwnGraph = "it is a graph that the application made itself";
const char* const kUnknownFill = "the fill is of memory that is no allocation of the runtime's, or more than one";

Place place_of(const void* address, std::size_t bytes) noexcept {
  return streams::place_of<HipLayer>(handle_of(address), bytes);
}

template <class Issue>
hipError_t copy(const replay::EntryPoint& entry_point, const void* to, const void* from, std::size_t bytes,
                hipStream_t stream, DefaultStream by_default, Issue&& issue) noexcept {
  if (hipError_t status = hipSuccess; short_way(entry_point, &status, issue)) {
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
                  target.kind != ArgumentKind::kPointer};  // into pageable memory: done when it returns
  return submit(
      call, find_stream(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerCopy, whole);
        writer.words(words::PointerCopy{.bytes = bytes, .blocking = call.blocks ? 1U : 0U});
        writer.argument_handle(target.kind, target.id, handle_of(to));
        writer.argument_handle(source.kind, source.id, handle_of(from));
        writer.finish();
      },
      issue);
}

template <class Value, class Issue>
hipError_t fill(const replay::EntryPoint& entry_point, const void* to, Value value, std::size_t count,
                hipStream_t stream, DefaultStream by_default, Issue&& issue) noexcept {
  if (hipError_t status = hipSuccess; short_way(entry_point, &status, issue)) {
    return status;
  }
  const Place target = streams::filled_place<HipLayer>(handle_of(to), count * sizeof(value));
  if (hipError_t status = hipSuccess;
      target.kind == ArgumentKind::kPointer && streams::expects() &&
      streams::hold_expected_fill<HipLayer>(
          {handle_of(to), target.id, std::as_bytes(std::span(&value, 1)), count * sizeof(value)}, stream, by_default,
          &status)) {
    return status;
  }
  const Call call{entry_point, OperationKind::kPointerFill,
                  mix(mix(static_cast<Token>(OperationKind::kPointerFill), count), sizeof(value)),
                  target.kind != ArgumentKind::kPointer ? kUnknownFill : nullptr};
  return submit(
      call, find_stream(stream, by_default),
      [&](capture::OperationWriter& writer, Token whole, bool) {
        writer.begin(OperationKind::kPointerFill, whole);
        writer.words(words::PointerFill{.bytes = count * sizeof(value)});
        writer.argument_handle(ArgumentKind::kPointer, target.id, handle_of(to));
        writer.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(&value, 1)));
        writer.finish();
      },
      issue);
}

}  // namespace

#define COPY(name, by_default)                                                                                       \
  hipError_t wrap::name(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) noexcept { \
    return copy(entry::name, to, from, bytes, stream, by_default,                                                    \
                [&] { return library.name(to, from, bytes, kind, stream); });                                        \
  }
COPY(hipMemcpyAsync, DefaultStream::kLegacy)
COPY(hipMemcpyAsync_spt, DefaultStream::kPerThread)
#undef COPY

#define COPY(name, to_type, from_type)                                                           \
  hipError_t wrap::name(to_type to, from_type from, size_t bytes, hipStream_t stream) noexcept { \
    return copy(entry::name, to, from, bytes, stream, DefaultStream::kLegacy,                    \
                [&] { return library.name(to, from, bytes, stream); });                          \
  }
COPY(hipMemcpyHtoDAsync, hipDeviceptr_t, void*)
COPY(hipMemcpyDtoHAsync, void*, hipDeviceptr_t)
COPY(hipMemcpyDtoDAsync, hipDeviceptr_t, hipDeviceptr_t)
#undef COPY

#define FILL(name, by_default, Given, Value)                                                \
  hipError_t wrap::name(void* to, Given value, size_t count, hipStream_t stream) noexcept { \
    return fill(entry::name, to, static_cast<Value>(value), count, stream, by_default,      \
                [&] { return library.name(to, value, count, stream); });                    \
  }
FILL(hipMemsetAsync, DefaultStream::kLegacy, int, unsigned char)
FILL(hipMemsetAsync_spt, DefaultStream::kPerThread, int, unsigned char)
FILL(hipMemsetD8Async, DefaultStream::kLegacy, unsigned char, unsigned char)
FILL(hipMemsetD16Async, DefaultStream::kLegacy, unsigned short, unsigned short)
FILL(hipMemsetD32Async, DefaultStream::kLegacy, int, std::uint32_t)
#undef FILL

#define UNHELD(name, by_default, why, parameters, arguments)                          \
  hipError_t wrap::name parameters noexcept {                                         \
    return submit_unheld(entry::name, OperationKind::kOther, why, stream, by_default, \
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
