// Command buffers of the OpenCL backend on the machine's own driver.
#include <chrono>
#include <cstring>
#include <thread>

#include "backends/opencl/device_facts.h"
#include "test/backends/opencl_fixture.h"

namespace {

using namespace refrain;
using namespace refrain::test;
using backends::CommandBuffer;
using backends::Event;
using backends::kNoEvent;

struct Replay : OpenClFixture {
  bool native() {
    const auto able = backend.capabilities(in_order);
    if (!able.native) {
      WARN("no command buffers here: " << able.why_not);
    }
    return able.native;
  }
  void reset(const std::vector<std::pair<cl_mem, ArgumentKind>>& objects,
             const std::vector<std::vector<std::byte>>& start) {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      REQUIRE(backend.write(in_order, objects[i].second, handle(objects[i].first), start[i]).ok());
    }
  }
  /// The operation (twice in a row) does the same eagerly and natively, and does something.
  void compare(OperationView operation, const std::vector<std::pair<cl_mem, ArgumentKind>>& objects) {
    INFO(capture::name_of(operation.kind()));
    std::vector<std::vector<std::byte>> start, eager, replayed;
    for (const auto& [memory, kind] : objects) {
      start.push_back(contents(memory, kind));
    }
    REQUIRE(backend.can_record(operation, in_order).ok);
    for (int i = 0; i < 2; ++i) {
      REQUIRE(backend.issue(operation, {}, nullptr).code == CL_SUCCESS);
    }
    for (const auto& [memory, kind] : objects) {
      eager.push_back(contents(memory, kind));
    }
    REQUIRE(eager != start);
    reset(objects, start);
    const auto buffer = record(make_graph(in_order, {operation, operation}));
    REQUIRE(buffer->enqueue({}, nullptr).code == CL_SUCCESS);
    for (const auto& [memory, kind] : objects) {
      replayed.push_back(contents(memory, kind));
    }
    REQUIRE(replayed == eager);
  }
};

constexpr auto kBuffer = ArgumentKind::kBuffer;
constexpr auto kImage = ArgumentKind::kImage;

}  // namespace

TEST_CASE_METHOD(Replay, "opencl: every recordable kind equals eager bytes") {
  if (!native()) {
    return;
  }
  cl_mem a = buffer(3);
  cl_mem b = buffer(5);
  cl_mem image_a = image(7);
  cl_mem image_b = image(11);
  const auto two = [&](cl_mem x, ArgumentKind kx, cl_mem y, ArgumentKind ky) {
    return [=](OperationWriter& w) {
      w.argument_handle(kx, 0, handle(x));
      w.argument_handle(ky, 0, handle(y));
    };
  };
  compare(scale(records, kernel("scale"), a, 3, 1), {{a, kBuffer}});
  compare(records.make(
              OperationKind::kKernel, {2, 0, 0, 0, 16, 8, 1, 0, 0, 0},
              [&](OperationWriter& w) {
                w.argument_handle(kImage, 0, handle(image_a));
                RecordMaker::value(w, 77U);
              },
              0, 2, handle(kernel("paint"))),
          {{image_a, kImage}});
  compare(records.make(OperationKind::kCopyBuffer, {16, 32, 100}, two(a, kBuffer, b, kBuffer)),
          {{a, kBuffer}, {b, kBuffer}});
  compare(records.make(OperationKind::kCopyBufferRect, {4, 1, 0, 8, 2, 0, 12, 5, 1, 64, 0, 32, 0},
                       two(a, kBuffer, b, kBuffer)),
          {{a, kBuffer}, {b, kBuffer}});
  compare(records.make(OperationKind::kCopyImage, {1, 2, 0, 5, 0, 0, 6, 4, 1}, two(image_a, kImage, image_b, kImage)),
          {{image_a, kImage}, {image_b, kImage}});
  compare(records.make(OperationKind::kCopyBufferToImage, {12, 2, 3, 0, 4, 5, 1}, two(b, kBuffer, image_b, kImage)),
          {{b, kBuffer}, {image_b, kImage}});
  compare(records.make(OperationKind::kCopyImageToBuffer, {2, 3, 0, 4, 5, 1, 20}, two(image_a, kImage, b, kBuffer)),
          {{b, kBuffer}, {image_a, kImage}});
  const std::uint32_t colour[4] = {9, 8, 7, 6};
  compare(records.make(OperationKind::kFillImage, {3, 1, 0, 5, 4, 1},
                       [&](OperationWriter& w) {
                         w.argument_handle(kImage, 0, handle(image_b));
                         w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(colour)));
                       }),
          {{image_b, kImage}});
  for (const std::size_t size : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U}) {
    std::vector<std::byte> pattern(size);
    for (std::size_t i = 0; i < size; ++i) {
      pattern[i] = static_cast<std::byte>(size + i * 3);
    }
    compare(records.make(OperationKind::kFillBuffer, {size * 2, size * 3},
                         [&](OperationWriter& w) {
                           w.argument_handle(kBuffer, 0, handle(b));
                           w.argument(ArgumentKind::kValue, 0, pattern);
                         }),
            {{b, kBuffer}});
  }
}

