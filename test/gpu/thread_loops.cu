// Threads that have nothing to do with each other: each launches tiny kernels into a stream of its own, waits for them,
// and so on. Prints one line of JSON: "iteration_us" is how long all together take for an iteration of each, wall
// clock. Its checksum does not depend on how the work was submitted.
#include <barrier>
#include <chrono>
#include <thread>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "thread_loops [--threads N] [--kernels N] [--iterations N] [--warmup N] [--blocking | --per-thread]\n"
    "  --threads N      how many (default: 4)\n"
    "  --kernels N      of each thread between two waits (default: 100)\n"
    "  --iterations N   of each thread that are timed (default: 400), behind so many (--warmup, default: 600) that are "
    "not\n"
    "  --blocking       streams that the legacy default stream is ordered with\n"
    "  --per-thread     the threads' own default streams\n"
    "iteration_us: of all threads together, wall clock; own_iteration_us: one thread's, the median";

__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

struct Options {
  int threads = 4, kernels = 100, iterations = 400, warmup = 600;
  bool blocking = false, per_thread = false;
};

/// Microseconds of each timed iteration. `all` lets no thread go on before all are there.
std::vector<double> loop(const Options& options, unsigned long long* cells, std::barrier<>& all) {
  cudaStream_t stream = cudaStreamPerThread;
  if (!options.per_thread) {
    const unsigned flags = options.blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream, flags));
  }
  std::vector<double> times;
  const auto iteration = [&] {
    for (int k = 0; k < options.kernels; ++k) tiny<<<1, 32, 0, stream>>>(cells + k, static_cast<unsigned>(k));
    CHECK_CUDA(cudaStreamSynchronize(stream));
  };
  // The driver locks out all launches for a stream's first one and for its end, and starves who wants that while others
  // launch: without these barriers the threads would run one after the other more or less, by chance.
  iteration();
  all.arrive_and_wait();
  for (int i = 0; i < options.warmup; ++i) iteration();
  all.arrive_and_wait();
  for (int i = 0; i < options.iterations; ++i) {
    const auto start = Clock::now();
    iteration();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  all.arrive_and_wait();
  if (!options.per_thread) CHECK_CUDA(cudaStreamDestroy(stream));
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  Options options;
  options.threads = std::max(1, arguments.integer("threads", options.threads));
  options.kernels = std::max(1, arguments.integer("kernels", options.kernels));
  options.iterations = std::max(1, arguments.integer("iterations", options.iterations));
  options.warmup = arguments.integer("warmup", options.warmup);
  options.blocking = arguments.flag("blocking");
  options.per_thread = arguments.flag("per-thread");
  arguments.nothing_left();

  const auto kernels = static_cast<std::size_t>(options.kernels);
  const std::size_t count = kernels * static_cast<std::size_t>(options.threads);
  unsigned long long* cells = nullptr;
  CHECK_CUDA(cudaMalloc(&cells, count * sizeof *cells));
  CHECK_CUDA(cudaMemset(cells, 0, count * sizeof *cells));
  CHECK_CUDA(cudaDeviceSynchronize());
  std::barrier<> all(options.threads + 1);
  std::vector<std::vector<double>> found(static_cast<std::size_t>(options.threads));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&, i] { found[i] = loop(options, cells + i * kernels, all); });
  }
  all.arrive_and_wait();
  all.arrive_and_wait();
  const auto start = Clock::now();
  all.arrive_and_wait();
  const double elapsed = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  for (std::thread& thread : threads) thread.join();
  std::vector<double> each;
  for (const auto& times : found) each.insert(each.end(), times.begin(), times.end());
  CHECK_CUDA(cudaDeviceSynchronize());
  gpu_test::Checksum checksum;
  checksum.add_device(cells, count);
  std::printf(
      "{\"threads\": %d, \"kernels\": %d, \"iteration_us\": %.2f, \"own_iteration_us\": %.2f, "
      "\"checksum\": \"%016llx\"}\n",
      options.threads, options.kernels, elapsed / options.iterations, gpu_test::median(each),
      static_cast<unsigned long long>(checksum.value()));
  return 0;
}
