// Linked with the driver: what `refrain run --capture` is shown. Two streams with an edge between them, kernels of a
// module and of a library, copies and a fill, pinned memory, memory at an address that was given back.
// Usage: capture_program [ITERATIONS]
#include <cstdio>
#include <cstdlib>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace {

constexpr unsigned kWords = 64;
constexpr std::size_t kBytes = kWords * sizeof(unsigned);
// The small driver takes anything for an image: this one only has to look like PTX.
constexpr char kImage[] = ".version 8.0\n.target sm_90\n.address_size 64\n// capture_program\n";
constexpr char kOtherImage[] = ".version 8.0\n.target sm_90\n.address_size 64\n// capture_program, library\n";

void check(CUresult status, const char* call) {
  if (status != CUDA_SUCCESS) {
    std::printf("%s: %d\n", call, static_cast<int>(status));
    std::exit(1);
  }
}
#define CHECK(call) check(call, #call)

template <class... Arguments>
void launch(CUfunction function, CUstream stream, Arguments... arguments) {
  void* list[] = {&arguments...};
  CHECK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, list, nullptr));
}

}  // namespace

int main(int count, char** words) {
  const int iterations = count > 1 ? static_cast<int>(std::strtol(words[1], nullptr, 10)) : 5;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUfunction scale = nullptr;
  CUkernel mix_in = nullptr;
  CUstream first = nullptr;
  CUstream second = nullptr;
  CUevent event = nullptr;
  CUdeviceptr x = 0;
  CUdeviceptr y = 0;
  CUdeviceptr unused = 0;
  void* pinned = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kImage));
  CHECK(cuModuleGetFunction(&scale, module, "scale"));
  CHECK(cuLibraryLoadData(&library, kOtherImage, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cuLibraryGetKernel(&mix_in, library, "mix_in"));
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc_v2(&unused, kBytes));
  launch(scale, first, unused, kWords, 1U, 0U);
  CHECK(cuStreamSynchronize(first));
  CHECK(cuMemFree_v2(unused));
  CHECK(cuMemAlloc_v2(&x, kBytes));
  CHECK(cuMemAlloc_v2(&y, kBytes));
  CHECK(cuMemHostAlloc(&pinned, kBytes, 0));
  unsigned start[kWords];
  for (unsigned i = 0; i < kWords; ++i) {
    start[i] = i;
    static_cast<unsigned*>(pinned)[i] = 1000 + i;
  }
  CHECK(cuMemcpyHtoD_v2(x, start, kBytes));
  CHECK(cuCtxSynchronize());  // it may return before the values have arrived, and these streams do not wait for that
  for (int i = 0; i < iterations; ++i) {
    CHECK(cuMemcpyHtoDAsync_v2(y, pinned, kBytes, second));
    CHECK(cuMemsetD32Async(y, 7, kWords / 2, second));
    launch(reinterpret_cast<CUfunction>(mix_in), second, y + kBytes / 2, y, kWords / 2, 3U);
    CHECK(cuEventRecord(event, second));
    launch(scale, first, x, kWords, 3U, 1U);
    CHECK(cuStreamWaitEvent(first, event, 0));
    launch(reinterpret_cast<CUfunction>(mix_in), first, x, y, kWords, 5U);
    CHECK(cuMemcpyDtoHAsync_v2(pinned, x, kBytes, first));
    CHECK(cuStreamSynchronize(first));
  }
  unsigned sum = 0;
  CHECK(cuMemcpyDtoH_v2(start, x, kBytes));
  for (const unsigned word : start) {
    sum = sum * 31 + word;
  }
  std::printf("result %u\n", sum);
  return 0;
}
