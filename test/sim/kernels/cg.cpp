// The kernels of samples/cuda/cg.cu.
#include "test/sim/kernels/side.h"

namespace {

using namespace side;

constexpr int kGroups = 8;

struct Scalars {
  float rr, p_ap, alpha, beta;
};

// apply_poisson(const float* v, float* out, int n)
constexpr Parameter kApply[] = {pointer(0), pointer(8), word(16)};
void apply(const std::byte* arguments, const Shape& shape) {
  const auto* v = at<const float>(arguments, 0);
  auto* out = at<float>(arguments, 8);
  const int n = argument<int>(arguments, 16);
  for_threads(shape, [&](int x, int y) {
    if (x >= n || y >= n) {
      return;
    }
    const int i = y * n + x;
    float sum = 4.0F * v[i];
    sum -= x > 0 ? v[i - 1] : 0.0F;
    sum -= x < n - 1 ? v[i + 1] : 0.0F;
    sum -= y > 0 ? v[i - n] : 0.0F;
    sum -= y < n - 1 ? v[i + n] : 0.0F;
    out[i] = sum;
  });
}
void apply_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  const std::size_t n = count_at(arguments, 16);
  reads(all, arguments, 0, n * n);
  writes(all, arguments, 8, n * n);
}

// dot_partial(const float* a, const float* b, int count, float* partial)
constexpr Parameter kDot[] = {pointer(0), pointer(8), word(16), pointer(24)};
void dot(const std::byte* arguments, const Shape& shape) {
  const auto* a = at<const float>(arguments, 0);
  const auto* b = at<const float>(arguments, 8);
  partial_sums(shape, argument<int>(arguments, 16), at<float>(arguments, 24), [&](int i) { return a[i] * b[i]; });
}
void dot_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  reads(all, arguments, 0, count_at(arguments, 16));
  reads(all, arguments, 8, count_at(arguments, 16));
  writes(all, arguments, 24, shape.grid[0]);
}

// start, choose_step, choose_direction(const float* partial, Scalars* scalars)
constexpr Parameter kChoose[] = {pointer(0), pointer(8)};
float add_up(const std::byte* arguments) {
  const auto* partial = at<const float>(arguments, 0);
  float sum = 0;
  for (int i = 0; i < kGroups; ++i) {
    sum += partial[i];
  }
  return sum;
}
void start(const std::byte* arguments, const Shape&) {
  at<Scalars>(arguments, 8)->rr = add_up(arguments);
}
void choose_step(const std::byte* arguments, const Shape&) {
  auto* scalars = at<Scalars>(arguments, 8);
  scalars->p_ap = add_up(arguments);
  scalars->alpha = scalars->p_ap > 0 ? scalars->rr / scalars->p_ap : 0;
}
void choose_direction(const std::byte* arguments, const Shape&) {
  auto* scalars = at<Scalars>(arguments, 8);
  const float rr = add_up(arguments);
  scalars->beta = scalars->rr > 0 ? rr / scalars->rr : 0;
  scalars->rr = rr;
}
void choose_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  reads(all, arguments, 0, kGroups);
  writes(all, arguments, 8, sizeof(Scalars) / 4);
}

// take_step(float* x, float* r, const float* p, const float* ap, const Scalars* scalars, int count)
constexpr Parameter kTake[] = {pointer(0), pointer(8), pointer(16), pointer(24), pointer(32), word(40)};
void take_step(const std::byte* arguments, const Shape&) {
  const float alpha = at<const Scalars>(arguments, 32)->alpha;
  for (std::size_t i = 0; i < count_at(arguments, 40); ++i) {
    at<float>(arguments, 0)[i] += alpha * at<const float>(arguments, 16)[i];
    at<float>(arguments, 8)[i] -= alpha * at<const float>(arguments, 24)[i];
  }
}
void take_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  const std::size_t count = count_at(arguments, 40);
  writes(all, arguments, 0, count);
  writes(all, arguments, 8, count);
  reads(all, arguments, 16, count);
  reads(all, arguments, 24, count);
  reads(all, arguments, 32, sizeof(Scalars) / 4);
}

// next_direction(float* p, const float* r, const Scalars* scalars, int count)
constexpr Parameter kNext[] = {pointer(0), pointer(8), pointer(16), word(24)};
void next_direction(const std::byte* arguments, const Shape&) {
  const float beta = at<const Scalars>(arguments, 16)->beta;
  auto* p = at<float>(arguments, 0);
  for (std::size_t i = 0; i < count_at(arguments, 24); ++i) {
    p[i] = at<const float>(arguments, 8)[i] + beta * p[i];
  }
}
void next_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  writes(all, arguments, 0, count_at(arguments, 24));
  reads(all, arguments, 8, count_at(arguments, 24));
  reads(all, arguments, 16, sizeof(Scalars) / 4);
}

const Kernel kKernels[] = {
    {"apply_poisson", kApply, &apply, &apply_accesses},
    {"dot_partial", kDot, &dot, &dot_accesses},
    {"start", kChoose, &start, &choose_accesses},
    {"choose_step", kChoose, &choose_step, &choose_accesses},
    {"choose_direction", kChoose, &choose_direction, &choose_accesses},
    {"take_step", kTake, &take_step, &take_accesses},
    {"next_direction", kNext, &next_direction, &next_accesses},
};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
