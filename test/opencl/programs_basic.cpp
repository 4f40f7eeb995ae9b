// Arguments, releases, kinds of commands.

#include <atomic>
#include <cstring>

#include "test/opencl/program.h"

using namespace program;

namespace {
constexpr std::size_t kCount = 256;
constexpr int kRounds = 400;
}  // namespace

/// The plainest loop: launches and a read now and then.
PROGRAM(loop) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_mem y = gpu.filled(kCount, 1000);
  cl_kernel kernel = gpu.kernel("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    for (cl_uint i = 0; i < 10; ++i) {
      set(kernel, 0, i % 2 == 0 ? x : y);
      set(kernel, 1, i % 2 == 0 ? y : x);
      set(kernel, 2, static_cast<cl_uint>(kCount));
      set(kernel, 3, i);
      launch(queue, kernel, kCount);
    }
    CHECK_CL(clFinish(queue));
  }
  print("x", read(queue, x, kCount));
  print("y", read(queue, y, kCount));
  clReleaseKernel(kernel);
  clReleaseMemObject(x);
  clReleaseMemObject(y);
  clReleaseCommandQueue(queue);
  return 0;
}

/// Arguments are changed, and host arrays they came from overwritten, right after each enqueue.
PROGRAM(arguments) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 7);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  for (int round = 0; round < kRounds; ++round) {
    for (cl_uint i = 0; i < 6; ++i) {
      cl_uint a = 3 + i;
      cl_uint b = round < kRounds / 2 ? i : i + static_cast<cl_uint>(round);  // repeats, then never again
      set(scale, 2, a);
      set(scale, 3, b);
      launch(queue, scale, kCount);
      a = b = 0xDEAD;
      set(scale, 2, a);
      set(scale, 3, b);
    }
    CHECK_CL(clFinish(queue));
  }
  // The pattern of a fill and a native argument are copied too.
  for (int round = 0; round < kRounds; ++round) {
    cl_uint pattern = 5;
    CHECK_CL(clEnqueueFillBuffer(queue, x, &pattern, sizeof(pattern), 0, 64, 0, nullptr, nullptr));
    pattern = 0xBAD;
    set(scale, 2, static_cast<cl_uint>(round % 2 == 0 ? 3 : 5));
    set(scale, 3, 1U);
    launch(queue, scale, kCount);
    CHECK_CL(clFinish(queue));
  }
  print("x", read(queue, x, kCount));
  return 0;
}

