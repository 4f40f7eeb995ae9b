// Small OpenCL programs for the contract tests, written as any application would be: no Refrain in here.
// Each prints what it computed; the test compares the output of a plain run with that of every mode.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace program {

/// Ends the program with a message if a call failed.
inline void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) {
    std::printf("error %d from %s\n", status, what);
    std::fflush(stdout);
    std::exit(3);
  }
}
#define CHECK_CL(call) ::program::check((call), #call)

/// FNV-1a of some values, for printing.
template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001B3ULL;
  }
  return hash;
}

/// First device of the first platform, one context, one program with these kernels:
///   scale(x, n, a, b):     x[i] = x[i] * a + b           (unsigned, wraps)
///   mix_in(x, y, n, a):    x[i] = x[i] * 31 + y[i] + a
///   store(x, i, a):        x[i] = a
///   reverse(x, scratch):   reverses within groups, through local memory
struct Device {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program source = nullptr;

  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] cl_command_queue queue(cl_command_queue_properties properties = 0) const;
  [[nodiscard]] cl_kernel kernel(const char* name) const;
  [[nodiscard]] cl_mem buffer(std::size_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE) const;
  /// A buffer of `count` unsigned values: seed, seed + 1, …
  [[nodiscard]] cl_mem filled(std::size_t count, cl_uint seed) const;
};

template <class T>
void set(cl_kernel kernel, cl_uint index, const T& value) {
  CHECK_CL(clSetKernelArg(kernel, index, sizeof(T), &value));
}

inline void launch(cl_command_queue queue, cl_kernel kernel, std::size_t count, const std::vector<cl_event>& waits = {},
                   cl_event* event = nullptr) {
  CHECK_CL(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, static_cast<cl_uint>(waits.size()),
                                  waits.empty() ? nullptr : waits.data(), event));
}

std::vector<cl_uint> read(cl_command_queue queue, cl_mem buffer, std::size_t count);

void print(const char* name, const std::vector<cl_uint>& values);

/// Milliseconds of the steady clock.
double now_ms();

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
