// What it costs the device to go on from one graph to the next, by the way in which the second comes after the first.
// Prints lines of JSON; times are medians in microseconds. Nothing of Refrain takes part.
#include <cuda.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>

#include "cuda_check.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "graph_links [--links stream,outer,event,memop] [--plans 100;50,50;8,32,60] [--branches B] [--host-ns N] [--repeat "
    "N]\n"
    "  Graphs of these lengths one after the other, after N ns of host time for each kernel, and a wait. Links:\n"
    "  stream   all graphs in one stream\n"
    "  outer    in two streams in turn, an event recorded behind each and waited for before the next\n"
    "  event    in two streams in turn, an event recorded at the end of each branch, in the graph, and waited for "
    "where\n"
    "           the branch goes on in the next graph\n"
    "  memop    the same with a value in memory that is written, waited for and set back\n"
    "  Before anything is timed, kernels that look check that each branch ran in order.";

/// What launch_bound.cu launches, too.
__global__ void tiny(unsigned long long* cell, unsigned value) {
  if (threadIdx.x == 0) atomicAdd(cell, static_cast<unsigned long long>(value));
}

/// cell[0]: how many of the branch ran; cell[1]: how many came at another place than theirs.
__global__ void in_order(unsigned long long* cell, unsigned place, unsigned last) {
  if (threadIdx.x != 0) return;
  volatile unsigned long long* const at = cell;
  if (at[0] != place) at[1] = at[1] + 1;
  at[0] = place == last ? 0 : place + 1;
}

double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void check_driver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  std::fprintf(stderr, "graph_links: %s failed: %d\n", what, static_cast<int>(status));
  std::exit(1);
}

struct Options {
  std::vector<std::string> links, plans;
  int branches = 1, repeat = 200;
  double host_ns = 0;
};

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

/// The graphs of a plan with one kind of link, and how long they took.
class Chain {
 public:
  Chain(std::string link, const std::string& plan, int branches, bool checked)
      : link_(std::move(link)), plan_(plan), branches_(branches), checked_(checked) {
    for (const std::string& length : split(plan, ',')) lengths_.push_back(std::stoi(length));
    CHECK_CUDA(cudaMalloc(&cells_, kCells * sizeof *cells_));
    CHECK_CUDA(cudaMemset(cells_, 0, kCells * sizeof *cells_));
    CHECK_CUDA(cudaMalloc(&flags_, kCells * sizeof *flags_));
    CHECK_CUDA(cudaMemset(flags_, 0, kCells * sizeof *flags_));
    for (cudaStream_t& stream : streams_) CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    events_.resize(lengths_.size() * static_cast<std::size_t>(branches_) + 1);
    for (cudaEvent_t& event : events_) CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    if (link_ == "memop") {
      cudaDriverEntryPointQueryResult found{};
      CHECK_CUDA(cudaGetDriverEntryPointByVersion("cuGraphAddBatchMemOpNode", reinterpret_cast<void**>(&add_memop_),
                                                  12000, cudaEnableDefault, &found));
      CHECK_CUDA(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", reinterpret_cast<void**>(&current_), 12000,
                                                  cudaEnableDefault, &found));
    }
    for (const int length : lengths_) total_ += static_cast<unsigned>(length / branches_);
    unsigned place = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      executables_.push_back(build(i, &place));
      CHECK_CUDA(cudaGraphUpload(executables_.back(), stream_of(i)));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  void run(double host_ns) {
    const auto start = Clock::now();
    if (stream_of(0) != streams_[0]) {
      CHECK_CUDA(cudaEventRecord(events_.back(), streams_[0]));
      CHECK_CUDA(cudaStreamWaitEvent(stream_of(0), events_.back(), 0));
    }
    double launching = 0;
    for (std::size_t i = 0; i < executables_.size(); ++i) {
      const auto filling = Clock::now();
      while (since(filling) < lengths_[i] * host_ns / 1000) {
      }
      const auto launch = Clock::now();
      if (link_ == "outer" && i > 0) CHECK_CUDA(cudaStreamWaitEvent(stream_of(i), events_[i - 1], 0));
      CHECK_CUDA(cudaGraphLaunch(executables_[i], stream_of(i)));
      if (link_ == "outer" && i + 1 < executables_.size()) CHECK_CUDA(cudaEventRecord(events_[i], stream_of(i)));
      launching += since(launch);
    }
    const double submitted = since(start);
    CHECK_CUDA(cudaStreamSynchronize(streams_[0]));
    times_.push_back(since(start));
    submit_times_.push_back(submitted);
    launch_times_.push_back(launching / static_cast<double>(executables_.size()));
  }

  unsigned long long out_of_order() const {
    std::vector<unsigned long long> cells(kCells);
    CHECK_CUDA(cudaMemcpy(cells.data(), cells_, kCells * sizeof *cells_, cudaMemcpyDeviceToHost));
    unsigned long long wrong = 0;
    for (int b = 0; b < branches_; ++b) wrong += cells[static_cast<std::size_t>(2 * b + 1)];
    return wrong;
  }

  void print(double host_ns) const {
    std::printf(
        "{\"link\": \"%s\", \"plan\": \"%s\", \"branches\": %d, \"host_ns\": %.0f, \"us\": %.2f, \"least\": %.2f, "
        "\"submitted\": %.2f, \"launch\": %.2f}\n",
        link_.c_str(), plan_.c_str(), branches_, host_ns, gpu_test::median(times_),
        *std::min_element(times_.begin(), times_.end()), gpu_test::median(submit_times_),
        gpu_test::median(launch_times_));
  }

