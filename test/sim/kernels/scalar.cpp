// The kernel of samples/cuda/scalar.cu.
#include "test/sim/kernels/side.h"

namespace {

using namespace side;

constexpr float kTimeStep = 0.01F;
struct State {
  float place, speed;
};

// swing(State* cells, int count, float force)
constexpr Parameter kSwing[] = {pointer(0), word(8), word(12)};
void swing(const std::byte* arguments, const Shape&) {
  const auto force = argument<float>(arguments, 12);
  for (std::size_t i = 0; i < count_at(arguments, 8); ++i) {
    State& state = at<State>(arguments, 0)[i];
    const float stiffness = 1.0F + 0.001F * static_cast<float>(i % 1000);
    state.speed += kTimeStep * (force - stiffness * state.place - 0.1F * state.speed);
    state.place += kTimeStep * state.speed;
  }
}
void swing_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  writes(all, arguments, 0, 2 * count_at(arguments, 8));
}

const Kernel kKernels[] = {{"swing", kSwing, &swing, &swing_accesses}};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
