#include "layer/cuda/streams.h"

#include "layer/cuda/capture.h"
#include "layer/cuda/cudart_launch.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/images.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"
#include "layer/immortal.h"

namespace refrain::layer::cuda {

namespace {
Immortal<streams::Objects<backends::CudaApi>> only_objects;
}  // namespace
streams::Objects<backends::CudaApi>& objects = *only_objects;

streams::Objects<backends::CudaApi>& CudaLayer::objects() noexcept {
  return cuda::objects;
}

ObjectId CudaLayer::device_id(CUcontext context, ObjectId otherwise) {
  return cuda::runtime.recorder != nullptr ? record_device(context) : otherwise;
}

CUcontext CudaLayer::current_context() noexcept {
  CUcontext context = nullptr;
  return driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : nullptr;
}

std::uint64_t CudaLayer::context_number(CUcontext context) noexcept {
  unsigned long long number = 0;
  const backends::CudaDriver& calls = cuda::runtime.driver;
  return calls.cuCtxGetId != nullptr && calls.cuCtxGetId(context, &number) == CUDA_SUCCESS ? number : 0;
}

bool CudaLayer::is_default_stream(const backends::CudaStream& known, CUstream handle,
                                  streams::DefaultStream by_default) noexcept {
  return streams::is_default_stream<CudaLayer>(known, handle, by_default);
}

std::uint64_t CudaLayer::default_stream_key(CUstream handle, streams::DefaultStream by_default) noexcept {
  const Handle context = handle_of(current_context());
  if (context == 0) {
    return 0;
  }
  return streams::is_legacy(handle_of(handle), by_default) ? context | streams::kLegacyKey
                                                           : streams::per_thread_key(context);
}

bool CudaLayer::describe(backends::CudaStream& stream, CUstream handle, backends::StreamKind kind) noexcept {
  using backends::StreamKind;
  const backends::CudaDriver& calls = cuda::runtime.driver;
  stream.handle = handle;
  stream.kind = kind;
  if (calls.cuStreamGetCtx(handle, &stream.context) != CUDA_SUCCESS || stream.context == nullptr) {
    return false;
  }
  unsigned flags = 0;
  if (kind == StreamKind::kBlocking) {
    if (calls.cuStreamGetFlags(handle, &flags) != CUDA_SUCCESS) {
      return false;
    }
    stream.kind = (flags & CU_STREAM_NON_BLOCKING) != 0 ? StreamKind::kNonBlocking : StreamKind::kBlocking;
  }
  return true;
}

namespace {

using Table = streams::StreamTable<CudaLayer>;

template <class Destroy>
CUresult destroy_stream(const replay::EntryPoint& entry_point, CUstream handle, Destroy&& destroy) noexcept {
  return Table::all().destroy_stream(entry_point, handle, destroy);
}

template <class Destroy>
CUresult destroy_context(const replay::EntryPoint& entry_point, CUcontext context, Destroy&& destroy) noexcept {
  context_ended();         // before it is, so that nobody's answer is older
  context_changed = true;  // it may have been the thread's
  return Table::all().destroy_context(entry_point, context, destroy);
}

/// A device's primary context; null if that cannot be known.
CUcontext primary_of(CUdevice device) noexcept {
  const backends::CudaDriver& calls = runtime.driver;
  CUcontext context = nullptr;
  unsigned flags = 0;
  int active = 0;
  if (calls.cuDevicePrimaryCtxGetState == nullptr || calls.cuDevicePrimaryCtxRetain == nullptr ||
      calls.cuDevicePrimaryCtxRelease_v2 == nullptr ||
      calls.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
      calls.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  calls.cuDevicePrimaryCtxRelease_v2(device);  // the program's own reference is left
  return context;
}

}  // namespace

CUresult wrap::cuStreamDestroy(CUstream stream) noexcept {
  return destroy_stream(entry::cuStreamDestroy, stream, [&] { return driver.cuStreamDestroy(stream); });
}
CUresult wrap::cuStreamDestroy_v2(CUstream stream) noexcept {
  return destroy_stream(entry::cuStreamDestroy_v2, stream, [&] { return driver.cuStreamDestroy_v2(stream); });
}

CUresult wrap::cuModuleUnload(CUmodule module) noexcept {
  forget_image(module);
  return streams::unload<CudaLayer>(entry::cuModuleUnload, handle_of(module),
                                    [&] { return driver.cuModuleUnload(module); });
}
CUresult wrap::cuLibraryUnload(CUlibrary library) noexcept {
  forget_image(library);
  return streams::unload<CudaLayer>(entry::cuLibraryUnload, handle_of(library) | streams::kLibraryBit,
                                    [&] { return driver.cuLibraryUnload(library); });
}

CUresult wrap::cuCtxDestroy(CUcontext context) noexcept {
  return destroy_context(entry::cuCtxDestroy, context, [&] { return driver.cuCtxDestroy(context); });
}
CUresult wrap::cuCtxDestroy_v2(CUcontext context) noexcept {
  return destroy_context(entry::cuCtxDestroy_v2, context, [&] { return driver.cuCtxDestroy_v2(context); });
}
CUresult wrap::cuCtxDetach(CUcontext context) noexcept {
  return destroy_context(entry::cuCtxDetach, context, [&] { return driver.cuCtxDetach(context); });
}
CUresult wrap::cuGreenCtxDestroy(CUgreenCtx context) noexcept {
  return destroy_context(entry::cuGreenCtxDestroy, nullptr, [&] { return driver.cuGreenCtxDestroy(context); });
}
CUresult wrap::cuDevicePrimaryCtxRelease(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxRelease, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxRelease(device); });
}
CUresult wrap::cuDevicePrimaryCtxRelease_v2(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxRelease_v2, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxRelease_v2(device); });
}
CUresult wrap::cuDevicePrimaryCtxReset(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxReset, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxReset(device); });
}
CUresult wrap::cuDevicePrimaryCtxReset_v2(CUdevice device) noexcept {
  return destroy_context(entry::cuDevicePrimaryCtxReset_v2, primary_of(device),
                         [&] { return driver.cuDevicePrimaryCtxReset_v2(device); });
}

}  // namespace refrain::layer::cuda