 private:
  static constexpr std::size_t kCells = 1024;

  bool in_turn() const { return link_ != "stream"; }

  /// The last graph is in the first stream, where the program waits.
  cudaStream_t stream_of(std::size_t graph) const {
    return in_turn() && (lengths_.size() - 1 - graph) % 2 == 1 ? streams_[1] : streams_[0];
  }

  cudaGraphNode_t add_link(cudaGraph_t graph, std::size_t of, int branch, bool begin, const cudaGraphNode_t* behind) {
    const std::size_t number = of * static_cast<std::size_t>(branches_) + static_cast<std::size_t>(branch);
    cudaGraphNode_t node = nullptr;
    const std::size_t count = behind != nullptr ? 1 : 0;
    if (link_ == "event") {
      CHECK_CUDA(begin ? cudaGraphAddEventWaitNode(&node, graph, behind, count, events_[number])
                       : cudaGraphAddEventRecordNode(&node, graph, behind, count, events_[number]));
      return node;
    }
    CUstreamBatchMemOpParams operations[2]{};
    const auto address = reinterpret_cast<CUdeviceptr>(flags_ + number);
    unsigned used = 0;
    if (begin) {
      operations[used].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, address, {1}, CU_STREAM_WAIT_VALUE_EQ, 0};
      ++used;
    }
    operations[used].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, address, {begin ? 0u : 1u}, 0, 0};
    ++used;
    CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
    check_driver(current_(&parameters.ctx), "cuCtxGetCurrent");
    parameters.count = used;
    parameters.paramArray = operations;
    check_driver(add_memop_(reinterpret_cast<CUgraphNode*>(&node), reinterpret_cast<CUgraph>(graph),
                            reinterpret_cast<const CUgraphNode*>(behind), count, &parameters),
                 "cuGraphAddBatchMemOpNode");
    return node;
  }

  cudaGraphExec_t build(std::size_t i, unsigned* place) {
    const bool links = link_ == "event" || link_ == "memop";
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    const unsigned length = static_cast<unsigned>(lengths_[i] / branches_);
    std::vector<cudaGraphNode_t> before(static_cast<std::size_t>(branches_));
    for (int b = 0; links && i > 0 && b < branches_; ++b) {
      before[static_cast<std::size_t>(b)] = add_link(graph, i - 1, b, true, nullptr);
    }
    for (unsigned k = 0; k < length; ++k) {
      for (int b = 0; b < branches_; ++b) {
        unsigned long long* cell = cells_ + (checked_ ? 2 * b : (*place + k) % kCells);
        unsigned value = *place + k, last = total_ - 1;
        void* arguments[] = {&cell, &value, &last};
        cudaKernelNodeParams node{};
        node.func = checked_ ? reinterpret_cast<void*>(in_order) : reinterpret_cast<void*>(tiny);
        node.gridDim = dim3(1);
        node.blockDim = dim3(32);
        node.kernelParams = arguments;
        cudaGraphNode_t& behind = before[static_cast<std::size_t>(b)];
        cudaGraphNode_t made = nullptr;
        CHECK_CUDA(cudaGraphAddKernelNode(&made, graph, &behind, behind != nullptr ? 1 : 0, &node));
        behind = made;
      }
    }
    *place += length;
    for (int b = 0; links && i + 1 < lengths_.size() && b < branches_; ++b) {
      add_link(graph, i, b, false, &before[static_cast<std::size_t>(b)]);
    }
    cudaGraphExec_t executable = nullptr;
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
  }

  std::string link_, plan_;
  int branches_;
  bool checked_;
  std::vector<int> lengths_;
  unsigned total_ = 0;
  cudaStream_t streams_[2]{};
  std::vector<cudaEvent_t> events_;  ///< of each graph one for each branch, and one more
  std::vector<cudaGraphExec_t> executables_;
  unsigned long long* cells_ = nullptr;
  unsigned* flags_ = nullptr;
  decltype(&::cuGraphAddBatchMemOpNode) add_memop_ = nullptr;
  decltype(&::cuCtxGetCurrent) current_ = nullptr;
  std::vector<double> times_, submit_times_, launch_times_;
};

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  Options options;
  options.links = split(arguments.text("links", "stream,outer,event,memop"), ',');
  options.plans = split(arguments.text("plans", "100;50,50;8,32,60"), ';');
  options.branches = arguments.integer("branches", 1);
  options.host_ns = arguments.number("host-ns", 0);
  options.repeat = arguments.integer("repeat", 200);
  arguments.nothing_left();
  std::vector<std::unique_ptr<Chain>> chains;
  bool right = true;
  for (const std::string& link : options.links) {
    for (const std::string& plan : options.plans) {
      if (link != "stream" && plan.find(',') == std::string::npos) continue;  // one graph has no link
      Chain checked(link, plan, options.branches, true);
      for (int i = 0; i < 200; ++i) checked.run(0);
      CHECK_CUDA(cudaDeviceSynchronize());
      if (checked.out_of_order() != 0) {
        std::printf("{\"link\": \"%s\", \"plan\": \"%s\", \"out_of_order\": %llu}\n", link.c_str(), plan.c_str(),
                    checked.out_of_order());
        right = false;
      }
      chains.push_back(std::make_unique<Chain>(link, plan, options.branches, false));
    }
  }
  for (int round = 0; round < options.repeat; ++round) {
    for (const auto& chain : chains) chain->run(options.host_ns);
  }
  for (const auto& chain : chains) chain->print(options.host_ns);
  return right ? 0 : 1;
}
