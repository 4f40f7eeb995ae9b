// The kernels of the HIP samples. Compiled by `hipcc --genco kernels.hip -o kernels.co`, for the programs to load.
#include <hip/hip_runtime.h>

/// One explicit time step; the plate's edges are kept at zero.
extern "C" __global__ void step_heat(const float* now, float* next, int n, float diffusion) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= n || y >= n) return;
  const int i = y * n + x;
  const float west = x > 0 ? now[i - 1] : 0.0f, east = x < n - 1 ? now[i + 1] : 0.0f;
  const float north = y > 0 ? now[i - n] : 0.0f, south = y < n - 1 ? now[i + n] : 0.0f;
  next[i] = now[i] + diffusion * (west + east + north + south - 4.0f * now[i]);
}

/// One partial sum of squared differences per block, added up in a fixed order. 256 threads.
extern "C" __global__ void sum_change(const float* now, const float* next, int count, float* partial) {
  __shared__ float sums[256];
  const int id = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  float sum = 0.0f;
  for (int i = static_cast<int>(blockIdx.x) * size + id; i < count; i += static_cast<int>(gridDim.x) * size) {
    const float change = next[i] - now[i];
    sum += change * change;
  }
  sums[id] = sum;
  for (int span = size / 2; span > 0; span /= 2) {
    __syncthreads();
    if (id < span) sums[id] += sums[id + span];
  }
  if (id == 0) partial[blockIdx.x] = sums[0];
}

struct State {
  float place, speed;
};

/// Springs driven by a force that is another one in every step.
extern "C" __global__ void swing(State* cells, int count, float force) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float time_step = 0.01f;
  const float stiffness = 1.0f + 0.001f * static_cast<float>(i % 1000);
  State state = cells[i];
  state.speed += time_step * (force - stiffness * state.place - 0.1f * state.speed);
  state.place += time_step * state.speed;
  cells[i] = state;
}