TEST_CASE_METHOD(Replay, "opencl: sub-buffers are replayed at their place") {
  if (!native()) {
    return;
  }
  cl_mem whole = buffer(1);
  const cl_buffer_region region{512, 512};
  cl_int error = 0;
  cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  REQUIRE(error == CL_SUCCESS);
  compare(scale(records, kernel("scale"), part, 3, 1, 128), {{whole, kBuffer}});
  clReleaseMemObject(part);
}

TEST_CASE_METHOD(Replay, "opencl: arguments are snapshotted") {
  if (!native()) {
    return;
  }
  cl_mem data = buffer(1);
  cl_kernel model = kernel("scale");
  auto operation = scale(records, model, data, 2, 5);
  const auto buffer = record(make_graph(in_order, {operation}));
  cl_mem other = this->buffer(9);
  const cl_uint nonsense = 1000;
  REQUIRE(clSetKernelArg(model, 0, sizeof(cl_mem), &other) == CL_SUCCESS);
  REQUIRE(clSetKernelArg(model, 1, sizeof(cl_uint), &nonsense) == CL_SUCCESS);
  REQUIRE(clSetKernelArg(model, 2, sizeof(cl_uint), &nonsense) == CL_SUCCESS);
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(first(data) == 7);
  REQUIRE(buffer->enqueue({}, nullptr).ok());
  REQUIRE(first(data) == 19);
  REQUIRE(first(other) == 9);
}

TEST_CASE_METHOD(Replay, "opencl: two nodes of one kernel keep their own arguments") {
  if (!native()) {
    return;
  }
  cl_mem a = buffer(1);
  cl_mem b = buffer(1);
  cl_kernel model = kernel("scale");
  const auto recorded = record(make_graph(in_order, {scale(records, model, a, 2, 0), scale(records, model, b, 3, 0)}));
  REQUIRE(recorded->enqueue({}, nullptr).ok());
  REQUIRE(first(a) == 2);
  REQUIRE(first(b) == 3);
}

TEST_CASE_METHOD(Replay, "opencl: objects may be released right after recording") {
  if (!native()) {
    return;
  }
  std::unique_ptr<CommandBuffer> recorded;
  cl_mem result = buffer(0);
  {
    cl_int error = 0;
    const char* source = kKernels;
    cl_program own = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    REQUIRE(clBuildProgram(own, 1, &device, "", nullptr, nullptr) == CL_SUCCESS);
    cl_kernel model = clCreateKernel(own, "scale", &error);
    cl_mem data = buffer(1);
    recorded = record(make_graph(in_order, {scale(records, model, data, 2, 5), copy(records, data, result)}));
    forget(data);
    clReleaseMemObject(data);
    clReleaseKernel(model);
    clReleaseProgram(own);
  }
  REQUIRE(recorded->enqueue({}, nullptr).ok());
  REQUIRE(recorded->enqueue({}, nullptr).ok());
  REQUIRE(first(result) == (1 * 2 + 5) * 2 + 5);
}

