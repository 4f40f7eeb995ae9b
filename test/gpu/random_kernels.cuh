// Kernels of random_program. None of them commutes with another one, so any change of order changes the result.
#pragma once

#include <cstdint>

namespace random_test {

using Word = std::uint32_t;

constexpr unsigned kWords = 4096;  ///< per buffer, on the device and on the host
constexpr unsigned kBlock = 128;

__global__ inline void mix(Word* to, const Word* from, unsigned offset, unsigned count, Word value) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[offset + i] = (to[offset + i] ^ from[(offset + i * 7 + value) % kWords]) * 1664525u + value;
}

/// The same with the attribute that lets it start before the kernel in front of it has ended.
__global__ inline void mix_dependent(Word* to, const Word* from, unsigned offset, unsigned count, Word value) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[offset + i] = (to[offset + i] ^ from[(offset + i * 5 + value) % kWords]) * 22695477u + value;
}

/// A large argument, passed by value.
struct Packet {
  Word* to;
  const Word *first, *second;
  Word keys[24];
};

__global__ inline void mix_packet(Packet packet, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) packet.to[i] = packet.to[i] * 5u + (packet.first[i] ^ packet.keys[i % 24]) + (packet.second[i] >> 3);
}

/// In place, with dynamic shared memory: rotates every block's words and multiplies them.
__global__ inline void turn(Word* words, unsigned offset, unsigned count, Word value) {
  extern __shared__ Word shared[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  shared[threadIdx.x] = i < count ? words[offset + i] : 0u;
  __syncthreads();
  if (i < count) words[offset + i] = shared[(threadIdx.x + value) % blockDim.x] * 2246822519u + value;
}

/// Tells a host thread that spins on pinned memory.
__global__ inline void signal(volatile Word* flag, Word value) {
  *flag = value;
  __threadfence_system();
}

}  // namespace random_test
