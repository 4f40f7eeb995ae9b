// Shared virtual memory, and objects of several contexts side by side.

#include <array>
#include <atomic>
#include <thread>

#include "test/opencl/program.h"

using program::check;
using program::Device;
using program::hash_of;
using program::launch;
using program::print;
using program::read;
using program::set;

namespace {

constexpr std::size_t kCount = 256;
constexpr int kRounds = 200;

}  // namespace

/// Kernels, fills, copies and maps of coarse-grained shared virtual memory, freed in the end by a command.
PROGRAM(svm) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  constexpr std::size_t kBytes = kCount * sizeof(cl_uint);
  std::array<cl_uint*, 3> memory{};
  for (cl_uint*& pointer : memory) {
    pointer = static_cast<cl_uint*>(clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, kBytes, 0));
    if (pointer == nullptr) {
      std::printf("no shared virtual memory\n");
      return 0;
    }
    const cl_uint seed = 3;
    CHECK_CL(clEnqueueSVMMemFill(queue, pointer, &seed, sizeof(seed), kBytes, 0, nullptr, nullptr));
  }
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  std::uint64_t sum = 0;
  std::vector<cl_uint> own(kCount, 0);
  for (cl_uint round = 0; round < kRounds; ++round) {
    for (cl_uint i = 0; i < 6; ++i) {
      CHECK_CL(clSetKernelArgSVMPointer(scale, 0, memory[i % 2]));
      set(scale, 3, i);
      launch(queue, scale, kCount);
    }
    const cl_uint pattern = 5;
    CHECK_CL(clEnqueueSVMMemFill(queue, memory[0] + 16, &pattern, sizeof(pattern), 64, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueSVMMemcpy(queue, CL_FALSE, memory[2], memory[0], kBytes / 2, 0, nullptr, nullptr));
    CHECK_CL(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, memory[2], kBytes, 0, nullptr, nullptr));
    memory[2][round % kCount] += round;
    sum = sum * 31 + memory[2][(round + 1) % kCount];
    CHECK_CL(clEnqueueSVMUnmap(queue, memory[2], 0, nullptr, nullptr));
    CHECK_CL(clEnqueueSVMMemcpy(queue, CL_TRUE, own.data(), memory[1], kBytes, 0, nullptr, nullptr));
    sum = sum * 31 + hash_of(own);
    own.assign(kCount, round);
    CHECK_CL(clEnqueueSVMMemcpy(queue, CL_TRUE, memory[1], own.data(), 64, 0, nullptr, nullptr));
  }
  void* pointers[] = {memory[0], memory[1], memory[2]};
  CHECK_CL(clEnqueueSVMFree(queue, 3, pointers, nullptr, nullptr, 0, nullptr, nullptr));
  CHECK_CL(clFinish(queue));
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}

/// Shared virtual memory that is freed after it was used in what repeats, and given out again, larger, most likely at
/// the same place.
PROGRAM(svm_again) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  set(scale, 3, 1U);
  std::uint64_t sum = 0;
  for (std::size_t life = 0; life < 6; ++life) {
    const std::size_t bytes = kCount * sizeof(cl_uint) + 16 * life;
    std::array<cl_uint*, 2> memory{};
    for (cl_uint*& pointer : memory) {
      pointer = static_cast<cl_uint*>(clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, bytes, 0));
      if (pointer == nullptr) {
        std::printf("no shared virtual memory\n");
        return 0;
      }
      const auto seed = static_cast<cl_uint>(life);
      CHECK_CL(clEnqueueSVMMemFill(queue, pointer, &seed, sizeof(seed), bytes, 0, nullptr, nullptr));
    }
    CHECK_CL(clSetKernelArgSVMPointer(scale, 0, memory[0]));
    for (int round = 0; round < kRounds; ++round) {
      const cl_uint pattern = 5;
      CHECK_CL(clEnqueueSVMMemFill(queue, memory[0] + 16, &pattern, sizeof(pattern), 64, 0, nullptr, nullptr));
      launch(queue, scale, kCount);
      CHECK_CL(clEnqueueSVMMemcpy(queue, CL_FALSE, memory[1] + 32, memory[0], 256, 0, nullptr, nullptr));
      CHECK_CL(clEnqueueSVMMemcpy(queue, CL_FALSE, memory[0], memory[1], 128, 0, nullptr, nullptr));
      CHECK_CL(clFinish(queue));
    }
    for (const cl_uint* pointer : memory) {
      std::vector<cl_uint> own(kCount, 0);
      CHECK_CL(clEnqueueSVMMemcpy(queue, CL_TRUE, own.data(), pointer, kCount * sizeof(cl_uint), 0, nullptr, nullptr));
      sum = sum * 31 + hash_of(own);
    }
    for (cl_uint* pointer : memory) {
      clSVMFree(gpu.context, pointer);
    }
  }
  CHECK_CL(clReleaseKernel(scale));
  CHECK_CL(clReleaseCommandQueue(queue));
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}

