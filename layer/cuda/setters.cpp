// Setters whose values are looked at: libraries set the same again and again, and values that take turns find their
// graphs again. The others are streams::GenericSetter.

#include "layer/streams/setters.h"

#include <xxhash.h>

#include <span>

#include "backends/cuda/kernel_call.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/submission.h"
#include "layer/streams/generic_setter.h"
#include "layer/streams/inventory.h"

namespace refrain::layer::cuda {
namespace {

using capture::mix;
using Setters = streams::Setters<CudaLayer>;

// What is set, beside the attributes' numbers.
constexpr std::uint64_t kCacheConfig = 1ULL << 32U, kSharedConfig = 2ULL << 32U, kLimit = 3ULL << 32U,
                        kPeerAccess = 4ULL << 32U;

template <class Call>
CUresult set_function(const replay::EntryPoint& entry_point, CUfunction function, std::uint64_t what, int value,
                      Call&& call) noexcept {
  return Setters::all().of_function(entry_point, handle_of(function), what, static_cast<std::uint64_t>(value), call);
}

/// For one device: launches in another one's context are told apart needlessly.
template <class Call>
CUresult set_kernel(const replay::EntryPoint& entry_point, CUkernel kernel, CUdevice device, std::uint64_t what,
                    int value, Call&& call) noexcept {
  return set_function(entry_point, reinterpret_cast<CUfunction>(kernel),
                      mix(what, static_cast<std::uint64_t>(device) + 1), value, call);
}

template <class Call>
CUresult set_context(const replay::EntryPoint& entry_point, std::uint64_t what, std::uint64_t value,
                     Call&& call) noexcept {
  return Setters::all().of_all(entry_point, what, handle_of(CudaLayer::current_context()), value, call);
}

/// Behind a call that lets devices use memory.
CUresult note_access(CUresult status, const CUmemAccessDesc* access, std::size_t count) noexcept {
  CUdevice own = 0;
  if (status == CUDA_SUCCESS && driver.cuCtxGetDevice(&own) == CUDA_SUCCESS) {
    for (const CUmemAccessDesc& each : std::span(access, count)) {
      if (each.location.type == CU_MEM_LOCATION_TYPE_DEVICE && each.location.id != own &&
          each.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        streams::note_others<CudaLayer>(status, streams::kPeerAccess);
      }
    }
  }
  return status;
}

template <class Call>
CUresult set_attribute(const replay::EntryPoint& entry_point, CUstream stream, DefaultStream by_default,
                       CUstreamAttrID attribute, const CUstreamAttrValue* value, Call&& call) noexcept {
  SetValue known;
  if (value != nullptr) {
    CUlaunchAttribute given{};
    given.id = attribute;
    given.value = *value;
    if (CUlaunchAttribute normal; backends::normalize(given, &normal)) {
      known = XXH3_64bits(&normal, sizeof(normal));
    }
  }
  return Setters::all().of_stream(entry_point, stream, by_default, static_cast<std::uint64_t>(attribute), known, call);
}

/// All attributes at once.
template <class Call>
CUresult copy_attributes(const replay::EntryPoint& entry_point, CUstream to, DefaultStream by_default,
                         Call&& call) noexcept {
  return Setters::all().of_stream(entry_point, to, by_default, Setters::kAllAttributes, {}, call);
}

}  // namespace

void CudaLayer::forget_contexts() noexcept {
  Setters::all().forget_contexts();
}

CUresult wrap::cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) noexcept {
  return set_function(entry::cuFuncSetAttribute, function, static_cast<std::uint64_t>(attribute), value,
                      [&] { return driver.cuFuncSetAttribute(function, attribute, value); });
}
CUresult wrap::cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) noexcept {
  return set_function(entry::cuFuncSetCacheConfig, function, kCacheConfig, config,
                      [&] { return driver.cuFuncSetCacheConfig(function, config); });
}
CUresult wrap::cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) noexcept {
  return set_function(entry::cuFuncSetSharedMemConfig, function, kSharedConfig, config,
                      [&] { return driver.cuFuncSetSharedMemConfig(function, config); });
}
CUresult wrap::cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                    CUdevice device) noexcept {
  return set_kernel(entry::cuKernelSetAttribute, kernel, device, static_cast<std::uint64_t>(attribute), value,
                    [&] { return driver.cuKernelSetAttribute(attribute, value, kernel, device); });
}
CUresult wrap::cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) noexcept {
  return set_kernel(entry::cuKernelSetCacheConfig, kernel, device, kCacheConfig, config,
                    [&] { return driver.cuKernelSetCacheConfig(kernel, config, device); });
}