TEST_CASE_METHOD(Replay, "opencl: N submissions give N ordered events, and wait lists are honoured") {
  if (!native()) {
    return;
  }
  cl_mem data = buffer(1);
  const auto recorded = record(make_graph(in_order, {scale(records, kernel("scale"), data, 2, 1)}));
  cl_int error = 0;
  cl_event gate = clCreateUserEvent(context, &error);
  const Event wait = reinterpret_cast<Event>(gate);
  constexpr int kTimes = 10;
  std::vector<cl_event> done(kTimes);
  for (cl_event& event : done) {
    Event made = kNoEvent;
    REQUIRE(recorded->enqueue(std::span(&wait, 1), &made).ok());
    event = reinterpret_cast<cl_event>(made);
    REQUIRE_FALSE(backend.complete(made));
  }
  REQUIRE(recorded->busy());
  REQUIRE(clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS);
  // The last one first: when it is complete, all are.
  REQUIRE(clWaitForEvents(1, &done.back()) == CL_SUCCESS);
  for (const cl_event event : done) {
    REQUIRE(backend.complete(reinterpret_cast<Event>(event)));
    clReleaseEvent(event);
  }
  REQUIRE_FALSE(recorded->busy());
  REQUIRE(first(data) == (2U << kTimes) - 1);
  clReleaseEvent(gate);
}

TEST_CASE_METHOD(Replay, "opencl: release with work in flight is safe") {
  if (!native()) {
    return;
  }
  cl_mem result = buffer(0);
  cl_mem data = buffer(1);
  auto recorded =
      record(make_graph(in_order, {scale(records, kernel("scale"), data, 2, 5), copy(records, data, result)}));
  cl_int error = 0;
  cl_event gate = clCreateUserEvent(context, &error);
  const Event wait = reinterpret_cast<Event>(gate);
  Event done = kNoEvent;
  REQUIRE(recorded->enqueue(std::span(&wait, 1), &done).ok());
  recorded.reset();
  forget(data);
  clReleaseMemObject(data);
  REQUIRE(clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS);
  const cl_event native_done = reinterpret_cast<cl_event>(done);
  REQUIRE(clWaitForEvents(1, &native_done) == CL_SUCCESS);
  REQUIRE(first(result) == 7);
  backend.release_event(done);
  clReleaseEvent(gate);
}

TEST_CASE_METHOD(Replay, "opencl: retained objects are given back") {
  if (!native()) {
    return;
  }
  cl_mem data = buffer(1);
  const auto references = [&] {
    cl_uint count = 0;
    REQUIRE(clGetMemObjectInfo(data, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, nullptr) == CL_SUCCESS);
    return count;
  };
  const auto queue_references = [&] {
    cl_uint count = 0;
    REQUIRE(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof(count), &count, nullptr) == CL_SUCCESS);
    return count;
  };
  // PoCL's buffers keep the event of their last use, which keeps its queue: use it once before counting.
  REQUIRE(backend.issue(scale(records, kernel("scale"), data, 1, 1), {}, nullptr).ok());
  REQUIRE(backend.finish(in_order).ok());
  const auto before = references();
  const auto queue_before = queue_references();
  auto recorded = record(make_graph(in_order, {scale(records, kernel("scale"), data, 2, 5)}));
  REQUIRE(references() > before);
  REQUIRE(recorded->enqueue({}, nullptr).ok());
  clFinish(queue);
  recorded.reset();
  // PoCL gives its own reference back in a thread of its own, some time after the end of the work.
  for (int i = 0; i < 1000 && (references() != before || queue_references() != queue_before); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(references() == before);
  REQUIRE(queue_references() == queue_before);
}

