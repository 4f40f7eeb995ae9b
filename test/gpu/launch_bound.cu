// Measures loops whose time is the time of submission: tiny kernels, eagerly and as one hand-made graph of the whole
// iteration. Prints one line of JSON; its checksum does not depend on how the work was submitted.
#include <cuda.h>

#include <array>
#include <chrono>
#include <utility>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "launch_bound [--kernels N | --scalar N | --growing N | --early N | --ops3 | --fork] [--host-us X] [--own-stream] [--driver-api]\n"
    "             [--no-sync] [--graph | --compare | --delays] [--iterations N] [--warmup N] [--rounds N]\n"
    "  --kernels N   N kernels with the same arguments in every iteration (default: 1000)\n"
    "  --scalar N    N kernels, one scalar changes with every launch\n"
    "  --growing N   N kernels, all of more blocks in every iteration\n"
    "  --early N     N kernels that may begin before the one in front of them ends (programmatic dependent launch)\n"
    "  --ops3        memset, kernel, copy of 8 bytes to the host\n"
    "  --fork        400 kernels on four streams that fork and join\n"
    "  --host-us X   busy work of the host before every launch\n"
    "  --own-stream  in the thread's own default stream\n"
    "  --driver-api  by cuLaunchKernel, without the runtime in between\n"
    "  --no-sync     wait only after every tenth iteration\n"
    "  --compare     eager and graph in turn, in one process\n"
    "  --delays      how long single launches take instead, from the first one on (with --kernels)";

constexpr int kStreams = 4;
constexpr int kPerStream = 100;
constexpr int kBatch = 10;  // iterations between two waits with --no-sync

/// Nothing but a reduction without a result: the shortest kernel that leaves a trace of how often it ran with what.
__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

