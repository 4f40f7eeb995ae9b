// The kernels of samples/cuda/heat_kernels.cuh.
#include "test/sim/kernels/side.h"

namespace {

using namespace side;

// step_heat(const float* now, float* next, int n, float diffusion)
constexpr Parameter kStep[] = {pointer(0), pointer(8), word(16), word(20)};
void step(const std::byte* arguments, const Shape& shape) {
  const auto* now = at<const float>(arguments, 0);
  auto* next = at<float>(arguments, 8);
  const int n = argument<int>(arguments, 16);
  const auto diffusion = argument<float>(arguments, 20);
  for_threads(shape, [&](int x, int y) {
    if (x >= n || y >= n) {
      return;
    }
    const int i = y * n + x;
    const float west = x > 0 ? now[i - 1] : 0.0F;
    const float east = x < n - 1 ? now[i + 1] : 0.0F;
    const float north = y > 0 ? now[i - n] : 0.0F;
    const float south = y < n - 1 ? now[i + n] : 0.0F;
    next[i] = now[i] + diffusion * (west + east + north + south - 4.0F * now[i]);
  });
}
void step_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  const std::size_t n = count_at(arguments, 16);
  reads(all, arguments, 0, n * n);
  writes(all, arguments, 8, n * n);
}

// sum_change(const float* now, const float* next, int count, float* partial)
constexpr Parameter kSum[] = {pointer(0), pointer(8), word(16), pointer(24)};
void sum(const std::byte* arguments, const Shape& shape) {
  const auto* now = at<const float>(arguments, 0);
  const auto* next = at<const float>(arguments, 8);
  partial_sums(shape, argument<int>(arguments, 16), at<float>(arguments, 24), [&](int i) {
    const float change = next[i] - now[i];
    return change * change;
  });
}
void sum_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  reads(all, arguments, 0, count_at(arguments, 16));
  reads(all, arguments, 8, count_at(arguments, 16));
  writes(all, arguments, 24, shape.grid[0]);
}

const Kernel kKernels[] = {{"step_heat", kStep, &step, &step_accesses}, {"sum_change", kSum, &sum, &sum_accesses}};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