TEST_CASE_METHOD(Replay, "opencl: out-of-order queues keep the edges of the part") {
  if (!native() || !backend.capabilities(out_of_order).out_of_order) {
    return;
  }
  cl_mem data = buffer(1);
  cl_mem result = buffer(0);
  cl_kernel model = kernel("scale");
  for (int round = 0; round < 20; ++round) {
    auto start = contents(buffer(1));
    REQUIRE(backend.write(in_order, kBuffer, handle(data), start).ok());
    // A chain by hand, with a flush in it that has no command of its own.
    const auto flush = loose.make(OperationKind::kFlush, {}, [](OperationWriter&) {});
    const auto graph = make_graph(out_of_order,
                                  {scale(loose, model, data, 1, 3), flush, scale(loose, model, data, 5, 0),
                                   scale(loose, model, data, 1, 1), copy(loose, data, result)},
                                  {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
    const auto recorded = record(graph);
    Event done = kNoEvent;
    REQUIRE(recorded->enqueue({}, &done).ok());
    const auto event = reinterpret_cast<cl_event>(done);
    clWaitForEvents(1, &event);
    backend.release_event(done);
    REQUIRE(first(result) == 21);
  }
}

TEST_CASE_METHOD(Replay, "opencl: barriers and markers in out-of-order queues") {
  if (!native() || !backend.capabilities(out_of_order).out_of_order) {
    return;
  }
  cl_mem a = buffer(1);
  cl_mem b = buffer(1);
  cl_kernel model = kernel("scale");
  const auto barrier = loose.make(
      OperationKind::kBarrier, {}, [](OperationWriter&) {}, capture::kWaitsForQueue | capture::kBlocksQueue);
  const auto graph = make_graph(out_of_order, {scale(loose, model, a, 1, 3), scale(loose, model, b, 1, 4), barrier,
                                               scale(loose, model, a, 5, 0), scale(loose, model, b, 7, 0)});
  REQUIRE(graph.edges().size() == 4);
  const auto recorded = record(graph);
  REQUIRE(recorded->enqueue({}, nullptr).ok());
  REQUIRE(backend.finish(out_of_order).ok());
  REQUIRE(first(a) == 20);
  REQUIRE(first(b) == 35);
}

TEST_CASE_METHOD(Replay, "opencl: a part of markers and flushes only") {
  if (!native()) {
    return;
  }
  const auto marker = records.make(
      OperationKind::kMarker, {}, [](OperationWriter&) {}, capture::kWaitsForQueue);
  const auto flush = records.make(OperationKind::kFlush, {}, [](OperationWriter&) {});
  const auto recorded = record(make_graph(in_order, {marker, flush}));
  Event done = kNoEvent;
  REQUIRE(recorded->enqueue({}, &done).ok());
  REQUIRE(backend.finish(in_order).ok());
  REQUIRE(backend.complete(done));
  backend.release_event(done);
}

TEST_CASE_METHOD(Replay, "opencl: what cannot be recorded says why, and is refused") {
  if (!native()) {
    return;
  }
  cl_mem data = buffer(1);
  std::uint32_t word = 0;
  const auto read = records.make(OperationKind::kReadBuffer, {0, 4, 0}, [&](OperationWriter& w) {
    w.argument_handle(kBuffer, 0, handle(data));
    w.argument_handle(ArgumentKind::kHostPointer, 0, handle(&word));
  });
  const auto answer = backend.can_record(read, in_order);
  REQUIRE_FALSE(answer.ok);
  REQUIRE(std::string(answer.why).find("host memory") != std::string::npos);
  std::unique_ptr<CommandBuffer> recorded;
  const auto graph = make_graph(in_order, {read});
  REQUIRE(backend.record(graph, all_nodes(graph), &recorded).code == CL_INVALID_OPERATION);
  REQUIRE_FALSE(recorded);
  for (std::uint16_t kind = 0; kind < capture::kOperationKindCount; ++kind) {
    const auto operation = records.make(static_cast<OperationKind>(kind), {}, [](OperationWriter&) {});
    const auto about_kind = backend.can_record(operation, in_order);
    REQUIRE(about_kind.ok == (std::string(about_kind.why).empty()));
  }
}

TEST_CASE_METHOD(Replay, "opencl: kernels with samplers on drivers that corrupt memory") {
  if (!native()) {
    return;
  }
  cl_int error = 0;
  cl_sampler sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error);
  REQUIRE(error == CL_SUCCESS);
  cl_mem from = image(5);
  cl_int size_error = 0;
  cl_mem into = clCreateBuffer(context, CL_MEM_READ_WRITE, 16UL * 8 * 16, nullptr, &size_error);
  const auto operation = records.make(
      OperationKind::kKernel, {2, 0, 0, 0, 16, 8, 1, 0, 0, 0},
      [&](OperationWriter& w) {
        w.argument_handle(kImage, 0, handle(from));
        w.argument_handle(ArgumentKind::kSampler, 0, handle(sampler));
        w.argument_handle(kBuffer, 0, handle(into));
      },
      0, 3, handle(kernel("sampled")));
  REQUIRE(backend.issue(operation, {}, nullptr).code == CL_SUCCESS);
  REQUIRE(backend.finish(in_order).ok());
  backends::opencl::DeviceTable devices(*backends::opencl::system_dispatch());
  if (devices.of_device(device).samplers_broken) {
    REQUIRE_FALSE(backend.can_record(operation, in_order).ok);
  } else {
    compare(operation, {{into, kBuffer}});
  }
  backend.forget_function(3);
  clReleaseMemObject(into);
  clReleaseSampler(sampler);
}

TEST_CASE_METHOD(Replay, "opencl: recording is refused with the driver's error, without leaks") {
  if (!native()) {
    return;
  }
  cl_mem data = buffer(1);
  const auto no_kernel = scale(records, nullptr, data, 1, 1);
  const auto graph = make_graph(in_order, {no_kernel});
  std::unique_ptr<CommandBuffer> recorded;
  REQUIRE(backend.record(graph, all_nodes(graph), &recorded).code == CL_INVALID_KERNEL);
  cl_uint count = 0;
  REQUIRE(clGetMemObjectInfo(data, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, nullptr) == CL_SUCCESS);
  REQUIRE(count == 1);
  const auto missing = records.make(OperationKind::kCopyBuffer, {0, 0, 4}, [](OperationWriter&) {});
  const auto broken = make_graph(in_order, {missing});
  REQUIRE(backend.record(broken, all_nodes(broken), &recorded).code == CL_INVALID_VALUE);
}

TEST_CASE_METHOD(Replay, "opencl: append after finalize is an error of the driver") {
  if (!native()) {
    return;
  }
  backends::opencl::DeviceTable devices(*backends::opencl::system_dispatch());
  const auto& facts = devices.of_device(device);
  cl_int error = 0;
  auto made = facts.api.create(queue, 0, &error);
  REQUIRE(error == CL_SUCCESS);
  cl_mem data = buffer(1);
  const std::uint32_t pattern = 7;
  REQUIRE(facts.api.fill_buffer(made, data, &pattern, 4, 0, 16, {}) == CL_SUCCESS);
  REQUIRE(facts.api.finalize(made) == CL_SUCCESS);
  REQUIRE(facts.api.fill_buffer(made, data, &pattern, 4, 0, 16, {}) == CL_INVALID_OPERATION);
  if (facts.version >= backends::opencl::make_version(0, 9, 1)) {
    REQUIRE(facts.api.finalize(made) == CL_INVALID_OPERATION);
  }
  facts.api.release(made);
}

TEST_CASE_METHOD(Replay, "opencl: update without mutable dispatch fails without side effects") {
  if (!native() || backend.capabilities(in_order).update_arguments) {
    return;
  }
  cl_mem data = buffer(1);
  cl_kernel model = kernel("scale");
  const auto recorded = record(make_graph(in_order, {scale(records, model, data, 2, 1)}));
  const backends::NodeUpdate update{0, scale(records, model, data, 100, 100)};
  REQUIRE(recorded->update(std::span(&update, 1)).code == CL_INVALID_OPERATION);
  REQUIRE(recorded->enqueue({}, nullptr).ok());
  REQUIRE(first(data) == 3);
}
