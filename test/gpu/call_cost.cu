// What one call of the driver API costs the calling thread: one that only looks something up, and a launch. Prints one
// line of JSON with medians in nanoseconds; the difference between two runs is what a layer adds.
#include <cuda.h>

#include <chrono>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

__global__ void nothing() {}

void check_driver(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s failed: %d\n", call, static_cast<int>(status));
  std::exit(1);
}

/// The median over batches; what follows each batch is not measured.
template <typename Call, typename After>
double nanoseconds(int batches, int calls, Call call, After after) {
  std::vector<double> times;
  for (int batch = 0; batch < batches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
    after();
  }
  return gpu_test::median(times);
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "call_cost [--batches N]");
  const int batches = arguments.integer("batches", 300);
  arguments.nothing_left();

  CHECK_CUDA(cudaFree(nullptr));  // makes the context
  cudaFunction_t function = nullptr;
  CHECK_CUDA(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(nothing)));
  CUstream stream = nullptr;
  check_driver(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  CUdevice device = 0;
  CUcontext context = nullptr;
  const auto none = [] {};
  const double get_device = nanoseconds(
      batches, 5000, [&] { (void)cuCtxGetDevice(&device); }, none);
  const double get_current = nanoseconds(
      batches, 5000, [&] { (void)cuCtxGetCurrent(&context); }, none);
  // Fewer than the driver's queue holds, so that no launch has to wait for the device. Their number varies: loops that
  // repeat exactly are what a layer may take a short cut for.
  int number = 0;
  const double launch = nanoseconds(
      batches, 500,
      [&] {
        const unsigned blocks = 1 + static_cast<unsigned>(++number) * 2654435761u % 7;
        check_driver(cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
      },
      [&] { check_driver(cuStreamSynchronize(stream), "cuStreamSynchronize"); });
  std::printf("{\"cuCtxGetDevice_ns\": %.2f, \"cuCtxGetCurrent_ns\": %.2f, \"cuLaunchKernel_ns\": %.1f}\n", get_device,
              get_current, launch);
  return 0;
}
