// What uploading a graph does to everything else, until it is launched: the rule that backends/cuda/graph_uploader.h
// works around. Prints a line of JSON for each step: microseconds of one graph of 1000 kernels, and of 1000 kernels
// that were queued one by one. Nothing of Refrain takes part.
#include <chrono>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "graph_uploads [--nodes N] [--repeat N] [--two-copies]\n"
    "  --nodes N    of the graph that is uploaded and not launched (default: 64)\n"
    "  --repeat N   launches of which the median is taken (default: 40)\n"
    "  --two-copies only what a stand-in of two copies does not end";

constexpr int kKernels = 1000;
constexpr std::size_t kCells = 1024;

__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

/// Until so many of the device's cycles are over: what is submitted meanwhile is queued.
__global__ void occupy(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) {
  }
}

class Uploads {
 public:
  Uploads(int nodes, int repeat) : nodes_(nodes), repeat_(repeat) {
    for (cudaStream_t* stream : {&stream_, &uploader_, &others_[0], &others_[1], &others_[2], &others_[3]}) {
      CHECK_CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    }
    for (cudaEvent_t& event : events_) CHECK_CUDA(cudaEventCreate(&event));
    CHECK_CUDA(cudaMalloc(&cells_, kCells * sizeof *cells_));
    CHECK_CUDA(cudaMemset(cells_, 0, kCells * sizeof *cells_));
    own_ = instantiated(kernels(kKernels));
  }

  void run() {
    const cudaGraph_t graph = kernels(nodes_);
    print("nothing uploaded");
    cudaGraphExec_t first = instantiated(graph), second = instantiated(graph);
    upload(first);
    print("uploaded");
    upload(second);
    launch(second);
    print("a second one uploaded and launched");
    launch(first);
    print("the first one launched");
    for (const cudaGraphExec_t graph_exec : {first, second}) CHECK_CUDA(cudaGraphExecDestroy(graph_exec));

    behind(kCopies, false);
    print("uploaded behind one that is launched");
    destroy();
    print("destroyed");
    behind(kCopies, true);
    print("the same while four streams launch");
    destroy();

    first = instantiated(graph);
    upload(first);
    CHECK_CUDA(cudaGraphExecDestroy(first));
    print("uploaded alone and destroyed");
  }

  void run_two_copies() {
    print("nothing uploaded");
    behind(2, true);
    print("behind one of two copies, while four streams launch");
    destroy();
  }

 private:
  static constexpr int kCopies = 8;  // as in backends/cuda/graph_uploader.cpp

  /// A graph uploaded behind one of so many copies, which is launched then; `others`: after four streams launched.
  void behind(int copies, bool others) {
    stand_in_ = instantiated(device_copies(copies));
    behind_ = instantiated(kernels(nodes_));
    upload(stand_in_);
    upload(behind_);
    if (others) {
      for (int i = 0; i < 50; ++i) {
        for (int k = 0; k < 400; ++k) tiny<<<1, 32, 0, others_[k % 4]>>>(cells_ + k, 1u);
        CHECK_CUDA(cudaDeviceSynchronize());
      }
    }
    launch(stand_in_);
  }
  void destroy() const {
    for (const cudaGraphExec_t each : {stand_in_, behind_}) CHECK_CUDA(cudaGraphExecDestroy(each));
  }

  cudaGraph_t kernels(int count) const {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t before = nullptr;
    for (int i = 0; i < count; ++i) {
      unsigned long long* cell = cells_ + static_cast<std::size_t>(i) % (kCells / 2);
      auto value = static_cast<unsigned>(i);
      void* arguments[] = {&cell, &value};
      cudaKernelNodeParams node{};
      node.func = reinterpret_cast<void*>(tiny);
      node.gridDim = dim3(1);
      node.blockDim = dim3(32);
      node.kernelParams = arguments;
      CHECK_CUDA(cudaGraphAddKernelNode(&before, graph, i > 0 ? &before : nullptr, i > 0 ? 1 : 0, &node));
    }
    return graph;
  }

  cudaGraph_t device_copies(int count) const {
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t before = nullptr;
    for (int i = 0; i < count; ++i) {
      CHECK_CUDA(cudaGraphAddMemcpyNode1D(&before, graph, i > 0 ? &before : nullptr, i > 0 ? 1 : 0, cells_ + kCells - 1,
                                          cells_ + kCells - 2, 4, cudaMemcpyDeviceToDevice));
    }
    return graph;
  }

  static cudaGraphExec_t instantiated(cudaGraph_t graph) {
    cudaGraphExec_t result = nullptr;
    CHECK_CUDA(cudaGraphInstantiate(&result, graph, 0));
    return result;
  }

  void upload(cudaGraphExec_t graph) const {
    CHECK_CUDA(cudaGraphUpload(graph, uploader_));
    CHECK_CUDA(cudaStreamSynchronize(uploader_));
  }

  void launch(cudaGraphExec_t graph) const {
    CHECK_CUDA(cudaGraphLaunch(graph, uploader_));
    CHECK_CUDA(cudaStreamSynchronize(uploader_));
  }

  void print(const char* when) const {
    std::vector<double> graph, queued;
    for (int i = 0; i < repeat_; ++i) {
      const auto start = Clock::now();
      CHECK_CUDA(cudaGraphLaunch(own_, stream_));
      CHECK_CUDA(cudaStreamSynchronize(stream_));
      graph.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
    for (int i = 0; i < repeat_ / 4 + 1; ++i) {
      occupy<<<1, 1, 0, stream_>>>(15'000'000);  // longer than launching them takes
      CHECK_CUDA(cudaEventRecord(events_[0], stream_));
      for (int k = 0; k < kKernels; ++k) tiny<<<1, 32, 0, stream_>>>(cells_, 1u);
      CHECK_CUDA(cudaEventRecord(events_[1], stream_));
      CHECK_CUDA(cudaStreamSynchronize(stream_));
      float milliseconds = 0;
      CHECK_CUDA(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]));
      queued.push_back(1000.0 * static_cast<double>(milliseconds));
    }
    std::printf("{\"when\": \"%s\", \"graph_us\": %.1f, \"queued_us\": %.1f}\n", when, gpu_test::median(graph),
                gpu_test::median(queued));
  }

  int nodes_, repeat_;
  cudaStream_t stream_ = nullptr, uploader_ = nullptr, others_[4] = {};
  cudaEvent_t events_[2] = {};
  unsigned long long* cells_ = nullptr;
  cudaGraphExec_t own_ = nullptr, stand_in_ = nullptr, behind_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const int nodes = std::max(2, arguments.integer("nodes", 64));
  const int repeat = std::max(1, arguments.integer("repeat", 40));
  const bool two_copies = arguments.flag("two-copies");
  arguments.nothing_left();
  Uploads uploads(nodes, repeat);
  two_copies ? uploads.run_two_copies() : uploads.run();
  return 0;
}