/// Everything is made for each call and released right after the enqueue.
PROGRAM(releases) {
  const Device gpu;
  cl_mem x = gpu.filled(kCount, 3);
  cl_command_queue queue = gpu.queue();
  for (int round = 0; round < kRounds; ++round) {
    cl_mem y = gpu.filled(kCount, 100);
    for (cl_uint i = 0; i < 4; ++i) {
      cl_kernel kernel = gpu.kernel("mix_in");
      set(kernel, 0, x);
      set(kernel, 1, y);
      set(kernel, 2, static_cast<cl_uint>(kCount));
      set(kernel, 3, i);
      cl_event event = nullptr;
      launch(queue, kernel, kCount, {}, &event);
      clReleaseKernel(kernel);
      clReleaseEvent(event);
    }
    clReleaseMemObject(y);
    cl_buffer_region region{0, 256};
    cl_int status = CL_SUCCESS;
    cl_mem part = clCreateSubBuffer(x, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    cl_kernel scale = gpu.kernel("scale");
    set(scale, 0, part);
    set(scale, 1, 64U);
    set(scale, 2, 5U);
    set(scale, 3, 1U);
    launch(queue, scale, 64);
    clReleaseMemObject(part);
    clReleaseKernel(scale);
    CHECK_CL(clFinish(queue));
  }
  // A queue for every call, dropped with work in it.
  for (int round = 0; round < 20; ++round) {
    cl_command_queue other = gpu.queue();
    cl_kernel scale = gpu.kernel("scale");
    set(scale, 0, x);
    set(scale, 1, static_cast<cl_uint>(kCount));
    set(scale, 2, 7U);
    set(scale, 3, 1U);
    launch(other, scale, kCount);
    launch(other, scale, kCount);
    cl_event last = nullptr;
    CHECK_CL(clEnqueueMarkerWithWaitList(other, 0, nullptr, &last));
    clReleaseKernel(scale);
    clReleaseCommandQueue(other);
    CHECK_CL(clWaitForEvents(1, &last));
    clReleaseEvent(last);
  }
  print("x", read(queue, x, kCount));
  return 0;
}

/// Buffers that the application lets go of are really freed, and told so, even if graphs named them.
PROGRAM(freed) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_kernel scale = gpu.kernel("scale");
  static std::atomic<int> freed_count{0};  // the driver may call back from a thread of its own, and late
  cl_mem kept = gpu.filled(kCount, 1);
  for (int round = 0; round < 3; ++round) {
    cl_mem x = gpu.filled(kCount, 1);
    CHECK_CL(clSetMemObjectDestructorCallback(
        x, [](cl_mem, void*) { ++freed_count; }, nullptr));
    for (int i = 0; i < kRounds; ++i) {
      for (cl_uint k = 0; k < 4; ++k) {
        set(scale, 0, x);
        set(scale, 1, static_cast<cl_uint>(kCount));
        set(scale, 2, 3U);
        set(scale, 3, k);
        launch(queue, scale, kCount);
      }
      CHECK_CL(clFinish(queue));
    }
    print("x", read(queue, x, kCount));
    set(scale, 0, kept);  // nothing names it any more
    CHECK_CL(clReleaseMemObject(x));
    for (const double start = now_ms(); freed_count != round + 1 && now_ms() - start < 10'000;) {
      CHECK_CL(clFinish(queue));
    }
    std::printf("freed %d\n", freed_count.load());
  }
  return 0;
}

