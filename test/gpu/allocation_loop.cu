// A loop of tasks, each with memory of its own in stream order: allocated, filled from the host, used by ten kernels,
// read back and freed; then the same as a graph by hand. Prints one line of JSON; its checksum does not depend on how the work was submitted.
#include <chrono>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "allocation_loop [--tasks N] [--kept-mb N] [--iterations N] [--warmup N]\n"
    "  --tasks N     so many between two waits (default: 10)\n"
    "  --kept-mb N   so much unused memory stays in the pool across waits (default: 64; 0 is the driver's own default)";

constexpr int kWords = 1024;
constexpr int kKernels = 10;

__global__ void step(unsigned* own, unsigned value) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  own[i] = own[i] * 3 + value;
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const int tasks = std::max(1, arguments.integer("tasks", 10));
  const int kept_mb = arguments.integer("kept-mb", 64);
  const int iterations = std::max(1, arguments.integer("iterations", 500));
  const int warmup = arguments.integer("warmup", 500);
  arguments.nothing_left();

  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaMemPool_t pool = nullptr;
  CHECK_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t kept = static_cast<std::uint64_t>(kept_mb) << 20u;
  CHECK_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
  unsigned* in = nullptr;
  unsigned* out = nullptr;
  constexpr std::size_t kBytes = kWords * sizeof(unsigned);
  CHECK_CUDA(cudaMallocHost(&in, kBytes));
  CHECK_CUDA(cudaMallocHost(&out, kBytes));
  for (int i = 0; i < kWords; ++i) in[i] = static_cast<unsigned>(i);

  gpu_test::Checksum checksum;
  // One round: `submit` gives the stream its work.
  const auto measure = [&](auto&& submit) {
    std::vector<double> times;
    for (int iteration = 0; iteration < warmup + iterations; ++iteration) {
      const auto start = Clock::now();
      submit();
      CHECK_CUDA(cudaStreamSynchronize(stream));
      const std::chrono::duration<double, std::micro> took = Clock::now() - start;
      if (iteration >= warmup) times.push_back(took.count());
      checksum.add(out, kBytes);
      in[0] += out[1];
    }
    return times;
  };
  const auto use = [&](unsigned* own) {
    CHECK_CUDA(cudaMemcpyAsync(own, in, kBytes, cudaMemcpyHostToDevice, stream));
    for (unsigned k = 0; k < kKernels; ++k) step<<<kWords / 256, 256, 0, stream>>>(own, k);
    CHECK_CUDA(cudaMemcpyAsync(out, own, kBytes, cudaMemcpyDeviceToHost, stream));
  };
  const std::vector<double> times = measure([&] {
    for (int task = 0; task < tasks; ++task) {
      unsigned* own = nullptr;
      CHECK_CUDA(cudaMallocAsync(&own, kBytes, stream));
      use(own);
      CHECK_CUDA(cudaFreeAsync(own, stream));
    }
  });

  // As one would write it by hand: memory that stays, and all tasks in one graph.
  unsigned* own = nullptr;
  CHECK_CUDA(cudaMalloc(&own, kBytes));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int task = 0; task < tasks; ++task) use(own);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  const std::vector<double> by_hand = measure([&] { CHECK_CUDA(cudaGraphLaunch(exec, stream)); });
  std::printf("{\"iteration_us\": %.2f, \"least_us\": %.2f, \"graph_us\": %.2f, \"checksum\": \"%016llx\"}\n",
              gpu_test::median(times), *std::min_element(times.begin(), times.end()), gpu_test::median(by_hand),
              static_cast<unsigned long long>(checksum.value()));
  return 0;
}
