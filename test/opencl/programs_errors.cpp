// What the driver may refuse while it is submitted by another thread, after a pause, or with an event.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
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

namespace {

/// What a stretch of commands names; one part of it is changed for each call that the driver must refuse.
struct Stretch {
  cl_command_queue queue;
  cl_kernel scale;
  cl_mem argument, from, to, filled;
  std::size_t from_offset = 0, to_offset = 0, fill_offset = 16;
  std::size_t origin[3] = {8, 1, 0};
  cl_mem rectangle_to;
  std::vector<cl_event> waits;  ///< of the launch; of another command only where it is the one that is changed
  std::size_t dimensions = 1;
  std::vector<std::size_t> global = {kCount, 1, 1};
  std::vector<std::size_t> local;
  cl_kernel reverse;

  enum Command { kLaunch, kCopy, kFill, kRectangle, kReverse, kMarker, kBarrier, kWaitForEvents, kCommands };

  [[nodiscard]] cl_int call(int command) const {
    const auto count = static_cast<cl_uint>(waits.size());
    const cl_event* list = waits.empty() ? nullptr : waits.data();
    switch (command) {
      case kLaunch:
        CHECK_CL(clSetKernelArg(scale, 0, sizeof(argument), &argument));
        return clEnqueueNDRangeKernel(queue, scale, static_cast<cl_uint>(dimensions), nullptr,
                                      global.empty() ? nullptr : global.data(), local.empty() ? nullptr : local.data(),
                                      count, list, nullptr);
      case kCopy: return clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, 128, count, list, nullptr);
      case kFill: {
        const cl_uint pattern = 7;
        return clEnqueueFillBuffer(queue, filled, &pattern, sizeof(pattern), fill_offset, 64, count, list, nullptr);
      }
      case kRectangle: {
        const std::size_t zero[3] = {};
        const std::size_t region[3] = {16, 4, 1};
        return clEnqueueCopyBufferRect(queue, from, rectangle_to, zero, origin, region, 32, 0, 64, 0, count, list,
                                       nullptr);
      }
      case kReverse: {
        const std::size_t threads = 16;
        return clEnqueueNDRangeKernel(queue, reverse, 1, nullptr, &threads, &threads, count, list, nullptr);
      }
      case kMarker: return clEnqueueMarkerWithWaitList(queue, count, list, nullptr);
      case kBarrier: return clEnqueueBarrierWithWaitList(queue, count, list, nullptr);
      default: return CL_SUCCESS;
    }
  }
};

}  // namespace