/// The same, beginning early: it waits for the kernel in front of it itself.
__global__ void tiny_early(unsigned long long* cell, unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

/// Keeps the thread busy, as a program's own work between two launches does; sleeping would be something else.
void work_on_host(double microseconds) {
  if (microseconds <= 0) return;
  const auto end = Clock::now() + std::chrono::nanoseconds(static_cast<long long>(microseconds * 1000));
  while (Clock::now() < end) {
  }
}

struct Options {
  enum class Kind { kKernels, kScalar, kGrowing, kEarly, kOps3, kFork } kind = Kind::kKernels;
  int kernels = 1000;
  double host_us = 0;
  bool own_stream = false, driver_api = false, sync = true, graph = false, compare = false, delays = false;
  int iterations = 200, warmup = 300, rounds = 5;

  int launches() const {
    switch (kind) {
      case Kind::kOps3: return 1;
      case Kind::kFork: return kStreams * kPerStream;
      default: return kernels;
    }
  }
};

Options parse(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  Options options;
  options.kernels = arguments.integer("kernels", options.kernels);
  const int scalar = arguments.integer("scalar", 0);
  if (scalar > 0) {
    options.kind = Options::Kind::kScalar;
    options.kernels = scalar;
  }
  if (const int growing = arguments.integer("growing", 0); growing > 0) {
    options.kind = Options::Kind::kGrowing;
    options.kernels = growing;
  }
  if (const int early = arguments.integer("early", 0); early > 0) {
    options.kind = Options::Kind::kEarly;
    options.kernels = early;
  }
  if (arguments.flag("ops3")) options.kind = Options::Kind::kOps3;
  if (arguments.flag("fork")) options.kind = Options::Kind::kFork;
  options.host_us = arguments.number("host-us", 0);
  options.own_stream = arguments.flag("own-stream");
  options.driver_api = arguments.flag("driver-api");
  options.sync = !arguments.flag("no-sync");
  options.graph = arguments.flag("graph");
  options.compare = arguments.flag("compare");
  options.delays = arguments.flag("delays");
  options.iterations = std::max(1, arguments.integer("iterations", options.iterations));
  options.warmup = arguments.integer("warmup", options.warmup);
  options.rounds = std::max(1, arguments.integer("rounds", options.rounds));
  arguments.nothing_left();
  return options;
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    for (cudaStream_t& stream : streams_) CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (options_.own_stream) streams_[0] = cudaStreamPerThread;
    for (cudaEvent_t& event : events_) CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cells_count_ = static_cast<std::size_t>(options_.launches());
    CHECK_CUDA(cudaMalloc(&cells_, cells_count_ * sizeof *cells_));
    CHECK_CUDA(cudaMemset(cells_, 0, cells_count_ * sizeof *cells_));
    CHECK_CUDA(cudaMallocHost(&pinned_, sizeof *pinned_));
    *pinned_ = 0;
    if (options_.delays) {
      delays_.resize(static_cast<std::size_t>(options_.warmup + options_.iterations) * cells_count_);  // touched now
      delays_.clear();
    }
    if (options_.driver_api) find_launch();
    if (options_.graph || options_.compare) make_graph();
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  void run() {
    const auto start = Clock::now();
    std::vector<double> eager, graph;
    if (!options_.graph) repeat(options_.warmup, false, nullptr);
    if (options_.compare) {
      // In blocks, so that what is measured repeats as it does in a program that does only this.
      const int block = std::max(1, options_.iterations / options_.rounds);
      repeat(std::min(options_.warmup, 20), true, nullptr);
      for (int round = 0; round < options_.rounds; ++round) {
        repeat(kUncounted, false, nullptr);
        repeat(block, false, &eager);
        repeat(kUncounted, true, nullptr);
        repeat(block, true, &graph);
      }
    } else if (options_.graph) {
      repeat(options_.warmup, true, nullptr);
      repeat(options_.iterations, true, &graph);
    } else {
      repeat(options_.iterations, false, &eager);
    }
    const double total = std::chrono::duration<double>(Clock::now() - start).count();
    print(eager, graph, total);
  }

 private:
  static constexpr float kLate = 200;   // microseconds
  static constexpr int kUncounted = 3;  // iterations after a change of the way of submission that are not counted

  void find_launch() {
    cudaDriverEntryPointQueryResult found{};
    CHECK_CUDA(cudaGetDriverEntryPointByVersion("cuLaunchKernel", reinterpret_cast<void**>(&driver_launch_), 12000,
                                                cudaEnableDefault, &found));
    cudaFunction_t function = nullptr;
    CHECK_CUDA(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(tiny)));
    function_ = reinterpret_cast<CUfunction>(function);
  }

  void launch(cudaStream_t stream, unsigned long long* cell, unsigned value) {
    if (driver_launch_ == nullptr) {
      tiny<<<1, 32, 0, stream>>>(cell, value);
      return;
    }
    void* arguments[] = {&cell, &value};
    if (driver_launch_(function_, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr) != CUDA_SUCCESS) {
      std::fprintf(stderr, "launch_bound: cuLaunchKernel failed\n");
      std::exit(1);
    }
  }

  void submit_kernels() {
    for (int k = 0; k < options_.kernels; ++k) {
      work_on_host(options_.host_us);
      const auto start = options_.delays ? Clock::now() : Clock::time_point();
      launch(streams_[0], cells_ + k, static_cast<unsigned>(k));
      if (options_.delays) {
        const auto end = Clock::now();
        delays_.push_back(std::chrono::duration<float, std::micro>(end - start).count());
        if (delays_.back() > kLate) late_ends_.push_back(end);
      }
    }
  }

  unsigned scalar_of(int k) const { return iteration_ * 7919u + static_cast<unsigned>(k); }

  void submit_scalars() {
    for (int k = 0; k < options_.kernels; ++k) {
      work_on_host(options_.host_us);
      launch(streams_[0], cells_ + k, scalar_of(k));
    }
  }

  unsigned blocks() const { return options_.kind == Options::Kind::kGrowing ? 1 + iteration_ : 1; }

  bool changes_shape() const { return options_.kind == Options::Kind::kGrowing; }

  void submit_growing() {
    for (int k = 0; k < options_.kernels; ++k) {
      work_on_host(options_.host_us);
      tiny<<<blocks(), 32, 0, streams_[0]>>>(cells_ + k, static_cast<unsigned>(k));
    }
  }

  void submit_early() {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = streams_[0];
    config.attrs = &attribute;
    config.numAttrs = 1;
    for (int k = 0; k < options_.kernels; ++k) {
      work_on_host(options_.host_us);
      CHECK_CUDA(cudaLaunchKernelEx(&config, tiny_early, cells_ + k, static_cast<unsigned>(k)));
    }
  }

  void submit_ops3() {
    CHECK_CUDA(cudaMemsetAsync(cells_, 0, sizeof *cells_, streams_[0]));
    work_on_host(options_.host_us);
    launch(streams_[0], cells_, 41u);
    CHECK_CUDA(cudaMemcpyAsync(pinned_, cells_, sizeof *pinned_, cudaMemcpyDeviceToHost, streams_[0]));
  }

  void submit_fork() {
    CHECK_CUDA(cudaEventRecord(events_[0], streams_[0]));
    for (int s = 1; s < kStreams; ++s) CHECK_CUDA(cudaStreamWaitEvent(streams_[s], events_[0], 0));
    for (int k = 0; k < kPerStream; ++k) {
      for (int s = 0; s < kStreams; ++s) {
        work_on_host(options_.host_us);
        launch(streams_[s], cells_ + k * kStreams + s, static_cast<unsigned>(k + s));
      }
    }
    for (int s = 1; s < kStreams; ++s) {
      CHECK_CUDA(cudaEventRecord(events_[s], streams_[s]));
      CHECK_CUDA(cudaStreamWaitEvent(streams_[0], events_[s], 0));
    }
  }

  void submit_eager() {
    switch (options_.kind) {
      case Options::Kind::kKernels: submit_kernels(); break;
      case Options::Kind::kScalar: submit_scalars(); break;
      case Options::Kind::kGrowing: submit_growing(); break;
      case Options::Kind::kEarly: submit_early(); break;
      case Options::Kind::kOps3: submit_ops3(); break;
      case Options::Kind::kFork: submit_fork(); break;
    }
  }

  void submit_graph() {
    for (int i = 0; i < options_.launches(); ++i) work_on_host(options_.host_us);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      unsigned long long* cell = cells_ + i;
      unsigned value = changes_shape() ? static_cast<unsigned>(i) : scalar_of(static_cast<int>(i));
      void* arguments[] = {&cell, &value};
      node_parameters_.gridDim = dim3(blocks());
      node_parameters_.kernelParams = arguments;
      CHECK_CUDA(cudaGraphExecKernelNodeSetParams(executable_, nodes_[i], &node_parameters_));
    }
    CHECK_CUDA(cudaGraphLaunch(executable_, streams_[0]));
  }

  /// One graph of a whole iteration: captured, or built node by node where its arguments have to be changed.
  void make_graph() {
    cudaGraph_t graph = nullptr;
    if (options_.kind == Options::Kind::kScalar || changes_shape()) {
      CHECK_CUDA(cudaGraphCreate(&graph, 0));
      node_parameters_.func = reinterpret_cast<void*>(tiny);
      node_parameters_.gridDim = dim3(1);
      node_parameters_.blockDim = dim3(32);
      nodes_.resize(static_cast<std::size_t>(options_.kernels));
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        unsigned long long* cell = cells_ + i;
        unsigned value = 0;
        void* arguments[] = {&cell, &value};
        node_parameters_.kernelParams = arguments;
        CHECK_CUDA(cudaGraphAddKernelNode(&nodes_[i], graph, i > 0 ? &nodes_[i - 1] : nullptr, i > 0 ? 1 : 0,
                                          &node_parameters_));
      }
    } else {
      const double host_us = std::exchange(options_.host_us, 0.0);
      CHECK_CUDA(cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeThreadLocal));
      submit_eager();
      CHECK_CUDA(cudaStreamEndCapture(streams_[0], &graph));
      options_.host_us = host_us;
    }
    CHECK_CUDA(cudaGraphInstantiate(&executable_, graph, 0));
    graph_ = graph;  // kept: the nodes that are updated are named by it
    CHECK_CUDA(cudaGraphUpload(executable_, streams_[0]));
  }

  /// `count` iterations; their times in microseconds go to `times`. Without syncs, the mean of each batch does.
  void repeat(int count, bool graph, std::vector<double>* times) {
    const int batch = options_.sync ? 1 : kBatch;
    for (int done = 0; done < count; done += batch) {
      const auto start = Clock::now();
      for (int i = 0; i < batch; ++i) {
        graph ? submit_graph() : submit_eager();
        ++iteration_;
      }
      const auto submitted = Clock::now();
      if (!graph && times != nullptr)
        submit_times_.push_back(std::chrono::duration<double, std::micro>(submitted - start).count() / batch);
      CHECK_CUDA(cudaStreamSynchronize(streams_[0]));
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (times != nullptr) times->push_back(us / batch);
      if (options_.kind == Options::Kind::kOps3) read_back_ += *pinned_;
    }
    CHECK_CUDA(cudaGetLastError());
  }

  /// The first iteration loads the kernel and does not count.
  void print_delays() {
    std::size_t late_before = 0;  // of the first iteration
    const auto first =
        static_cast<std::ptrdiff_t>(std::min(delays_.size(), static_cast<std::size_t>(options_.kernels)));
    std::vector<float> delays(delays_.begin() + first, delays_.end());
    for (std::ptrdiff_t i = 0; i < first; ++i) late_before += delays_[static_cast<std::size_t>(i)] > kLate ? 1 : 0;
    std::string late;
    auto end = late_ends_.begin() + static_cast<std::ptrdiff_t>(late_before);
    for (std::size_t i = 0; i < delays.size(); ++i) {
      if (delays[i] <= kLate) continue;
      const auto since = std::chrono::duration_cast<std::chrono::microseconds>((end++)->time_since_epoch()).count();
      late += (late.empty() ? "[" : ", [") + std::to_string(1 + i / cells_count_) + ", " +
              std::to_string(i % cells_count_) + ", " + std::to_string(static_cast<int>(delays[i])) + ", " +
              std::to_string(since) + "]";
    }
    std::sort(delays.begin(), delays.end());
    if (delays.empty()) return;
    const auto part = [&](double share) {
      return static_cast<double>(delays[static_cast<std::size_t>(share * static_cast<double>(delays.size() - 1))]);
    };
    std::printf(
        ", \"delays_us\": {\"median\": %.2f, \"p99\": %.2f, \"p999\": %.2f, \"p9999\": %.2f, \"longest\": %.1f, "
        "\"launches\": %zu, \"over_200\": [%s]}",  // each: iteration, launch, microseconds, monotonic time of the end
        part(0.5), part(0.99), part(0.999), part(0.9999), part(1), delays.size(), late.c_str());
  }

  static void print_times(const char* name, const std::vector<double>& times) {
    if (times.empty()) return;
    std::printf(", \"%s_us\": {\"median\": %.3f, \"min\": %.3f, \"samples\": %zu}", name, gpu_test::median(times),
                *std::min_element(times.begin(), times.end()), times.size());
  }

  void print(const std::vector<double>& eager, const std::vector<double>& graph, double total) {
    constexpr std::array<const char*, 6> kNames = {"kernels", "scalar", "growing", "early", "ops3", "fork"};
    CHECK_CUDA(cudaDeviceSynchronize());
    gpu_test::Checksum checksum;
    checksum.add_device(cells_, cells_count_);
    checksum.add(&read_back_, sizeof read_back_);
    std::printf("{\"mode\": \"%s\", \"launches\": %d, \"host_us\": %.2f, \"sync\": %s, \"iterations\": %u",
                kNames[static_cast<std::size_t>(options_.kind)], options_.launches(), options_.host_us,
                options_.sync ? "true" : "false", iteration_);
    print_times("eager", eager);
    print_times("graph", graph);
    print_times("submit", submit_times_);
    print_delays();
    std::printf(", \"total_s\": %.3f, \"checksum\": \"%016llx\"}\n", total,
                static_cast<unsigned long long>(checksum.value()));
  }

  Options options_;
  std::array<cudaStream_t, kStreams> streams_{};
  std::array<cudaEvent_t, kStreams> events_{};
  unsigned long long* cells_ = nullptr;
  std::size_t cells_count_ = 0;
  unsigned long long* pinned_ = nullptr;
  unsigned long long read_back_ = 0;
  unsigned iteration_ = 0;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
  cudaKernelNodeParams node_parameters_{};
  decltype(&::cuLaunchKernel) driver_launch_ = nullptr;  ///< with --driver-api
  CUfunction function_ = nullptr;
  std::vector<float> delays_;                 ///< microseconds
  std::vector<Clock::time_point> late_ends_;  ///< of those over kLate
  std::vector<double> submit_times_;          ///< microseconds of the host until an eager iteration is submitted
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Bench(options).run();
  return 0;
}
