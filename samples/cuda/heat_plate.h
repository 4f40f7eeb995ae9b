// What both heat samples solve, and how they judge the result.
#pragma once

#include <cmath>
#include <numbers>

#include "common.h"

namespace heat {

constexpr unsigned kThreads = 256;
constexpr unsigned kGroups = 16;
constexpr unsigned kTileWidth = 64, kTileHeight = 4;
constexpr float kDiffusion = 0.2f;  // time step * conductivity / (cell size)^2; stable up to 0.25

struct Options {
  int device = 0;
  bool graph = false;
  int size = 256;
  int iterations = 100000;
  int report_every = 100;
};

inline void add_options(CLI::App& app, Options& options) {
  app.add_option("--size", options.size, "Cells along one edge")->capture_default_str()->check(CLI::Range(4, 8192));
  app.add_option("--iterations", options.iterations, "Time steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000000));
  app.add_option("--report-every", options.report_every, "Steps between two looks at the residual")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
}

/// The sum of two waves, each of which decays by its own known factor in every step.
inline std::vector<float> exact_plate(int n, int steps) {
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

/// Called after every stretch of `report_every` steps with the sums that the device has made.
inline void report(const Options& options, int step, const float* partial) {
  float change = 0;
  for (unsigned i = 0; i < kGroups; ++i) change += partial[i];
  if (step % (100 * options.report_every) == 0) {
    std::printf("step %d change %.6e\n", step, static_cast<double>(std::sqrt(change)));
  }
}

/// Compares with the exact solution and prints the checksum.
inline bool judge(const Options& options, const std::vector<float>& plate) {
  const std::vector<float> exact = exact_plate(options.size, options.iterations);
  double error = 0;
  for (std::size_t i = 0; i < plate.size(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(plate[i]) - static_cast<double>(exact[i])));
  }
  // Rounding errors of single precision add up over the steps.
  const bool right = error < 1e-5 + 1e-9 * options.iterations;
  std::printf("largest error %.3e: %s\n", error, right ? "ok" : "WRONG");
  sample::Checksum checksum;
  checksum.add(plate);
  checksum.print();
  return right;
}

}  // namespace heat
