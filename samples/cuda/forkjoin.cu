// Four particle populations on four streams: each moves on its own for a hundred steps, then all exchange with one
// another before the next round. Forks and joins with events.
#include <array>
#include <memory>

#include "runtime.h"

namespace {

constexpr int kStreams = 4;
constexpr unsigned kThreads = 128;

struct Populations {
  unsigned* cells[kStreams];
};

/// Every population takes something from its neighbour: all four have to be at rest.
__global__ void exchange(Populations all, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  unsigned before[kStreams];
  for (int s = 0; s < kStreams; ++s) before[s] = all.cells[s][i];
  for (int s = 0; s < kStreams; ++s) all.cells[s][i] = before[s] * 5u + before[(s + 1) % kStreams];
}

/// One step of a congruential generator per cell; each population has a factor of its own.
__global__ void move(unsigned* cells, int count, unsigned factor, unsigned step) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) cells[i] = (cells[i] ^ step) * factor + 12345u;
}

constexpr std::array<unsigned, kStreams> kFactors = {1664525u, 22695477u, 1103515245u, 134775813u};

struct Options {
  int device = 0;
  bool graph = false;
  int size = 4096;
  int iterations = 1000;
  int kernels = 100;
};

class Rounds {
 public:
  explicit Rounds(const Options& options)
      : options_(options), blocks_(sample::divide_up(static_cast<unsigned>(options.size), kThreads)) {
    for (unsigned s = 0; s < kStreams; ++s) {
      cells_[s] = std::make_unique<sample::DeviceArray<unsigned>>(options.size);
      std::vector<unsigned> start(options.size);
      for (unsigned i = 0; i < start.size(); ++i) start[i] = i * 2654435761u + s;
      cells_[s]->upload(start);
      all_.cells[s] = cells_[s]->data();
    }
    if (options.graph) graph_ = std::make_unique<sample::CapturedGraph>(streams_[0], [this] { submit_round(); });
  }

  bool run() {
    const sample::Stopwatch stopwatch;
    for (int i = 0; i < options_.iterations; ++i) {
      if (graph_) {
        graph_->launch(streams_[0]);
      } else {
        submit_round();
      }
      streams_[0].synchronize();
    }
    stopwatch.print();
    sample::Checksum checksum;
    for (const auto& cells : cells_) checksum.add(cells->download());
    checksum.print();
    return true;
  }

 private:
  void submit_round() {
    exchange<<<blocks_, kThreads, 0, streams_[0]>>>(all_, options_.size);
    sample::check_launch("exchange");
    CHECK_CUDA(cudaEventRecord(exchanged_, streams_[0]));
    for (unsigned s = 1; s < kStreams; ++s) CHECK_CUDA(cudaStreamWaitEvent(streams_[s], exchanged_));
    // The exchange was the first kernel of the first stream.
    for (int step = 0; step < options_.kernels; ++step) {
      for (unsigned s = step == 0 ? 1 : 0; s < kStreams; ++s) {
        move<<<blocks_, kThreads, 0, streams_[s]>>>(all_.cells[s], options_.size, kFactors[s],
                                                    static_cast<unsigned>(step));
        sample::check_launch("move");
      }
    }
    for (unsigned s = 1; s < kStreams; ++s) {
      CHECK_CUDA(cudaEventRecord(moved_[s], streams_[s]));
      CHECK_CUDA(cudaStreamWaitEvent(streams_[0], moved_[s]));
    }
  }

  Options options_;
  unsigned blocks_;
  std::array<sample::Stream, kStreams> streams_;
  sample::Event exchanged_;
  std::array<sample::Event, kStreams> moved_;
  std::array<std::unique_ptr<sample::DeviceArray<unsigned>>, kStreams> cells_;
  Populations all_{};
  std::unique_ptr<sample::CapturedGraph> graph_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Four populations on four streams that fork and join: four hundred kernels per iteration.");
  app.add_option("--size", options.size, "Cells of each population")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000));
  app.add_option("--iterations", options.iterations, "Rounds")->capture_default_str()->check(CLI::Range(1, 100000000));
  app.add_option("--kernels", options.kernels, "Kernels per stream and round")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  sample::add_common_options(app, options.device, options.graph);
  CLI11_PARSE(app, argc, argv);
  return sample::run([&] {
    sample::use_device(options.device);
    return Rounds(options).run();
  });
}
