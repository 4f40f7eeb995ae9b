// Launches of one kernel whose sizes are others each time.

#include <cstring>

#include "test/opencl/program.h"

using program::check;
using program::Device;
using program::print;
using program::read;
using program::set;

namespace {

constexpr std::size_t kGroup = 16, kMostGroups = 601;
constexpr std::size_t kRounds = 600;  // no four sizes come twice
const char* const kSource = R"(
kernel void add_sizes(global uint* x) {
  uint i = get_global_id(0);
  x[i] = x[i] * 31u + (uint)get_global_size(0) * 7u + (uint)get_local_size(0) * 5u + (uint)get_num_groups(0) * 3u;
}
)";

struct Launcher {
  explicit Launcher(const Device& gpu) : queue(gpu.queue()), x(gpu.filled(kMostGroups * kGroup, 1)) {
    const char* text = kSource;
    cl_int status = CL_SUCCESS;
    source = clCreateProgramWithSource(gpu.context, 1, &text, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    CHECK_CL(clBuildProgram(source, 1, &gpu.device, "", nullptr, nullptr));
    kernel = clCreateKernel(source, "add_sizes", &status);
    check(status, "clCreateKernel");
    set(kernel, 0, x);
  }
  ~Launcher() {
    clReleaseKernel(kernel);
    clReleaseProgram(source);
    clReleaseMemObject(x);
    clReleaseCommandQueue(queue);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  void launch(std::size_t global, const std::size_t* local) const {
    CHECK_CL(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, local, 0, nullptr, nullptr));
  }
  void finish() const { CHECK_CL(clFinish(queue)); }
  void tell() const { print("x", read(queue, x, kMostGroups * kGroup)); }

  cl_command_queue queue;
  cl_mem x;
  cl_program source = nullptr;
  cl_kernel kernel = nullptr;
};

}  // namespace

/// Four launches, each of its own size. "ahead": the host waits for the four before.
PROGRAM(sizes) {
  const bool ahead = argc > 1 && std::strcmp(argv[1], "ahead") == 0;
  const Device gpu;
  const Launcher own(gpu);
  cl_event before = nullptr;
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t step = 0; step < 4; ++step) {
      own.launch(kGroup * (1 + (round * 37 + step * 5) % kMostGroups), &kGroup);
    }
    if (!ahead) {
      own.finish();
      continue;
    }
    cl_event now = nullptr;
    CHECK_CL(clEnqueueMarkerWithWaitList(own.queue, 0, nullptr, &now));
    CHECK_CL(clFlush(own.queue));
    if (before != nullptr) {
      CHECK_CL(clWaitForEvents(1, &before));
      CHECK_CL(clReleaseEvent(before));
    }
    before = now;
  }
  own.finish();
  if (before != nullptr) {
    CHECK_CL(clReleaseEvent(before));
  }
  own.tell();
  return 0;
}

/// The driver chooses the size of groups, another one for another size; kernels can see it.
PROGRAM(open_sizes) {
  const Device gpu;
  const Launcher own(gpu);
  const auto round = [&](std::size_t first, std::size_t second) {
    own.launch(first, nullptr);
    own.launch(second, nullptr);
    own.finish();
  };
  for (std::size_t groups = 2; groups < 11; ++groups) {
    round(64 * groups, 64 * groups);
  }
  for (std::size_t again = 0; again < kRounds; ++again) {
    round(64, 64);
  }
  for (std::size_t groups = 2; groups < 40; ++groups) {
    round(64, 64 * groups);  // a multiple of what was chosen for 64
    round(64, 64);
  }
  for (std::size_t again = 0; again < kRounds; ++again) {
    round(128, 80);  // the second one is none
    round(64, 64);
  }
  own.tell();
  return 0;
}
