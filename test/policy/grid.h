// The grid: every combination of costs, program, host time, device time and launches between waits.
#pragma once

#include <iosfwd>

#include "test/policy/program.h"

namespace refrain::policy {

struct GridChoice {
  std::vector<std::string> costs = {"h200", "h200-late", "opencl", "pocl"};
  std::vector<std::string> kinds = {"constant", "scalar", "forkjoin", "gap", "inner"};
  std::vector<double> host_us = {0.05, 0.2, 1, 3, 10, 50};
  std::vector<double> device_us = {0.5, 1, 3, 10, 30, 100};
  std::vector<std::size_t> launches = {1, 2, 3, 5, 10, 30, 100, 300, 1000, 2000};
  std::uint64_t calls = 200'000;
  double seconds = 2;
  bool print_points = false;
  bool print_report = false;
};

struct Point {
  std::string costs;
  Program program;
  Ns eager = 0;  ///< interval
  BestPlan best;
  RunResult run;

  /// Whole run, warm-up included, over the same intervals run eagerly.
  [[nodiscard]] double whole_to_eager() const noexcept {
    return static_cast<double>(run.total) / (static_cast<double>(eager) * static_cast<double>(run.intervals));
  }
  [[nodiscard]] double steady_to_eager() const noexcept { return run.steady / static_cast<double>(eager); }
  [[nodiscard]] double steady_to_best() const noexcept { return run.steady / static_cast<double>(best.interval); }
};

struct GridResult {
  GridChoice choice;
  std::vector<Point> points;
};

/// Costs by name; throws std::runtime_error for an unknown one. The same for kinds.
Costs costs_named(const std::string& name);
Kind kind_named(const std::string& name);

Point run_point(const Costs& costs, Kind kind, double host_us, double device_us, std::size_t launches,
                std::uint64_t calls, double seconds);
GridResult run_grid(const GridChoice& choice, std::ostream& progress);
void write_json(const GridResult& result, std::ostream& file);
/// Per cost set and kind of program: the worst ratios, and the share of points near the best plan.
void print_summary(const GridResult& result, std::ostream& out);

}  // namespace refrain::policy
