// The kernels of the Level Zero heat sample. Level Zero takes SPIR-V or the device's own code:
//   ocloc compile -file heat_kernels.cl -device dg2 -spv_only         (Intel's offline compiler)
//   clang -cl-std=CL2.0 -target spirv64 -O2 -c heat_kernels.cl -o heat_kernels.spv
/// One explicit time step; the plate's edges are kept at zero.
kernel void step_heat(global const float* now, global float* next, int n, float diffusion) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  int i = y * n + x;
  float west = x > 0 ? now[i - 1] : 0.0f, east = x < n - 1 ? now[i + 1] : 0.0f;
  float north = y > 0 ? now[i - n] : 0.0f, south = y < n - 1 ? now[i + n] : 0.0f;
  next[i] = now[i] + diffusion * (west + east + north + south - 4.0f * now[i]);
}

/// One partial sum of squared differences per group, added up in a fixed order. 256 work-items.
kernel void sum_change(global const float* now, global const float* next, int count, global float* partial) {
  local float sums[256];
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
