// A libcuda.so.1 that answers the calls of overhead_launches, and what Refrain asks, at once and does no work, so that
// what remains is the call and whatever layer stands above. Graphs are answered as well: Refrain can record and
// replay all it likes, and no time goes into the driver. Functions that are not here do not exist.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "test/bench/overhead/cold_caches.h"

#define SWALLOW extern "C" __attribute__((visibility("default"))) CUresult

namespace {

/// Handles that stand for nothing: different ones, far from small numbers.
template <class Handle>
Handle make() {
  static std::atomic<std::uintptr_t> last{0x100000};
  return reinterpret_cast<Handle>(last.fetch_add(64, std::memory_order_relaxed));
}

CUcontext context() {
  static const auto only = make<CUcontext>();
  return only;
}

const refrain::bench::ColdCaches& caches = refrain::bench::ColdCaches::from_environment();

/// A kernel's name says how many parameters it has: "two", "five".
struct Kernel {
  const char* name;
  std::size_t parameters;
};
constexpr Kernel kernels[] = {{"two", 2}, {"five", 5}};
/// All are eight bytes long, as pointers are, but the last one.
constexpr std::size_t size_of(const Kernel& kernel, std::size_t index) {
  return index + 1 == kernel.parameters ? 4 : 8;
}

}  // namespace

// --- What the program calls ---

