// Tiny kernels and a host function behind them, again and again, as JAX calls a device. Prints one line of JSON:
// "round_us" is how long such a round takes, waits included, the median; "longest_us" with --spin how long the host
// looked at memory at most. Its checksum does not depend on how the work was submitted.
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "host_function_loop [--kernels N] [--every N] [--data | --value] [--spin] [--iterations N] [--warmup N]\n"
    "  --kernels N      in front of each host function (default: 4)\n"
    "  --every N        rounds between two waits (default: 10)\n"
    "  --data           each function is given memory of its own, which it frees\n"
    "  --value          the stream writes a value instead\n"
    "  --spin           the host looks at memory until the function was called, in each round\n"
    "  --iterations N   that are timed (default: 400), behind so many (--warmup, default: 600) that are not";

__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

struct Options {
  int kernels = 4, every = 10, iterations = 400, warmup = 600;
  bool data = false, value = false, spin = false;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Loop {
 public:
  explicit Loop(const Options& options) : options_(options) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&cells_, cells_count() * sizeof *cells_));
    CHECK_CUDA(cudaMemset(cells_, 0, cells_count() * sizeof *cells_));
    CHECK_CUDA(cudaMallocHost(&written_, sizeof *written_));
    *written_ = 0;
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  void run() {
    for (int i = 0; i < options_.warmup; ++i) iteration();
    longest_us_ = 0;
    std::vector<double> times;
    for (int i = 0; i < options_.iterations; ++i) {
      const auto start = Clock::now();
      iteration();
      times.push_back(since(start) / options_.every);
    }
    gpu_test::Checksum checksum;
    checksum.add_device(cells_, cells_count());
    const unsigned long long calls = options_.value ? *written_ : calls_.load();
    checksum.add(&calls, sizeof calls);
    std::printf("{\"kernels\": %d, \"round_us\": %.2f, \"longest_us\": %.1f, \"checksum\": \"%016llx\"}\n",
                options_.kernels, gpu_test::median(times), longest_us_,
                static_cast<unsigned long long>(checksum.value()));
  }

 private:
  std::size_t cells_count() const { return static_cast<std::size_t>(std::max(1, options_.kernels)); }

  void iteration() {
    for (int i = 0; i < options_.every; ++i) round();
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }

  void round() {
    for (int k = 0; k < options_.kernels; ++k) tiny<<<1, 32, 0, stream_>>>(cells_ + k, static_cast<unsigned>(k));
    ++rounds_;
    if (options_.value) {
      const auto address = reinterpret_cast<CUdeviceptr>(written_);
      if (cuStreamWriteValue32(stream_, address, rounds_, 0) != CUDA_SUCCESS) {
        std::fprintf(stderr, "cuStreamWriteValue32 failed\n");
        std::exit(1);
      }
    } else if (options_.data) {
      CHECK_CUDA(cudaLaunchHostFunc(stream_, call_and_free, new Loop*(this)));
    } else {
      CHECK_CUDA(cudaLaunchHostFunc(stream_, call, this));
    }
    if (options_.spin) {
      const auto start = Clock::now();
      while ((options_.value ? std::atomic_ref(*written_).load() : calls_.load()) != rounds_) {
      }
      longest_us_ = std::max(longest_us_, since(start));
    }
  }

  static void call(void* loop) { ++static_cast<Loop*>(loop)->calls_; }
  static void call_and_free(void* data) {
    const std::unique_ptr<Loop*> loop(static_cast<Loop**>(data));
    call(*loop);
  }

  const Options options_;
  cudaStream_t stream_ = nullptr;
  unsigned long long* cells_ = nullptr;
  unsigned* written_ = nullptr;
  unsigned rounds_ = 0;
  std::atomic<unsigned> calls_{0};
  double longest_us_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  Options options;
  options.kernels = std::max(1, arguments.integer("kernels", options.kernels));
  options.every = std::max(1, arguments.integer("every", options.every));
  options.iterations = std::max(1, arguments.integer("iterations", options.iterations));
  options.warmup = arguments.integer("warmup", options.warmup);
  options.data = arguments.flag("data");
  options.value = arguments.flag("value");
  options.spin = arguments.flag("spin");
  arguments.nothing_left();
  Loop(options).run();
  return 0;
}
