// Every function that submits or makes something, by each of its names, in the middle of what repeats. What a driver
// refuses is refused.

#include <array>
#include <cstring>

#include "test/opencl/program.h"

using program::check;
using program::Device;
using program::launch;
using program::print;
using program::read;
using program::set;

namespace {

constexpr std::size_t kCount = 64;
constexpr std::size_t kWidth = 8, kHeight = 4, kDepth = 2;
constexpr int kRounds = 60;

/// Says, once, what a call that a driver may refuse has answered.
class Answers {
 public:
  bool operator()(const char* call, cl_int status) {
    if (says_) {
      std::printf("%s: %d\n", call, status);
    }
    return status == CL_SUCCESS;
  }
  void be_silent() { says_ = false; }

 private:
  bool says_ = true;
};

std::vector<unsigned char> binary_of(cl_program source) {
  std::size_t size = 0;
  CHECK_CL(clGetProgramInfo(source, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr));
  std::vector<unsigned char> binary(size);
  unsigned char* place = binary.data();
  CHECK_CL(clGetProgramInfo(source, CL_PROGRAM_BINARIES, sizeof(place), &place, nullptr));
  return binary;
}

/// All of `program`, by `how`, then launched once.
void run_kernels_of(cl_program program, cl_command_queue queue, cl_mem x) {
  std::array<cl_kernel, 16> kernels{};
  cl_uint count = 0;
  CHECK_CL(clCreateKernelsInProgram(program, kernels.size(), kernels.data(), &count));
  for (cl_uint i = 0; i < count; ++i) {
    char name[64] = {};
    CHECK_CL(clGetKernelInfo(kernels.at(i), CL_KERNEL_FUNCTION_NAME, sizeof(name), name, nullptr));
    if (std::strcmp(name, "scale") == 0) {
      set(kernels.at(i), 0, x);
      set(kernels.at(i), 1, static_cast<cl_uint>(kCount));
      set(kernels.at(i), 2, 3U);
      set(kernels.at(i), 3, 1U);
      launch(queue, kernels.at(i), kCount);
    }
    CHECK_CL(clReleaseKernel(kernels.at(i)));
  }
}

void make_programs(const Device& gpu, cl_command_queue queue, cl_mem x, Answers& answers) {
  cl_int status = CL_SUCCESS;
  const std::vector<unsigned char> binary = binary_of(gpu.source);
  const std::size_t size = binary.size();
  const unsigned char* place = binary.data();
  cl_int loaded = CL_SUCCESS;
  cl_program program = clCreateProgramWithBinary(gpu.context, 1, &gpu.device, &size, &place, &loaded, &status);
  check(status, "clCreateProgramWithBinary");
  CHECK_CL(clBuildProgram(program, 1, &gpu.device, "", nullptr, nullptr));
  CHECK_CL(clRetainProgram(program));
  CHECK_CL(clReleaseProgram(program));
  run_kernels_of(program, queue, x);
  CHECK_CL(clReleaseProgram(program));

  const char* text = "kernel void scale(global uint* x, uint n, uint a, uint b) { x[get_global_id(0)] *= a + b; }";
  program = clCreateProgramWithSource(gpu.context, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  if (answers("clCompileProgram",
              clCompileProgram(program, 1, &gpu.device, "", 0, nullptr, nullptr, nullptr, nullptr))) {
    cl_program linked = clLinkProgram(gpu.context, 1, &gpu.device, "", 1, &program, nullptr, nullptr, &status);
    if (answers("clLinkProgram", status)) {
      run_kernels_of(linked, queue, x);
      CHECK_CL(clReleaseProgram(linked));
    }
  }
  const cl_uint value = 1;
  answers("clSetProgramSpecializationConstant", clSetProgramSpecializationConstant(program, 0, sizeof(value), &value));
  CHECK_CL(clReleaseProgram(program));
  program = clCreateProgramWithBuiltInKernels(gpu.context, 1, &gpu.device, "no_such_kernel", &status);
  if (answers("clCreateProgramWithBuiltInKernels", status)) {
    CHECK_CL(clReleaseProgram(program));
  }
  program = clCreateProgramWithIL(gpu.context, "no program", 10, &status);
  if (answers("clCreateProgramWithIL", status)) {
    CHECK_CL(clReleaseProgram(program));
  }
}

void make_images(const Device& gpu, cl_command_queue queue, Answers& answers) {
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT32};
  cl_int status = CL_SUCCESS;
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = kWidth;
  description.image_height = kHeight;
  const std::array<cl_mem, 3> images = {
      clCreateImage2D(gpu.context, CL_MEM_READ_WRITE, &format, kWidth, kHeight, 0, nullptr, &status),
      clCreateImage3D(gpu.context, CL_MEM_READ_WRITE, &format, kWidth, kHeight, kDepth, 0, 0, nullptr, &status),
      clCreateImageWithProperties(gpu.context, nullptr, CL_MEM_READ_WRITE, &format, &description, nullptr, &status)};
  const std::size_t origin[3] = {0, 0, 0};
  const std::size_t region[3] = {kWidth, kHeight, 1};
  const cl_uint colour[4] = {1, 2, 3, 4};
  for (cl_mem image : images) {
    if (!answers("an image", image != nullptr ? CL_SUCCESS : CL_OUT_OF_RESOURCES)) {
      continue;
    }
    CHECK_CL(clEnqueueFillImage(queue, image, colour, origin, region, 0, nullptr, nullptr));
    std::size_t row = 0, slice = 0;
    auto* words = static_cast<cl_uint*>(clEnqueueMapImage(queue, image, CL_TRUE, CL_MAP_READ, origin, region, &row,
                                                          &slice, 0, nullptr, nullptr, &status));
    if (answers("clEnqueueMapImage", status)) {
      if (words[3] != 4) {
        std::printf("a pixel is %u\n", words[3]);
      }
      CHECK_CL(clEnqueueUnmapMemObject(queue, image, words, 0, nullptr, nullptr));
    }
    CHECK_CL(clFinish(queue));
    CHECK_CL(clReleaseMemObject(image));
  }
  cl_sampler sampler = clCreateSamplerWithProperties(gpu.context, nullptr, &status);
  if (answers("clCreateSamplerWithProperties", status)) {
    CHECK_CL(clRetainSampler(sampler));
    CHECK_CL(clReleaseSampler(sampler));
    CHECK_CL(clReleaseSampler(sampler));
  }
  cl_mem pipe = clCreatePipe(gpu.context, CL_MEM_READ_WRITE, 4, 4, nullptr, &status);
  if (answers("clCreatePipe", status)) {
    CHECK_CL(clReleaseMemObject(pipe));
  }
}

void enqueue_by_old_names(cl_command_queue queue, cl_kernel scale, const Device& gpu, Answers& answers) {
  cl_event event = nullptr;
  CHECK_CL(clEnqueueMarker(queue, &event));
  CHECK_CL(clRetainEvent(event));
  CHECK_CL(clReleaseEvent(event));
  launch(queue, scale, kCount);
  CHECK_CL(clEnqueueBarrier(queue));
  CHECK_CL(clEnqueueTask(queue, scale, 0, nullptr, nullptr));
  CHECK_CL(clReleaseEvent(event));
  std::printf("%s", clGetExtensionFunctionAddress("clNoSuchFunction") == nullptr ? "" : "found what is not there\n");
  cl_int status = CL_SUCCESS;
  cl_context context = clCreateContextFromType(nullptr, CL_DEVICE_TYPE_ALL, nullptr, nullptr, &status);
  if (answers("clCreateContextFromType", status)) {
    CHECK_CL(clRetainContext(context));
    CHECK_CL(clReleaseContext(context));
    CHECK_CL(clReleaseContext(context));
  }
  CHECK_CL(clRetainContext(gpu.context));
  CHECK_CL(clReleaseContext(gpu.context));
}

}  // namespace

