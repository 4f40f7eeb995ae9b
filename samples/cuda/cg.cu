// Conjugate gradients for the Poisson equation on a square grid (five-point stencil). Step and direction are
// chosen on the device; the host reads the residual every few iterations to know when to stop.
#include <cmath>
#include <memory>

#include "runtime.h"

namespace {

constexpr int kThreads = 128;
constexpr int kGroups = 8;

/// What the kernels hand to one another.
struct Scalars {
  float rr, p_ap, alpha, beta;
};

__global__ void apply_poisson(const float* v, float* out, int n) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= n || y >= n) return;
  const int i = y * n + x;
  float sum = 4.0f * v[i];
  if (x > 0) sum -= v[i - 1];
  if (x < n - 1) sum -= v[i + 1];
  if (y > 0) sum -= v[i - n];
  if (y < n - 1) sum -= v[i + n];
  out[i] = sum;
}

/// One partial sum per block, added up in a fixed order.
__global__ void dot_partial(const float* a, const float* b, int count, float* partial) {
  __shared__ float sums[kThreads];
  const int id = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  float sum = 0.0f;
  for (int i = static_cast<int>(blockIdx.x) * size + id; i < count; i += static_cast<int>(gridDim.x) * size) {
    sum += a[i] * b[i];
  }
  sums[id] = sum;
  for (int span = size / 2; span > 0; span /= 2) {
    __syncthreads();
    if (id < span) sums[id] += sums[id + span];
  }
  if (id == 0) partial[blockIdx.x] = sums[0];
}

__device__ float add_up(const float* partial) {
  float sum = 0.0f;
  for (int i = 0; i < kGroups; ++i) sum += partial[i];
  return sum;
}

__global__ void start(const float* partial, Scalars* scalars) {
  scalars->rr = add_up(partial);
}

__global__ void choose_step(const float* partial, Scalars* scalars) {
  scalars->p_ap = add_up(partial);
  // Iterations after the exact solution was reached must not divide by zero.
  scalars->alpha = scalars->p_ap > 0.0f ? scalars->rr / scalars->p_ap : 0.0f;
}

__global__ void choose_direction(const float* partial, Scalars* scalars) {
  const float rr = add_up(partial);
  scalars->beta = scalars->rr > 0.0f ? rr / scalars->rr : 0.0f;
  scalars->rr = rr;
}

/// x += alpha p, r -= alpha Ap
__global__ void take_step(float* x, float* r, const float* p, const float* ap, const Scalars* scalars, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  x[i] += scalars->alpha * p[i];
  r[i] -= scalars->alpha * ap[i];
}

/// p = r + beta p
__global__ void next_direction(float* p, const float* r, const Scalars* scalars, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) p[i] = r[i] + scalars->beta * p[i];
}

struct Options {
  int device = 0;
  bool graph = false;
  int size = 128;
  int iterations = 1000;
  int check_every = 5;
  int solves = 80;
  double tolerance = 1e-4;
};

class Solver {
 public:
  explicit Solver(const Options& options)
      : options_(options),
        n_(options.size),
        cells_(n_ * n_),
        blocks_(sample::divide_up(static_cast<unsigned>(cells_), kThreads)),
        x_(cells_),
        r_(cells_),
        p_(cells_),
        ap_(cells_) {
    if (options.graph) {
      graph_ = std::make_unique<sample::CapturedGraph>(stream_, [this] { submit_iterations(); });
    }
  }

  struct Result {
    int iterations = 0;
    bool converged = false;
    std::vector<float> x;
  };

