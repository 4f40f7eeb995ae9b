// What the driver may refuse while it is submitted by another thread, after a pause, or with an event.

#include <chrono>
#include <csignal>
#include <thread>

#include "test/opencl/program.h"

using namespace program;

namespace {
constexpr std::size_t kCount = 256;

/// A buffer, and a kernel that is launched on it.
struct Work {
  Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_kernel scale = gpu.kernel("scale");

  Work() {
    set(scale, 0, x);
    set(scale, 1, static_cast<cl_uint>(kCount));
    set(scale, 2, 3U);
  }
  ~Work() {
    clReleaseKernel(scale);
    clReleaseMemObject(x);
    clReleaseCommandQueue(queue);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
};
}  // namespace

/// Another thread waits for what the first one submitted, or nobody does for a while.
PROGRAM(short_handed) {
  const Work work;
  for (int round = 0; round < 40; ++round) {
    for (cl_uint i = 0; i < 4; ++i) {
      set(work.scale, 3, i);
      launch(work.queue, work.scale, kCount);
    }
    if (round >= 20) {
      set(work.scale, 3, 0U);
      launch(work.queue, work.scale, kCount);
      if (round % 2 == 0) {
        std::thread([&] { CHECK_CL(clFinish(work.queue)); }).join();
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
      }
    }
    CHECK_CL(clFinish(work.queue));
  }
  print("x", read(work.queue, work.x, kCount));
  return 0;
}

/// Events of launches of which the driver may refuse one: then its call fails, or a later one does and the event says
/// so.
PROGRAM(short_refused) {
  const Work work;
  for (int round = 0; round < 60; ++round) {
    const cl_uint launches = round >= 30 && round % 2 == 0 ? 3 : 5;  // so that a stretch ends early
    std::vector<cl_event> events;
    cl_int launched = CL_SUCCESS;
    for (cl_uint i = 0; i < launches && launched == CL_SUCCESS; ++i) {
      set(work.scale, 3, i);
      cl_event event = nullptr;
      launched = clEnqueueNDRangeKernel(work.queue, work.scale, 1, nullptr, &kCount, nullptr, 0, nullptr, &event);
      if (launched == CL_SUCCESS) {
        events.push_back(event);
      }
    }
    const cl_int finished = clFinish(work.queue);
    int told = launched != CL_SUCCESS ? 1 : 0;
    for (cl_event event : events) {
      cl_int status = CL_QUEUED;
      CHECK_CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr));
      told += status < 0 ? 1 : 0;
      CHECK_CL(clReleaseEvent(event));
    }
    if ((launched != CL_SUCCESS || finished != CL_SUCCESS) && told == 0) {
      std::printf("no event knows of the error\n");
      return 4;
    }
    check(launched, "clEnqueueNDRangeKernel");
    check(finished, "clFinish");
  }
  print("x", read(work.queue, work.x, kCount));
  return 0;
}