PROGRAM(variants) {
  const Device gpu;
  Answers answers;
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_mem y =
      clCreateBufferWithProperties(gpu.context, nullptr, CL_MEM_READ_WRITE, kCount * sizeof(cl_uint), nullptr, &status);
  check(status, "clCreateBufferWithProperties");
  CHECK_CL(clRetainMemObject(y));
  CHECK_CL(clReleaseMemObject(y));
  void* shared = clSVMAlloc(gpu.context, CL_MEM_READ_WRITE, kCount * sizeof(cl_uint), 0);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  for (int round = 0; round < kRounds; ++round) {
    set(scale, 3, static_cast<cl_uint>(round));
    launch(queue, scale, kCount);
    cl_kernel copied = clCloneKernel(scale, &status);
    if (answers("clCloneKernel", status)) {
      set(copied, 0, y);
      CHECK_CL(clRetainKernel(copied));
      launch(queue, copied, kCount);
      CHECK_CL(clReleaseKernel(copied));
      CHECK_CL(clReleaseKernel(copied));
    }
    if (shared != nullptr) {
      answers("clSetKernelExecInfo", clSetKernelExecInfo(scale, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(shared), &shared));
      const void* pointers[] = {shared};
      answers("clEnqueueSVMMigrateMem", clEnqueueSVMMigrateMem(queue, 1, pointers, nullptr, 0, 0, nullptr, nullptr));
    }
    launch(queue, scale, kCount);
    enqueue_by_old_names(queue, scale, gpu, answers);
    if (round % 30 == 0) {
      make_programs(gpu, queue, x, answers);
      make_images(gpu, queue, answers);
    }
    launch(queue, scale, kCount);
    CHECK_CL(clFinish(queue));
    answers.be_silent();
  }
  print("x", read(queue, x, kCount));
  clSVMFree(gpu.context, shared);
  CHECK_CL(clReleaseKernel(scale));
  CHECK_CL(clReleaseMemObject(x));
  CHECK_CL(clReleaseMemObject(y));
  CHECK_CL(clReleaseCommandQueue(queue));
  return 0;
}
