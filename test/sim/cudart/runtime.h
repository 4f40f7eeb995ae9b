// libcudart.so.13 for programs on the simulated device, over the driver API alone. It stands where NVIDIA's runtime
// stands and reaches the driver in the same way: libcuda.so.1 is opened at the first call, every function is looked up
// with cuGetProcAddress, the primary context becomes current in every thread.
//
// Why there is one: NVIDIA's own runtime begins by making sure that the driver is NVIDIA's. That test is not imitated
// (../cuda/tables.cpp), so NVIDIA's runtime ends there, and programs that were linked with it statically cannot run
// here.
#pragma once

#include <cuda.h>
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <vector>

#define RUNTIME extern "C" __attribute__((visibility("default")))

namespace cudart {

/// The driver's functions, by the names of cuda.h, whose macros choose the versions of their types.
// clang-format off
#define CUDART_DRIVER_FUNCTIONS(F) \
  F(cuInit) F(cuDeviceGetCount) F(cuDeviceGetAttribute) F(cuDeviceGetName) F(cuDeviceTotalMem) \
  F(cuDriverGetVersion) F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxReset) F(cuCtxSetCurrent) F(cuCtxGetCurrent) F(cuCtxGetDevice) \
  F(cuCtxSynchronize) F(cuGetProcAddress) F(cuDeviceCanAccessPeer) F(cuCtxEnablePeerAccess) F(cuMemcpyPeerAsync) \
  F(cuMemAlloc) F(cuMemFree) F(cuMemHostAlloc) F(cuMemFreeHost) F(cuMemAllocManaged) F(cuMemAllocAsync) \
  F(cuMemFreeAsync) F(cuMemHostRegister) F(cuMemHostUnregister) F(cuMemHostGetDevicePointer) F(cuMemGetInfo) \
  F(cuMemcpy) F(cuMemcpyAsync) F(cuMemcpyHtoD) F(cuMemcpyDtoH) F(cuMemcpyDtoD) F(cuMemcpyHtoDAsync) \
  F(cuMemcpyDtoHAsync) F(cuMemcpyDtoDAsync) F(cuMemcpy2D) F(cuMemcpy2DAsync) F(cuMemsetD8) F(cuMemsetD8Async) \
  F(cuMemsetD2D8Async) F(cuStreamCreate) F(cuStreamCreateWithPriority) F(cuStreamDestroy) F(cuStreamSynchronize) \
  F(cuStreamQuery) F(cuStreamWaitEvent) F(cuStreamBeginCapture) F(cuStreamEndCapture) F(cuStreamIsCapturing) \
  F(cuEventCreate) F(cuEventDestroy) F(cuEventRecord) F(cuEventRecordWithFlags) F(cuEventQuery) \
  F(cuEventSynchronize) F(cuEventElapsedTime) F(cuLaunchKernel) F(cuLaunchKernelEx) F(cuLaunchHostFunc) \
  F(cuLibraryLoadData) F(cuLibraryUnload) F(cuLibraryGetKernel) F(cuGraphCreate) F(cuGraphDestroy) \
  F(cuGraphAddKernelNode) F(cuGraphAddMemcpyNode) F(cuGraphAddMemsetNode) F(cuGraphAddHostNode) \
  F(cuGraphAddEmptyNode) F(cuGraphAddDependencies) F(cuGraphInstantiateWithFlags) F(cuGraphExecDestroy) \
  F(cuGraphLaunch) F(cuGraphUpload) F(cuGraphExecKernelNodeSetParams) F(cuGraphExecUpdate)
// clang-format on

struct Driver {
  CUresult status = CUDA_ERROR_NOT_INITIALIZED;  ///< of opening it; the functions are there if it is success
  decltype(&::cuLaunchKernel) call_cuLaunchKernel_ptsz = nullptr;  ///< for the thread's own default stream
  CUcontext context = nullptr;                                     ///< the primary one
#define CUDART_MEMBER(name) decltype(&::name) call_##name = nullptr;
  CUDART_DRIVER_FUNCTIONS(CUDART_MEMBER)
#undef CUDART_MEMBER
};

/// Opens the driver at the first call.
const Driver& driver() noexcept;

/// What every call begins with: the driver is open, and the thread has a context.
CUresult ready() noexcept;

/// Makes it the thread's last error if it is one. The two APIs agree in the numbers of the errors that come here.
cudaError_t note(CUresult status) noexcept;
cudaError_t note(cudaError_t status) noexcept;

/// The kernel that the program's function stands for; loads its code at the first call.
CUresult kernel_of(const void* function, CUkernel* kernel);

/// Calls a function of the driver for a function of the runtime.
#define CALL(name, ...)                                                                                   \
  [&] {                                                                                                   \
    const CUresult ready_so = cudart::ready();                                                            \
    return cudart::note(ready_so == CUDA_SUCCESS ? cudart::driver().call_##name(__VA_ARGS__) : ready_so); \
  }()

inline CUdeviceptr number(const void* address) noexcept {
  return reinterpret_cast<CUdeviceptr>(address);
}

}  // namespace cudart
