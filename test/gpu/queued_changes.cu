// What replaying relies on, of the driver alone: launches of an executable graph keep the parameters that they had when
// they were enqueued, though each later one has new ones, and small graphs keep their place among the calls around
// them. Both with many launches waiting in the stream, which it takes other processes on the device, or a gate, to
// have. Copies of rows can't be changed, which is asked as well. Prints a line of JSON for each case; exit status 1 if
// something was wrong, or a gate opened by itself: then nothing waited. Nothing of Refrain takes part.
#include "cuda_check.h"
#include "driver_check.h"
#include "random_kernels.cuh"

namespace {

using random_test::kBlock;
using random_test::kWords;
using random_test::Word;

constexpr const char* kUsage =
    "queued_changes [--batches N] [--queued N]\n"
    "  --batches N   of each case (default: 50)\n"
    "  --queued N    launches that wait at once, at most 1000 (default: 200)";
constexpr unsigned kRows = 4, kPitch = 64;  // words

CUdeviceptr address(const Word* data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

CUcontext context() {
  CUcontext current = nullptr;
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  return current;
}

/// `rows` rows of `count` words.
CUDA_MEMCPY3D copy_parameters(Word* to, const Word* from, unsigned count, unsigned rows) {
  CUDA_MEMCPY3D parameters{};
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  parameters.srcDevice = address(from);
  parameters.dstDevice = address(to);
  parameters.srcPitch = parameters.dstPitch = rows == 1 ? 0 : kPitch * sizeof(Word);
  parameters.WidthInBytes = count * sizeof(Word);
  parameters.Height = rows;
  parameters.Depth = 1;
  return parameters;
}

/// A graph whose nodes follow each other. Parameters are those of a launch to come.
class Line {
 public:
  Line() { CHECK_DRIVER(cuGraphCreate(&graph_, 0)); }

  /// Adds a node, or changes it once the graph is instantiated: the first call of a round is the first node.
  void mix(Word* to, const Word* from, unsigned offset, unsigned count, Word value) {
    void* arguments[] = {&to, &from, &offset, &count, &value};
    CUDA_KERNEL_NODE_PARAMS parameters{};
    CHECK_CUDA(cudaGetKernel(&parameters.kern, reinterpret_cast<const void*>(random_test::mix)));
    parameters.gridDimX = (count + kBlock - 1) / kBlock;
    parameters.gridDimY = parameters.gridDimZ = 1;
    parameters.blockDimX = kBlock;
    parameters.blockDimY = parameters.blockDimZ = 1;
    parameters.kernelParams = arguments;
    put(cuGraphExecKernelNodeSetParams, cuGraphAddKernelNode, parameters);
  }
  void fill(Word* to, Word value, unsigned count) {
    CUDA_MEMSET_NODE_PARAMS parameters{};
    parameters.dst = address(to);
    parameters.value = value;
    parameters.elementSize = sizeof(Word);
    parameters.width = count;
    parameters.height = 1;
    put(cuGraphExecMemsetNodeSetParams, cuGraphAddMemsetNode, parameters, context());
  }
  void copy(Word* to, const Word* from, unsigned count) {
    put(cuGraphExecMemcpyNodeSetParams, cuGraphAddMemcpyNode, copy_parameters(to, from, count, 1), context());
  }
  void launch(cudaStream_t stream) {
    if (executable_ == nullptr) CHECK_DRIVER(cuGraphInstantiate(&executable_, graph_, 0));
    CHECK_DRIVER(cuGraphLaunch(executable_, stream));
    changed_ = 0;
  }

 private:
  /// `more`: the context, for nodes that are not kernels.
  template <class Change, class Add, class Parameters, class... More>
  void put(Change change, Add add, const Parameters& parameters, More... more) {
    if (executable_ != nullptr) {
      gpu_test::check_driver(change(executable_, nodes_[changed_++], &parameters, more...), "changing a node");
      return;
    }
    CUgraphNode node = nullptr;
    gpu_test::check_driver(
        add(&node, graph_, nodes_.empty() ? nullptr : &nodes_.back(), nodes_.empty() ? 0 : 1, &parameters, more...),
        "adding a node");
    nodes_.push_back(node);
  }

  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::size_t changed_ = 0;  ///< nodes in this round
};

std::vector<Word> words_of(const Word* device) {
  std::vector<Word> words(kWords);
  CHECK_CUDA(cudaMemcpy(words.data(), device, kWords * sizeof(Word), cudaMemcpyDeviceToHost));
  return words;
}

Word* device_words(const std::vector<Word>& words) {
  Word* device = nullptr;
  CHECK_CUDA(cudaMalloc(&device, kWords * sizeof(Word)));
  CHECK_CUDA(cudaMemcpy(device, words.data(), kWords * sizeof(Word), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());  // for streams that do not wait for the legacy one
  return device;
}

/// Whether the driver changes a copy of rows, which it is said to refuse.
bool changes_rows() {
  const std::vector<Word> zero(kWords);
  Word *to = device_words(zero), *from = device_words(zero);
  const CUDA_MEMCPY3D copy = copy_parameters(to, from, 3, kRows), other = copy_parameters(to + 5, from, 3, kRows);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  CHECK_DRIVER(cuGraphCreate(&graph, 0));
  CHECK_DRIVER(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context()));
  CHECK_DRIVER(cuGraphInstantiate(&executable, graph, 0));
  return cuGraphExecMemcpyNodeSetParams(executable, node, &other, context()) == CUDA_SUCCESS;
}

struct Gate {
  Word* opened = nullptr;  ///< pinned
  random_test::GateCounts* counts = nullptr;

  Gate() {
    CHECK_CUDA(cudaMallocHost(&opened, sizeof *opened));
    CHECK_CUDA(cudaMalloc(&counts, sizeof *counts));
    CHECK_CUDA(cudaMemset(counts, 0, sizeof *counts));
    *opened = 0;
  }
  void close(cudaStream_t stream) const { random_test::await_gate<<<1, 1, 0, stream>>>(opened, counts); }
  void open() const {
    volatile Word* word = opened;
    *word = *word + 1;
  }
};

std::vector<Word> random_words(Word salt) {
  std::vector<Word> words(kWords);
  for (unsigned i = 0; i < kWords; ++i) words[i] = (i + 1) * 2654435761u ^ salt;
  return words;
}

struct Targets {
  Word *cells, *copies, *fills;
  const Word* source;
};

/// Launch `i` of a batch, of a kernel, a copy and a fill; `value` differs from launch to launch.
void launch_all(Line& line, cudaStream_t stream, const Targets& targets, unsigned i, Word value) {
  line.mix(targets.cells, targets.source, i, 1, value);
  line.copy(targets.copies + i, targets.source + value % kWords, 1);
  line.fill(targets.fills + i, value, 1);
  line.launch(stream);
}

struct Wrong {
  unsigned kernels = 0, copies = 0, fills = 0;
  unsigned all() const { return kernels + copies + fills; }
};

/// `executables` take turns.
Wrong changed_while_queued(cudaStream_t stream, const Gate& gate, unsigned executables, unsigned batches,
                           unsigned queued) {
  const std::vector<Word> source = random_words(7);
  const std::vector<Word> zero(kWords);
  const Targets targets = {device_words(zero), device_words(zero), device_words(zero), device_words(source)};
  std::vector<Line> lines(executables);
  std::vector<Word> cells(kWords);
  Wrong wrong;
  Word salt = 1;
  for (unsigned batch = 0; batch < batches; ++batch) {
    std::vector<Word> values(queued);
    for (Word& value : values) value = salt = salt * 1664525u + 1013904223u;
    gate.close(stream);
    for (unsigned i = 0; i < queued; ++i) launch_all(lines[i % executables], stream, targets, i, values[i]);
    gate.open();
    CHECK_CUDA(cudaStreamSynchronize(stream));
    const std::vector<Word> found = words_of(targets.cells), copies = words_of(targets.copies),
                            fills = words_of(targets.fills);
    for (unsigned i = 0; i < queued; ++i) {
      const Word value = values[i];
      cells[i] = (cells[i] ^ source[(i + value) % kWords]) * 1664525u + value;
      wrong.kernels += found[i] != cells[i] ? 1 : 0;
      wrong.copies += copies[i] != source[value % kWords] ? 1 : 0;
      wrong.fills += fills[i] != value ? 1 : 0;
    }
    cells = found;  // what is wrong once counts once
  }
  return wrong;
}

/// Two graphs of two nodes each, and calls around them, all on two buffers that take turns; what these are at the end.
/// `waits`: for each of them.
std::vector<Word> graphs_between_calls(cudaStream_t stream, const Gate& gate, unsigned batches, unsigned steps,
                                       bool waits) {
  Word* const buffers[] = {device_words(random_words(1)), device_words(random_words(2))};
  Line copying, filling;
  const auto settle = [&] {
    if (waits) CHECK_CUDA(cudaStreamSynchronize(stream));
  };
  for (unsigned i = 0; i < batches * steps; ++i) {
    if (!waits && i % steps == 0) gate.close(stream);
    Word *to = buffers[i % 2], *from = buffers[1 - i % 2];
    copying.mix(to, from, 5, 3000, i);
    copying.copy(from, to + 100, 500);
    copying.launch(stream);
    settle();
    CHECK_CUDA(cudaMemcpy2DAsync(to, 256, from + 16, 256, 100, 40, cudaMemcpyDeviceToDevice, stream));
    settle();
    filling.mix(from, to, 5, 3000, i * 3);
    filling.fill(to + 50, i, 10);
    filling.launch(stream);
    settle();
    CHECK_CUDA(cudaMemsetAsync(from + 700, static_cast<int>(i & 0xff), 90, stream));
    settle();
    CHECK_CUDA(cudaMemcpyAsync(to + 1200, from + 300, 900 * sizeof(Word), cudaMemcpyDeviceToDevice, stream));
    settle();
    if (!waits && (i + 1) % steps == 0) {
      gate.open();
      CHECK_CUDA(cudaStreamSynchronize(stream));
    }
  }
  std::vector<Word> words = words_of(buffers[0]);
  const std::vector<Word> others = words_of(buffers[1]);
  words.insert(words.end(), others.begin(), others.end());
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const auto batches = static_cast<unsigned>(std::max(1, arguments.integer("batches", 50)));
  const auto queued = static_cast<unsigned>(std::clamp(arguments.integer("queued", 200), 1, 1000));
  arguments.nothing_left();
  // Kernels are loaded when they are first used, which may wait for the device.
  cudaFuncAttributes attributes{};
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, random_test::mix));
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, random_test::await_gate));
  cudaStream_t free = nullptr, blocking = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreate(&blocking));
  const Gate gate;
  unsigned all = 0;
  const struct {
    const char* name;
    cudaStream_t stream;
    unsigned executables;
  } cases[] = {
      {"one executable", free, 1}, {"two in turn", free, 2}, {"one, in the legacy stream", cudaStreamLegacy, 1}};
  for (const auto& [name, stream, executables] : cases) {
    const Wrong wrong = changed_while_queued(stream, gate, executables, batches, queued);
    all += wrong.all();
    std::printf("{\"case\": \"%s\", \"launches\": %u, \"kernels\": %u, \"copies\": %u, \"fills\": %u}\n", name,
                batches * queued, wrong.kernels, wrong.copies, wrong.fills);
  }
  for (const cudaStream_t stream : {free, blocking}) {
    const std::vector<Word> right = graphs_between_calls(stream, gate, batches, queued / 5 + 1, true);
    const std::vector<Word> found = graphs_between_calls(stream, gate, batches, queued / 5 + 1, false);
    unsigned wrong = 0;
    for (std::size_t i = 0; i < right.size(); ++i) wrong += right[i] != found[i] ? 1 : 0;
    all += wrong;
    std::printf("{\"case\": \"graphs between calls, %s stream\", \"launches\": %u, \"words\": %u}\n",
                stream == free ? "non-blocking" : "blocking", 2 * batches * (queued / 5 + 1), wrong);
  }
  const bool rows = changes_rows();
  std::printf("{\"case\": \"a copy of rows is not changed\", \"changed\": %d}\n", rows ? 1 : 0);
  random_test::GateCounts counts{};
  CHECK_CUDA(cudaMemcpy(&counts, gate.counts, sizeof counts, cudaMemcpyDeviceToHost));
  std::printf("{\"case\": \"gates\", \"closed\": %u, \"late\": %u}\n", counts.closed, counts.late);
  return all == 0 && !rows && counts.late == 0 ? 0 : 1;
}
