// Conjugate gradients for the Poisson equation on a square grid (five-point stencil). The host needs two
// dot products per iteration to choose the step and the next direction.
#include <cmath>

#include "common.h"

namespace {

constexpr std::size_t kGroup = 128;
constexpr std::size_t kGroups = 8;

constexpr const char* kKernels = R"cl(
kernel void apply_poisson(global const float* v, global float* out, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  int i = y * n + x;
  float sum = 4.0f * v[i];
  if (x > 0) sum -= v[i - 1];
  if (x < n - 1) sum -= v[i + 1];
  if (y > 0) sum -= v[i - n];
  if (y < n - 1) sum -= v[i + n];
  out[i] = sum;
}

/* v += scale * w */
kernel void add_scaled(global float* v, global const float* w, float scale, int count) {
  int i = get_global_id(0);
  if (i < count) v[i] += scale * w[i];
}

/* p = r + beta * p */
kernel void next_direction(global float* p, global const float* r, float beta, int count) {
  int i = get_global_id(0);
  if (i < count) p[i] = r[i] + beta * p[i];
}

/* One partial sum per work-group, added up in a fixed order. */
kernel void dot_partial(global const float* a, global const float* b, int count, global float* partial,
                        local float* sums) {
  int id = get_local_id(0), size = get_local_size(0);
  float sum = 0.0f;
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) sum += a[i] * b[i];
  sums[id] = sum;
  for (int span = size / 2; span > 0; span /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < span) sums[id] += sums[id + span];
  }
  if (id == 0) partial[get_group_id(0)] = sums[0];
}

kernel void dot_finish(global const float* partial, int groups, global float* result) {
  float sum = 0.0f;
  for (int i = 0; i < groups; ++i) sum += partial[i];
  *result = sum;
}
)cl";

struct Options {
  sample::DeviceChoice device;
  int size = 128;
  int iterations = 1000;
  int solves = 80;
  double tolerance = 1e-4;
};

class Solver {
 public:
  Solver(const cl::Device& device, int size)
      : n_(size),
        cells_(size * size),
        bytes_(static_cast<std::size_t>(cells_) * sizeof(float)),
        context_(device),
        queue_(context_, device),
        program_(sample::build(context_, device, kKernels)),
        apply_(program_, "apply_poisson"),
        add_(program_, "add_scaled"),
        direct_(program_, "next_direction"),
        dot_partial_(program_, "dot_partial"),
        dot_finish_(program_, "dot_finish"),
        x_(context_, CL_MEM_READ_WRITE, bytes_),
        r_(context_, CL_MEM_READ_WRITE, bytes_),
        p_(context_, CL_MEM_READ_WRITE, bytes_),
        ap_(context_, CL_MEM_READ_WRITE, bytes_),
        partial_(context_, CL_MEM_READ_WRITE, kGroups * sizeof(float)),
        scalar_(context_, CL_MEM_READ_WRITE, sizeof(float)) {
    apply_.setArg(0, p_);
    apply_.setArg(1, ap_);
    apply_.setArg(2, n_);
    add_.setArg(3, cells_);
    direct_.setArg(0, p_);
    direct_.setArg(1, r_);
    direct_.setArg(3, cells_);
    dot_partial_.setArg(2, cells_);
    dot_partial_.setArg(3, partial_);
    dot_partial_.setArg(4, cl::Local(kGroup * sizeof(float)));
    dot_finish_.setArg(0, partial_);
    dot_finish_.setArg(1, static_cast<int>(kGroups));
    dot_finish_.setArg(2, scalar_);
  }

  struct Result {
    int iterations = 0;
    bool converged = false;
    std::vector<float> x;
  };

  /// Solves A x = b from x = 0.
  Result solve(const std::vector<float>& b, int max_iterations, double tolerance) {
    queue_.enqueueFillBuffer(x_, 0.0f, 0, bytes_);
    queue_.enqueueWriteBuffer(r_, CL_FALSE, 0, bytes_, b.data());
    queue_.enqueueCopyBuffer(r_, p_, 0, 0, bytes_);

    Result result;
    float rr = dot(r_, r_);
    const double goal = tolerance * tolerance * static_cast<double>(rr);
    while (result.iterations < max_iterations && !result.converged) {
      queue_.enqueueNDRangeKernel(apply_, cl::NullRange, plane_, cl::NDRange(32, 4));
      const float alpha = rr / dot(p_, ap_);
      add_scaled(x_, p_, alpha);
      add_scaled(r_, ap_, -alpha);
      const float rr_next = dot(r_, r_);
      direct_.setArg(2, rr_next / rr);
      queue_.enqueueNDRangeKernel(direct_, cl::NullRange, line_, cl::NDRange(kGroup));
      rr = rr_next;
      ++result.iterations;
      result.converged = static_cast<double>(rr) <= goal;
    }
    result.x.resize(cells_);
    queue_.enqueueReadBuffer(x_, CL_TRUE, 0, bytes_, result.x.data());
    return result;
  }

