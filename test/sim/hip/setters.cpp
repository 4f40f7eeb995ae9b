// What is set for kernels, devices, memory and streams: kernels see all of it (../streams/setters.cpp).
#include "test/sim/hip/face.h"

using sim::Lock;
using sim::state;
using sim::Status;
using sim::Stream;

namespace {

/// One number for each thing that is set, and as many for each device.
enum What : std::uint64_t { kCache = 1, kShared, kFlags, kPeer, kAccess, kPool, kPointer, kTexture, kKernel, kLimit };

Status set(What what, std::uint64_t value) {
  constexpr std::uint64_t kOfDevice = 1000;
  const Lock lock;
  state().set[what + kOfDevice * static_cast<std::uint64_t>(sim::hip::device())] = value;
  return Status::kOk;
}

Status set_function(const void* handle, int attribute, int value) {
  const Lock lock;
  sim::Function* function = sim::hip::function_for(handle);
  if (function == nullptr) {
    return static_cast<Status>(hipErrorInvalidDeviceFunction);
  }
  (*function->attributes)[attribute] = value;
  return Status::kOk;
}

template <class Use>
Status use_stream(hipStream_t handle, Use&& use) {
  const Lock lock;
  Stream* stream = nullptr;
  const Status status = sim::find_stream(handle, false, &stream);
  if (status == Status::kOk) {
    use(*stream);
  }
  return status;
}

}  // namespace

CALL(hipFuncSetAttribute, (const void* function, hipFuncAttribute attribute, int value),
     set_function(function, attribute, value))
CALL(hipFuncSetCacheConfig, (const void* function, hipFuncCache_t config), set_function(function, -1, config))
CALL(hipFuncSetSharedMemConfig, (const void* function, hipSharedMemConfig config), set_function(function, -2, config))
CALL(hipKernelSetAttribute, (int, int value, void*, hipDevice_t), set(kKernel, static_cast<unsigned>(value)))
CALL(hipDeviceSetCacheConfig, (hipFuncCache_t config), set(kCache, config))
CALL(hipCtxSetCacheConfig, (hipFuncCache_t config), set(kCache, config))
CALL(hipDeviceSetSharedMemConfig, (hipSharedMemConfig config), set(kShared, config))
CALL(hipCtxSetSharedMemConfig, (hipSharedMemConfig config), set(kShared, config))
CALL(hipDeviceSetLimit, (int limit, std::size_t value),
     set(static_cast<What>(kLimit + static_cast<std::uint64_t>(limit)), value))
CALL(hipSetDeviceFlags, (unsigned flags), set(kFlags, flags))
CALL(hipDevicePrimaryCtxSetFlags, (hipDevice_t, unsigned flags), set(kFlags, flags))
CALL(hipDeviceEnablePeerAccess, (int, unsigned), set(kPeer, 1))
CALL(hipDeviceDisablePeerAccess, (int), set(kPeer, 0))
CALL(hipCtxEnablePeerAccess, (hipCtx_t, unsigned), set(kPeer, 1))
CALL(hipCtxDisablePeerAccess, (hipCtx_t), set(kPeer, 0))
CALL(hipMemSetAccess, (void*, std::size_t, const hipMemAccessDesc* wanted, std::size_t), set(kAccess, wanted->flags))
CALL(hipMemPoolSetAccess, (hipMemPool_t, const hipMemAccessDesc* wanted, std::size_t), set(kPool, wanted->flags))
CALL(hipPointerSetAttribute, (const void* value, int, void*), set(kPointer, *static_cast<const unsigned*>(value)))
CALL(hipTexRefSetFlags, (textureReference*, unsigned flags), set(kTexture, flags))
CALL(hipStreamSetAttribute, (hipStream_t handle, int attribute, const void* value),
     use_stream(handle, [&](Stream& to) { to.attributes[attribute].number = *static_cast<const unsigned*>(value); }))
CALL(hipStreamCopyAttributes, (hipStream_t to, hipStream_t from), [&] {
  std::map<int, Stream::Attribute> attributes;
  static_cast<void>(use_stream(from, [&](Stream& stream) { attributes = stream.attributes; }));
  return use_stream(to, [&](Stream& stream) { stream.attributes = attributes; });
}())
