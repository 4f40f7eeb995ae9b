// What is set for contexts, devices, memory and streams: kernels see all of it (../streams/setters.cpp).
#include <cstring>
#include <set>
#include <utility>

#include "test/sim/cuda/face.h"

using sim::Lock;
using sim::state;
using sim::Status;
using sim::Stream;

namespace {

/// One number for each thing that is set.
enum What : std::uint64_t { kCache = 1, kShared, kFlags, kPeer, kAccess, kPool, kPointer, kTexture, kSurface, kLimit };

CUresult set(What what, std::uint64_t value) {
  const Lock lock;
  state().set[what] = value;
  return CUDA_SUCCESS;
}

/// Which context may use memory of which: their numbers.
std::set<std::pair<std::uint64_t, std::uint64_t>>& peers() {
  static auto& all = *new std::set<std::pair<std::uint64_t, std::uint64_t>>;
  return all;
}

CUresult set_peer(CUcontext handle, bool may_use) {
  {
    const Lock lock;
    const sim::Context* const peer = sim::find_context(handle);
    sim::Context* here = nullptr;
    if (sim::current(&here) != Status::kOk || peer == nullptr) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    const std::pair numbers{here->number, peer->number};
    if (!may_use) {
      peers().erase(numbers);
    } else if (!peers().insert(numbers).second && peer != here) {
      return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    }
  }
  return set(kPeer, may_use ? 1 : 0);
}

template <class Use>
Status use_stream(CUstream handle, bool per_thread, Use&& use) {
  Stream* stream = nullptr;
  const Status status = sim::find_stream(handle, per_thread, &stream);
  return status == Status::kOk ? use(*stream) : status;
}

Status set_attribute(CUstream handle, bool per_thread, CUstreamAttrID id, const CUstreamAttrValue* value) {
  const Lock lock;
  return use_stream(handle, per_thread, [&](Stream& stream) {
    if (value == nullptr) {
      return Status::kInvalidValue;
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(value);
    stream.attributes[id] = {sim::cuda::number_of(id, *value), {bytes, bytes + sizeof(*value)}};
    return Status::kOk;
  });
}

Status get_attribute(CUstream handle, bool per_thread, CUstreamAttrID id, CUstreamAttrValue* value) {
  const Lock lock;
  return use_stream(handle, per_thread, [&](Stream& stream) {
    *value = {};
    if (const auto found = stream.attributes.find(id); found != stream.attributes.end()) {
      std::memcpy(value, found->second.value.data(), sizeof(*value));
    }
    return Status::kOk;
  });
}

Status copy_attributes(CUstream to, CUstream from, bool per_thread) {
  const Lock lock;
  return use_stream(from, per_thread, [&](Stream& source) {
    return use_stream(to, per_thread, [&](Stream& stream) {
      stream.attributes = source.attributes;
      return Status::kOk;
    });
  });
}

}  // namespace

bool sim::cuda::may_use(const Context* here, const Context* owner) {
  return here->device == owner->device || peers().contains({here->number, owner->number});
}

TWICE(cuStreamSetAttribute, (CUstream stream, CUstreamAttrID id, const CUstreamAttrValue* value),
      set_attribute(stream, per_thread, id, value))
TWICE(cuStreamGetAttribute, (CUstream stream, CUstreamAttrID id, CUstreamAttrValue* value),
      get_attribute(stream, per_thread, id, value))
TWICE(cuStreamCopyAttributes, (CUstream to, CUstream from), copy_attributes(to, from, per_thread))

FACE cuCtxSetCacheConfig(CUfunc_cache config) {
  ENTER(cuCtxSetCacheConfig);
  return set(kCache, config);
}
FACE cuCtxSetSharedMemConfig(CUsharedconfig config) {
  ENTER(cuCtxSetSharedMemConfig);
  return set(kShared, config);
}
FACE cuCtxSetLimit(CUlimit limit, std::size_t value) {
  ENTER(cuCtxSetLimit);
  return set(static_cast<What>(kLimit + static_cast<std::uint64_t>(limit)), value);
}
FACE cuCtxSetFlags(unsigned flags) {
  ENTER(cuCtxSetFlags);
  return set(kFlags, flags);
}
FACE cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned flags) {
  ENTER(cuDevicePrimaryCtxSetFlags_v2);
  return set(kFlags, flags);
}
FACE cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  ENTER(cuCtxEnablePeerAccess);
  return set_peer(peer, true);
}
FACE cuCtxDisablePeerAccess(CUcontext peer) {
  ENTER(cuCtxDisablePeerAccess);
  return set_peer(peer, false);
}
FACE cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* wanted, std::size_t) {
  ENTER(cuMemSetAccess);
  {
    const sim::Lock lock;
    sim::set_accessible(address, bytes, wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
  return set(kAccess, wanted->flags);
}
FACE cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc* wanted, std::size_t) {
  ENTER(cuMemPoolSetAccess);
  return set(kPool, wanted->flags);
}
FACE cuPointerSetAttribute(const void* value, CUpointer_attribute, CUdeviceptr) {
  ENTER(cuPointerSetAttribute);
  return set(kPointer, *static_cast<const unsigned*>(value));
}
FACE cuTexRefSetFlags(CUtexref, unsigned flags) {
  ENTER(cuTexRefSetFlags);
  return set(kTexture, flags);
}
FACE cuSurfRefSetArray(CUsurfref, CUarray, unsigned flags) {
  ENTER(cuSurfRefSetArray);
  return set(kSurface, flags);
}
