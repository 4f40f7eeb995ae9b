// A program of the shared runtime that launches the same kernels again and again, as nvcc's <<<>>> does. Prints what it
// computed, and each error with what the runtime has as its last one.
//
// Usage: launch_program ROUNDS
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// What nvcc's code calls, and what no header of the toolkit declares for other compilers.
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** binary, const char* function, char* device_function, const char* name, int, void*,
                            void*, void*, void*, int*);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                    cudaStream_t stream);
}

namespace {

using Word = std::uint32_t;
using Launch = decltype(&__cudaLaunchKernel);
constexpr Word kWords = 64;
constexpr int kLaunches = 24;  // of a round

bool failed = false;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    const cudaError_t last = cudaPeekAtLastError();
    std::printf("%s: error %d, last %d%s\n", what, status, last, status == last ? "" : ": not the same");
    failed = true;
  }
}

cudaKernel_t kernel_of(const char* name) {
  static struct {
    int magic, version;
    const void* data;
    const void* more;
  } wrapper = {0x466243b1, 1, "kernels", nullptr};
  static void** binary = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(binary, name, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  cudaKernel_t kernel = nullptr;
  check(__cudaGetKernel(&kernel, name), "kernel");
  return kernel;
}

/// What was wrong with a launch is wrong with no later one: a kernel that nobody expects is launched.
void launch_again(Launch launch, cudaStream_t stream) {
  constexpr int kTries = 4;
  const cudaKernel_t kernel = kernel_of("nothing");
  void* none[] = {nullptr};
  cudaError_t status = cudaErrorNotReady;
  for (int i = 0; i < kTries && status != cudaSuccess; ++i) {
    status = launch(kernel, {1, 1, 1}, {1, 1, 1}, none, 0, stream);
  }
  std::printf("launched again: %d\n", status);
}

/// x[i] = x[i] * a + b
void scale(Launch launch, cudaKernel_t kernel, cudaStream_t stream, Word* x, Word a, Word b) {
  Word count = kWords;
  void* arguments[] = {&x, &count, &a, &b};
  check(launch(kernel, {1, 1, 1}, {kWords, 1, 1}, arguments, 0, stream), "launch");
  if (failed) {
    launch_again(launch, stream);
  }
}

/// The same launches in each round, but for what `changes`: one argument, now and then.
void run(const char* name, Launch launch, cudaStream_t stream, int rounds, bool changes, int other_round) {
  const cudaKernel_t kernel = kernel_of("scale");
  const cudaKernel_t other = kernel_of("mix_in");
  Word* memory = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&memory), kWords * sizeof(Word)), "memory");
  check(cudaMemset(memory, 1, kWords * sizeof(Word)), "memory");
  check(cudaDeviceSynchronize(), "memory");
  for (int round = 0; round < rounds && !failed; ++round) {
    for (int k = 0; k < kLaunches && !failed; ++k) {
      const Word added = changes && k % 5 == 2 ? static_cast<Word>(round * 7 + k) : static_cast<Word>(k);
      if (k == 9 && other_round != 0 && round % other_round == 1) {  // not what was predicted
        Word count = kWords;
        Word a = 3;
        Word* from = memory;
        void* arguments[] = {&memory, &from, &count, &a};
        check(launch(other, {1, 1, 1}, {kWords, 1, 1}, arguments, 0, stream), "launch");
      } else {
        scale(launch, kernel, stream, memory, 3, added);
      }
    }
    check(cudaStreamSynchronize(stream), "wait");
  }
  std::vector<Word> values(kWords);
  check(cudaMemcpy(values.data(), memory, kWords * sizeof(Word), cudaMemcpyDeviceToHost), "copy");
  check(cudaFree(memory), "free");
  Word sum = 0;
  for (const Word value : values) {
    sum = sum * 31 + value;
  }
  if (!failed) {
    std::printf("%s: %08x\n", name, sum);
  }
}

/// The runtime makes its context current at a launch if there is none, also at one that was predicted.
void run_without_context(cudaStream_t stream, int rounds) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto set = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"));
  const auto get = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  const auto pop = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxPopCurrent_v2"));
  const cudaKernel_t kernel = kernel_of("scale");
  Word* memory = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&memory), kWords * sizeof(Word)), "memory");
  check(cudaMemset(memory, 1, kWords * sizeof(Word)), "memory");
  check(cudaDeviceSynchronize(), "memory");
  int without = 0;
  for (int round = 0; round < rounds && !failed; ++round) {
    for (int k = 0; k < kLaunches && !failed; ++k) {
      void* current = nullptr;
      if (k == kLaunches / 2) {
        static_cast<void>(round % 2 == 0 ? set(nullptr) : pop(&current));
      }
      scale(&__cudaLaunchKernel, kernel, stream, memory, 3, static_cast<Word>(k));
      get(&current);
      without += current == nullptr ? 1 : 0;
    }
    check(cudaStreamSynchronize(stream), "wait");
  }
  check(cudaFree(memory), "free");
  std::printf("launches that left no context: %d\n", without);
}

/// Launches with an attribute, and now and then one without it where one with it is predicted.
void run_with_attribute(cudaStream_t stream, int rounds) {
  constexpr const char* kKernel = "seen";
  const cudaKernel_t kernel = kernel_of(kKernel);
  Word* memory = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&memory), kWords * sizeof(Word)), "memory");
  check(cudaMemset(memory, 1, kWords * sizeof(Word)), "memory");
  check(cudaDeviceSynchronize(), "memory");
  void* arguments[] = {&memory};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = {1, 1, 1};
  config.blockDim = {kWords, 1, 1};
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int round = 0; round < rounds && !failed; ++round) {
    for (int k = 0; k < kLaunches && !failed; ++k) {
      check(k == kLaunches / 2 && round % 4 == 3
                ? __cudaLaunchKernel(kernel, {1, 1, 1}, {kWords, 1, 1}, arguments, 0, stream)
                : cudaLaunchKernelExC(&config, kKernel, arguments),
            "launch");
    }
    check(cudaStreamSynchronize(stream), "wait");
  }
  Word seen = 0;
  check(cudaMemcpy(&seen, memory, sizeof(Word), cudaMemcpyDeviceToHost), "copy");
  check(cudaFree(memory), "free");
  std::printf("with an attribute: %08x\n", seen);
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? static_cast<int>(std::strtol(words[1], nullptr, 10)) : 1;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  run("stream", &__cudaLaunchKernel, stream, rounds, false, 0);
  run("changes", &__cudaLaunchKernel, stream, rounds, true, 0);
  run("mispredictions", &__cudaLaunchKernel, stream, rounds, false, 8);
  run("default stream", &__cudaLaunchKernel, nullptr, rounds, false, 0);
  run("own default stream", &__cudaLaunchKernel_ptsz, nullptr, rounds, false, 0);
  if (!failed) {
    run_without_context(stream, rounds);
    run_with_attribute(stream, rounds / 2);
  }
  if (!failed) {
    std::thread([&] { run("thread", &__cudaLaunchKernel, stream, rounds, true, 8); }).join();
  }
  if (!failed && fork() == 0) {
    const cudaError_t status = __cudaLaunchKernel(kernel_of("scale"), {1, 1, 1}, {kWords, 1, 1}, nullptr, 0, stream);
    std::printf("child: %s\n", status == cudaSuccess ? "launched" : "refused");
    std::fflush(stdout);
    _exit(0);
  }
  wait(nullptr);
  return failed ? 1 : 0;
}
