// What changing kernel nodes of a graph costs: from the host, a call for each, and from the device, where nodes are
// "device-updatable", by a kernel in front of the graph or by the graph's first node; and whether both may be mixed.
// Prints lines of JSON; times are medians in microseconds. Nothing of Refrain takes part.
#include <chrono>
#include <cstring>
#include <functional>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "node_changes [--repeat N]\n"
    "  chains of 10 to 1000 kernels of which each launch changes all: time of the host, and until the end";

/// Results depend on the order and the value of each launch.
__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) *cell = *cell * 31 + value;
}

struct Change {
  cudaGraphDeviceNode_t node;
  unsigned value;
};

/// The second parameter of each node.
__device__ void make(const Change& change, unsigned* failed) {
  if (cudaGraphKernelNodeSetParam(change.node, sizeof(void*), &change.value, sizeof change.value) != cudaSuccess) {
    atomicAdd(failed, 1);
  }
}

__global__ void change_in_front(const Change* changes, unsigned count, unsigned* failed) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) make(changes[i], failed);
}

/// As the first node: which changes is counted on the device, so that the node itself is never changed.
__global__ void change_inside(const Change* ring, unsigned slots, unsigned count, unsigned* round, unsigned* failed) {
  const Change* changes = ring + *round % slots * count;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) make(changes[i], failed);
  __syncthreads();
  if (threadIdx.x == 0) ++*round;
}

enum class Nodes { kPlain, kUpdatable, kUpdatableFromInside };

class Chain {
 public:
  static constexpr unsigned kSlots = 64;