CUresult wrap::cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute,
                                    const CUstreamAttrValue* value) noexcept {
  return set_attribute(entry::cuStreamSetAttribute, stream, DefaultStream::kLegacy, attribute, value,
                       [&] { return driver.cuStreamSetAttribute(stream, attribute, value); });
}
CUresult wrap::cuStreamSetAttribute_ptsz(CUstream stream, CUstreamAttrID attribute,
                                         const CUstreamAttrValue* value) noexcept {
  return set_attribute(entry::cuStreamSetAttribute_ptsz, stream, DefaultStream::kPerThread, attribute, value,
                       [&] { return driver.cuStreamSetAttribute_ptsz(stream, attribute, value); });
}
CUresult wrap::cuStreamCopyAttributes(CUstream to, CUstream from) noexcept {
  return copy_attributes(entry::cuStreamCopyAttributes, to, DefaultStream::kLegacy,
                         [&] { return driver.cuStreamCopyAttributes(to, from); });
}
CUresult wrap::cuStreamCopyAttributes_ptsz(CUstream to, CUstream from) noexcept {
  return copy_attributes(entry::cuStreamCopyAttributes_ptsz, to, DefaultStream::kPerThread,
                         [&] { return driver.cuStreamCopyAttributes_ptsz(to, from); });
}

CUresult wrap::cuCtxSetCacheConfig(CUfunc_cache config) noexcept {
  return set_context(entry::cuCtxSetCacheConfig, kCacheConfig, config,
                     [&] { return driver.cuCtxSetCacheConfig(config); });
}
CUresult wrap::cuCtxSetSharedMemConfig(CUsharedconfig config) noexcept {
  return set_context(entry::cuCtxSetSharedMemConfig, kSharedConfig, config,
                     [&] { return driver.cuCtxSetSharedMemConfig(config); });
}
CUresult wrap::cuCtxSetLimit(CUlimit limit, std::size_t value) noexcept {
  return set_context(entry::cuCtxSetLimit, kLimit | static_cast<std::uint64_t>(limit), value,
                     [&] { return driver.cuCtxSetLimit(limit, value); });
}
CUresult wrap::cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) noexcept {
  const CUresult status = set_context(entry::cuCtxEnablePeerAccess, mix(kPeerAccess, handle_of(peer)), 1,
                                      [&] { return driver.cuCtxEnablePeerAccess(peer, flags); });
  streams::note_others<CudaLayer>(status, streams::kPeerAccess);
  return status;
}
CUresult wrap::cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                              std::size_t count) noexcept {
  return note_access(
      streams::GenericSetter<CudaLayer, driver, &DriverFunctions::cuMemSetAccess, entry::cuMemSetAccess>::call(
          address, bytes, access, count),
      access, count);
}
CUresult wrap::cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) noexcept {
  return note_access(
      streams::GenericSetter<CudaLayer, driver, &DriverFunctions::cuMemPoolSetAccess, entry::cuMemPoolSetAccess>::call(
          pool, access, count),
      access, count);
}
CUresult wrap::cuCtxDisablePeerAccess(CUcontext peer) noexcept {
  return set_context(entry::cuCtxDisablePeerAccess, mix(kPeerAccess, handle_of(peer)), 0,
                     [&] { return driver.cuCtxDisablePeerAccess(peer); });
}

}  // namespace refrain::layer::cuda
