// A little work for the driver, by whatever way its functions were found, and where they were found.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

/// "shim", "driver" or the file that `address` lies in.
inline const char* place_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return address == nullptr ? "null" : "nowhere";
  }
  const char* slash = std::strrchr(info.dli_fname, '/');
  const char* file = slash == nullptr ? info.dli_fname : slash + 1;
  if (std::strncmp(file, "librefrain_cuda", 15) == 0) {
    return "shim";
  }
  return std::strncmp(file, "libcuda.so", 10) == 0 ? "driver" : info.dli_fname;
}

struct Functions {
  decltype(&::cuInit) init;
  decltype(&::cuDevicePrimaryCtxRetain) retain;
  decltype(&::cuCtxSetCurrent) set_current;
  decltype(&::cuMemAlloc_v2) allocate;
  decltype(&::cuMemsetD8Async) fill;
  decltype(&::cuMemcpyDtoH_v2) read;
  decltype(&::cuCtxSynchronize) wait;
  decltype(&::cuMemFree_v2) release;
};

/// Returns 0 if everything worked.
inline int do_work(const Functions& with) {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  unsigned char result[16] = {};
  if (const CUresult status = with.init(0); status != CUDA_SUCCESS) {
    std::printf("cuInit %d\n", static_cast<int>(status));
    return 1;
  }
  const bool good = with.retain(&context, 0) == CUDA_SUCCESS && with.set_current(context) == CUDA_SUCCESS &&
                    with.allocate(&memory, sizeof(result)) == CUDA_SUCCESS &&
                    with.fill(memory, 7, sizeof(result), nullptr) == CUDA_SUCCESS && with.wait() == CUDA_SUCCESS &&
                    with.read(result, memory, sizeof(result)) == CUDA_SUCCESS && with.release(memory) == CUDA_SUCCESS &&
                    result[0] == 7 && result[15] == 7;
  std::printf("work %s\n", good ? "good" : "bad");
  return good ? 0 : 1;
}

inline int do_work_of(void* library) {
  Functions found{};
  const auto find = [library](const char* name, auto* function) {
    void* address = dlsym(library, name);
    std::memcpy(function, &address, sizeof(address));
    return address;
  };
  find("cuInit", &found.init);
  find("cuDevicePrimaryCtxRetain", &found.retain);
  find("cuCtxSetCurrent", &found.set_current);
  find("cuMemAlloc_v2", &found.allocate);
  find("cuMemsetD8Async", &found.fill);
  find("cuMemcpyDtoH_v2", &found.read);
  std::printf("cuCtxSynchronize in %s\n", place_of(find("cuCtxSynchronize", &found.wait)));
  find("cuMemFree_v2", &found.release);
  return do_work(found);
}