 private:
  float dot(const cl::Buffer& a, const cl::Buffer& b) {
    dot_partial_.setArg(0, a);
    dot_partial_.setArg(1, b);
    queue_.enqueueNDRangeKernel(dot_partial_, cl::NullRange, cl::NDRange(kGroups * kGroup), cl::NDRange(kGroup));
    queue_.enqueueNDRangeKernel(dot_finish_, cl::NullRange, cl::NDRange(1), cl::NDRange(1));
    float value = 0;
    queue_.enqueueReadBuffer(scalar_, CL_TRUE, 0, sizeof value, &value);
    return value;
  }

  void add_scaled(const cl::Buffer& v, const cl::Buffer& w, float scale) {
    add_.setArg(0, v);
    add_.setArg(1, w);
    add_.setArg(2, scale);
    queue_.enqueueNDRangeKernel(add_, cl::NullRange, line_, cl::NDRange(kGroup));
  }

  int n_, cells_;
  std::size_t bytes_;
  cl::Context context_;
  cl::CommandQueue queue_;
  cl::Program program_;
  cl::Kernel apply_, add_, direct_, dot_partial_, dot_finish_;
  cl::Buffer x_, r_, p_, ap_, partial_, scalar_;
  cl::NDRange line_{sample::round_up(cells_, kGroup)};
  cl::NDRange plane_{sample::round_up(n_, 32), sample::round_up(n_, 4)};
};

/// Two point sources of opposite sign, at places that differ from one solve to the next.
std::vector<float> right_hand_side(int n, int number) {
  std::vector<float> b(static_cast<std::size_t>(n) * n);
  b[static_cast<std::size_t>(n / 4) * n + (n / 3 + number) % n] = 1.0f;
  b[static_cast<std::size_t>(n - 1 - n / 4) * n + (n / 2 + 3 * number) % n] = -0.5f;
  return b;
}

/// |b - A x| / |b|, in double precision on the host.
double true_residual(int n, const std::vector<float>& x, const std::vector<float>& b) {
  const auto at = [&](int column, int row) {
    const bool inside = column >= 0 && column < n && row >= 0 && row < n;
    return inside ? static_cast<double>(x[static_cast<std::size_t>(row) * n + column]) : 0.0;
  };
  double residual = 0, norm = 0;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      const double want = static_cast<double>(b[static_cast<std::size_t>(row) * n + column]);
      const double difference = want - 4 * at(column, row) + at(column - 1, row) + at(column + 1, row) +
                                at(column, row - 1) + at(column, row + 1);
      residual += difference * difference;
      norm += want * want;
    }
  }
  return std::sqrt(residual / norm);
}

bool solve_all(const Options& options) {
  Solver solver(sample::find_device(options.device), options.size);
  sample::Checksum checksum;
  bool right = true;
  const sample::Stopwatch stopwatch;
  for (int i = 0; i < options.solves; ++i) {
    const std::vector<float> b = right_hand_side(options.size, i);
    const Solver::Result result = solver.solve(b, options.iterations, options.tolerance);
    const double residual = true_residual(options.size, result.x, b);
    // The recurrence drifts a little from the true residual in single precision.
    const bool good = result.converged && residual <= 2 * options.tolerance;
    std::printf("solve %d: %d iterations, residual %.3e: %s\n", i, result.iterations, residual,
                good ? "ok" : (result.converged ? "WRONG" : "not converged"));
    right = right && good;
    checksum.add(result.x);
  }
  stopwatch.print();
  checksum.print();
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  return sample::guarded([&] {
    Options options;
    CLI::App app("Conjugate gradients for the Poisson equation: two host reads per iteration.");
    app.add_option("--size", options.size, "Grid points along one edge")
        ->capture_default_str()
        ->check(CLI::Range(4, 8192));
    app.add_option("--iterations", options.iterations, "Most iterations of one solve")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    app.add_option("--solves", options.solves, "Right-hand sides to solve for")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
    app.add_option("--tolerance", options.tolerance, "Relative residual to stop at")
        ->capture_default_str()
        ->check(CLI::Range(1e-5, 1.0));
    sample::add_device_options(app, options.device);
    CLI11_PARSE(app, argc, argv);
    return solve_all(options) ? 0 : 1;
  });
}
