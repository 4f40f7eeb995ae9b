// The kernels of samples/hip (kernels.hip) as host functions, for the simulated device.
#include "test/sim/core/kernel.h"

namespace {

using sim::Accesses;
using sim::Address;
using sim::argument;
using sim::Parameter;
using sim::Shape;

constexpr Parameter kStep[] = {{0, 8, true}, {8, 8, true}, {16, 4}, {20, 4}};
void step_heat(const std::byte* arguments, const Shape&) {
  const auto* now = argument<const float*>(arguments, 0);
  auto* next = argument<float*>(arguments, 8);
  const auto n = static_cast<std::size_t>(argument<int>(arguments, 16));
  const auto diffusion = argument<float>(arguments, 20);
  for (std::size_t y = 0; y < n; ++y) {
    for (std::size_t x = 0; x < n; ++x) {
      const std::size_t i = y * n + x;
      const float west = x > 0 ? now[i - 1] : 0.0F;
      const float east = x < n - 1 ? now[i + 1] : 0.0F;
      const float north = y > 0 ? now[i - n] : 0.0F;
      const float south = y < n - 1 ? now[i + n] : 0.0F;
      next[i] = now[i] + diffusion * (west + east + north + south - 4.0F * now[i]);
    }
  }
}
void step_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  const auto n = static_cast<std::size_t>(argument<int>(arguments, 16));
  all.reads(argument<Address>(arguments, 0), n * n * sizeof(float));
  all.writes(argument<Address>(arguments, 8), n * n * sizeof(float));
}

constexpr Parameter kSum[] = {{0, 8, true}, {8, 8, true}, {16, 4}, {24, 8, true}};
void sum_change(const std::byte* arguments, const Shape& shape) {
  const auto* now = argument<const float*>(arguments, 0);
  const auto* next = argument<const float*>(arguments, 8);
  const auto count = static_cast<std::size_t>(argument<int>(arguments, 16));
  auto* partial = argument<float*>(arguments, 24);
  const std::size_t threads = shape.block[0];
  for (std::size_t group = 0; group < shape.grid[0]; ++group) {
    float sum = 0;
    for (std::size_t first = group * threads; first < count; first += shape.grid[0] * threads) {
      for (std::size_t i = first; i < count && i < first + threads; ++i) {
        const float change = next[i] - now[i];
        sum += change * change;
      }
    }
    partial[group] = sum;
  }
}
void sum_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  const auto bytes = static_cast<std::size_t>(argument<int>(arguments, 16)) * sizeof(float);
  all.reads(argument<Address>(arguments, 0), bytes);
  all.reads(argument<Address>(arguments, 8), bytes);
  all.writes(argument<Address>(arguments, 24), shape.grid[0] * sizeof(float));
}

constexpr Parameter kSwing[] = {{0, 8, true}, {8, 8, true}, {16, 4}, {20, 4}};
void swing(const std::byte* arguments, const Shape&) {
  auto* position = argument<float*>(arguments, 0);
  auto* speed = argument<float*>(arguments, 8);
  const auto count = static_cast<std::size_t>(argument<int>(arguments, 16));
  const auto force = argument<float>(arguments, 20);
  for (std::size_t i = 0; i < count; ++i) {
    const float stiffness = 1.0F + 0.001F * static_cast<float>(i);
    speed[i] = 0.999F * speed[i] + 0.01F * (force - stiffness * position[i]);
    position[i] += 0.01F * speed[i];
  }
}
void swing_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  const auto bytes = static_cast<std::size_t>(argument<int>(arguments, 16)) * sizeof(float);
  all.writes(argument<Address>(arguments, 0), bytes);
  all.writes(argument<Address>(arguments, 8), bytes);
}

const sim::Kernel kKernels[] = {
    {"step_heat", kStep, &step_heat, &step_accesses},
    {"sum_change", kSum, &sum_change, &sum_accesses},
    {"swing", kSwing, &swing, &swing_accesses},
};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
