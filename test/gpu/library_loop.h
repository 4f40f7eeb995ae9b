// What the programs that use CUDA's libraries share.
#pragma once

#include <chrono>
#include <initializer_list>
#include <utility>

#include "cuda_check.h"

namespace gpu_test {

[[noreturn]] inline void library_failed(const char* call, const char* status) {
  std::fprintf(stderr, "%s failed: %s\n", call, status);
  std::fflush(nullptr);
  std::_Exit(1);
}

/// Values between -1 and 1 that depend on nothing but the seed.
inline float* upload_random(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
  }
  float* data = nullptr;
  CHECK_CUDA(cudaMalloc(&data, count * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(data, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());  // it may return before all has arrived, and these streams do not wait for that
  return data;
}

/// Times a loop; the time goes to stderr, the results' checksum to stdout.
class Loop {
 public:
  explicit Loop(const char* name) : name_(name) {}

  void print(std::initializer_list<std::pair<const float*, std::size_t>> results, std::uint64_t read = 0) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    Checksum checksum;
    checksum.add(&read, sizeof read);
    for (const auto& [data, count] : results) checksum.add_device(data, count);
    std::printf("%s checksum %016llx\n", name_, static_cast<unsigned long long>(checksum.value()));
    std::fprintf(stderr, "elapsed %.6f s (%s)\n", elapsed.count(), name_);
  }

 private:
  const char* name_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gpu_test
