// The vendor's header for AMD's runtime, and the functions that are newer than it (Debian's is of ROCm 5.2.3), as the
// documentation of ROCm declares them. All of them are found at run time.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
// Without the C++ overloads, of which nobody could take the address.
#ifndef __HIP_DISABLE_CPP_FUNCTIONS__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#endif
// Headers that know these have other types, or C++ overloads, for them than what is declared below, which older headers
// must do with.

// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define hipDeviceSetLimit hipDeviceSetLimit_as_the_header_has_it
#define hipKernelSetAttribute hipKernelSetAttribute_as_the_header_has_it
#define hipPointerSetAttribute hipPointerSetAttribute_as_the_header_has_it
#define hipStreamSetAttribute hipStreamSetAttribute_as_the_header_has_it
#define hipStreamBeginCaptureToGraph hipStreamBeginCaptureToGraph_as_the_header_has_it
#define hipMallocAsync hipMallocAsync_as_the_header_has_it
#define hipMallocFromPoolAsync hipMallocFromPoolAsync_as_the_header_has_it
#define hipGetSymbolAddress hipGetSymbolAddress_as_the_header_has_it
#define hipGraphAddMemAllocNode hipGraphAddMemAllocNode_as_the_header_has_it
#define hipGetProcAddress hipGetProcAddress_as_the_header_has_it
#define hipGetProcAddress_spt hipGetProcAddress_spt_as_the_header_has_it
#define hipGetDriverEntryPoint hipGetDriverEntryPoint_as_the_header_has_it
#define hipGetDriverEntryPoint_spt hipGetDriverEntryPoint_spt_as_the_header_has_it
// NOLINTEND(cppcoreguidelines-macro-usage)
#include <hip/hip_runtime_api.h>
#undef hipDeviceSetLimit
#undef hipKernelSetAttribute
#undef hipPointerSetAttribute
#undef hipStreamSetAttribute
#undef hipStreamBeginCaptureToGraph
#undef hipMallocAsync
#undef hipMallocFromPoolAsync
#undef hipGetSymbolAddress
#undef hipGraphAddMemAllocNode
#undef hipGetProcAddress
#undef hipGetProcAddress_spt
#undef hipGetDriverEntryPoint
#undef hipGetDriverEntryPoint_spt
#include <hip/hip_version.h>
// Functions, which newer headers make other names for newer ones.
#undef hipChooseDevice
#undef hipGetDeviceProperties

#include <cstddef>
#include <cstdint>

extern "C" {
hipError_t hipExtGetLastError(void);
// Their enumerations and structures are newer than the header, too.
hipError_t hipDeviceSetLimit(int limit, std::size_t value);
hipError_t hipKernelSetAttribute(int attribute, int value, void* kernel, hipDevice_t device);
hipError_t hipPointerSetAttribute(const void* value, int attribute, void* pointer);
hipError_t hipStreamSetAttribute(hipStream_t stream, int attribute, const void* value);
hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from);
hipError_t hipMallocAsync(void** memory, std::size_t bytes, hipStream_t stream);
hipError_t hipMallocFromPoolAsync(void** memory, std::size_t bytes, hipMemPool_t pool, hipStream_t stream);
hipError_t hipGetSymbolAddress(void** address, const void* symbol);
hipError_t hipExtHostAlloc(void** memory, std::size_t bytes, unsigned int flags);
hipError_t hipGraphAddMemAllocNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                   std::size_t count, void* what);
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t executable, hipGraphNode_t node, unsigned int enabled);
hipError_t hipGraphUpload(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipGraphLaunch_spt(hipGraphExec_t executable, hipStream_t stream);
hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream);
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned int flags);
hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data);
hipError_t hipLaunchHostFunc_spt(hipStream_t stream, void (*function)(void*), void* data);
hipError_t hipMemPrefetchAsync_v2(const void* memory, std::size_t bytes, hipMemLocation to, unsigned int flags,
                                  hipStream_t stream);
hipError_t hipMemsetAsync_spt(void* to, int value, std::size_t bytes, hipStream_t stream);
hipError_t hipMemcpy2DAsync_spt(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                std::size_t width, std::size_t height, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode);
hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* graph);
/// `data` is an array of hipGraphEdgeData.
hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* nodes,
                                        const void* data, std::size_t count, hipStreamCaptureMode mode);
/// `found` is a hipDriverProcAddressQueryResult: 0, it was found.
hipError_t hipGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags, int* found);
hipError_t hipGetProcAddress_spt(const char* symbol, void** function, int version, std::uint64_t flags, int* found);
hipError_t hipGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* found);
hipError_t hipGetDriverEntryPoint_spt(const char* symbol, void** function, unsigned long long flags, int* found);

// As clang declares what it calls for programs with kernels.
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** modules, const void* host_function, char* device_function, const char* name,
                           unsigned int thread_limit, void* thread, void* block, dim3* block_size, dim3* grid_size,
                           int* warp_size);
void __hipRegisterVar(void** modules, void* host_variable, char* name, char* device_name, int external,
                      std::size_t bytes, int constant, int global);
void __hipRegisterManagedVar(void* modules, void** memory, void* initial, const char* name, std::size_t bytes,
                             unsigned int alignment);
void __hipUnregisterFatBinary(void** modules);

// A C++ function in libamdhip64.so.5, a C function later.
hipError_t _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(hipSurfaceObject_t* surface,
                                                                          const hipResourceDesc* what);

// Of hip_ext.h: C++ functions in libamdhip64.so.5, C functions later. Sizes in work-items, not in blocks.
hipError_t _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y, std::uint32_t global_z,
    std::uint32_t local_x, std::uint32_t local_y, std::uint32_t local_z, std::size_t shared_bytes, hipStream_t stream,
    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop, std::uint32_t flags);
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y,
                                    std::uint32_t global_z, std::uint32_t local_x, std::uint32_t local_y,
                                    std::uint32_t local_z, std::size_t shared_bytes, hipStream_t stream,
                                    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop,
                                    std::uint32_t flags);
hipError_t _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
    hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y, std::uint32_t global_z,
    std::uint32_t local_x, std::uint32_t local_y, std::uint32_t local_z, std::size_t shared_bytes, hipStream_t stream,
    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop);
}