  /// Solves A x = b from x = 0.
  Result solve(const std::vector<float>& b) {
    CHECK_CUDA(cudaMemsetAsync(x_.data(), 0, x_.bytes(), stream_));
    CHECK_CUDA(cudaMemcpyAsync(r_.data(), b.data(), r_.bytes(), cudaMemcpyHostToDevice, stream_));
    CHECK_CUDA(cudaMemcpyAsync(p_.data(), r_.data(), r_.bytes(), cudaMemcpyDeviceToDevice, stream_));
    dot(r_.data(), r_.data());
    start<<<1, 1, 0, stream_>>>(partial_.data(), scalars_.data());
    sample::check_launch("start");
    const float rr = read_residual();

    Result result;
    const double goal = options_.tolerance * options_.tolerance * static_cast<double>(rr);
    while (result.iterations < options_.iterations && !result.converged) {
      if (graph_) {
        graph_->launch(stream_);
        stream_.synchronize();
      } else {
        submit_iterations();
        stream_.synchronize();
      }
      result.iterations += options_.check_every;
      result.converged = static_cast<double>(host_scalars_[0].rr) <= goal;
    }
    result.x = x_.download();
    return result;
  }

 private:
  void dot(const float* a, const float* b) {
    dot_partial<<<kGroups, kThreads, 0, stream_>>>(a, b, cells_, partial_.data());
    sample::check_launch("dot_partial");
  }

  /// As many iterations as pass between two looks at the residual, and the look.
  void submit_iterations() {
    const unsigned n = static_cast<unsigned>(n_);
    const dim3 tile(32, 4), tiles(sample::divide_up(n, tile.x), sample::divide_up(n, tile.y));
    for (int i = 0; i < options_.check_every; ++i) {
      apply_poisson<<<tiles, tile, 0, stream_>>>(p_.data(), ap_.data(), n_);
      sample::check_launch("apply_poisson");
      dot(p_.data(), ap_.data());
      choose_step<<<1, 1, 0, stream_>>>(partial_.data(), scalars_.data());
      sample::check_launch("choose_step");
      take_step<<<blocks_, kThreads, 0, stream_>>>(x_.data(), r_.data(), p_.data(), ap_.data(), scalars_.data(),
                                                   cells_);
      sample::check_launch("take_step");
      dot(r_.data(), r_.data());
      choose_direction<<<1, 1, 0, stream_>>>(partial_.data(), scalars_.data());
      sample::check_launch("choose_direction");
      next_direction<<<blocks_, kThreads, 0, stream_>>>(p_.data(), r_.data(), scalars_.data(), cells_);
      sample::check_launch("next_direction");
    }
    CHECK_CUDA(
        cudaMemcpyAsync(host_scalars_.data(), scalars_.data(), scalars_.bytes(), cudaMemcpyDeviceToHost, stream_));
  }

  float read_residual() {
    CHECK_CUDA(
        cudaMemcpyAsync(host_scalars_.data(), scalars_.data(), scalars_.bytes(), cudaMemcpyDeviceToHost, stream_));
    stream_.synchronize();
    return host_scalars_[0].rr;
  }

  Options options_;
  int n_, cells_;
  unsigned blocks_;
  sample::Stream stream_;
  sample::DeviceArray<float> x_, r_, p_, ap_, partial_{kGroups};
  sample::DeviceArray<Scalars> scalars_{1};
  sample::PinnedArray<Scalars> host_scalars_{1};
  std::unique_ptr<sample::CapturedGraph> graph_;
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
  sample::use_device(options.device);
  Solver solver(options);
  sample::Checksum checksum;
  bool right = true;
  const sample::Stopwatch stopwatch;
  for (int i = 0; i < options.solves; ++i) {
    const std::vector<float> b = right_hand_side(options.size, i);
    const Solver::Result result = solver.solve(b);
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
  Options options;
  CLI::App app("Conjugate gradients for the Poisson equation: the host reads the residual every few iterations.");
  app.add_option("--size", options.size, "Grid points along one edge")
      ->capture_default_str()
      ->check(CLI::Range(4, 8192));
  app.add_option("--iterations", options.iterations, "Most iterations of one solve")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--check-every", options.check_every, "Iterations between two looks at the residual")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--solves", options.solves, "Right-hand sides to solve for")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--tolerance", options.tolerance, "Relative residual to stop at")
      ->capture_default_str()
      ->check(CLI::Range(1e-5, 1.0));
  sample::add_common_options(app, options.device, options.graph);
  CLI11_PARSE(app, argc, argv);
  return sample::run([&] { return solve_all(options); });
}