  Chain(unsigned count, Nodes kind) : count_(count), nodes_(count), handles_(count), expected_(count) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&cells_, count * sizeof *cells_));
    CHECK_CUDA(cudaMalloc(&numbers_, 2 * sizeof *numbers_));
    CHECK_CUDA(cudaMemset(cells_, 0, count * sizeof *cells_));
    CHECK_CUDA(cudaMemset(numbers_, 0, 2 * sizeof *numbers_));
    CHECK_CUDA(cudaMallocHost(&ring_, kSlots * count * sizeof *ring_));
    CHECK_CUDA(cudaGraphCreate(&graph_, 0));
    cudaGraphNode_t last = nullptr;
    if (kind == Nodes::kUpdatableFromInside) {
      unsigned slots = kSlots, *round = numbers_, *failed = numbers_ + 1;
      void* arguments[] = {&ring_, &slots, &count_, &round, &failed};
      cudaKernelNodeParams first{};
      first.func = reinterpret_cast<void*>(change_inside);
      first.gridDim = dim3(1);
      first.blockDim = dim3(256);
      first.kernelParams = arguments;
      CHECK_CUDA(cudaGraphAddKernelNode(&last, graph_, nullptr, 0, &first));
    }
    for (unsigned i = 0; i < count; ++i) {
      const cudaGraphNode_t before = last;
      with_parameters(i, 0, [&](const cudaKernelNodeParams& parameters) {
        CHECK_CUDA(cudaGraphAddKernelNode(&nodes_[i], graph_, &before, before != nullptr ? 1 : 0, &parameters));
      });
      last = nodes_[i];
      if (kind != Nodes::kPlain) {
        cudaKernelNodeAttrValue value{};
        value.deviceUpdatableKernelNode.deviceUpdatable = 1;
        CHECK_CUDA(cudaGraphKernelNodeSetAttribute(last, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
        CHECK_CUDA(cudaGraphKernelNodeGetAttribute(last, cudaLaunchAttributeDeviceUpdatableKernelNode, &value));
        handles_[i] = value.deviceUpdatableKernelNode.devNode;
      }
    }
    CHECK_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
    CHECK_CUDA(cudaGraphUpload(executable_, stream_));
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }

  void change_by_host(unsigned i, unsigned value) {
    with_parameters(i, value, [&](const cudaKernelNodeParams& parameters) {
      CHECK_CUDA(cudaGraphExecKernelNodeSetParams(executable_, nodes_[i], &parameters));
    });
  }
  /// Every `step`-th node from `first` on, by the device, for the next launch.
  void write_changes(unsigned first, unsigned step, const std::function<unsigned(unsigned)>& value) {
    Change* const changes = ring_ + launches_ % kSlots * count_;
    written_ = 0;
    for (unsigned i = first; i < count_; i += step) changes[written_++] = {handles_[i], value(i)};
  }
  void change_by_device() {
    const Change* const changes = ring_ + launches_ % kSlots * count_;
    if (written_ == 0) return;
    change_in_front<<<(written_ + 255) / 256, 256, 0, stream_>>>(changes, written_, numbers_ + 1);
    CHECK_CUDA(cudaGetLastError());
  }
  void launch(const std::function<unsigned(unsigned)>& value) {
    CHECK_CUDA(cudaGraphLaunch(executable_, stream_));
    ++launches_;
    for (unsigned i = 0; i < count_; ++i) expected_[i] = expected_[i] * 31 + value(i);
  }
  void wait() { CHECK_CUDA(cudaStreamSynchronize(stream_)); }
  /// How many cells are not what they should be, and how many changes the device refused.
  std::pair<unsigned, unsigned> wrong() {
    wait();
    std::vector<unsigned long long> cells(count_);
    unsigned failed = 0, wrong = 0;
    CHECK_CUDA(cudaMemcpy(cells.data(), cells_, count_ * sizeof *cells_, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(&failed, numbers_ + 1, sizeof failed, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < count_; ++i) wrong += cells[i] != expected_[i] ? 1 : 0;
    return {wrong, failed};
  }

 private:
  template <class Use>
  void with_parameters(unsigned i, unsigned value, Use&& use) const {
    unsigned long long* cell = cells_ + i;
    void* arguments[] = {&cell, &value};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(tiny);
    parameters.gridDim = dim3(1);
    parameters.blockDim = dim3(32);
    parameters.kernelParams = arguments;
    use(parameters);
  }

  unsigned count_;
  std::vector<cudaGraphNode_t> nodes_;
  std::vector<cudaGraphDeviceNode_t> handles_;
  std::vector<unsigned long long> expected_;
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  unsigned long long* cells_ = nullptr;
  unsigned* numbers_ = nullptr;  // the round of change_inside(), and what failed
  Change* ring_ = nullptr;       // of each launch the changes, in pinned memory
  unsigned launches_ = 0, written_ = 0;
};

struct Way {
  const char* name;
  Nodes nodes;
  bool by_host, by_device;
};
constexpr Way kWays[] = {{"nothing changes", Nodes::kPlain, false, false},
                         {"nothing changes, updatable", Nodes::kUpdatable, false, false},
                         {"host", Nodes::kPlain, true, false},
                         {"device, in front", Nodes::kUpdatable, false, true},
                         {"device, first node", Nodes::kUpdatableFromInside, false, true}};

void measure(unsigned count, int repeat) {
  std::vector<Chain> chains;
  for (const Way& way : kWays) chains.emplace_back(count, way.nodes);
  std::vector<std::vector<double>> host_us(chains.size()), us(chains.size());
  for (int round = 1; round <= repeat; ++round) {
    for (std::size_t w = 0; w < chains.size(); ++w) {
      const Way& way = kWays[w];
      Chain& chain = chains[w];
      const bool changes = way.by_host || way.by_device;
      const auto value = [&](unsigned i) { return changes ? static_cast<unsigned>(round) * 7919u + i : 0u; };
      const auto start = Clock::now();
      const auto since = [&] { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); };
      if (way.by_host) {
        for (unsigned i = 0; i < count; ++i) chain.change_by_host(i, value(i));
      }
      if (way.by_device) chain.write_changes(0, 1, value);
      if (way.by_device && way.nodes == Nodes::kUpdatable) chain.change_by_device();
      chain.launch(value);
      host_us[w].push_back(since());
      chain.wait();
      us[w].push_back(since());
    }
  }
  for (std::size_t w = 0; w < chains.size(); ++w) {
    const auto [wrong, failed] = chains[w].wrong();
    std::printf("{\"nodes\": %u, \"changed by\": \"%s\", \"host_us\": %.1f, \"us\": %.1f, \"wrong\": %u, \"failed\": %u}\n",
                count, kWays[w].name, gpu_test::median(host_us[w]), gpu_test::median(us[w]), wrong, failed);
  }
}

/// All nodes by the host, and then, in front of the same launch or behind one, a third of them by the device.
void mix(unsigned count, bool launches_between) {
  Chain chain(count, Nodes::kUpdatable);
  std::vector<unsigned> values(count, 0);
  for (unsigned round = 1; round <= 12; ++round) {
    const auto launch = [&] { chain.launch([&](unsigned i) { return values[i]; }); };
    for (unsigned i = 0; i < count; ++i) chain.change_by_host(i, values[i] = round * 104729u + i);
    if (launches_between) launch();
    chain.write_changes(round % 3, 3, [&](unsigned i) { return values[i] = round * 7919u + i; });
    chain.change_by_device();
    launch();
  }
  const auto [wrong, failed] = chain.wrong();
  std::printf("{\"nodes\": %u, \"changed by\": \"host and device\", \"launched between\": %s, \"wrong\": %u, \"failed\": %u}\n",
              count, launches_between ? "true" : "false", wrong, failed);
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const int repeat = arguments.integer("repeat", 60);
  arguments.nothing_left();
  for (const unsigned count : {10u, 30u, 100u, 300u, 1000u}) {
    measure(count, repeat);
    mix(count, true);
    mix(count, false);
  }
}
