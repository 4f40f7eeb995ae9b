#include "test/opencl/program.h"

#include <chrono>
#include <cstring>

namespace program {
namespace {

const char* const kSource = R"(
kernel void scale(global uint* x, uint n, uint a, uint b) {
  uint i = get_global_id(0);
  if (i < n) x[i] = x[i] * a + b;
}
kernel void mix_in(global uint* x, global const uint* y, uint n, uint a) {
  uint i = get_global_id(0);
  if (i < n) x[i] = x[i] * 31u + y[i] + a;
}
kernel void store(global uint* x, uint i, uint a) { x[i] = a; }
kernel void store_svm(global uint* x, uint i, uint a) { x[i] = a; }
kernel void reverse(global uint* x, local uint* scratch) {
  uint l = get_local_id(0), n = get_local_size(0), g = get_global_id(0);
  scratch[l] = x[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[g] = scratch[n - 1 - l] + 1u;
}
kernel void invert(read_only image2d_t from, write_only image2d_t to, sampler_t how) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  uint4 pixel = read_imageui(from, how, at);
  write_imageui(to, at, pixel * 3u + 1u);
}
)";

std::vector<std::pair<std::string, Function>>& registry() {
  static std::vector<std::pair<std::string, Function>> programs;
  return programs;
}

}  // namespace

Registration::Registration(const char* name, Function function) {
  registry().emplace_back(name, function);
}

const std::vector<std::pair<std::string, Function>>& all() {
  return registry();
}

Device::Device() {
  CHECK_CL(clGetPlatformIDs(1, &platform, nullptr));
  CHECK_CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr));
  cl_int status = CL_SUCCESS;
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  const char* text = kSource;
  source = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  CHECK_CL(clBuildProgram(source, 1, &device, "", nullptr, nullptr));
}

Device::~Device() {
  clReleaseProgram(source);
  clReleaseContext(context);
}

cl_command_queue Device::queue(cl_command_queue_properties properties) const {
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(context, device, properties, &status);
  check(status, "clCreateCommandQueue");
  return queue;
}

cl_kernel Device::kernel(const char* name) const {
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = clCreateKernel(source, name, &status);
  check(status, "clCreateKernel");
  return kernel;
}

cl_mem Device::buffer(std::size_t bytes, cl_mem_flags flags) const {
  cl_int status = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(context, flags, bytes, nullptr, &status);
  check(status, "clCreateBuffer");
  return buffer;
}

cl_mem Device::filled(std::size_t count, cl_uint seed) const {
  std::vector<cl_uint> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = seed + static_cast<cl_uint>(i);
  }
  cl_int status = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof(cl_uint),
                                 values.data(), &status);
  check(status, "clCreateBuffer");
  return buffer;
}

std::vector<cl_uint> read(cl_command_queue queue, cl_mem buffer, std::size_t count) {
  std::vector<cl_uint> values(count);
  CHECK_CL(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(cl_uint), values.data(), 0, nullptr, nullptr));
  return values;
}

void print(const char* name, const std::vector<cl_uint>& values) {
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash_of(values)));
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace program

int main(int argc, char** argv) {
  for (const auto& [name, function] : program::all()) {
    if (argc > 1 && name == argv[1]) {
      const int result = function(argc - 1, argv + 1);
      std::printf("end %d\n", result);
      return result;
    }
  }
  std::fprintf(stderr, "usage: %s PROGRAM [ARGUMENTS]; programs:", argv[0]);
  for (const auto& [name, function] : program::all()) {
    std::fprintf(stderr, " %s", name.c_str());
  }
  std::fprintf(stderr, "\n");
  return 2;
}