/// In the middle of a stretch that repeats comes a call that the driver refuses, or not: it is the driver's to say.
PROGRAM(refused_calls) {
  const Device here;
  const Device there;
  cl_command_queue queue = here.queue();
  cl_command_queue other_queue = there.queue();
  cl_kernel scale = here.kernel("scale");
  cl_kernel other_scale = there.kernel("scale");
  cl_kernel unset = here.kernel("scale");
  cl_kernel reverse = here.kernel("reverse");
  cl_mem x = here.filled(kCount, 1), y = here.filled(kCount, 2), z = here.filled(kCount, 3);
  cl_mem other = there.filled(kCount, 4);
  set(scale, 0, x);
  set(other_scale, 0, other);
  set(reverse, 0, z);
  CHECK_CL(clSetKernelArg(reverse, 1, 64, nullptr));
  for (cl_kernel kernel : {scale, other_scale}) {
    set(kernel, 1, static_cast<cl_uint>(kCount));
    set(kernel, 2, 3U);
    set(kernel, 3, 1U);
  }
  cl_int status = CL_SUCCESS;
  cl_event user = clCreateUserEvent(here.context, &status);
  cl_event other_user = clCreateUserEvent(there.context, &status);
  CHECK_CL(clSetUserEventStatus(user, CL_COMPLETE));
  CHECK_CL(clSetUserEventStatus(other_user, CL_COMPLETE));
  const Stretch good{queue, scale, x, x, y, y, 0, 0, 16, {8, 1, 0}, z, {user}, 1, {kCount, 1, 1}, {}, reverse};
  // A command that waits for what comes from outside begins a new part of a graph: only the first one does.
  Stretch free = good;
  free.waits.clear();
  const auto with = [&](const std::function<void(Stretch&)>& change) {
    Stretch changed = free;
    change(changed);
    return changed;
  };
  struct Case {
    const char* name;
    int command;
    Stretch stretch;
  };
  const std::size_t end = kCount * sizeof(cl_uint);
  std::vector<Case> cases = {
      {"kernel of another context", Stretch::kLaunch, with([&](auto& s) {
         s.scale = other_scale;
         s.argument = other;
       })},
      {"kernel of another context, own buffer", Stretch::kLaunch, with([&](auto& s) { s.scale = other_scale; })},
      {"buffer of another context", Stretch::kLaunch, with([&](auto& s) { s.argument = other; })},
      {"queue of another context", Stretch::kLaunch, with([&](auto& s) { s.queue = other_queue; })},
      {"no size", Stretch::kLaunch, with([&](auto& s) { s.global.clear(); })},
      {"size of zero", Stretch::kLaunch, with([&](auto& s) { s.global[0] = 0; })},
      {"no dimensions", Stretch::kLaunch, with([&](auto& s) { s.dimensions = 0; })},
      {"four dimensions", Stretch::kLaunch, with([&](auto& s) {
         s.dimensions = 4;
         s.global.push_back(1);
       })},
      {"groups of nothing", Stretch::kLaunch, with([&](auto& s) {
         s.local = {0, 1, 1};
       })},
      {"groups too large", Stretch::kLaunch, with([&](auto& s) {
         s.local = {std::size_t{1} << 30U, 1, 1};
       })},
      {"event of another context before a launch", Stretch::kLaunch, with([&](auto& s) { s.waits = {other_user}; })},
      {"no event before a launch", Stretch::kLaunch, with([&](auto& s) { s.waits = {nullptr}; })},
      {"copy from another context", Stretch::kCopy, with([&](auto& s) { s.from = other; })},
      {"copy to another context", Stretch::kCopy, with([&](auto& s) { s.to = other; })},
      {"copy by a queue of another context", Stretch::kCopy, with([&](auto& s) { s.queue = other_queue; })},
      {"copy from behind the end", Stretch::kCopy, with([&](auto& s) { s.from_offset = end - 64; })},
      {"copy to behind the end", Stretch::kCopy, with([&](auto& s) { s.to_offset = end - 64; })},
      {"copy from far away", Stretch::kCopy, with([&](auto& s) { s.from_offset = ~std::size_t{0} - 63; })},
      {"copy onto itself", Stretch::kCopy, with([&](auto& s) {
         s.to = s.from;
         s.to_offset = 64;
       })},
      {"copy after an event of another context", Stretch::kCopy, with([&](auto& s) { s.waits = {other_user}; })},
      {"fill in another context", Stretch::kFill, with([&](auto& s) { s.filled = other; })},
      {"fill between the elements", Stretch::kFill, with([&](auto& s) { s.fill_offset = 18; })},
      {"fill behind the end", Stretch::kFill, with([&](auto& s) { s.fill_offset = end - 32; })},
      {"fill after an event of another context", Stretch::kFill, with([&](auto& s) { s.waits = {other_user}; })},
      {"rectangle to another context", Stretch::kRectangle, with([&](auto& s) { s.rectangle_to = other; })},
      {"rectangle from another context", Stretch::kRectangle, with([&](auto& s) { s.from = other; })},
      {"rectangle behind the end", Stretch::kRectangle, with([&](auto& s) { s.origin[1] = kCount / 16 - 1; })},
      {"rectangle onto itself", Stretch::kRectangle, with([&](auto& s) {
         s.rectangle_to = s.from;
         s.origin[1] = 0;
       })},
      {"marker after an event of another context", Stretch::kMarker, with([&](auto& s) { s.waits = {other_user}; })},
      {"barrier after an event of another context", Stretch::kBarrier, with([&](auto& s) { s.waits = {other_user}; })},
      {"marker after no event", Stretch::kMarker, with([&](auto& s) { s.waits = {nullptr}; })},
  };
  // PoCL divides by it since version 5.
  char version[128] = "";
  CHECK_CL(clGetPlatformInfo(here.platform, CL_PLATFORM_VERSION, sizeof(version), version, nullptr));
  if (const char* pocl = std::strstr(version, "PoCL "); pocl != nullptr && std::atoi(pocl + 5) >= 5) {
    std::erase_if(cases, [](const Case& each) { return std::string_view(each.name) == "groups of nothing"; });
  }
  const auto stretch = [&](const Case* instead) {
    for (int command = 0; command < Stretch::kCommands; ++command) {
      if (instead != nullptr && instead->command == command) {
        Stretch stranger = instead->stretch;
        if (command == Stretch::kLaunch && stranger.waits.empty()) {
          stranger.waits = good.waits;
        }
        std::printf("%s: %d\n", instead->name, stranger.call(command));
      }
      CHECK_CL((command == Stretch::kLaunch ? good : free).call(command));
    }
    CHECK_CL(clFinish(queue));
  };
  for (int round = 0; round < 200; ++round) {
    stretch(nullptr);
  }
  for (const Case& each : cases) {
    for (int again = 0; again < 3; ++again) {
      stretch(&each);
      CHECK_CL(clFinish(other_queue));
      stretch(nullptr);
    }
  }
  // Calls of their own, whose tokens are those of others.
  for (int again = 0; again < 3; ++again) {
    for (int command = 0; command < Stretch::kCommands; ++command) {
      CHECK_CL((command == Stretch::kLaunch ? good : free).call(command));
      std::printf("marker without an event: %d\n", clEnqueueMarker(queue, nullptr));
      std::printf("unset arguments: %d\n",
                  clEnqueueNDRangeKernel(queue, unset, 1, nullptr, &kCount, nullptr, 0, nullptr, nullptr));
    }
    CHECK_CL(clFinish(queue));
  }
  print("x", read(queue, x, kCount));
  print("y", read(queue, y, kCount));
  print("z", read(queue, z, kCount));
  print("other", read(other_queue, other, kCount));
  return 0;
}
