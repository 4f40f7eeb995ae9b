// What graphs cost on this machine: the figures that Refrain's policy and its model (test/policy/costs.h) rest on.
// Prints lines of JSON; times are medians in microseconds unless they say otherwise. Nothing of Refrain takes part.
#include <atomic>
#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "graph_costs [--part single | --part plans | --part stalls | --part growth] [--host-ns N] [--branches B] "
    "[--apart] [--by-thread] [--repeat N]\n"
    "            [--plans 100;50,50;8,16,32,44]\n"
    "  single    instantiating, launching, updating and destroying graphs of 1 to 1000 nodes; events\n"
    "  plans     so many kernels as graphs of these lengths one after the other, after N ns of host time for each "
    "kernel,\n"
    "            and a wait; with B branches every graph forks and joins, or, apart, is B graphs in streams of their\n"
    "            own, which fork once before the first and join once behind the last; by thread, another thread\n"
    "            launches the graphs, which spins until there is one, and the wait begins when it has launched the "
    "last\n"
    "  stalls    how late another thread's launches are while graphs are built\n"
    "  growth    the same while more and more graphs are there: which of them took much longer than usual";

__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void spin(double microseconds) {
  const auto start = Clock::now();
  while (since(start) < microseconds) {
  }
}

double quantile(std::vector<double> values, double which) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(which * static_cast<double>(values.size() - 1))];
}

struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::vector<cudaGraphNode_t> nodes;

  ~Graph() {
    if (executable != nullptr) cudaGraphExecDestroy(executable);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
};

