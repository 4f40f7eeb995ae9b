// Heat in a square plate: two buffers that swap roles, and a look at the residual every few steps.
#include <algorithm>
#include <array>
#include <utility>

#include "../cuda/heat_plate.h"
#include "module.h"

namespace {

using heat::Options;

class Solver {
 public:
  Solver(const Options& options, const std::string& code)
      : options_(options), cells_(options.size * options.size), module_(options.device, code) {
    step_ = module_.function("step_heat");
    sum_ = module_.function("sum_change");
    now_ = sample::allocate<float>(static_cast<std::size_t>(cells_));
    next_ = sample::allocate<float>(static_cast<std::size_t>(cells_));
    sums_ = sample::allocate<float>(heat::kGroups);
    CHECK_HIP(hipHostMalloc(reinterpret_cast<void**>(&partial_), heat::kGroups * sizeof(float), 0));
  }
  ~Solver() {
    static_cast<void>(hipHostFree(partial_));
    for (float* memory : {now_, next_, sums_}) static_cast<void>(hipFree(memory));
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  bool solve() {
    std::vector<float> plate = heat::exact_plate(options_.size, 0);
    const std::size_t bytes = plate.size() * sizeof(float);
    CHECK_HIP(hipMemcpy(now_, plate.data(), bytes, hipMemcpyHostToDevice));

    const sample::Stopwatch stopwatch;
    int done = 0;
    while (done + options_.report_every <= options_.iterations) {
      for (int i = 0; i < options_.report_every; ++i) submit_step();
      // After the swap `next_` is the plate of the step before.
      std::array<void*, 4> arguments = {&next_, &now_, &cells_, &sums_};
      CHECK_HIP(hipModuleLaunchKernel(sum_, heat::kGroups, 1, 1, heat::kThreads, 1, 1, 0, module_.stream(),
                                      arguments.data(), nullptr));
      CHECK_HIP(
          hipMemcpyAsync(partial_, sums_, heat::kGroups * sizeof(float), hipMemcpyDeviceToHost, module_.stream()));
      CHECK_HIP(hipStreamSynchronize(module_.stream()));
      done += options_.report_every;
      heat::report(options_, done, partial_);
    }
    for (; done < options_.iterations; ++done) submit_step();
    CHECK_HIP(hipStreamSynchronize(module_.stream()));
    stopwatch.print();
    CHECK_HIP(hipMemcpy(plate.data(), now_, bytes, hipMemcpyDeviceToHost));
    return heat::judge(options_, plate);
  }

 private:
  void submit_step() {
    float diffusion = heat::kDiffusion;
    std::array<void*, 4> arguments = {&now_, &next_, &options_.size, &diffusion};
    const auto size = static_cast<unsigned>(options_.size);
    CHECK_HIP(hipModuleLaunchKernel(step_, sample::divide_up(size, heat::kTileWidth),
                                    sample::divide_up(size, heat::kTileHeight), 1, heat::kTileWidth, heat::kTileHeight,
                                    1, 0, module_.stream(), arguments.data(), nullptr));
    std::swap(now_, next_);
  }

  Options options_;
  int cells_;
  sample::Module module_;
  hipFunction_t step_ = nullptr, sum_ = nullptr;
  float *now_ = nullptr, *next_ = nullptr, *sums_ = nullptr;
  float* partial_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    std::string code = sample::default_code();
    CLI::App app("Heat in a square plate: two buffers that swap roles, a residual every few steps.");
    heat::add_options(app, options);
    app.add_option("--device", options.device, "Number of the HIP device")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    sample::add_code_option(app, code);
    CLI11_PARSE(app, argc, argv);
    return Solver(options, code).solve() ? 0 : 1;
  });
}
