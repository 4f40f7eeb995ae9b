// Heat in a square plate whose edges are kept at zero: explicit time steps between two buffers that swap
// roles. Every few steps the host reads how much the plate still changes.
#include <cmath>
#include <numbers>

#include "common.h"

namespace {

constexpr std::size_t kGroup = 256;
constexpr float kDiffusion = 0.2f;  // time step * conductivity / (cell size)^2; stable up to 0.25

constexpr const char* kKernels = R"cl(
kernel void step_heat(global const float* now, global float* next, int n, float diffusion) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  int i = y * n + x;
  float west = x > 0 ? now[i - 1] : 0.0f, east = x < n - 1 ? now[i + 1] : 0.0f;
  float north = y > 0 ? now[i - n] : 0.0f, south = y < n - 1 ? now[i + n] : 0.0f;
  next[i] = now[i] + diffusion * (west + east + north + south - 4.0f * now[i]);
}

/* One partial sum of squared differences per work-group, added up in a fixed order. */
kernel void sum_change(global const float* now, global const float* next, int count,
                       global float* partial, local float* sums) {
  int id = get_local_id(0), size = get_local_size(0);
  float sum = 0.0f;
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
    float change = next[i] - now[i];
    sum += change * change;
  }
  sums[id] = sum;
  for (int span = size / 2; span > 0; span /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < span) sums[id] += sums[id + span];
  }
  if (id == 0) partial[get_group_id(0)] = sums[0];
}
)cl";

struct Options {
  sample::DeviceChoice device;
  int size = 256;
  int steps = 40000;
  int report_every = 100;
};

/// The sum of two waves, each of which decays by its own known factor in every step.
std::vector<float> exact_plate(int n, int steps) {
  const double unit = std::numbers::pi / (n + 1);
  const auto decay = [&](int a, int b) {
    const double sine_a = std::sin(a * unit / 2), sine_b = std::sin(b * unit / 2);
    return std::pow(1 - 4.0 * static_cast<double>(kDiffusion) * (sine_a * sine_a + sine_b * sine_b), steps);
  };
  const double slow = decay(1, 1), fast = 0.5 * decay(3, 2);
  std::vector<float> plate(static_cast<std::size_t>(n) * n);
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      const double u = (x + 1) * unit, v = (y + 1) * unit;
      plate[static_cast<std::size_t>(y) * n + x] =
          static_cast<float>(slow * std::sin(u) * std::sin(v) + fast * std::sin(3 * u) * std::sin(2 * v));
    }
  }
  return plate;
}

bool solve(const Options& options) {
  const int n = options.size, cells = n * n;
  const std::size_t bytes = static_cast<std::size_t>(cells) * sizeof(float), groups = 16;

  const cl::Device device = sample::find_device(options.device);
  const cl::Context context(device);
  const cl::CommandQueue queue(context, device);
  const cl::Program program = sample::build(context, device, kKernels);
  cl::Kernel step(program, "step_heat"), sum(program, "sum_change");

  std::vector<float> plate = exact_plate(n, 0), partial(groups);
  cl::Buffer now(context, CL_MEM_READ_WRITE, bytes), next(context, CL_MEM_READ_WRITE, bytes);
  const cl::Buffer sums(context, CL_MEM_WRITE_ONLY, groups * sizeof(float));
  queue.enqueueWriteBuffer(now, CL_TRUE, 0, bytes, plate.data());

  step.setArg(2, n);
  step.setArg(3, kDiffusion);
  sum.setArg(2, cells);
  sum.setArg(3, sums);
  sum.setArg(4, cl::Local(kGroup * sizeof(float)));
  const cl::NDRange local(64, 4), global(sample::round_up(n, 64), sample::round_up(n, 4));

  const sample::Stopwatch stopwatch;
  for (int i = 1; i <= options.steps; ++i) {
    step.setArg(0, now);
    step.setArg(1, next);
    queue.enqueueNDRangeKernel(step, cl::NullRange, global, local);
    if (i % options.report_every == 0) {
      sum.setArg(0, now);
      sum.setArg(1, next);
      queue.enqueueNDRangeKernel(sum, cl::NullRange, cl::NDRange(groups * kGroup), cl::NDRange(kGroup));
      queue.enqueueReadBuffer(sums, CL_TRUE, 0, groups * sizeof(float), partial.data());
      float change = 0;
      for (const float value : partial) change += value;
      if (i % (10 * options.report_every) == 0) {
        std::printf("step %d change %.6e\n", i, static_cast<double>(std::sqrt(change)));
      }
    }
    std::swap(now, next);
  }
  queue.enqueueReadBuffer(now, CL_TRUE, 0, bytes, plate.data());
  stopwatch.print();

  const std::vector<float> exact = exact_plate(n, options.steps);
  double error = 0;
  for (int i = 0; i < cells; ++i) {
    error = std::max(error, std::abs(static_cast<double>(plate[i]) - static_cast<double>(exact[i])));
  }
  // Rounding errors of single precision add up over the steps.
  const bool right = error < 1e-5 + 1e-9 * options.steps;
  std::printf("largest error %.3e: %s\n", error, right ? "ok" : "WRONG");
  sample::Checksum checksum;
  checksum.add(plate);
  checksum.print();
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    CLI::App app("Heat in a square plate: two buffers that swap roles, and a residual every few steps.");
    app.add_option("--size", options.size, "Cells along one edge")->capture_default_str()->check(CLI::Range(4, 8192));
    app.add_option("--steps", options.steps, "Time steps")->capture_default_str()->check(CLI::Range(1, 100000000));
    app.add_option("--report-every", options.report_every, "Steps between two looks at the residual")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000000));
    sample::add_device_options(app, options.device);
    CLI11_PARSE(app, argc, argv);
    return solve(options) ? 0 : 1;
  });
}
