// An OpenCL device, context, queues and a few kernels for tests of the backend.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/system_dispatch.h"
#include "test/backends/record_maker.h"

namespace refrain::test {

inline constexpr const char* kKernels = R"(
__kernel void scale(__global uint* data, uint factor, uint add, __local uint* scratch) {
  scratch[get_local_id(0)] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = scratch[get_local_id(0)] * factor + add;
}
__kernel void paint(__write_only image2d_t image, uint seed) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(image, at, (uint4)(at.x, at.y, seed & 255, at.x ^ at.y));
}
__kernel void sampled(__read_only image2d_t image, sampler_t how, __global uint4* into) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  into[at.y * get_global_size(0) + at.x] = read_imageui(image, how, at);
}
__kernel void slow(__global uint* data, uint rounds) {
  uint x = data[0];
  for (uint i = 0; i < rounds; ++i) { x = x * 1664525u + 1013904223u; }
  data[0] = x;
}
)";

struct OpenClFixture {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr, loose_queue = nullptr;
  cl_program program = nullptr;
  capture::QueueInfo in_order, out_of_order;
  backends::OpenClBackend backend{*backends::opencl::system_dispatch()};
  RecordMaker records{{}}, loose{{}};
  static constexpr std::size_t kWords = 256;
  static constexpr std::size_t kBytes = kWords * 4;

  OpenClFixture() {
    cl_platform_id platform = nullptr;
    REQUIRE(clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
    REQUIRE(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS);
    cl_int error = 0;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    REQUIRE(error == CL_SUCCESS);
    queue = clCreateCommandQueueWithProperties(context, device, nullptr, &error);
    REQUIRE(error == CL_SUCCESS);
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    loose_queue = clCreateCommandQueueWithProperties(context, device, properties, &error);
    REQUIRE(error == CL_SUCCESS);
    const char* source = kKernels;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    REQUIRE(clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS);
    in_order = {1, reinterpret_cast<capture::Handle>(queue), 1, 1, 0, true, false};
    out_of_order = {2, reinterpret_cast<capture::Handle>(loose_queue), 1, 1, 1, false, false};
    records = RecordMaker(in_order);
    loose = RecordMaker(out_of_order);
  }
  ~OpenClFixture() {
    for (const cl_kernel one : kernels_) {
      clReleaseKernel(one);
    }
    backend.forget_function(1);
    clFinish(queue);
    clFinish(loose_queue);
    for (const cl_mem one : memory_) {
      clReleaseMemObject(one);
    }
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(loose_queue);
    clReleaseContext(context);
  }
  OpenClFixture(const OpenClFixture&) = delete;
  OpenClFixture& operator=(const OpenClFixture&) = delete;

  cl_kernel kernel(const char* name) {
    cl_int error = 0;
    kernels_.push_back(clCreateKernel(program, name, &error));
    REQUIRE(error == CL_SUCCESS);
    return kernels_.back();
  }
  /// With contents 1, 2, 3 … times `seed`.
  cl_mem buffer(std::uint32_t seed, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    std::vector<std::uint32_t> words(kWords);
    for (std::size_t i = 0; i < kWords; ++i) {
      words[i] = static_cast<std::uint32_t>(i + 1) * seed;
    }
    cl_int error = 0;
    memory_.push_back(clCreateBuffer(context, flags | CL_MEM_COPY_HOST_PTR, kBytes, words.data(), &error));
    REQUIRE(error == CL_SUCCESS);
    return memory_.back();
  }
  cl_mem image(std::uint8_t seed, std::size_t width = 16, std::size_t height = 8) {
    const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = width;
    description.image_height = height;
    std::vector<std::uint8_t> bytes(width * height * 4);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(i * seed + 1);
    }
    cl_int error = 0;
    memory_.push_back(
        clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &description, bytes.data(), &error));
    REQUIRE(error == CL_SUCCESS);
    return memory_.back();
  }
  void forget(cl_mem memory) { std::erase(memory_, memory); }

  static capture::Handle handle(const void* object) { return reinterpret_cast<capture::Handle>(object); }
  std::vector<std::byte> contents(cl_mem memory, ArgumentKind kind = ArgumentKind::kBuffer) {
    std::vector<std::byte> bytes(backend.size_of(kind, handle(memory)));
    REQUIRE(backend.read(in_order, kind, handle(memory), bytes).ok());
    return bytes;
  }
  std::uint32_t first(cl_mem memory) {
    const auto bytes = contents(memory);
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data(), 4);
    return word;
  }

  // data[i] = data[i] * factor + add
  OperationView scale(RecordMaker& maker, cl_kernel model, cl_mem data, std::uint32_t factor, std::uint32_t add,
                      std::uint64_t items = kWords, capture::ObjectId object = 0) {
    return maker.make(
        OperationKind::kKernel, {1, 0, 0, 0, items, 1, 1, 16, 1, 1},
        [&](OperationWriter& w) {
          w.argument_handle(ArgumentKind::kBuffer, object, handle(data));
          RecordMaker::value(w, factor);
          RecordMaker::value(w, add);
          w.argument_local(16 * 4);
        },
        0, 1, handle(model));
  }
  OperationView copy(RecordMaker& maker, cl_mem from, cl_mem to, std::uint64_t bytes = kBytes) {
    return maker.make(OperationKind::kCopyBuffer, {0, 0, bytes}, [&](OperationWriter& w) {
      w.argument_handle(ArgumentKind::kBuffer, 0, handle(from));
      w.argument_handle(ArgumentKind::kBuffer, 0, handle(to));
    });
  }
  std::unique_ptr<backends::CommandBuffer> record(const capture::Graph& graph) {
    std::unique_ptr<backends::CommandBuffer> result;
    const auto nodes = all_nodes(graph);
    REQUIRE(backend.record(graph, nodes, &result).code == CL_SUCCESS);
    REQUIRE(result);
    return result;
  }

 private:
  std::vector<cl_kernel> kernels_;
  std::vector<cl_mem> memory_;
};

}  // namespace refrain::test
