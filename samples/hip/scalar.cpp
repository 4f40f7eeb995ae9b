// Springs driven by a force: every launch has one argument that it never had before.
#include <algorithm>
#include <array>
#include <cmath>

#include "module.h"

namespace {

struct Options {
  int device = 0;
  int springs = 512;
  int steps = 20000;
  int sync_every = 100;
};

float force_at(int step) {
  return static_cast<float>(std::sin(0.01 * step));
}

struct State {
  float place, speed;
};

/// What the kernel does, here.
std::vector<State> expected(const Options& options) {
  std::vector<State> cells(static_cast<std::size_t>(options.springs));
  for (int step = 0; step < options.steps; ++step) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const float stiffness = 1.0f + 0.001f * static_cast<float>(i % 1000);
      cells[i].speed += 0.01f * (force_at(step) - stiffness * cells[i].place - 0.1f * cells[i].speed);
      cells[i].place += 0.01f * cells[i].speed;
    }
  }
  return cells;
}

bool run(const Options& options, const std::string& code) {
  const sample::Module module(options.device, code);
  hipFunction_t swing = module.function("swing");
  const auto count = static_cast<std::size_t>(options.springs);
  auto* cells = sample::allocate<State>(count);
  CHECK_HIP(hipMemsetAsync(cells, 0, count * sizeof(State), module.stream()));

  const sample::Stopwatch stopwatch;
  int springs = options.springs;
  for (int step = 0; step < options.steps; ++step) {
    float force = force_at(step);
    std::array<void*, 3> arguments = {&cells, &springs, &force};
    CHECK_HIP(hipModuleLaunchKernel(swing, sample::divide_up(static_cast<unsigned>(springs), 256U), 1, 1, 256, 1, 1, 0,
                                    module.stream(), arguments.data(), nullptr));
    if (step % options.sync_every == options.sync_every - 1) CHECK_HIP(hipStreamSynchronize(module.stream()));
  }
  CHECK_HIP(hipStreamSynchronize(module.stream()));
  stopwatch.print();

  std::vector<State> result(count);
  CHECK_HIP(hipMemcpy(result.data(), cells, count * sizeof(State), hipMemcpyDeviceToHost));
  CHECK_HIP(hipFree(cells));
  const std::vector<State> right = expected(options);
  double error = 0;
  for (std::size_t i = 0; i < count; ++i) {
    error = std::max(error, std::abs(static_cast<double>(result[i].place) - static_cast<double>(right[i].place)));
  }
  const bool good = error < 1e-3;
  std::printf("largest error %.3e: %s\n", error, good ? "ok" : "WRONG");
  sample::Checksum checksum;
  checksum.add(result);
  checksum.print();
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    std::string code = sample::default_code();
    CLI::App app("Springs driven by a force: every launch has one argument that it never had before.");
    app.add_option("--springs", options.springs, "Number of springs")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    app.add_option("--steps", options.steps, "Launches")->capture_default_str()->check(CLI::Range(1, 100000000));
    app.add_option("--sync-every", options.sync_every, "Launches between two waits")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    app.add_option("--device", options.device, "Number of the HIP device")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
    sample::add_code_option(app, code);
    CLI11_PARSE(app, argc, argv);
    return run(options, code) ? 0 : 1;
  });
}
