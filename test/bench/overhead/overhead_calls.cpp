// One process of the overhead benchmark: makes the calls and prints what each took as JSON. Meant to run over
// the swallow layer, with or without Refrain above it; `run` beside this file starts both in turn.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int kCalls = 1024;  // calls in a batch: some microseconds, far above the clock's step
constexpr int kPeriod = 16;   // launches in one round of the pattern

constexpr const char* kSource = R"cl(
kernel void four(global float* to, global const float* from, float factor, int count) {
  int i = get_global_id(0);
  if (i < count) to[i] = factor * from[i];
}
kernel void eight(global float* to, global const float* from, global const float* a, global const float* b,
                  float u, float v, int first, int count) {
  int i = first + get_global_id(0);
  if (i < count) to[i] = from[i] + u * a[i] + v * b[i];
}
)cl";

void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS) throw std::runtime_error(std::string(call) + " failed with " + std::to_string(status));
}

struct Setup {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
  cl_kernel four = nullptr, eight = nullptr;
  cl_event event = nullptr;
  cl_mem buffers[4] = {};
};

Setup make_setup() {
  Setup setup;
  cl_int status = CL_SUCCESS;
  check(clGetPlatformIDs(1, &setup.platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(setup.platform, CL_DEVICE_TYPE_ALL, 1, &setup.device, nullptr), "clGetDeviceIDs");
  setup.context = clCreateContext(nullptr, 1, &setup.device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  setup.queue = clCreateCommandQueueWithProperties(setup.context, setup.device, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
  const char* source = kSource;
  setup.program = clCreateProgramWithSource(setup.context, 1, &source, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(setup.program, 1, &setup.device, "", nullptr, nullptr), "clBuildProgram");
  setup.four = clCreateKernel(setup.program, "four", &status);
  check(status, "clCreateKernel");
  setup.eight = clCreateKernel(setup.program, "eight", &status);
  check(status, "clCreateKernel");
  setup.event = clCreateUserEvent(setup.context, &status);
  check(status, "clCreateUserEvent");
  for (cl_mem& buffer : setup.buffers) {
    buffer = clCreateBuffer(setup.context, CL_MEM_READ_WRITE, 4096, nullptr, &status);
    check(status, "clCreateBuffer");
  }
  const float factor = 0.5f;
  const cl_int zero = 0, count = 1024;
  const auto set = [](cl_kernel kernel, cl_uint index, const auto& value) {
    check(clSetKernelArg(kernel, index, sizeof value, &value), "clSetKernelArg");
  };
  set(setup.four, 0, setup.buffers[0]);
  set(setup.four, 1, setup.buffers[1]);
  set(setup.four, 2, factor);
  set(setup.four, 3, count);
  for (cl_uint i = 0; i < 4; ++i) set(setup.eight, i, setup.buffers[i]);
  set(setup.eight, 4, factor);
  set(setup.eight, 5, factor);
  set(setup.eight, 6, zero);
  set(setup.eight, 7, count);
  return setup;
}

void tear_down(const Setup& setup) {
  clSetUserEventStatus(setup.event, CL_COMPLETE);
  clReleaseEvent(setup.event);
  for (cl_mem buffer : setup.buffers) clReleaseMemObject(buffer);
  clReleaseKernel(setup.four);
  clReleaseKernel(setup.eight);
  clReleaseProgram(setup.program);
  clReleaseCommandQueue(setup.queue);
  clReleaseContext(setup.context);
}

/// Median over `batches` of the nanoseconds per call; `batch` makes kCalls calls.
template <typename Batch>
double median_ns(int batches, Batch&& batch) {
  for (int i = 0; i < batches / 4; ++i) batch();  // caches, branch predictors, and the detector
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    const auto start = std::chrono::steady_clock::now();
    batch();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    times.push_back(elapsed.count() / kCalls);
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[batches / 2];
}

/// Launches a kernel kCalls times; before each, `change(i)` may set an argument. The batch ends with
/// clFinish.
template <typename Change>
auto launches(const Setup& setup, cl_kernel kernel, Change change) {
  return [&setup, kernel, change] {
    const size_t global = 1024, local = 64;
    for (int i = 0; i < kCalls; ++i) {
      change(i);
      clEnqueueNDRangeKernel(setup.queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr);
    }
    clFinish(setup.queue);
  };
}

nlohmann::json measure(const Setup& setup, int batches) {
  nlohmann::json result;
  result["neutral"] = median_ns(batches, [&] {
    cl_uint references = 0;
    for (int i = 0; i < kCalls; ++i) {
      clGetKernelInfo(setup.four, CL_KERNEL_REFERENCE_COUNT, sizeof references, &references, nullptr);
    }
  });
  result["poll_event"] = median_ns(batches, [&] {
    cl_int status = 0;
    for (int i = 0; i < kCalls; ++i) {
      clGetEventInfo(setup.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    }
  });
  result["host_call"] = median_ns(batches, [&] {
    for (int i = 0; i < kCalls; ++i) clFlush(setup.queue);
  });

  // The argument that changes: one of two buffers in turn, as in a ping-pong; or a number that is always new.
  const auto swap_four = [&](int i) { clSetKernelArg(setup.four, 0, sizeof(cl_mem), &setup.buffers[2L * (i & 1)]); };
  const auto swap_eight = [&](int i) { clSetKernelArg(setup.eight, 0, sizeof(cl_mem), &setup.buffers[2L * (i & 1)]); };
  int steps = 0;
  const auto new_scalar = [&](int) {
    const float time = static_cast<float>(++steps);
    clSetKernelArg(setup.four, 2, sizeof time, &time);
  };
  const auto alone = [&](auto change) {
    return median_ns(batches, [&] {
      for (int i = 0; i < kCalls; ++i) change(i);
    });
  };
  const double set_buffer = alone(swap_four), set_buffer_8 = alone(swap_eight), set_scalar = alone(new_scalar);
  result["set_buffer"] = set_buffer;
  result["set_scalar"] = set_scalar;
  // An enqueue is what a launch takes beyond setting the argument that it changes.
  result["enqueue_4"] = median_ns(batches, launches(setup, setup.four, swap_four)) - set_buffer;
  result["enqueue_8"] = median_ns(batches, launches(setup, setup.eight, swap_eight)) - set_buffer_8;
  result["enqueue_new"] = median_ns(batches, launches(setup, setup.four, new_scalar)) - set_scalar;
  // Two kernels in a pattern, with its changing arguments: all in all, for each launch.
  result["pattern"] = median_ns(batches, [&] {
    const size_t global = 1024, local = 64;
    for (int i = 0; i < kCalls; ++i) {
      const bool is_eight = i % kPeriod % 3 == 2;
      is_eight ? swap_eight(i) : swap_four(i);
      clEnqueueNDRangeKernel(setup.queue, is_eight ? setup.eight : setup.four, 1, nullptr, &global, &local, 0, nullptr,
                             nullptr);
    }
    clFinish(setup.queue);
  });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int batches = 200;
    CLI::App app("Times OpenCL calls over a layer that swallows them; started by test/bench/overhead/run.");
    app.add_option("--batches", batches, "Batches of each kind of call")
        ->capture_default_str()
        ->check(CLI::Range(4, 100000));
    CLI11_PARSE(app, argc, argv);
    if (::getenv("OPENCL_LAYERS") == nullptr) {
      throw std::runtime_error("OPENCL_LAYERS must name the swallow layer; use test/bench/overhead/run");
    }
    const Setup setup = make_setup();
    const nlohmann::json result = measure(setup, batches);
    tear_down(setup);
    std::printf("%s\n", result.dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overhead_calls: %s\n", error.what());
    return 1;
  }
}
