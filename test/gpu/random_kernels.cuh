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

/// Of gates: how often this one was closed and found too late, on the device.
struct GateCounts {
  Word closed, late;
};

/// Waits until `opened`, which is pinned, has come to the number of kernels like this that there were, but not for
/// ever.
__global__ inline void await_gate(volatile Word* opened, GateCounts* counts) {
#ifdef __CUDA_ARCH__
  constexpr unsigned long long kLimit = 2000000000;  // ns
  const Word number = ++counts->closed;
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  while (static_cast<int>(*opened - number) < 0) {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - start > (counts->late == 0 ? kLimit : kLimit / 1000)) {
      ++counts->late;
      return;
    }
  }
#endif
}

__global__ inline void open_gate(volatile Word* opened) {
  *opened = *opened + 1;
  __threadfence_system();
}

/// Tells a host thread that spins on pinned memory.
__global__ inline void signal(volatile Word* flag, Word value) {
  *flag = value;
  __threadfence_system();
}

}  // namespace random_test
