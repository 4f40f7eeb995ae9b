// Memory, streams, events, modules, launches. Functions with a stream come twice: for the legacy default stream
// and for the per-thread one.
#include <cstdlib>
#include <cstring>

#include "test/cuda/fake_driver/fake_driver.h"

#define WITH_STREAM(name, parameters, text, action) \
  FAKE name parameters {                            \
    fake::log(#name text);                          \
    action;                                         \
    return CUDA_SUCCESS;                            \
  }                                                 \
  FAKE name##_ptsz parameters {                     \
    fake::log(#name "_ptsz" text);                  \
    action;                                         \
    return CUDA_SUCCESS;                            \
  }

namespace {

void* host(CUdeviceptr address) noexcept {
  return reinterpret_cast<void*>(address);
}

template <class Handle>
Handle make_handle() noexcept {
  return static_cast<Handle>(std::calloc(1, 64));
}

}  // namespace

FAKE cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  fake::log("cuMemAlloc_v2");
  void* memory = std::calloc(1, bytes);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
FAKE cuMemFree_v2(CUdeviceptr address) {
  fake::log("cuMemFree_v2");
  std::free(host(address));
  return CUDA_SUCCESS;
}
FAKE cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  fake::log("cuMemcpyDtoH_v2");
  std::memcpy(to, host(from), bytes);
  return CUDA_SUCCESS;
}
FAKE cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  fake::log("cuMemcpyHtoD_v2");
  std::memcpy(host(to), from, bytes);
  return CUDA_SUCCESS;
}
WITH_STREAM(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream), "",
            std::memmove(host(to), host(from), bytes))
WITH_STREAM(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, std::size_t bytes, CUstream), "",
            std::memcpy(host(to), from, bytes))
WITH_STREAM(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t bytes, CUstream), "",
            std::memcpy(to, host(from), bytes))
WITH_STREAM(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream), "",
            std::memset(host(to), value, count))

FAKE cuStreamCreate(CUstream* stream, unsigned) {
  fake::log("cuStreamCreate");
  *stream = make_handle<CUstream>();
  return CUDA_SUCCESS;
}
FAKE cuStreamCreateWithPriority(CUstream* stream, unsigned, int) {
  fake::log("cuStreamCreateWithPriority");
  *stream = make_handle<CUstream>();
  return CUDA_SUCCESS;
}
FAKE cuStreamDestroy_v2(CUstream stream) {
  fake::log("cuStreamDestroy_v2");
  std::free(stream);
  return CUDA_SUCCESS;
}
WITH_STREAM(cuStreamSynchronize, (CUstream), "", )
WITH_STREAM(cuStreamQuery, (CUstream), "", )
WITH_STREAM(cuStreamWaitEvent, (CUstream, CUevent, unsigned), "", )
WITH_STREAM(cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus* status), "", *status = CU_STREAM_CAPTURE_STATUS_NONE)

FAKE cuEventCreate(CUevent* event, unsigned) {
  fake::log("cuEventCreate");
  *event = make_handle<CUevent>();
  return CUDA_SUCCESS;
}
FAKE cuEventDestroy_v2(CUevent event) {
  fake::log("cuEventDestroy_v2");
  std::free(event);
  return CUDA_SUCCESS;
}
FAKE cuEventSynchronize(CUevent) {
  fake::log("cuEventSynchronize");
  return CUDA_SUCCESS;
}
WITH_STREAM(cuEventRecord, (CUevent, CUstream), "", )

FAKE cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  fake::log("cuModuleGetLoadingMode");
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
FAKE cuModuleLoadData(CUmodule* module, const void*) {
  fake::log("cuModuleLoadData");
  *module = make_handle<CUmodule>();
  return CUDA_SUCCESS;
}
FAKE cuModuleUnload(CUmodule module) {
  fake::log("cuModuleUnload");
  std::free(module);
  return CUDA_SUCCESS;
}
FAKE cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  fake::logf("cuModuleGetFunction %s", name);
  *function = make_handle<CUfunction>();
  return CUDA_SUCCESS;
}
WITH_STREAM(cuLaunchKernel,
            (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**,
             void**),
            "", )
