// Eager issue, reads and writes of the OpenCL backend on the machine's own driver.
#include <cstring>
#include <thread>

#include "test/backends/opencl_fixture.h"

namespace {

using namespace refrain;
using namespace refrain::test;
using backends::Event;
using backends::kNoEvent;

constexpr auto kBuffer = ArgumentKind::kBuffer;
constexpr auto kImage = ArgumentKind::kImage;

}  // namespace

TEST_CASE_METHOD(OpenClFixture, "opencl: a launch leaves the application's kernel object as it is") {
  cl_mem mine = buffer(1);
  cl_mem yours = buffer(10);
  cl_kernel model = kernel("scale");
  const cl_uint factor = 2, add = 1;
  clSetKernelArg(model, 0, sizeof(cl_mem), &yours);
  clSetKernelArg(model, 1, sizeof(factor), &factor);
  clSetKernelArg(model, 2, sizeof(add), &add);
  clSetKernelArg(model, 3, 64, nullptr);
  REQUIRE(backend.issue(scale(records, model, mine, 100, 0), {}, nullptr).ok());
  const std::size_t items = kWords, local = 16;
  REQUIRE(clEnqueueNDRangeKernel(queue, model, 1, nullptr, &items, &local, 0, nullptr, nullptr) == CL_SUCCESS);
  REQUIRE(first(mine) == 100);
  REQUIRE(first(yours) == 21);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: kernel objects kept for issue see every changed argument") {
  cl_mem a = buffer(1);
  cl_mem b = buffer(1);
  cl_kernel model = kernel("scale");
  std::uint32_t expected_a = 1, expected_b = 1;
  for (std::uint32_t i = 1; i < 50; ++i) {
    const std::uint32_t factor = i % 3 + 1, add = i % 5;
    REQUIRE(
        backend.issue(scale(records, model, i % 2 != 0 ? a : b, factor, add, kWords, i % 2 != 0 ? 21 : 22), {}, nullptr)
            .ok());
    auto& expected = i % 2 != 0 ? expected_a : expected_b;
    expected = expected * factor + add;
  }
  REQUIRE(first(a) == expected_a);
  REQUIRE(first(b) == expected_b);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: the same function in another context, and after it was forgotten") {
  cl_mem data = buffer(1);
  cl_kernel model = kernel("scale");
  REQUIRE(backend.issue(scale(records, model, data, 2, 0), {}, nullptr).ok());
  {
    OpenClFixture other;
    cl_mem there = other.buffer(3);
    // The other context's queue and kernel, but this backend and the same function id.
    REQUIRE(backend.issue(other.scale(other.records, other.kernel("scale"), there, 2, 0), {}, nullptr).ok());
    REQUIRE(other.first(there) == 6);
    backend.forget_function(1);
  }
  // The program can only be built again while no kernel object exists.
  REQUIRE(first(data) == 2);
  cl_int error = 0;
  const char* source = kKernels;
  cl_program own = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  REQUIRE(clBuildProgram(own, 1, &device, "", nullptr, nullptr) == CL_SUCCESS);
  cl_kernel once = clCreateKernel(own, "scale", &error);
  REQUIRE(backend.issue(scale(records, once, data, 2, 0), {}, nullptr).ok());
  REQUIRE(backend.finish(in_order).ok());
  REQUIRE(first(data) == 4);
  clReleaseKernel(once);
  backend.forget_function(1);
  REQUIRE(clBuildProgram(own, 1, &device, "-DX=1", nullptr, nullptr) == CL_SUCCESS);
  clReleaseProgram(own);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: several threads issue one function at once") {
  cl_kernel model = kernel("scale");
  constexpr int kThreads = 4;
  std::vector<cl_mem> data;
  for (int i = 0; i < kThreads; ++i) {
    data.push_back(buffer(1));
  }
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      RecordMaker mine(in_order);
      for (int round = 0; round < 200; ++round) {
        const auto operation =
            scale(mine, model, data[static_cast<std::size_t>(i)], 1, static_cast<std::uint32_t>(i + 1));
        failures += backend.issue(operation, {}, nullptr).ok() ? 0 : 1;
        if (round % 50 == 0 && i == 0) {
          backend.forget_function(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  REQUIRE(failures == 0);
  for (int i = 0; i < kThreads; ++i) {
    REQUIRE(first(data[static_cast<std::size_t>(i)]) == 1 + 200U * static_cast<std::uint32_t>(i + 1));
  }
}

TEST_CASE_METHOD(OpenClFixture, "opencl: reads, writes and rectangles with host memory") {
  cl_mem data = buffer(1);
  std::vector<std::uint32_t> host(kWords, 0xABCD);
  const auto with_host = [&](cl_mem memory, ArgumentKind kind, void* pointer) {
    return [=](OperationWriter& w) {
      w.argument_handle(kind, 0, handle(memory));
      w.argument_handle(ArgumentKind::kHostPointer, 0, handle(pointer));
    };
  };
  REQUIRE(backend
              .issue(records.make(OperationKind::kWriteBuffer, {8, 16, 0}, with_host(data, kBuffer, host.data())), {},
                     nullptr)
              .ok());
  REQUIRE(backend
              .issue(records.make(OperationKind::kReadBuffer, {0, 32, 1}, with_host(data, kBuffer, host.data() + 8),
                                  capture::kBlocking),
                     {}, nullptr)
              .ok());
  REQUIRE(host[8] == 1);
  REQUIRE(host[10] == 0xABCD);
  REQUIRE(host[14] == 7);
  REQUIRE(backend
              .issue(records.make(OperationKind::kReadBufferRect, {4, 0, 0, 0, 1, 0, 4, 2, 1, 16, 0, 8, 0, 1},
                                  with_host(data, kBuffer, host.data())),
                     {}, nullptr)
              .ok());
  REQUIRE(host[2] == 2);
  REQUIRE(host[4] == 0xABCD);
  cl_mem picture = image(3);
  REQUIRE(backend
              .issue(records.make(OperationKind::kWriteImage, {2, 1, 0, 4, 2, 1, 0, 0, 1},
                                  with_host(picture, kImage, host.data())),
                     {}, nullptr)
              .ok());
  std::vector<std::uint32_t> back(8);
  REQUIRE(backend
              .issue(records.make(OperationKind::kReadImage, {2, 1, 0, 4, 2, 1, 0, 0, 1},
                                  with_host(picture, kImage, back.data())),
                     {}, nullptr)
              .ok());
  REQUIRE(std::equal(back.begin(), back.end(), host.begin()));
}

TEST_CASE_METHOD(OpenClFixture, "opencl: shared virtual memory, as pointer argument, copy and fill") {
  auto* memory = static_cast<std::uint32_t*>(clSVMAlloc(context, CL_MEM_READ_WRITE, kBytes, 0));
  if (memory == nullptr) {
    WARN("no shared virtual memory here");
    return;
  }
  const std::uint32_t pattern = 6;
  REQUIRE(backend
              .issue(records.make(OperationKind::kPointerFill, {kBytes},
                                  [&](OperationWriter& w) {
                                    w.argument_handle(ArgumentKind::kPointer, 0, handle(memory));
                                    RecordMaker::value(w, pattern);
                                  }),
                     {}, nullptr)
              .ok());
  REQUIRE(backend
              .issue(records.make(
                         OperationKind::kKernel, {1, 0, 0, 0, kWords / 2, 1, 1, 16, 1, 1},
                         [&](OperationWriter& w) {
                           w.argument_handle(ArgumentKind::kPointer, 0, handle(memory));
                           RecordMaker::value(w, 7U);
                           RecordMaker::value(w, 0U);
                           w.argument_local(64);
                         },
                         0, 1, handle(kernel("scale"))),
                     {}, nullptr)
              .ok());
  std::vector<std::uint32_t> host(kWords);
  REQUIRE(backend
              .issue(records.make(
                         OperationKind::kPointerCopy, {kBytes, 1},
                         [&](OperationWriter& w) {
                           w.argument_handle(ArgumentKind::kHostPointer, 0, handle(host.data()));
                           w.argument_handle(ArgumentKind::kPointer, 0, handle(memory));
                         },
                         capture::kBlocking),
                     {}, nullptr)
              .ok());
  REQUIRE(host[0] == 42);
  REQUIRE(host[kWords - 1] == 6);
  clSVMFree(context, memory);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: markers and barriers wait for what their record says") {
  cl_int error = 0;
  cl_event gate = clCreateUserEvent(context, &error);
  const Event wait = reinterpret_cast<Event>(gate);
  cl_mem data = buffer(1);
  Event late = kNoEvent, free_barrier = kNoEvent, all = kNoEvent;
  REQUIRE(backend.issue(scale(loose, kernel("scale"), data, 2, 0), std::span(&wait, 1), &late).ok());
  // Its own list was empty by the time it is issued: it must not wait for the queue instead. (A barrier:
  // PoCL 3.1 lets every marker wait for the queue.)
  REQUIRE(backend.issue(loose.make(OperationKind::kBarrier, {}, [](OperationWriter&) {}), {}, &free_barrier).ok());
  REQUIRE(backend
              .issue(loose.make(
                         OperationKind::kMarker, {}, [](OperationWriter&) {}, capture::kWaitsForQueue),
                     {}, &all)
              .ok());
  REQUIRE(backend.flush(out_of_order).ok());
  const auto event = reinterpret_cast<cl_event>(free_barrier);
  REQUIRE(clWaitForEvents(1, &event) == CL_SUCCESS);
  REQUIRE_FALSE(backend.complete(late));
  REQUIRE_FALSE(backend.complete(all));
  clSetUserEventStatus(gate, CL_COMPLETE);
  REQUIRE(backend.finish(out_of_order).ok());
  REQUIRE(backend.complete(all));
  Event flushed = kNoEvent;
  REQUIRE(backend.issue(records.make(OperationKind::kFlush, {}, [](OperationWriter&) {}), {}, &flushed).ok());
  REQUIRE(backend.finish(in_order).ok());
  REQUIRE(backend.complete(flushed));
  for (const Event one : {late, free_barrier, all, flushed}) {
    backend.retain_event(one);
    backend.release_event(one);
    backend.release_event(one);
  }
  clReleaseEvent(gate);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: errors are the driver's own") {
  cl_mem data = buffer(1);
  cl_kernel model = kernel("scale");
  Event done = 77;
  const auto odd = records.make(
      OperationKind::kKernel, {1, 0, 0, 0, 17, 1, 1, 16, 1, 1},
      [&](OperationWriter& w) {
        w.argument_handle(kBuffer, 0, handle(data));
        RecordMaker::value(w, 1U);
        RecordMaker::value(w, std::uint64_t{1});  // wrong size
        w.argument_local(64);
      },
      0, 1, handle(model));
  REQUIRE(backend.issue(odd, {}, &done).code == CL_INVALID_ARG_SIZE);
  REQUIRE(done == kNoEvent);
  REQUIRE(backend.issue(copy(records, data, data, kBytes * 2), {}, nullptr).code != CL_SUCCESS);
  REQUIRE(backend.issue(scale(records, model, data, 2, 0), {}, nullptr).ok());  // all arguments are set again
  REQUIRE(first(data) == 2);
  const auto map = records.make(OperationKind::kMap, {}, [](OperationWriter&) {});
  REQUIRE(backend.issue(map, {}, nullptr).code == CL_INVALID_OPERATION);
  const auto broken = records.make(OperationKind::kCopyBuffer, {0, 0, 4}, [](OperationWriter&) {});
  REQUIRE(backend.issue(broken, {}, nullptr).code == CL_INVALID_VALUE);
  REQUIRE(std::string(backend.error_name(-54)) == "CL_INVALID_WORK_GROUP_SIZE");
  REQUIRE(std::string(backend.error_name(-1138)) == "CL_INVALID_COMMAND_BUFFER_KHR");
  REQUIRE(std::string(backend.error_name(-123456)) == "unknown OpenCL error");
}

TEST_CASE_METHOD(OpenClFixture, "opencl: after a launch that was refused the next one has no argument of it") {
  cl_mem data = buffer(1);
  cl_mem other = buffer(100);
  cl_kernel model = kernel("scale");
  const auto good = [&] { return scale(records, model, data, 2, 0, kWords, 21); };
  REQUIRE(backend.issue(good(), {}, nullptr).ok());
  const auto refused = records.make(
      OperationKind::kKernel, {1, 0, 0, 0, kWords, 1, 1, 16, 1, 1},
      [&](OperationWriter& w) {
        w.argument_handle(kBuffer, 22, handle(other));
        RecordMaker::value(w, 7U);
        RecordMaker::value(w, std::uint64_t{1});  // wrong size
        w.argument_local(64);
      },
      0, 1, handle(model));
  REQUIRE(backend.issue(refused, {}, nullptr).code == CL_INVALID_ARG_SIZE);
  REQUIRE(backend.issue(good(), {}, nullptr).ok());
  CHECK(first(data) == 4);
  CHECK(first(other) == 100);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: work that ended with an error is over") {
  cl_int error = 0;
  cl_event failing = clCreateUserEvent(context, &error);
  REQUIRE(error == CL_SUCCESS);
  const auto event = reinterpret_cast<Event>(failing);
  CHECK_FALSE(backend.complete(event));
  REQUIRE(clSetUserEventStatus(failing, CL_OUT_OF_RESOURCES) == CL_SUCCESS);
  CHECK(backend.complete(event));
  clReleaseEvent(failing);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: a flush that was held reaches the driver") {
  static cl_command_queue flushed;  // this driver starts work by itself: nobody would miss it
  flushed = nullptr;
  cl_icd_dispatch noting = *backends::opencl::system_dispatch();
  noting.clFlush = [](cl_command_queue which) -> cl_int {
    flushed = which;
    return clFlush(which);
  };
  backends::OpenClBackend noted(noting);
  REQUIRE(noted.issue(records.make(OperationKind::kFlush, {}, [](OperationWriter&) {}), {}, nullptr).ok());
  CHECK(flushed == queue);
}

TEST_CASE_METHOD(OpenClFixture, "opencl: whole contents, also of what the host may not touch") {
  cl_mem data = buffer(3);
  REQUIRE(backend.size_of(kBuffer, handle(data)) == kBytes);
  const auto bytes = contents(data);
  std::vector<std::byte> wrong(kBytes - 4);
  REQUIRE(backend.read(in_order, kBuffer, handle(data), wrong).code == CL_INVALID_VALUE);

  cl_int error = 0;
  cl_mem hidden = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, kBytes, nullptr, &error);
  REQUIRE(error == CL_SUCCESS);
  REQUIRE(backend.write(in_order, kBuffer, handle(hidden), bytes).code == CL_SUCCESS);
  REQUIRE(contents(hidden) == bytes);
  clReleaseMemObject(hidden);

  cl_mem picture = image(3);
  REQUIRE(backend.size_of(kImage, handle(picture)) == 16UL * 8 * 4);
  auto pixels = contents(picture, kImage);
  std::reverse(pixels.begin(), pixels.end());
  REQUIRE(backend.write(in_order, kImage, handle(picture), pixels).ok());
  REQUIRE(contents(picture, kImage) == pixels);
  const cl_image_format format{CL_R, CL_FLOAT};
  cl_image_desc volume{};
  volume.image_type = CL_MEM_OBJECT_IMAGE3D;
  volume.image_width = 3;
  volume.image_height = 4;
  volume.image_depth = 5;
  cl_mem solid = clCreateImage(context, CL_MEM_READ_WRITE, &format, &volume, nullptr, &error);
  REQUIRE(error == CL_SUCCESS);
  REQUIRE(backend.size_of(kImage, handle(solid)) == 3UL * 4 * 5 * 4);
  clReleaseMemObject(solid);
  REQUIRE(backend.size_of(kBuffer, 0) == 0);
}
