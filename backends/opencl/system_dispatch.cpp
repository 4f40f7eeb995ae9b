#include "backends/opencl/system_dispatch.h"

#include <dlfcn.h>

namespace refrain::backends::opencl {

const cl_icd_dispatch* system_dispatch() {
  static void* const loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (loader == nullptr) {
    return nullptr;
  }
  static const cl_icd_dispatch table = [] {
    cl_icd_dispatch d{};
#define USE(name) d.name = reinterpret_cast<decltype(d.name)>(dlsym(loader, #name));
    USE(clGetPlatformIDs)
    USE(clGetPlatformInfo)
    USE(clGetDeviceIDs)
    USE(clGetDeviceInfo)
    USE(clCreateContext)
    USE(clRetainContext)
    USE(clReleaseContext)
    USE(clGetContextInfo)
    USE(clCreateCommandQueue)
    USE(clCreateCommandQueueWithProperties)
    USE(clRetainCommandQueue)
    USE(clReleaseCommandQueue)
    USE(clGetCommandQueueInfo)
    USE(clCreateBuffer)
    USE(clCreateSubBuffer)
    USE(clCreateImage)
    USE(clCreateSampler)
    USE(clRetainMemObject)
    USE(clReleaseMemObject)
    USE(clRetainSampler)
    USE(clReleaseSampler)
    USE(clGetMemObjectInfo)
    USE(clGetImageInfo)
    USE(clCreateProgramWithSource)
    USE(clCreateProgramWithBinary)
    USE(clCreateProgramWithIL)
    USE(clCreateProgramWithBuiltInKernels)
    USE(clRetainProgram)
    USE(clReleaseProgram)
    USE(clBuildProgram)
    USE(clGetProgramInfo)
    USE(clGetProgramBuildInfo)
    USE(clCreateKernel)
    USE(clRetainKernel)
    USE(clReleaseKernel)
    USE(clSetKernelArg)
    USE(clSetKernelArgSVMPointer)
    USE(clGetKernelInfo)
    USE(clGetKernelArgInfo)
    USE(clWaitForEvents)
    USE(clGetEventInfo)
    USE(clRetainEvent)
    USE(clReleaseEvent)
    USE(clCreateUserEvent)
    USE(clSetUserEventStatus)
    USE(clSetEventCallback)
    USE(clGetEventProfilingInfo)
    USE(clFlush)
    USE(clFinish)
    USE(clSVMAlloc)
    USE(clSVMFree)
    USE(clEnqueueReadBuffer)
    USE(clEnqueueWriteBuffer)
    USE(clEnqueueReadBufferRect)
    USE(clEnqueueWriteBufferRect)
    USE(clEnqueueCopyBuffer)
    USE(clEnqueueCopyBufferRect)
    USE(clEnqueueFillBuffer)
    USE(clEnqueueReadImage)
    USE(clEnqueueWriteImage)
    USE(clEnqueueCopyImage)
    USE(clEnqueueFillImage)
    USE(clEnqueueCopyImageToBuffer)
    USE(clEnqueueCopyBufferToImage)
    USE(clEnqueueNDRangeKernel)
    USE(clEnqueueMigrateMemObjects)
    USE(clEnqueueMarkerWithWaitList)
    USE(clEnqueueBarrierWithWaitList)
    USE(clEnqueueSVMMemcpy)
    USE(clEnqueueSVMMemFill)
    USE(clEnqueueSVMMigrateMem)
    USE(clGetExtensionFunctionAddressForPlatform)
#undef USE
    return d;
  }();
  return &table;
}

}  // namespace refrain::backends::opencl
