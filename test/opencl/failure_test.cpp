// What becomes of held work when the layer gives up. The wrappers are called directly, on top of the installed driver.

#include <catch2/catch.hpp>
#include <string>

#include "layer/opencl/dispatch.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/wrappers.h"
#include "test/opencl/driver_table.h"

namespace {

using namespace refrain;
using namespace refrain::layer;
using namespace refrain::layer::opencl;

constexpr std::size_t kThreads = 16;
const char* const kSource =
    "kernel void f(global uint* x, uint a) { x[get_global_id(0)] = x[get_global_id(0)] * 31 + a; }\n";

int launches = 0;      ///< that reached the driver
bool refuses = false;  ///< the driver refuses launches

cl_int CL_API_CALL launch_below(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                const size_t* global, const size_t* local, cl_uint count, const cl_event* waits,
                                cl_event* event) {
  ++launches;
  return refuses ? CL_OUT_OF_RESOURCES
                 : ::clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits, event);
}

const cl_icd_dispatch* dispatch() {
  static const cl_icd_dispatch* const ours = [] {
    static cl_icd_dispatch table = driver_table();
    table.clEnqueueNDRangeKernel = &launch_below;
    state.settings.mode = env::Mode::kReplay;
    state.settings.gate = false;
    state.settings.report = false;
    state.settings.hold_limit_us = 1'000'000;
    cl_uint entries = 0;
    return build_dispatch(&table, sizeof(table) / sizeof(void*), &entries);
  }();
  return ours;
}

/// The engine is made once per process, and gives up once: one test.
TEST_CASE("a call that tells no error submits what was held when the layer gave up, and the next one tells it",
          "[promise-5]") {
  const cl_icd_dispatch* const table = dispatch();
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  REQUIRE(::clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
  REQUIRE(::clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS);
  cl_context context = wrap::clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  REQUIRE(engine() != nullptr);
  const char* source = kSource;
  cl_program program = wrap::clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  REQUIRE(wrap::clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS);
  cl_command_queue queue = wrap::clCreateCommandQueue(context, device, 0, nullptr);
  cl_mem x = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, kThreads * sizeof(cl_uint), nullptr, nullptr);
  cl_kernel kernel = wrap::clCreateKernel(program, "f", nullptr);
  REQUIRE(wrap::clSetKernelArg(kernel, 0, sizeof(x), &x) == CL_SUCCESS);
  const auto launch = [&](cl_uint number) {
    REQUIRE(wrap::clSetKernelArg(kernel, 1, sizeof(number), &number) == CL_SUCCESS);
    return wrap::clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kThreads, nullptr, 0, nullptr, nullptr);
  };
  for (int round = 0;
       round < 400 && !(round > 40 && engine()->report_json().find("\"replayed\": 0,") == std::string::npos); ++round) {
    for (cl_uint i = 0; i < 8; ++i) {
      REQUIRE(launch(i) == CL_SUCCESS);
    }
    REQUIRE(wrap::clFinish(queue) == CL_SUCCESS);
    engine()->wait_idle();
  }
  replay::Engine* const running = engine();
  const auto hold_two = [&] {
    REQUIRE(launch(0) == CL_SUCCESS);
    REQUIRE(launch(1) == CL_SUCCESS);
    REQUIRE(running->anything_held());
  };
  hold_two();
  running->fail("a failure planted by a test");
  launches = 0;
  refuses = true;
  table->clSVMFree(context, nullptr);
  refuses = false;
  CHECK_FALSE(running->anything_held());
  CHECK(launches == 2);
  CHECK(wrap::clFinish(queue) == CL_OUT_OF_RESOURCES);
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  CHECK(launch(2) == CL_SUCCESS);
  CHECK(launches == 3);
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  wrap::clReleaseKernel(kernel);
  wrap::clReleaseMemObject(x);
  wrap::clReleaseCommandQueue(queue);
  wrap::clReleaseProgram(program);
  wrap::clReleaseContext(context);
}

}  // namespace
