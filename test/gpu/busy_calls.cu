// Which calls wait for a kernel of another stream that runs meanwhile, or keep other threads' launches waiting for it.
// A program whose kernel ends only when something else was launched hangs if Refrain makes such a call in the
// background. Prints lines of JSON, times in milliseconds: the call's own, and the longest launch of another thread. A
// kernel runs until `kHeld` after the call began, or until the call is back. Nothing of Refrain takes part.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr double kHeld = 200;
constexpr const char* kUsage = "busy_calls";

__global__ void tiny(unsigned* cell) {
  if (threadIdx.x == 0) atomicAdd(cell, 1u);
}
__global__ void until(volatile unsigned* flag, unsigned value) {
  if (threadIdx.x == 0) {
    while (*flag < value) {
    }
  }
}

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Busy {
 public:
  Busy() {
    CHECK_CUDA(cudaStreamCreateWithFlags(&gated_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&other_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaHostAlloc(reinterpret_cast<void**>(&flag_), 4096, cudaHostAllocMapped));
    *flag_ = 0;
    CHECK_CUDA(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_flag_), flag_, 0));
    CHECK_CUDA(cudaMalloc(&cell_, 4096));
    CHECK_CUDA(cudaMemset(cell_, 0, 4096));
    until<<<1, 32, 0, gated_>>>(device_flag_, 0);
    tiny<<<1, 32, 0, other_>>>(cell_);
    tiny<<<1, 32, 0, own_>>>(cell_);
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  /// `call` runs on a thread of its own while a kernel waits.
  void measure(const std::string& name, const std::function<void()>& call) {
    ++turn_;
    std::atomic<bool> back{false};
    double own = 0;
    const auto start = Clock::now();
    cudaGraphExec_t gate = nullptr;
    if (in_graph_) {
      gate = make_gate();
      CHECK_CUDA(cudaGraphLaunch(gate, gated_));
    } else {
      until<<<1, 32, 0, gated_>>>(device_flag_, turn_);
    }
    std::thread opener([&] {  // never calls the driver
      while (!back && since(start) < kHeld) std::this_thread::sleep_for(std::chrono::microseconds(100));
      *static_cast<volatile unsigned*>(flag_) = turn_;
    });
    std::thread caller([&] {
      const auto begun = Clock::now();
      call();
      own = since(begun);
      back = true;
    });
    double longest = 0;
    for (int i = 0; !back; ++i) {
      const auto begun = Clock::now();
      tiny<<<1, 32, 0, other_>>>(cell_);
      longest = std::max(longest, since(begun));
      if (i % 200 == 199) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    caller.join();
    opener.join();
    CHECK_CUDA(cudaDeviceSynchronize());
    if (gate != nullptr) CHECK_CUDA(cudaGraphExecDestroy(gate));
    if (own > kHeld / 2 || longest > kHeld / 2 || reported_.empty() || reported_ != name) {
      std::printf(
          "{\"call\": \"%s\", \"gate\": \"%s\", \"ms\": %.2f, \"longest_launch\": %.2f, \"waits\": %s, \"holds_up\": "
          "%s}\n",
          name.c_str(), in_graph_ ? "graph" : "kernel", own, longest, own > kHeld / 2 ? "true" : "false",
          longest > kHeld / 2 ? "true" : "false");
    }
    reported_ = name;
  }

  /// A graph of the kernel that waits, on the device already.
  cudaGraphExec_t make_gate() {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaGraphExec_t gate = nullptr;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    void* arguments[] = {&device_flag_, &turn_};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(until);
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(32);
    parameters.kernelParams = arguments;
    CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
    CHECK_CUDA(cudaGraphInstantiate(&gate, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaGraphUpload(gate, own_));
    CHECK_CUDA(cudaStreamSynchronize(own_));
    return gate;
  }

  cudaGraph_t chain(int nodes, bool copies) {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t last = nullptr;
    for (int i = 0; i < nodes; ++i) {
      cudaGraphNode_t node = nullptr;
      const cudaGraphNode_t* before = i > 0 ? &last : nullptr;
      if (copies) {
        CHECK_CUDA(cudaGraphAddMemcpyNode1D(&node, graph, before, i > 0 ? 1 : 0, cell_ + 8, cell_ + 16, 4,
                                            cudaMemcpyDeviceToDevice));
      } else {
        void* arguments[] = {&cell_};
        cudaKernelNodeParams parameters{};
        parameters.func = reinterpret_cast<void*>(tiny);
        parameters.gridDim = dim3(1);
        parameters.blockDim = dim3(32);
        parameters.kernelParams = arguments;
        CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, before, i > 0 ? 1 : 0, &parameters));
      }
      last = node;
    }
    return graph;
  }

  void run(bool in_graph) {
    in_graph_ = in_graph;
    measure("nothing", [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    for (const bool copies : {false, true}) {
      for (const int nodes : {1, 16, 128}) {
        const std::string what = std::to_string(nodes) + (copies ? " copies" : " kernels");
        std::vector<cudaGraphExec_t> all;
        cudaGraph_t graph = nullptr;
        measure("make a graph of " + what, [&] { graph = chain(nodes, copies); });
        for (int i = 0; i < (nodes == 128 ? 30 : 6); ++i) {
          cudaGraphExec_t made = nullptr;
          measure("instantiate " + what, [&] { CHECK_CUDA(cudaGraphInstantiate(&made, graph, 0)); });
          measure("upload " + what, [&] { CHECK_CUDA(cudaGraphUpload(made, own_)); });
          measure("wait for the upload of " + what, [&] { CHECK_CUDA(cudaStreamSynchronize(own_)); });
          measure("launch " + what, [&] { CHECK_CUDA(cudaGraphLaunch(made, own_)); });
          measure("wait for the launch of " + what, [&] { CHECK_CUDA(cudaStreamSynchronize(own_)); });
          all.push_back(made);
        }
        for (int i = 0; i < 3; ++i) {
          cudaGraphExec_t made = nullptr;
          CHECK_CUDA(cudaGraphInstantiate(&made, graph, 0));
          measure("launch and destroy " + what, [&] {
            CHECK_CUDA(cudaGraphLaunch(made, own_));
            CHECK_CUDA(cudaGraphExecDestroy(made));
          });
          CHECK_CUDA(cudaGraphInstantiate(&made, graph, 0));
          measure("destroy " + what + " that wait", [&] {
            CHECK_CUDA(cudaGraphLaunch(made, gated_));
            CHECK_CUDA(cudaGraphExecDestroy(made));
          });
        }
        for (cudaGraphExec_t each : all) {
          measure("destroy " + what, [&] { CHECK_CUDA(cudaGraphExecDestroy(each)); });
        }
        measure("destroy the graph of " + what, [&] { CHECK_CUDA(cudaGraphDestroy(graph)); });
      }
    }
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    void* memory = nullptr;
    for (int i = 0; i < 4; ++i) {
      measure("create a stream", [&] { CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); });
      measure("fill in the new stream", [&] { CHECK_CUDA(cudaMemsetAsync(cell_ + 32, 0, 8, stream)); });
      measure("wait for the new stream", [&] { CHECK_CUDA(cudaStreamSynchronize(stream)); });
      measure("create an event", [&] { CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); });
      measure("allocate 8 bytes", [&] { CHECK_CUDA(cudaMalloc(&memory, 8)); });
      measure("allocate 64 MiB", [&] { CHECK_CUDA(cudaMalloc(&memory, std::size_t{64} << 20U)); });
    }
  }

 private:
  cudaStream_t gated_ = nullptr, other_ = nullptr, own_ = nullptr;
  unsigned* flag_ = nullptr;
  unsigned* device_flag_ = nullptr;
  unsigned* cell_ = nullptr;
  unsigned turn_ = 0;
  bool in_graph_ = false;  ///< the kernel that waits
  std::string reported_;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  arguments.nothing_left();
  Busy busy;
  busy.run(false);
  busy.run(true);
  return 0;
}
