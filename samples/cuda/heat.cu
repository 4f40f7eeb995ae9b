// Heat in a square plate whose edges are kept at zero: explicit time steps between two buffers that swap
// roles. Every few steps the host reads how much the plate still changes. CUDA runtime API.
#include <algorithm>
#include <memory>

#include "heat_kernels.cuh"
#include "heat_plate.h"
#include "runtime.h"

namespace {

using heat::Options;

class Solver {
 public:
  explicit Solver(const Options& options)
      : options_(options), cells_(options.size * options.size), first_(cells_), second_(cells_) {
    now_ = first_.data();
    next_ = second_.data();
  }

  bool solve() {
    first_.upload(heat::exact_plate(options_.size, 0));
    if (options_.graph) make_graphs();

    const sample::Stopwatch stopwatch;
    int done = 0;
    for (int stretch = 0; done + options_.report_every <= options_.iterations; ++stretch) {
      if (options_.graph) {
        graphs_[static_cast<std::size_t>(stretch) % graphs_.size()]->launch(stream_);
        if (options_.report_every % 2 != 0) std::swap(now_, next_);
      } else {
        submit_stretch();
      }
      stream_.synchronize();
      done += options_.report_every;
      heat::report(options_, done, partial_.data());
    }
    for (; done < options_.iterations; ++done) submit_step();
    stream_.synchronize();
    stopwatch.print();
    return heat::judge(options_, now_ == first_.data() ? first_.download() : second_.download());
  }

 private:
  void submit_step() {
    const unsigned n = static_cast<unsigned>(options_.size);
    const dim3 tile(heat::kTileWidth, heat::kTileHeight);
    const dim3 tiles(sample::divide_up(n, tile.x), sample::divide_up(n, tile.y));
    step_heat<<<tiles, tile, 0, stream_>>>(now_, next_, options_.size, heat::kDiffusion);
    sample::check_launch("step_heat");
    std::swap(now_, next_);
  }

  /// Steps up to the next look at the residual, and the look.
  void submit_stretch() {
    for (int i = 0; i < options_.report_every; ++i) submit_step();
    // After the swap `next_` is the plate of the step before.
    sum_change<<<heat::kGroups, heat::kThreads, 0, stream_>>>(next_, now_, cells_, sums_.data());
    sample::check_launch("sum_change");
    CHECK_CUDA(cudaMemcpyAsync(partial_.data(), sums_.data(), sums_.bytes(), cudaMemcpyDeviceToHost, stream_));
  }

  /// A stretch of an odd number of steps leaves the buffers swapped: the next one needs a graph of its own.
  void make_graphs() {
    const int count = options_.report_every % 2 == 0 ? 1 : 2;
    for (int i = 0; i < count; ++i) {
      graphs_.push_back(std::make_unique<sample::CapturedGraph>(stream_, [this] { submit_stretch(); }));
    }
  }

  Options options_;
  int cells_;
  sample::Stream stream_;
  sample::DeviceArray<float> first_, second_, sums_{heat::kGroups};
  sample::PinnedArray<float> partial_{heat::kGroups};
  float *now_ = nullptr, *next_ = nullptr;
  std::vector<std::unique_ptr<sample::CapturedGraph>> graphs_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Heat in a square plate: two buffers that swap roles, and a residual every few steps.");
  heat::add_options(app, options);
  sample::add_common_options(app, options.device, options.graph);
  CLI11_PARSE(app, argc, argv);
  return sample::run([&] {
    sample::use_device(options.device);
    return Solver(options).solve();
  });
}