/// Copies, fills, rectangles, migration, sub-buffers, local memory, maps, reads and writes of all sorts.
PROGRAM(commands) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_mem y = gpu.filled(kCount, 500);
  cl_kernel reverse = gpu.kernel("reverse");
  std::vector<cl_uint> host(kCount, 0);
  std::uint64_t sum = 0;
  for (cl_uint round = 0; round < kRounds; ++round) {
    CHECK_CL(clEnqueueCopyBuffer(queue, x, y, 0, 128, 256, 0, nullptr, nullptr));
    const size_t from[3] = {0, 0, 0};
    const size_t to[3] = {16, 1, 0};
    const size_t region[3] = {32, 4, 1};
    CHECK_CL(clEnqueueCopyBufferRect(queue, y, x, from, to, region, 64, 0, 64, 0, 0, nullptr, nullptr));
    const cl_uint pattern[2] = {1, 2};
    CHECK_CL(clEnqueueFillBuffer(queue, y, pattern, sizeof(pattern), 64, 64, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueMigrateMemObjects(queue, 1, &y, 0, 0, nullptr, nullptr));
    set(reverse, 0, x);
    CHECK_CL(clSetKernelArg(reverse, 1, 16 * sizeof(cl_uint), nullptr));
    const size_t global = kCount;
    const size_t local = 16;
    CHECK_CL(clEnqueueNDRangeKernel(queue, reverse, 1, nullptr, &global, &local, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueBarrier(queue));
    CHECK_CL(clEnqueueNDRangeKernel(queue, reverse, 1, nullptr, &global, &local, 0, nullptr, nullptr));
    CHECK_CL(clFlush(queue));
    // The same host address with changing contents, overwritten as soon as that is allowed.
    host.assign(kCount, round);
    cl_event written = nullptr;
    CHECK_CL(clEnqueueWriteBuffer(queue, y, CL_FALSE, 512, 256, host.data(), 0, nullptr, &written));
    CHECK_CL(clWaitForEvents(1, &written));
    clReleaseEvent(written);
    host.assign(kCount, 0xDEAD);
    const size_t host_origin[3] = {0, 0, 0};
    CHECK_CL(clEnqueueReadBufferRect(queue, x, CL_TRUE, from, host_origin, region, 64, 0, 64, 0, host.data(), 0,
                                     nullptr, nullptr));
    sum = sum * 31 + hash_of(host);
    CHECK_CL(clEnqueueWriteBufferRect(queue, x, CL_TRUE, to, host_origin, region, 64, 0, 64, 0, host.data(), 0, nullptr,
                                      nullptr));
    cl_int status = CL_SUCCESS;
    auto* mapped = static_cast<cl_uint*>(
        clEnqueueMapBuffer(queue, y, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 64, 0, nullptr, nullptr, &status));
    check(status, "clEnqueueMapBuffer");
    mapped[0] += round;
    sum = sum * 31 + mapped[1];
    CHECK_CL(clEnqueueUnmapMemObject(queue, y, mapped, 0, nullptr, nullptr));
  }
  print("x", read(queue, x, kCount));
  print("y", read(queue, y, kCount));
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}

/// Images and samplers, and host functions between kernels.
PROGRAM(images) {
  const Device gpu;
  cl_bool supported = CL_FALSE;
  CHECK_CL(clGetDeviceInfo(gpu.device, CL_DEVICE_IMAGE_SUPPORT, sizeof(supported), &supported, nullptr));
  if (supported == CL_FALSE) {
    std::printf("no images\n");
    return 0;
  }
  cl_command_queue queue = gpu.queue();
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 16;
  description.image_height = 8;
  cl_int status = CL_SUCCESS;
  cl_mem from = clCreateImage(gpu.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &status);
  check(status, "clCreateImage");
  cl_mem to = clCreateImage(gpu.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &status);
  check(status, "clCreateImage");
  cl_mem bytes = gpu.filled(16UL * 8 * 4, 11);
  cl_sampler sampler = clCreateSampler(gpu.context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &status);
  check(status, "clCreateSampler");
  cl_kernel invert = gpu.kernel("invert");
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {16, 8, 1};
  const size_t corner[3] = {4, 4, 0};
  const size_t part[3] = {4, 4, 1};
  std::vector<cl_uint> host(16UL * 8 * 4);
  for (int round = 0; round < 30; ++round) {
    const cl_uint colour[4] = {1, 2, 3, 4};
    CHECK_CL(clEnqueueCopyBufferToImage(queue, bytes, from, 0, origin, region, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueFillImage(queue, from, colour, origin, part, 0, nullptr, nullptr));
    set(invert, 0, from);
    set(invert, 1, to);
    set(invert, 2, sampler);
    CHECK_CL(clEnqueueNDRangeKernel(queue, invert, 2, nullptr, region, nullptr, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueCopyImage(queue, to, from, origin, corner, part, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueCopyImageToBuffer(queue, from, bytes, origin, region, 0, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueReadImage(queue, to, CL_TRUE, origin, region, 0, 0, host.data(), 0, nullptr, nullptr));
    CHECK_CL(clEnqueueWriteImage(queue, from, CL_FALSE, origin, region, 0, 0, host.data(), 0, nullptr, nullptr));
    CHECK_CL(clFinish(queue));
  }
  print("to", host);
  print("bytes", read(queue, bytes, 16UL * 8 * 4));
  clReleaseSampler(sampler);
  clReleaseMemObject(from);
  clReleaseMemObject(to);
  return 0;
}

/// Commands in host memory, and host functions.
PROGRAM(host_work) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_device_exec_capabilities can = 0;
  CHECK_CL(clGetDeviceInfo(gpu.device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof(can), &can, nullptr));
  cl_mem x = gpu.filled(kCount, 9);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  set(scale, 3, 1U);
  static int calls = 0;
  for (int round = 0; round < kRounds; ++round) {
    launch(queue, scale, kCount);
    launch(queue, scale, kCount);
    if ((can & CL_EXEC_NATIVE_KERNEL) != 0) {
      struct Arguments {
        cl_uint* data;
      } arguments{nullptr};
      const void* places[1] = {&arguments.data};
      CHECK_CL(clEnqueueNativeKernel(
          queue,
          [](void* raw) {
            ++calls;
            static_cast<Arguments*>(raw)->data[0] += 1;
          },
          &arguments, sizeof(arguments), 1, &x, places, 0, nullptr, nullptr));
    }
    CHECK_CL(clEnqueueTask(queue, scale, 0, nullptr, nullptr));
    launch(queue, scale, kCount);
  }
  print("x", read(queue, x, kCount));
  std::printf("calls %d\n", calls);
  return 0;
}

/// The source of a program is built again with other options, after its kernels ran in graphs.
PROGRAM(rebuild) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  const char* text = "kernel void f(global uint* x) { x[get_global_id(0)] = x[get_global_id(0)] * 3u + VALUE; }";
  cl_int status = CL_SUCCESS;
  cl_program source = clCreateProgramWithSource(gpu.context, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  for (const char* options : {"-DVALUE=1", "-DVALUE=2", "-DVALUE=1"}) {
    CHECK_CL(clBuildProgram(source, 1, &gpu.device, options, nullptr, nullptr));
    cl_kernel kernel = clCreateKernel(source, "f", &status);
    check(status, "clCreateKernel");
    set(kernel, 0, x);
    for (int round = 0; round < kRounds; ++round) {
      launch(queue, kernel, kCount);
      launch(queue, kernel, kCount);
      launch(queue, kernel, kCount);
      CHECK_CL(clFinish(queue));
    }
    print(options, read(queue, x, kCount));
    CHECK_CL(clReleaseKernel(kernel));
  }
  CHECK_CL(clReleaseProgram(source));
  return 0;
}

/// A kernel that prints now and then, in the middle of what repeats.
PROGRAM(prints) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 0);
  const char* text = "kernel void tell(global uint* x) { if (++x[0] % 8 == 0) printf(\"%u\\n\", x[0]); }";
  cl_int status = CL_SUCCESS;
  cl_program source = clCreateProgramWithSource(gpu.context, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  CHECK_CL(clBuildProgram(source, 1, &gpu.device, "", nullptr, nullptr));
  cl_kernel tell = clCreateKernel(source, "tell", &status);
  check(status, "clCreateKernel");
  set(tell, 0, x);
  for (int round = 0; round < kRounds; ++round) {
    launch(queue, tell, 1);
    launch(queue, tell, 1);
    launch(queue, tell, 1);
    CHECK_CL(clFinish(queue));
  }
  print("x", read(queue, x, kCount));
  CHECK_CL(clReleaseKernel(tell));
  CHECK_CL(clReleaseProgram(source));
  return 0;
}

/// A bit of everything in few calls, for runs in which one of them fails.
PROGRAM(short_mix) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_command_queue other = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_mem y = gpu.filled(kCount, 2);
  cl_kernel scale = gpu.kernel("scale");
  for (int round = 0; round < 40; ++round) {
    for (cl_uint i = 0; i < 3; ++i) {
      set(scale, 0, x);
      set(scale, 1, static_cast<cl_uint>(kCount));
      set(scale, 2, 3U);
      set(scale, 3, i);
      launch(queue, scale, kCount);
    }
    cl_event event = nullptr;
    CHECK_CL(clEnqueueCopyBuffer(queue, x, y, 0, 0, kCount, 0, nullptr, &event));
    set(scale, 0, y);
    launch(other, scale, kCount, {event});
    CHECK_CL(clReleaseEvent(event));
    CHECK_CL(clFinish(queue));
    CHECK_CL(clFinish(other));
  }
  print("x", read(queue, x, kCount));
  print("y", read(queue, y, kCount));
  CHECK_CL(clReleaseKernel(scale));
  CHECK_CL(clReleaseMemObject(x));
  CHECK_CL(clReleaseMemObject(y));
  CHECK_CL(clReleaseCommandQueue(queue));
  CHECK_CL(clReleaseCommandQueue(other));
  return 0;
}