class Costs {
 public:
  explicit Costs(int repeat) : repeat_(repeat) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&cells_, kCells * sizeof *cells_));
    CHECK_CUDA(cudaMemset(cells_, 0, kCells * sizeof *cells_));
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  cudaKernelNodeParams parameters(unsigned long long** cell, unsigned* value, void** arguments) const {
    *cell = cells_;
    arguments[0] = cell;
    arguments[1] = value;
    cudaKernelNodeParams result{};
    result.func = reinterpret_cast<void*>(tiny);
    result.gridDim = dim3(1);
    result.blockDim = dim3(32);
    result.kernelParams = arguments;
    return result;
  }

  /// `branches` chains of equal length (about), side by side.
  void build(Graph* graph, int nodes, int branches = 1) const {
    CHECK_CUDA(cudaGraphCreate(&graph->graph, 0));
    graph->nodes.resize(static_cast<std::size_t>(nodes));
    for (int i = 0; i < nodes; ++i) {
      unsigned long long* cell = nullptr;
      unsigned value = static_cast<unsigned>(i);
      void* arguments[2];
      const cudaKernelNodeParams node = parameters(&cell, &value, arguments);
      cell += i % static_cast<int>(kCells);
      cudaGraphNode_t* const before = i >= branches ? &graph->nodes[static_cast<std::size_t>(i - branches)] : nullptr;
      CHECK_CUDA(cudaGraphAddKernelNode(&graph->nodes[static_cast<std::size_t>(i)], graph->graph, before,
                                        before != nullptr ? 1 : 0, &node));
    }
  }

  double median_of(const std::function<double()>& once) const {
    std::vector<double> times;
    for (int i = 0; i < repeat_; ++i) times.push_back(once());
    return gpu_test::median(times);
  }

  void single() {
    for (const int nodes : {1, 3, 8, 16, 32, 64, 100, 128, 256, 1000}) {
      Graph graph;
      build(&graph, nodes);
      std::vector<double> made, uploaded, destroyed;
      for (int i = 0; i < 12; ++i) {
        auto start = Clock::now();
        CHECK_CUDA(cudaGraphInstantiate(&graph.executable, graph.graph, 0));
        made.push_back(since(start));
        start = Clock::now();
        CHECK_CUDA(cudaGraphUpload(graph.executable, stream_));
        CHECK_CUDA(cudaStreamSynchronize(stream_));
        uploaded.push_back(since(start));
        if (i == 11) break;
        start = Clock::now();
        CHECK_CUDA(cudaGraphExecDestroy(graph.executable));
        destroyed.push_back(since(start));
      }
      const double launch = median_of([&] {
        const auto start = Clock::now();
        CHECK_CUDA(cudaGraphLaunch(graph.executable, stream_));
        const double time = since(start);
        CHECK_CUDA(cudaStreamSynchronize(stream_));
        return time;
      });
      const double whole = median_of([&] {
        const auto start = Clock::now();
        CHECK_CUDA(cudaGraphLaunch(graph.executable, stream_));
        CHECK_CUDA(cudaStreamSynchronize(stream_));
        return since(start);
      });
      const double behind = median_of([&] {  // launched while the same graph runs
        CHECK_CUDA(cudaGraphLaunch(graph.executable, stream_));
        const auto start = Clock::now();
        CHECK_CUDA(cudaGraphLaunch(graph.executable, stream_));
        const double time = since(start);
        CHECK_CUDA(cudaStreamSynchronize(stream_));
        return time;
      });
      const double update = median_of([&] {
        unsigned long long* cell = nullptr;
        unsigned value = ++value_;
        void* arguments[2];
        const cudaKernelNodeParams node = parameters(&cell, &value, arguments);
        const auto start = Clock::now();
        CHECK_CUDA(cudaGraphExecKernelNodeSetParams(graph.executable, graph.nodes.front(), &node));
        return since(start);
      });
      const double eager = median_of([&] {
        const auto start = Clock::now();
        for (int i = 0; i < nodes; ++i) tiny<<<1, 32, 0, stream_>>>(cells_, 1u);
        CHECK_CUDA(cudaStreamSynchronize(stream_));
        return since(start);
      });
      std::printf(
          "{\"nodes\": %d, \"instantiate\": %.1f, \"upload\": %.1f, \"destroy\": %.1f, \"launch\": %.2f, "
          "\"launch_behind\": %.2f, \"whole\": %.2f, \"update\": %.3f, \"eager_whole\": %.2f}\n",
          nodes, gpu_test::median(made), gpu_test::median(uploaded), gpu_test::median(destroyed), launch, behind, whole,
          update, eager);
    }
    cudaEvent_t event = nullptr;
    CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cudaStream_t other = nullptr;
    CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const auto each = [&](const std::function<void()>& call) {
      const double time = median_of([&] {
        const auto start = Clock::now();
        for (int i = 0; i < 20; ++i) call();
        return since(start) / 20;
      });
      CHECK_CUDA(cudaDeviceSynchronize());
      return time;
    };
    const double record = each([&] { CHECK_CUDA(cudaEventRecord(event, stream_)); });
    const double wait = each([&] { CHECK_CUDA(cudaStreamWaitEvent(other, event, 0)); });
    const double query = each([&] { (void)cudaStreamQuery(stream_); });
    const double synchronize = each([&] { CHECK_CUDA(cudaStreamSynchronize(stream_)); });
    const double clock = each([&] { (void)Clock::now(); });
    std::printf("{\"record\": %.3f, \"wait\": %.3f, \"query\": %.3f, \"synchronize_idle\": %.3f, \"clock\": %.3f}\n",
                record, wait, query, synchronize, clock);
  }

  /// "100;50,50": plans, in turn, so that they meet the same disturbances.
  void plans(const std::string& text, double host_ns, int branches, bool apart, bool by_thread) {
    struct Plan {
      std::string name;
      std::vector<int> lengths;
      std::vector<Graph> graphs;  // of each length one for each stream
      std::vector<double> times;
    };
    const std::size_t streams = apart ? static_cast<std::size_t>(branches) : 1;
    use_streams(streams);
    std::vector<Plan> all;
    std::stringstream stream(text);
    for (std::string name; std::getline(stream, name, ';');) {
      all.push_back({name, {}, {}, {}});
      std::stringstream lengths(name);
      for (std::string length; std::getline(lengths, length, ',');) all.back().lengths.push_back(std::stoi(length));
      all.back().graphs = std::vector<Graph>(all.back().lengths.size() * streams);
      for (std::size_t i = 0; i < all.back().graphs.size(); ++i) {
        Graph& graph = all.back().graphs[i];
        build(&graph, all.back().lengths[i / streams] / static_cast<int>(streams), apart ? 1 : branches);
        CHECK_CUDA(cudaGraphInstantiate(&graph.executable, graph.graph, 0));
        CHECK_CUDA(cudaGraphUpload(graph.executable, streams_[i % streams]));
      }
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    const Plan* current = nullptr;  // whose graphs are numbered from `first` on
    std::size_t first = 0;
    std::atomic<std::size_t> to_launch{0}, launched{0};  // of all plans and rounds
    std::atomic<bool> stop{false};
    const auto launch = [&](const Plan& plan, std::size_t i) {
      CHECK_CUDA(cudaGraphLaunch(plan.graphs[i].executable, streams_[i % streams]));
    };
    std::thread launcher;
    if (by_thread) {
      launcher = std::thread([&] {
        while (!stop) {
          const std::size_t i = launched.load(std::memory_order_relaxed);
          if (to_launch.load(std::memory_order_acquire) == i) continue;
          launch(*current, i - first);
          launched.store(i + 1, std::memory_order_release);
        }
      });
    }
    for (int round = 0; round < repeat_; ++round) {
      for (Plan& plan : all) {
        first = launched;
        current = &plan;
        const auto start = Clock::now();
        fork();
        for (std::size_t i = 0; i < plan.graphs.size(); ++i) {
          if (i % streams == 0) spin(plan.lengths[i / streams] * host_ns / 1000);
          if (by_thread) {
            to_launch.store(first + i + 1, std::memory_order_release);
          } else {
            launch(plan, i);
          }
        }
        while (by_thread && launched.load(std::memory_order_acquire) != first + plan.graphs.size()) {
        }
        join();
        CHECK_CUDA(cudaStreamSynchronize(stream_));
        plan.times.push_back(since(start));
      }
    }
    stop = true;
    if (launcher.joinable()) launcher.join();
    for (const Plan& plan : all) {
      std::printf(
          "{\"plan\": \"%s\", \"host_ns\": %.0f, \"branches\": %d, \"apart\": %s, \"by_thread\": %s, \"us\": %.2f, "
          "\"least\": %.2f}\n",
          plan.name.c_str(), host_ns, branches, apart ? "true" : "false", by_thread ? "true" : "false",
          gpu_test::median(plan.times), quantile(plan.times, 0));
    }
  }

  /// Graphs that stay, one after the other, while another thread launches: the driver takes memory for them now and
  /// then.
  void growth() {
    for (const int nodes : {16, 64, 128}) {
      std::vector<Graph> graphs(static_cast<std::size_t>(std::max(16, 6000 / nodes)));
      for (Graph& graph : graphs) build(&graph, nodes);
      std::atomic<double> longest{0};
      std::atomic<bool> stop{false};
      std::thread other([&] {
        cudaStream_t own = nullptr;
        CHECK_CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
        for (int i = 1; !stop; ++i) {
          const auto start = Clock::now();
          tiny<<<1, 32, 0, own>>>(cells_, 1u);
          longest = std::max(longest.load(), since(start));
          if (i % 256 == 0) CHECK_CUDA(cudaStreamSynchronize(own));
        }
        CHECK_CUDA(cudaStreamDestroy(own));
      });
      spin(20'000);
      for (int round = 0; round < 2; ++round) {
        std::vector<double> instantiated, uploaded, stalled;
        for (Graph& graph : graphs) {
          longest = 0;
          auto start = Clock::now();
          CHECK_CUDA(cudaGraphInstantiate(&graph.executable, graph.graph, 0));
          instantiated.push_back(since(start));
          start = Clock::now();
          CHECK_CUDA(cudaGraphUpload(graph.executable, stream_));
          uploaded.push_back(since(start));
          CHECK_CUDA(cudaStreamSynchronize(stream_));
          spin(50);
          stalled.push_back(longest);
        }
        const double usual = gpu_test::median(instantiated), usual_upload = gpu_test::median(uploaded);
        std::string odd;
        for (std::size_t i = 0; i < graphs.size(); ++i) {
          if (instantiated[i] > 2 * usual || uploaded[i] > 3 * usual_upload || stalled[i] > 200) {
            odd += (odd.empty() ? "[" : ", [") + std::to_string(i) + ", " +
                   std::to_string(static_cast<int>(instantiated[i])) + ", " +
                   std::to_string(static_cast<int>(uploaded[i])) + ", " + std::to_string(static_cast<int>(stalled[i])) +
                   "]";
          }
        }
        std::printf(
            "{\"graphs\": %zu, \"nodes\": %d, \"round\": %d, \"instantiate\": %.1f, \"upload\": %.1f, "
            "\"stalled\": %.1f, \"odd\": [%s]}\n",  // each: number, instantiated, uploaded, longest launch
            graphs.size(), nodes, round, usual, usual_upload, gpu_test::median(stalled), odd.c_str());
        for (Graph& graph : graphs) CHECK_CUDA(cudaGraphExecDestroy(std::exchange(graph.executable, nullptr)));
      }
      stop = true;
      other.join();
    }
  }

  /// One thread launches a kernel every few microseconds, this one does something with graphs.
  void stalls() {
    stall("nothing", 0, [] { spin(1000); });
    for (const int nodes : {16, 32, 64, 128, 256, 1000}) {
      Graph graph;
      stall("add nodes", nodes, [&] {
        Graph one;
        build(&one, nodes);
      });
      build(&graph, nodes);
      stall(
          "instantiate", nodes, [&] { CHECK_CUDA(cudaGraphInstantiate(&graph.executable, graph.graph, 0)); },
          [&] { CHECK_CUDA(cudaGraphExecDestroy(std::exchange(graph.executable, nullptr))); });
      stall(
          "upload", nodes,
          [&] {
            CHECK_CUDA(cudaGraphUpload(graph.executable, stream_));
            CHECK_CUDA(cudaStreamSynchronize(stream_));
          },
          [&] { CHECK_CUDA(cudaGraphExecDestroy(std::exchange(graph.executable, nullptr))); },
          [&] { CHECK_CUDA(cudaGraphInstantiate(&graph.executable, graph.graph, 0)); });
      stall(
          "destroy", nodes, [&] { CHECK_CUDA(cudaGraphExecDestroy(std::exchange(graph.executable, nullptr))); }, [] {},
          [&] {
            CHECK_CUDA(cudaGraphInstantiate(&graph.executable, graph.graph, 0));
            CHECK_CUDA(cudaGraphUpload(graph.executable, stream_));
            CHECK_CUDA(cudaStreamSynchronize(stream_));
          });
    }
  }

 private:
  static constexpr std::size_t kCells = 1024;

  /// Only launches during `work` count.
  void stall(
      const char* name, int nodes, const std::function<void()>& work, const std::function<void()>& after = [] {},
      const std::function<void()>& before = [] {}) {
    std::atomic<bool> stop{false}, counting{false};
    std::vector<double> late;
    std::thread other([&] {
      cudaStream_t own = nullptr;
      CHECK_CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
      for (int i = 1; !stop; ++i) {
        const bool counted = counting;
        const auto start = Clock::now();
        tiny<<<1, 32, 0, own>>>(cells_, 1u);
        const double time = since(start);
        if (counted || counting) late.push_back(time);
        if (i % 256 == 0) CHECK_CUDA(cudaStreamSynchronize(own));
      }
      CHECK_CUDA(cudaStreamDestroy(own));
    });
    std::vector<double> times;
    for (int i = 0; i < repeat_ / 4 + 1; ++i) {
      before();
      counting = true;
      const auto start = Clock::now();
      work();
      times.push_back(since(start));
      counting = false;
      after();
      spin(200);
    }
    stop = true;
    other.join();
    std::printf(
        "{\"while\": \"%s\", \"nodes\": %d, \"takes\": %.1f, \"launches\": %zu, \"median\": %.2f, \"p99\": %.1f, "
        "\"p999\": %.1f, \"longest\": %.1f}\n",
        name, nodes, gpu_test::median(times), late.size(), gpu_test::median(late), quantile(late, 0.99),
        quantile(late, 0.999), quantile(late, 1));
  }

  void use_streams(std::size_t count) {
    streams_.assign(1, stream_);
    events_.resize(count);
    for (cudaEvent_t& event : events_) CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    while (streams_.size() < count) {
      CHECK_CUDA(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking));
    }
  }

  /// The other streams wait for what is in the first.
  void fork() {
    if (streams_.size() > 1) CHECK_CUDA(cudaEventRecord(events_[0], stream_));
    for (std::size_t i = 1; i < streams_.size(); ++i) CHECK_CUDA(cudaStreamWaitEvent(streams_[i], events_[0], 0));
  }

  void join() {
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      CHECK_CUDA(cudaEventRecord(events_[i], streams_[i]));
      CHECK_CUDA(cudaStreamWaitEvent(stream_, events_[i], 0));
    }
  }

  int repeat_;
  cudaStream_t stream_ = nullptr;
  std::vector<cudaStream_t> streams_;  ///< of plans(), stream_ first
  std::vector<cudaEvent_t> events_;    ///< one for each of them
  unsigned long long* cells_ = nullptr;
  unsigned value_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const std::string part = arguments.text("part", "single");
  const std::string plans = arguments.text("plans", "100;50,50;25,25,25,25;8,16,32,44");
  const double host_ns = arguments.number("host-ns", 0);
  const int branches = arguments.integer("branches", 1);
  const bool apart = arguments.flag("apart");
  const bool by_thread = arguments.flag("by-thread");
  const int repeat = arguments.integer("repeat", 200);
  arguments.nothing_left();
  Costs costs(repeat);
  if (part == "single") costs.single();
  if (part == "plans") costs.plans(plans, host_ns, branches, apart, by_thread);
  if (part == "stalls") costs.stalls();
  if (part == "growth") costs.growth();
  return 0;
}
