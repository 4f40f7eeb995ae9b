// A driven oscillator per cell: every launch gets the force of its own moment in time, so one scalar argument
// changes from launch to launch and nothing else does.
#include <cmath>
#include <memory>

#include "runtime.h"

namespace {

constexpr unsigned kThreads = 128;
constexpr float kTimeStep = 0.01f;

struct State {
  float place, speed;
};

__global__ void swing(State* cells, int count, float force) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float stiffness = 1.0f + 0.001f * static_cast<float>(i % 1000);
  State state = cells[i];
  state.speed += kTimeStep * (force - stiffness * state.place - 0.1f * state.speed);
  state.place += kTimeStep * state.speed;
  cells[i] = state;
}

float force_at(int step) {
  return std::sin(0.037f * static_cast<float>(step));
}

struct Options {
  int device = 0;
  bool graph = false;
  int size = 1024;
  int iterations = 2000;
  int launches = 100;
};

/// The launches of one iteration as a graph whose nodes get their force before every launch of the graph.
class Graph {
 public:
  Graph(int launches, unsigned blocks, State* cells, int count, cudaStream_t stream) : cells_(cells), count_(count) {
    CHECK_CUDA(cudaGraphCreate(&graph_, 0));
    parameters_.func = reinterpret_cast<void*>(swing);
    parameters_.gridDim = dim3(blocks);
    parameters_.blockDim = dim3(kThreads);
    parameters_.kernelParams = arguments_;
    nodes_.resize(launches);
    for (int i = 0; i < launches; ++i) {
      const cudaGraphNode_t* before = i > 0 ? &nodes_[i - 1] : nullptr;
      CHECK_CUDA(cudaGraphAddKernelNode(&nodes_[i], graph_, before, i > 0 ? 1 : 0, &parameters_));
    }
    CHECK_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    CHECK_CUDA(cudaGraphUpload(executable_, stream));
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(int first_step, cudaStream_t stream) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      force_ = force_at(first_step + static_cast<int>(i));
      CHECK_CUDA(cudaGraphExecKernelNodeSetParams(executable_, nodes_[i], &parameters_));
    }
    CHECK_CUDA(cudaGraphLaunch(executable_, stream));
  }

 private:
  State* cells_;
  int count_;
  float force_ = 0;
  void* arguments_[3] = {&cells_, &count_, &force_};
  cudaKernelNodeParams parameters_{};
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
};

bool simulate(const Options& options) {
  sample::use_device(options.device);
  const unsigned blocks = sample::divide_up(static_cast<unsigned>(options.size), kThreads);
  const sample::Stream stream;
  const sample::DeviceArray<State> cells(options.size);
  CHECK_CUDA(cudaMemsetAsync(cells.data(), 0, cells.bytes(), stream));
  std::unique_ptr<Graph> graph;
  if (options.graph) {
    graph = std::make_unique<Graph>(options.launches, blocks, cells.data(), options.size, stream);
  }
  stream.synchronize();

  const sample::Stopwatch stopwatch;
  for (int i = 0; i < options.iterations; ++i) {
    const int first_step = i * options.launches;
    if (graph) {
      graph->launch(first_step, stream);
    } else {
      for (int k = 0; k < options.launches; ++k) {
        swing<<<blocks, kThreads, 0, stream>>>(cells.data(), options.size, force_at(first_step + k));
        sample::check_launch("swing");
      }
    }
    stream.synchronize();
  }
  stopwatch.print();

  const std::vector<State> result = cells.download();
  bool finite = true;
  for (const State& state : result) finite = finite && std::isfinite(state.place) && std::isfinite(state.speed);
  std::printf("cell 0 at %.6e: %s\n", static_cast<double>(result[0].place), finite ? "ok" : "WRONG");
  sample::Checksum checksum;
  checksum.add(result);
  checksum.print();
  return finite;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Driven oscillators: one scalar argument changes with every launch.");
  app.add_option("--size", options.size, "Oscillators")->capture_default_str()->check(CLI::Range(1, 100000000));
  app.add_option("--iterations", options.iterations, "Times the host waits for the device")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--launches", options.launches, "Launches per iteration")
      ->capture_default_str()
      ->check(CLI::Range(1, 2000));
  sample::add_common_options(app, options.device, options.graph);
  CLI11_PARSE(app, argc, argv);
  return sample::run([&] { return simulate(options); });
}
