// The heat sample once more, with the CUDA driver API: kernels from a module that is part of the program, launches
// with argument arrays, and the graph built node by node.
#include <cuda.h>

#include <algorithm>
#include <array>

#include "heat_plate.h"

/// The kernels, compiled at build time (heat_image.S).
extern "C" const unsigned char heat_image[];

#define CHECK_CUDA(call) check((call), #call)

namespace {

using heat::Options;

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(status, &name);
  cuGetErrorString(status, &text);
  sample::fail(call, name != nullptr ? name : "unknown error", text != nullptr ? text : "no description");
}

class Solver {
 public:
  explicit Solver(const Options& options) : options_(options), cells_(options.size * options.size) {
    const std::size_t bytes = static_cast<std::size_t>(cells_) * sizeof(float);
    CHECK_CUDA(cuInit(0));
    CUdevice device = 0;
    CHECK_CUDA(cuDeviceGet(&device, options.device));
    CHECK_CUDA(cuDevicePrimaryCtxRetain(&context_, device));
    device_ = device;
    CHECK_CUDA(cuCtxSetCurrent(context_));
    CHECK_CUDA(cuModuleLoadData(&module_, heat_image));
    CHECK_CUDA(cuModuleGetFunction(&step_, module_, "step_heat"));
    CHECK_CUDA(cuModuleGetFunction(&sum_, module_, "sum_change"));
    CHECK_CUDA(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CUDA(cuMemAlloc(&now_, bytes));
    CHECK_CUDA(cuMemAlloc(&next_, bytes));
    CHECK_CUDA(cuMemAlloc(&sums_, heat::kGroups * sizeof(float)));
    CHECK_CUDA(cuMemAllocHost(reinterpret_cast<void**>(&partial_), heat::kGroups * sizeof(float)));
  }

  ~Solver() {
    for (CUgraphExec graph : graphs_) cuGraphExecDestroy(graph);
    cuMemFreeHost(partial_);
    for (const CUdeviceptr memory : {now_, next_, sums_}) cuMemFree(memory);
    cuStreamDestroy(stream_);
    cuModuleUnload(module_);
    cuDevicePrimaryCtxRelease(device_);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  bool solve() {
    std::vector<float> plate = heat::exact_plate(options_.size, 0);
    const std::size_t bytes = plate.size() * sizeof(float);
    // In the stream: cuMemcpyHtoD() may return when it has read the plate, before all of it has arrived, and this
    // stream would not wait for that.
    CHECK_CUDA(cuMemcpyHtoDAsync(now_, plate.data(), bytes, stream_));
    if (options_.graph) make_graphs();

    const sample::Stopwatch stopwatch;
    int done = 0;
    for (int stretch = 0; done + options_.report_every <= options_.iterations; ++stretch) {
      if (options_.graph) {
        CHECK_CUDA(cuGraphLaunch(graphs_[static_cast<std::size_t>(stretch) % graphs_.size()], stream_));
        if (options_.report_every % 2 != 0) std::swap(now_, next_);
      } else {
        submit_stretch();
      }
      CHECK_CUDA(cuStreamSynchronize(stream_));
      done += options_.report_every;
      heat::report(options_, done, partial_);
    }
    for (; done < options_.iterations; ++done) submit_step();
    CHECK_CUDA(cuStreamSynchronize(stream_));
    stopwatch.print();
    CHECK_CUDA(cuMemcpyDtoH(plate.data(), now_, bytes));
    return heat::judge(options_, plate);
  }

 private:
  unsigned tiles_x() const { return sample::divide_up(static_cast<unsigned>(options_.size), heat::kTileWidth); }
  unsigned tiles_y() const { return sample::divide_up(static_cast<unsigned>(options_.size), heat::kTileHeight); }

  void submit_step() {
    float diffusion = heat::kDiffusion;
    std::array<void*, 4> arguments = {&now_, &next_, &options_.size, &diffusion};
    CHECK_CUDA(cuLaunchKernel(step_, tiles_x(), tiles_y(), 1, heat::kTileWidth, heat::kTileHeight, 1, 0, stream_,
                              arguments.data(), nullptr));
    std::swap(now_, next_);
  }

  /// Steps up to the next look at the residual, and the look.
  void submit_stretch() {
    for (int i = 0; i < options_.report_every; ++i) submit_step();
    // After the swap `next_` is the plate of the step before.
    std::array<void*, 4> arguments = {&next_, &now_, &cells_, &sums_};
    CHECK_CUDA(cuLaunchKernel(sum_, heat::kGroups, 1, 1, heat::kThreads, 1, 1, 0, stream_, arguments.data(), nullptr));
    CHECK_CUDA(cuMemcpyDtoHAsync(partial_, sums_, heat::kGroups * sizeof(float), stream_));
  }

  /// The same stretch as nodes, each after the one before.
  CUgraphExec make_graph() {
    CUgraph graph = nullptr;
    CHECK_CUDA(cuGraphCreate(&graph, 0));
    CUgraphNode last = nullptr;
    const auto add_kernel = [&](const CUDA_KERNEL_NODE_PARAMS& kernel) {
      CUgraphNode node = nullptr;
      CHECK_CUDA(cuGraphAddKernelNode(&node, graph, &last, last != nullptr ? 1 : 0, &kernel));
      last = node;
    };
    float diffusion = heat::kDiffusion;
    for (int i = 0; i < options_.report_every; ++i) {
      std::array<void*, 4> arguments = {&now_, &next_, &options_.size, &diffusion};
      CUDA_KERNEL_NODE_PARAMS kernel{};
      kernel.func = step_;
      kernel.gridDimX = tiles_x(), kernel.gridDimY = tiles_y(), kernel.gridDimZ = 1;
      kernel.blockDimX = heat::kTileWidth, kernel.blockDimY = heat::kTileHeight, kernel.blockDimZ = 1;
      kernel.kernelParams = arguments.data();
      add_kernel(kernel);
      std::swap(now_, next_);
    }
    std::array<void*, 4> arguments = {&next_, &now_, &cells_, &sums_};
    CUDA_KERNEL_NODE_PARAMS kernel{};
    kernel.func = sum_;
    kernel.gridDimX = heat::kGroups, kernel.gridDimY = 1, kernel.gridDimZ = 1;
    kernel.blockDimX = heat::kThreads, kernel.blockDimY = 1, kernel.blockDimZ = 1;
    kernel.kernelParams = arguments.data();
    add_kernel(kernel);

    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = sums_;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = partial_;
    copy.WidthInBytes = heat::kGroups * sizeof(float);
    copy.Height = 1;
    copy.Depth = 1;
    CUgraphNode node = nullptr;
    CHECK_CUDA(cuGraphAddMemcpyNode(&node, graph, &last, 1, &copy, context_));

    CUgraphExec executable = nullptr;
    CHECK_CUDA(cuGraphInstantiate(&executable, graph, 0));
    CHECK_CUDA(cuGraphDestroy(graph));
    CHECK_CUDA(cuGraphUpload(executable, stream_));
    return executable;
  }

  /// A stretch of an odd number of steps leaves the buffers swapped: the next one needs a graph of its own.
  void make_graphs() {
    const int count = options_.report_every % 2 == 0 ? 1 : 2;
    for (int i = 0; i < count; ++i) graphs_.push_back(make_graph());
  }

  Options options_;
  int cells_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction step_ = nullptr, sum_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr now_ = 0, next_ = 0, sums_ = 0;
  float* partial_ = nullptr;
  std::vector<CUgraphExec> graphs_;
};

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    CLI::App app(
        "Heat in a square plate with the driver API: two buffers that swap roles, a residual every few steps.");
    heat::add_options(app, options);
    app.add_option("--device", options.device, "Number of the CUDA device")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    app.add_flag("--graph", options.graph, "Submit through a CUDA graph written by hand");
    CLI11_PARSE(app, argc, argv);
    return Solver(options).solve() ? 0 : 1;
  });
}