SWALLOW cuInit(unsigned) {
  return CUDA_SUCCESS;
}
SWALLOW cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
SWALLOW cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}
SWALLOW cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
SWALLOW cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "swallow");
  return CUDA_SUCCESS;
}
SWALLOW cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 1;
  return CUDA_SUCCESS;
}
SWALLOW cuDevicePrimaryCtxRetain(CUcontext* result, CUdevice) {
  *result = context();
  return CUDA_SUCCESS;
}
SWALLOW cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
SWALLOW cuCtxGetCurrent(CUcontext* result) {
  *result = context();
  return CUDA_SUCCESS;
}
SWALLOW cuCtxSetCurrent(CUcontext) {
  return CUDA_SUCCESS;
}
SWALLOW cuModuleLoadData(CUmodule* module, const void*) {
  *module = make<CUmodule>();
  return CUDA_SUCCESS;
}
SWALLOW cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  for (const Kernel& kernel : kernels) {
    if (std::strcmp(name, kernel.name) == 0) {
      *function = reinterpret_cast<CUfunction>(const_cast<Kernel*>(&kernel));
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}
SWALLOW cuStreamCreateWithPriority(CUstream* stream, unsigned, int) {
  *stream = make<CUstream>();
  return CUDA_SUCCESS;
}
SWALLOW cuStreamCreate(CUstream* stream, unsigned) {
  *stream = make<CUstream>();
  return CUDA_SUCCESS;
}
SWALLOW cuStreamDestroy_v2(CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuStreamSynchronize(CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  return CUDA_SUCCESS;
}
SWALLOW cuEventCreate(CUevent* event, unsigned) {
  *event = make<CUevent>();
  return CUDA_SUCCESS;
}
SWALLOW cuEventDestroy_v2(CUevent) {
  return CUDA_SUCCESS;
}
SWALLOW cuEventRecord(CUevent, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                       void**, void**) {
  caches.run_through();
  return CUDA_SUCCESS;
}
SWALLOW cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) {
  caches.run_through();
  return CUDA_SUCCESS;
}

// --- What a layer asks ---

SWALLOW cuGetProcAddress_v2(const char* name, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  *function = dlsym(RTLD_DEFAULT, name);
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
SWALLOW cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR";
  return CUDA_SUCCESS;
}
SWALLOW cuCtxPushCurrent_v2(CUcontext) {
  return CUDA_SUCCESS;
}
SWALLOW cuCtxPopCurrent_v2(CUcontext* result) {
  *result = context();
  return CUDA_SUCCESS;
}
SWALLOW cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) {
  return CUDA_SUCCESS;
}
SWALLOW cuStreamGetCtx(CUstream, CUcontext* result) {
  *result = context();
  return CUDA_SUCCESS;
}
SWALLOW cuStreamGetFlags(CUstream, unsigned* flags) {
  *flags = CU_STREAM_NON_BLOCKING;
  return CUDA_SUCCESS;
}
SWALLOW cuStreamGetPriority(CUstream, int* priority) {
  *priority = 0;
  return CUDA_SUCCESS;
}
SWALLOW cuStreamQuery(CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuEventQuery(CUevent) {
  return CUDA_SUCCESS;
}
SWALLOW cuPointerGetAttributes(unsigned, CUpointer_attribute*, void**, CUdeviceptr) {
  return CUDA_ERROR_INVALID_VALUE;
}
SWALLOW cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const Kernel& kernel = *reinterpret_cast<const Kernel*>(function);
  if (index >= kernel.parameters) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *offset = index * 8;
  *size = size_of(kernel, index);
  return CUDA_SUCCESS;
}
SWALLOW cuKernelGetParamInfo(CUkernel, std::size_t, std::size_t*, std::size_t*) {
  return CUDA_ERROR_INVALID_HANDLE;
}
SWALLOW cuFuncGetName(const char** name, CUfunction function) {
  *name = reinterpret_cast<const Kernel*>(function)->name;
  return CUDA_SUCCESS;
}
SWALLOW cuFuncGetModule(CUmodule* module, CUfunction) {
  *module = nullptr;
  return CUDA_SUCCESS;
}
SWALLOW cuGraphCreate(CUgraph* graph, unsigned) {
  *graph = make<CUgraph>();
  return CUDA_SUCCESS;
}
SWALLOW cuGraphDestroy(CUgraph) {
  return CUDA_SUCCESS;
}
SWALLOW cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph, const CUgraphNode*, std::size_t,
                                const CUDA_KERNEL_NODE_PARAMS_v2*) {
  *node = make<CUgraphNode>();
  return CUDA_SUCCESS;
}
SWALLOW cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph, const CUgraphNode*, std::size_t, const CUDA_MEMCPY3D*,
                             CUcontext) {
  *node = make<CUgraphNode>();
  return CUDA_SUCCESS;
}
SWALLOW cuGraphAddMemsetNode(CUgraphNode* node, CUgraph, const CUgraphNode*, std::size_t,
                             const CUDA_MEMSET_NODE_PARAMS*, CUcontext) {
  *node = make<CUgraphNode>();
  return CUDA_SUCCESS;
}
SWALLOW cuGraphAddHostNode(CUgraphNode* node, CUgraph, const CUgraphNode*, std::size_t, const CUDA_HOST_NODE_PARAMS*) {
  *node = make<CUgraphNode>();
  return CUDA_SUCCESS;
}
SWALLOW cuGraphExecHostNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*) {
  return CUDA_SUCCESS;
}
SWALLOW cuLaunchHostFunc(CUstream, CUhostFn function, void* data) {
  function(data);
  return CUDA_SUCCESS;
}
SWALLOW cuGraphAddDependencies_v2(CUgraph, const CUgraphNode*, const CUgraphNode*, const CUgraphEdgeData*,
                                  std::size_t) {
  return CUDA_SUCCESS;
}
SWALLOW cuGraphKernelNodeSetAttribute(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*) {
  return CUDA_SUCCESS;
}
SWALLOW cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph, unsigned long long) {
  *executable = make<CUgraphExec>();
  return CUDA_SUCCESS;
}
SWALLOW cuGraphExecDestroy(CUgraphExec) {
  return CUDA_SUCCESS;
}
SWALLOW cuGraphUpload(CUgraphExec, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuGraphLaunch(CUgraphExec, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2*) {
  return CUDA_SUCCESS;
}

// Copies and fills, which overhead_launches does not make.
SWALLOW cuMemcpyAsync(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D*, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuMemsetD2D8Async(CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuMemsetD2D16Async(CUdeviceptr, std::size_t, unsigned short, std::size_t, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
SWALLOW cuMemsetD2D32Async(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream) {
  return CUDA_SUCCESS;
}
