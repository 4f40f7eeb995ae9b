// How long single calls of the driver take while other threads launch without a pause: what
// backends/exclusive_call_yield.h works around. Prints a line of JSON for each call. Nothing of Refrain takes part.
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "crowd_calls [--threads N] [--limit-ms N] [--rounds N]\n"
    "  --threads N    that launch, 100 kernels to a wait (default: 8)\n"
    "  --limit-ms N   so long a call is let wait for its turn; then the threads pause until it returns (default: 300)\n"
    "  --rounds N     through all calls (default: 3)";

constexpr int kKernels = 60, kCopies = 8, kBetweenWaits = 100;
constexpr std::size_t kCells = 4096;

__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

cudaKernelNodeParams kernel_node(void** arguments) {
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(tiny);
  node.gridDim = dim3(1);
  node.blockDim = dim3(32);
  node.kernelParams = arguments;
  return node;
}

class Crowd {
 public:
  Crowd(std::size_t threads, int limit_ms) : limit_(limit_ms), streams_(threads) {
    CHECK_CUDA(cudaMalloc(&cells_, kCells * sizeof *cells_));
    for (cudaStream_t& stream : streams_) CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    // A stream's first launch wants the driver for itself, too.
    std::barrier<> begin(static_cast<std::ptrdiff_t>(threads) + 1);
    for (cudaStream_t stream : streams_) {
      threads_.emplace_back([this, stream, &begin] {
        tiny<<<1, 32, 0, stream>>>(cells_, 1u);
        CHECK_CUDA(cudaStreamSynchronize(stream));
        begin.arrive_and_wait();
        launch_until_stopped(stream);
      });
    }
    begin.arrive_and_wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ~Crowd() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  template <class Call>
  void time(const char* name, Call&& call) {
    std::atomic<bool> done{false}, late{false};
    std::thread watch([&] {
      const auto until = Clock::now() + limit_;
      while (!done && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      late = !done;
      pause_ = !done;
    });
    const auto start = Clock::now();
    call();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    done = true;
    watch.join();
    pause_ = false;
    std::printf("{\"call\": \"%s\", \"threads\": %zu, \"us\": %.0f, \"got_in\": %s}\n", name, streams_.size(), us,
                late ? "false" : "true");
    std::fflush(stdout);
  }

  unsigned long long* cells() const { return cells_; }
  cudaStream_t stream(std::size_t index) const { return streams_[index % streams_.size()]; }

 private:
  void launch_until_stopped(cudaStream_t stream) {
    while (!stop_) {
      for (int k = 0; k < kBetweenWaits; ++k) {
        while (pause_) std::this_thread::sleep_for(std::chrono::microseconds(20));
        tiny<<<1, 32, 0, stream>>>(cells_ + k, 1u);
      }
      CHECK_CUDA(cudaStreamSynchronize(stream));
    }
  }

  std::chrono::milliseconds limit_;
  std::atomic<bool> stop_{false}, pause_{false};
  unsigned long long* cells_ = nullptr;
  std::vector<cudaStream_t> streams_;
  std::vector<std::thread> threads_;
};

void round(Crowd& crowd) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void* memory = nullptr;
  cudaGraph_t kernels = nullptr, copies = nullptr;
  cudaGraphExec_t of_kernels = nullptr, of_copies = nullptr;
  std::vector<cudaGraphNode_t> nodes(kKernels);
  unsigned long long* cell = crowd.cells();
  unsigned value = 1;
  void* arguments[] = {&cell, &value};
  const cudaKernelNodeParams node = kernel_node(arguments);

  crowd.time("create a stream", [&] { CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); });
  crowd.time("create an event", [&] { CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); });
  crowd.time("record an event", [&] { CHECK_CUDA(cudaEventRecord(event, stream)); });
  crowd.time("allocate", [&] { CHECK_CUDA(cudaMalloc(&memory, 8)); });
  crowd.time("fill", [&] { CHECK_CUDA(cudaMemsetAsync(memory, 0, 8, stream)); });
  crowd.time("create two graphs", [&] {
    CHECK_CUDA(cudaGraphCreate(&kernels, 0));
    CHECK_CUDA(cudaGraphCreate(&copies, 0));
  });
  crowd.time("add 60 kernels", [&] {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      CHECK_CUDA(cudaGraphAddKernelNode(&nodes[i], kernels, i > 0 ? &nodes[i - 1] : nullptr, i > 0 ? 1 : 0, &node));
    }
  });
  crowd.time("add 8 copies", [&] {
    cudaGraphNode_t before = nullptr;
    for (int i = 0; i < kCopies; ++i) {
      CHECK_CUDA(cudaGraphAddMemcpyNode1D(&before, copies, i > 0 ? &before : nullptr, i > 0 ? 1 : 0, cell + kCells - 1,
                                          cell + kCells - 2, 4, cudaMemcpyDeviceToDevice));
    }
  });
  crowd.time("instantiate 60 kernels", [&] { CHECK_CUDA(cudaGraphInstantiate(&of_kernels, kernels, 0)); });
  crowd.time("instantiate 8 copies", [&] { CHECK_CUDA(cudaGraphInstantiate(&of_copies, copies, 0)); });
  crowd.time("upload 60 kernels", [&] { CHECK_CUDA(cudaGraphUpload(of_kernels, stream)); });
  crowd.time("upload 8 copies", [&] { CHECK_CUDA(cudaGraphUpload(of_copies, stream)); });
  crowd.time("launch 8 copies", [&] { CHECK_CUDA(cudaGraphLaunch(of_copies, stream)); });
  crowd.time("wait", [&] { CHECK_CUDA(cudaStreamSynchronize(stream)); });
  crowd.time("launch 60 kernels", [&] { CHECK_CUDA(cudaGraphLaunch(of_kernels, crowd.stream(0))); });
  crowd.time("change 60 kernels", [&] {
    for (cudaGraphNode_t each : nodes) CHECK_CUDA(cudaGraphExecKernelNodeSetParams(of_kernels, each, &node));
  });
  crowd.time("launch 60 kernels in another stream", [&] { CHECK_CUDA(cudaGraphLaunch(of_kernels, crowd.stream(1))); });
  crowd.time("destroy two executable graphs", [&] {
    CHECK_CUDA(cudaGraphExecDestroy(of_kernels));
    CHECK_CUDA(cudaGraphExecDestroy(of_copies));
  });
  crowd.time("destroy two graphs", [&] {
    CHECK_CUDA(cudaGraphDestroy(kernels));
    CHECK_CUDA(cudaGraphDestroy(copies));
  });
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const int threads = std::max(1, arguments.integer("threads", 8));
  const int limit_ms = std::max(1, arguments.integer("limit-ms", 300));
  const int rounds = std::max(1, arguments.integer("rounds", 3));
  arguments.nothing_left();
  Crowd crowd(static_cast<std::size_t>(threads), limit_ms);
  for (int i = 0; i < rounds; ++i) round(crowd);
  return 0;
}
