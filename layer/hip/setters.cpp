// Setters whose values are looked at; see layer/cuda/setters.cpp.

#include "layer/streams/setters.h"

#include "layer/hip/submission.h"
#include "layer/streams/generic_setter.h"
#include "layer/streams/inventory.h"

namespace refrain::layer::hip {
namespace {

using Setters = streams::Setters<HipLayer>;

// What is set, beside the attributes' numbers.
constexpr std::uint64_t kCacheConfig = 1ULL << 32U, kSharedConfig = 2ULL << 32U, kLimit = 3ULL << 32U;

/// `function`: the program's.
template <class Call>
hipError_t set_function(const replay::EntryPoint& entry_point, const void* function, std::uint64_t what, int value,
                        Call&& call) noexcept {
  return Setters::all().of_function(entry_point, handle_of(function), what, static_cast<std::uint64_t>(value), call);
}

template <class Call>
hipError_t set_device(const replay::EntryPoint& entry_point, std::uint64_t what, std::uint64_t value,
                      Call&& call) noexcept {
  return Setters::all().of_all(entry_point, what, static_cast<std::uint64_t>(HipLayer::current_context()), value, call);
}

/// Graphs have no kernels of streams with attributes.
template <class Call>
hipError_t set_stream(const replay::EntryPoint& entry_point, hipStream_t stream, Call&& call) noexcept {
  return Setters::all().of_stream(entry_point, stream, DefaultStream::kLegacy, Setters::kAllAttributes, {}, call);
}

}  // namespace

void HipLayer::forget_contexts() noexcept {
  Setters::all().forget_contexts();
}

#define ENABLE_PEER(name, parameters, arguments)                                                         \
  hipError_t wrap::name parameters noexcept {                                                            \
    const hipError_t status =                                                                            \
        streams::GenericSetter<HipLayer, library, &LibraryFunctions::name, entry::name>::call arguments; \
    streams::note_others<HipLayer>(status, streams::kPeerAccess);                                        \
    return status;                                                                                       \
  }
ENABLE_PEER(hipDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))
ENABLE_PEER(hipCtxEnablePeerAccess, (hipCtx_t peer, unsigned flags), (peer, flags))
#undef ENABLE_PEER

hipError_t wrap::hipFuncSetAttribute(const void* function, hipFuncAttribute attribute, int value) noexcept {
  return set_function(entry::hipFuncSetAttribute, function, static_cast<std::uint64_t>(attribute), value,
                      [&] { return library.hipFuncSetAttribute(function, attribute, value); });
}
hipError_t wrap::hipFuncSetCacheConfig(const void* function, hipFuncCache_t config) noexcept {
  return set_function(entry::hipFuncSetCacheConfig, function, kCacheConfig, config,
                      [&] { return library.hipFuncSetCacheConfig(function, config); });
}
hipError_t wrap::hipFuncSetSharedMemConfig(const void* function, hipSharedMemConfig config) noexcept {
  return set_function(entry::hipFuncSetSharedMemConfig, function, kSharedConfig, config,
                      [&] { return library.hipFuncSetSharedMemConfig(function, config); });
}

hipError_t wrap::hipStreamSetAttribute(hipStream_t stream, int attribute, const void* value) noexcept {
  return set_stream(entry::hipStreamSetAttribute, stream,
                    [&] { return library.hipStreamSetAttribute(stream, attribute, value); });
}
hipError_t wrap::hipStreamCopyAttributes(hipStream_t to, hipStream_t from) noexcept {
  return set_stream(entry::hipStreamCopyAttributes, to, [&] { return library.hipStreamCopyAttributes(to, from); });
}

// Of a device and of its context: the same.
hipError_t wrap::hipDeviceSetCacheConfig(hipFuncCache_t config) noexcept {
  return set_device(entry::hipDeviceSetCacheConfig, kCacheConfig, config,
                    [&] { return library.hipDeviceSetCacheConfig(config); });
}
hipError_t wrap::hipCtxSetCacheConfig(hipFuncCache_t config) noexcept {
  return set_device(entry::hipCtxSetCacheConfig, kCacheConfig, config,
                    [&] { return library.hipCtxSetCacheConfig(config); });
}
hipError_t wrap::hipDeviceSetSharedMemConfig(hipSharedMemConfig config) noexcept {
  return set_device(entry::hipDeviceSetSharedMemConfig, kSharedConfig, config,
                    [&] { return library.hipDeviceSetSharedMemConfig(config); });
}
hipError_t wrap::hipCtxSetSharedMemConfig(hipSharedMemConfig config) noexcept {
  return set_device(entry::hipCtxSetSharedMemConfig, kSharedConfig, config,
                    [&] { return library.hipCtxSetSharedMemConfig(config); });
}
hipError_t wrap::hipDeviceSetLimit(int limit, std::size_t value) noexcept {
  return set_device(entry::hipDeviceSetLimit, kLimit | static_cast<std::uint64_t>(limit), value,
                    [&] { return library.hipDeviceSetLimit(limit, value); });
}

}  // namespace refrain::layer::hip
