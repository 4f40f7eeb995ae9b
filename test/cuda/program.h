// Small CUDA programs for the contract tests, written as any application would be: no Refrain in here.
// Each prints what it computed; the test compares the output of a plain run with that of every mode.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace program {

using Word = std::uint32_t;

/// Ends the program with a message if a call failed.
inline void check(CUresult status, const char* what) {
  if (status != CUDA_SUCCESS) {
    std::printf("error %d from %s\n", static_cast<int>(status), what);
    std::fflush(stdout);
    std::exit(3);
  }
}
#define CHECK_CU(call) ::program::check((call), #call)

/// The device's primary context, current; a module with these kernels (contract_kernels.cpp of the simulated device):
///   scale(x, n, a, b):    x[i] = x[i] * a + b          (unsigned, wraps)
///   mix_in(x, y, n, a):   x[i] = x[i] * 31 + y[i] + a
///   odd(a, x, b, c):      parameters of 1, 8, 2 and 8 bytes
///   wide(values, x):      a parameter of 256 bytes, by value
///   store(x, value)       for memory that the host looks at
///   busy(x, us)           takes time
///   await(opened, closed), bump(opened)    see programs_gates.cpp
///   nothing()
struct Device {
  CUcontext context = nullptr;
  CUmodule module = nullptr;

  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] CUfunction function(const char* name) const;
};

CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING);
CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING);
CUdeviceptr allocate(std::size_t words);
/// seed, seed + 1, …
CUdeviceptr filled(std::size_t words, Word seed);
/// Pinned, zeroed.
Word* pinned(std::size_t words);

template <class... Values>
void launch_on(CUstream stream, CUfunction function, unsigned threads, Values... values) {
  void* parameters[] = {static_cast<void*>(&values)..., nullptr};
  CHECK_CU(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr));
}

inline void scale(CUstream stream, CUfunction function, CUdeviceptr x, Word count, Word a, Word b) {
  launch_on(stream, function, 64, x, count, a, b);
}
inline void mix_in(CUstream stream, CUfunction function, CUdeviceptr x, CUdeviceptr y, Word count, Word a) {
  launch_on(stream, function, 64, x, y, count, a);
}

std::vector<Word> read(CUdeviceptr from, std::size_t words);
void print(const char* name, const std::vector<Word>& values);
void print(const char* name, CUdeviceptr from, std::size_t words);

/// Milliseconds of the steady clock.
double now_ms();
/// Lets other threads work for a while, as a program does that computes something itself.
void pause_briefly();

using Function = int (*)(int argc, char** argv);
struct Registration {
  Registration(const char* name, Function function);
};
const std::vector<std::pair<std::string, Function>>& all();
#define PROGRAM(name)                                                   \
  static int name(int argc, char** argv);                               \
  static const ::program::Registration registered_##name(#name, &name); \
  static int name([[maybe_unused]] int argc, [[maybe_unused]] char** argv)

}  // namespace program
