// What `refrain run --capture` is shown of HIP. Two streams with an edge between them, a kernel of a module and one
// that is registered as clang does, copies and a fill, pinned and managed memory, memory at an address that was given
// back. Usage: capture_program [ITERATIONS [IMAGE]]: the code of the module; compressed: code that is not read
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
extern const char contract_image[];
extern const char contract_bundle[];
extern const char contract_compressed[];
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** modules, const void* host_function, char* device_function, const char* name,
                           unsigned thread_limit, void* thread, void* block, dim3* block_size, dim3* grid_size,
                           int* warp_size);
void __hipUnregisterFatBinary(void** modules);
}

namespace {

constexpr unsigned kWords = 64;
constexpr std::size_t kBytes = kWords * sizeof(unsigned);

void check(hipError_t status, const char* call) {
  if (status != hipSuccess) {
    std::printf("%s: %d\n", call, static_cast<int>(status));
    std::exit(1);
  }
}
#define CHECK(call) check(call, #call)

// What clang makes of a kernel and of a program with kernels.
const char mix_in = 0;  // its address names the kernel
void** modules = nullptr;
void unregister_kernels() {
  __hipUnregisterFatBinary(modules);
}
__attribute__((constructor)) void register_kernels() {
  static const struct {
    unsigned magic, version;
    const void* binary;
    void* unused;
  } wrapper = {0x48495046, 1, contract_bundle, nullptr};
  modules = __hipRegisterFatBinary(&wrapper);
  static char name[] = "mix_in";
  __hipRegisterFunction(modules, &mix_in, name, name, ~0U, nullptr, nullptr, nullptr, nullptr, nullptr);
  std::atexit(&unregister_kernels);
}

void scale(hipFunction_t function, hipStream_t stream, unsigned* x, unsigned n, unsigned a, unsigned b) {
  void* list[] = {&x, &n, &a, &b};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, list, nullptr));
}
void mix(hipStream_t stream, unsigned* x, const unsigned* y, unsigned n, unsigned a) {
  void* list[] = {&x, &y, &n, &a};
  CHECK(hipLaunchKernel(&mix_in, dim3(2), dim3(32), list, 0, stream));
}

template <class T>
T* allocated(hipError_t (*allocate)(void**, std::size_t, unsigned)) {
  void* memory = nullptr;
  CHECK(allocate(&memory, kBytes, 0));
  return static_cast<T*>(memory);
}
hipError_t of_device(void** memory, std::size_t bytes, unsigned /*flags*/) {
  return hipMalloc(memory, bytes);
}
hipError_t managed(void** memory, std::size_t bytes, unsigned /*flags*/) {
  return hipMallocManaged(memory, bytes, hipMemAttachGlobal);
}

}  // namespace

int main(int count, char** words) {
  const int iterations = count > 1 ? static_cast<int>(std::strtol(words[1], nullptr, 10)) : 5;
  const bool compressed = count > 2 && std::strcmp(words[2], "compressed") == 0;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  hipStream_t first = nullptr;
  hipStream_t second = nullptr;
  hipEvent_t event = nullptr;
  CHECK(hipModuleLoadData(&module, compressed ? contract_compressed : contract_image));
  CHECK(hipModuleGetFunction(&function, module, "scale"));
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  auto* const unused = allocated<unsigned>(&of_device);
  scale(function, first, unused, kWords, 1, 0);
  CHECK(hipStreamSynchronize(first));
  CHECK(hipFree(unused));
  auto* const x = allocated<unsigned>(&of_device);
  auto* const y = allocated<unsigned>(&managed);
  auto* const pinned = allocated<unsigned>(&hipHostMalloc);
  unsigned start[kWords];
  for (unsigned i = 0; i < kWords; ++i) {
    start[i] = i;
    pinned[i] = 1000 + i;
  }
  CHECK(hipMemcpy(x, start, kBytes, hipMemcpyHostToDevice));
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < iterations; ++i) {
    CHECK(hipMemcpyAsync(y, pinned, kBytes, hipMemcpyDefault, second));
    CHECK(hipMemsetD32Async(y, 7, kWords / 2, second));
    mix(second, y + kWords / 2, y, kWords / 2, 3);
    CHECK(hipEventRecord(event, second));
    scale(function, first, x, kWords, 3, 1);
    CHECK(hipStreamWaitEvent(first, event, 0));
    mix(first, x, y, kWords, 5);
    CHECK(hipMemcpyAsync(pinned, x, kBytes, hipMemcpyDefault, first));
    CHECK(hipStreamSynchronize(first));
  }
  unsigned sum = 0;
  CHECK(hipMemcpy(start, x, kBytes, hipMemcpyDeviceToHost));
  for (const unsigned word : start) {
    sum = sum * 31 + word;
  }
  std::printf("result %u\n", sum);
  return 0;
}