/// A context for each job, whose kernel and program are released while its launches may not have begun. Says how many
/// contexts are gone in the end.
PROGRAM(jobs) {
  constexpr int kJobs = 6;
  static std::atomic<int> gone{0};
  for (int job = 0; job < kJobs; ++job) {
    const Device gpu;
    CHECK_CL(clSetContextDestructorCallback(
        gpu.context, [](cl_context, void*) { ++gone; }, nullptr));
    cl_int status = CL_SUCCESS;
    const char* text =
        "kernel void job(global uint* x, uint a) { x[get_global_id(0)] = x[get_global_id(0)] * 5u + a; }";
    cl_program own = clCreateProgramWithSource(gpu.context, 1, &text, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    const std::string options = "-DJOB=" + std::to_string(job);  // a kernel that no other job forgets
    CHECK_CL(clBuildProgram(own, 1, &gpu.device, options.c_str(), nullptr, nullptr));
    cl_kernel kernel = clCreateKernel(own, "job", &status);
    check(status, "clCreateKernel");
    cl_command_queue queue = gpu.queue();
    cl_mem x = gpu.filled(kCount, 1);
    set(kernel, 0, x);
    for (cl_uint i = 0; i < 2002; ++i) {  // ends in the middle of what repeats
      set(kernel, 1, i % 4);
      launch(queue, kernel, kCount >> i % 4);
    }
    CHECK_CL(clReleaseKernel(kernel));
    CHECK_CL(clReleaseProgram(own));
    CHECK_CL(clFinish(queue));
    print("x", read(queue, x, kCount));
    CHECK_CL(clReleaseMemObject(x));
    CHECK_CL(clReleaseCommandQueue(queue));
  }
  for (const double end = program::now_ms() + 10'000; gone != kJobs && program::now_ms() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::printf("gone %d\n", gone.load());
  return 0;
}

/// Two contexts, each with a program, kernels and buffers of its own: used in turns by one thread, then by
/// a thread each.
PROGRAM(contexts) {
  const std::array<Device, 2> gpus;
  std::array<cl_command_queue, 2> queues{};
  std::array<cl_mem, 2> x{};
  std::array<cl_kernel, 2> scale{};
  for (std::size_t which = 0; which < 2; ++which) {
    queues[which] = gpus[which].queue();
    x[which] = gpus[which].filled(kCount, static_cast<cl_uint>(which) + 1);
    scale[which] = gpus[which].kernel("scale");
    set(scale[which], 0, x[which]);
    set(scale[which], 1, static_cast<cl_uint>(kCount));
    set(scale[which], 2, 3U);
  }
  const auto step = [&](std::size_t which, cl_uint i) {
    set(scale[which], 3, i);
    launch(queues[which], scale[which], kCount);
  };
  for (int round = 0; round < kRounds; ++round) {
    for (cl_uint i = 0; i < 8; ++i) {
      step(i % 2, i);
    }
    CHECK_CL(clFinish(queues[0]));
    CHECK_CL(clFinish(queues[1]));
  }
  const auto alone = [&](std::size_t which) {
    for (int round = 0; round < kRounds; ++round) {
      for (cl_uint i = 0; i < 6; ++i) {
        step(which, i);
      }
      CHECK_CL(clFinish(queues[which]));
    }
  };
  std::thread other(alone, 1);
  alone(0);
  other.join();
  print("x", read(queues[0], x[0], kCount));
  print("y", read(queues[1], x[1], kCount));
  return 0;
}
