// All versions of the command-buffer extension, against a driver that writes down what it is asked.
#include <catch2/catch.hpp>

#include "backends/opencl/opencl_backend.h"
#include "test/backends/fake_work.h"

namespace {

using namespace refrain;
using namespace refrain::test;
using backends::Event;

std::vector<OperationView> everything(RecordMaker& r, bool svm) {
  // Objects 1 and 2.
  const auto two = [](ArgumentKind a, ArgumentKind b) {
    return [=](OperationWriter& w) {
      w.argument_handle(a, 1, 0x10);
      w.argument_handle(b, 2, 0x20);
    };
  };
  const auto with_value = [](ArgumentKind kind, std::string_view bytes) {
    return [=](OperationWriter& w) {
      w.argument_handle(kind, 1, 0x10);
      w.argument(ArgumentKind::kValue, 0, std::as_bytes(std::span(bytes)));
    };
  };
  constexpr auto kB = ArgumentKind::kBuffer;
  constexpr auto kI = ArgumentKind::kImage;
  std::vector<OperationView> all = {
      kernel(r, 7),
      r.make(OperationKind::kCopyBuffer, {1, 2, 3}, two(kB, kB)),
      r.make(OperationKind::kCopyBufferRect, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, two(kB, kB)),
      r.make(OperationKind::kFillBuffer, {8, 16}, with_value(kB, "abcd")),
      r.make(OperationKind::kCopyImage, {1, 2, 3, 4, 5, 6, 7, 8, 9}, two(kI, kI)),
      r.make(OperationKind::kFillImage, {1, 2, 3, 4, 5, 6}, with_value(kI, "0123456789abcdef")),
      r.make(OperationKind::kCopyBufferToImage, {1, 2, 3, 4, 5, 6, 7}, two(kB, kI)),
      r.make(OperationKind::kCopyImageToBuffer, {1, 2, 3, 4, 5, 6, 7}, two(kI, kB)),
  };
  if (svm) {
    all.push_back(r.make(OperationKind::kPointerCopy, {99, 0}, two(ArgumentKind::kPointer, ArgumentKind::kPointer)));
    all.push_back(r.make(OperationKind::kPointerFill, {96}, with_value(ArgumentKind::kPointer, "xyz")));
  }
  return all;
}

std::vector<std::string> expected(bool svm) {
  std::vector<std::string> all = {
      "kernel 2 1,2,3 64,8,1 4,4,1",
      "copy 16 32 1 2 3",
      "rect 16 32 1,2,3 4,5,6 7,8,9 10 11 12 13",
      "fill 16 abcd 8 16",
      "image 16 32 1,2,3 4,5,6 7,8,9",
      "fill image 16 0123456789abcdef 1,2,3 4,5,6",
      "to image 16 32 1 2,3,4 5,6,7",
      "from image 16 32 1,2,3 4,5,6 7",
  };
  if (svm) {
    all.emplace_back("svm copy 16 32 99");
    all.emplace_back("svm fill 16 xyz 96");
  }
  return all;
}

capture::Graph graph_of(const capture::QueueInfo& queue, const std::vector<OperationView>& operations) {
  capture::GraphBuilder builder;
  builder.declare_queue(queue);
  for (const OperationView& operation : operations) {
    builder.add(operation);
  }
  return builder.finish();
}

}  // namespace

TEST_CASE("versions: every command arrives with the arguments of its version") {
  for (std::uint32_t patch = 0; patch <= 8; ++patch) {
    INFO("0.9." << patch);
    FakeDriver driver;
    driver.version = make_version(0, 9, patch);
    const bool svm = patch >= 4;
    {
      backends::OpenClBackend backend(driver.dispatch);
      const auto able = backend.capabilities(kInOrder);
      REQUIRE(able.native);
      REQUIRE(able.version == driver.version);
      REQUIRE_FALSE(able.update_arguments);
      REQUIRE_FALSE(able.out_of_order);
      REQUIRE(able.simultaneous_use == (patch == 8));
      RecordMaker records(kInOrder);
      const auto svm_copy = everything(records, true)[8];
      REQUIRE(backend.can_record(svm_copy, kInOrder).ok == svm);
      const auto graph = graph_of(kInOrder, everything(records, svm));
      std::unique_ptr<backends::CommandBuffer> buffer;
      REQUIRE(backend.record(graph, all_nodes(graph), &buffer).code == CL_SUCCESS);
      REQUIRE(driver.commands == expected(svm));
      REQUIRE(driver.create_flags.empty());
      REQUIRE(driver.finalized == 1);
      Event done = backends::kNoEvent;
      REQUIRE(buffer->enqueue({}, &done).ok());
      backend.release_event(done);
    }
    check_no_leak(driver);
  }
}

TEST_CASE("versions: out-of-order queues and sync points") {
  for (const std::uint32_t patch : {0U, 5U, 6U, 8U}) {
    INFO("0.9." << patch);
    FakeDriver driver;
    driver.version = make_version(0, 9, patch);
    backends::OpenClBackend backend(driver.dispatch);
    if (patch >= 6) {
      driver.supported_queue = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    } else {
      driver.capabilities = 1U << 3U;
    }
    driver.queue_properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    REQUIRE(backend.capabilities(kOutOfOrder).out_of_order);
    RecordMaker r(kOutOfOrder);
    const auto copy = [&] {
      return r.make(OperationKind::kCopyBuffer, {0, 0, 4}, [](OperationWriter& w) {
        w.argument_handle(ArgumentKind::kBuffer, 0, 0x10);
        w.argument_handle(ArgumentKind::kBuffer, 0, 0x20);
      });
    };
    const auto flush = [&] { return r.make(OperationKind::kFlush, {}, [](OperationWriter&) {}); };
    const auto marker = [&] { return r.make(OperationKind::kMarker, {}, [](OperationWriter&) {}); };
    // 0 → 1 → flush 2 → 3;   {3, 4} → marker 5 → 6
    const auto graph = make_graph(kOutOfOrder, {copy(), copy(), flush(), copy(), copy(), marker(), copy()},
                                  {{0, 1}, {1, 2}, {2, 3}, {3, 5}, {4, 5}, {5, 6}});
    std::unique_ptr<backends::CommandBuffer> buffer;
    REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
    REQUIRE(driver.commands ==
            std::vector<std::string>{"copy 16 32 0 0 4 makes 100", "copy 16 32 0 0 4 after 100 makes 101",
                                     "copy 16 32 0 0 4 after 101 makes 102", "copy 16 32 0 0 4 makes 103",
                                     "barrier after 102 after 103 makes 104", "copy 16 32 0 0 4 after 104 makes 105"});
  }
}

TEST_CASE("versions: queues the device has no command buffers for") {
  FakeDriver driver;
  driver.version = make_version(0, 9, 6);
  driver.queue_properties = CL_QUEUE_PROFILING_ENABLE;
  {
    backends::OpenClBackend backend(driver.dispatch);
    REQUIRE_FALSE(backend.capabilities(kInOrder).native);
  }
  driver.supported_queue = CL_QUEUE_PROFILING_ENABLE;
  {
    backends::OpenClBackend backend(driver.dispatch);
    REQUIRE(backend.capabilities(kInOrder).native);
    REQUIRE_FALSE(backend.capabilities(kInOrder).out_of_order);
    RecordMaker records(kOutOfOrder);
    REQUIRE_FALSE(backend.can_record(kernel(records, 1), kOutOfOrder).ok);
  }
  driver.required_queue = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  {
    backends::OpenClBackend backend(driver.dispatch);
    REQUIRE_FALSE(backend.capabilities(kInOrder).native);
  }
}

TEST_CASE("versions: no extension, no version, unknown version, missing function") {
  const auto why = [](const std::function<void(FakeDriver&)>& change) {
    FakeDriver driver;
    change(driver);
    backends::OpenClBackend backend(driver.dispatch);
    const auto able = backend.capabilities(kInOrder);
    REQUIRE_FALSE(able.native);
    RecordMaker records(kInOrder);
    REQUIRE_FALSE(backend.can_record(kernel(records, 1), kInOrder).ok);
    const auto graph = make_graph(kInOrder, {kernel(records, 1)});
    std::unique_ptr<backends::CommandBuffer> buffer;
    REQUIRE_FALSE(backend.record(graph, all_nodes(graph), &buffer).ok());
    return std::string(able.why_not);
  };
  CHECK(why([](FakeDriver& d) { d.has_extension = false; }).find("no command buffers") != std::string::npos);
  CHECK(why([](FakeDriver& d) { d.tells_versions = false; }).find("which version") != std::string::npos);
  CHECK(why([](FakeDriver& d) { d.version = make_version(0, 9, 9); }).find("0.9.8") != std::string::npos);
  CHECK(why([](FakeDriver& d) { d.version = make_version(1, 0, 0); }).find("0.9.8") != std::string::npos);
  CHECK(why([](FakeDriver& d) { d.missing_function = "clCommandFillImageKHR"; }).find("lacks functions") !=
        std::string::npos);
}

TEST_CASE("versions: what names shared virtual memory that was freed is not recorded") {
  FakeDriver driver;
  driver.version = make_version(0, 9, 4);
  backends::MemoryInventory shared;
  backends::OpenClBackend backend(driver.dispatch, &shared);
  RecordMaker records(kInOrder);
  auto operations = everything(records, true);  // copies from 0x20 to 0x10
  // A kernel's pointer may be to any memory of the process; that of object 3 is at 0x30.
  for (const capture::ObjectId object : {0U, 3U}) {
    operations.push_back(records.make(
        OperationKind::kKernel,
        capture::words::Kernel{.dimensions = 1, .offset = {}, .global = {64, 1, 1}, .local = {}},
        [object](OperationWriter& w) { w.argument_handle(ArgumentKind::kPointer, object, 0x30); }, 0, 7, 0x77));
  }
  const auto graph = graph_of(kInOrder, operations);
  const auto recorded = [&] {
    std::unique_ptr<backends::CommandBuffer> buffer;
    driver.finalized = 0;  // the fake one has one command buffer
    return backend.record(graph, all_nodes(graph), &buffer);
  };
  shared.add({.start = 0x10, .bytes = 8, .id = 1});
  shared.add({.start = 0x18, .bytes = 16, .id = 2});
  shared.add({.start = 0x30, .bytes = 8, .id = 3});
  CHECK(recorded().ok());
  for (const backends::LiveMemory memory : {backends::LiveMemory{.start = 0x10, .bytes = 8, .id = 1},
                                            backends::LiveMemory{.start = 0x18, .bytes = 16, .id = 2},
                                            backends::LiveMemory{.start = 0x30, .bytes = 8, .id = 3}}) {
    INFO("object " << memory.id);
    shared.remove(memory.start);
    const backends::Status refused = recorded();
    REQUIRE_FALSE(refused.ok());
    REQUIRE(refused.why != nullptr);
    CHECK(refused.why == std::string("memory that it names has been freed"));
    shared.add({.start = memory.start, .bytes = memory.bytes, .id = 4});  // at the same place
    CHECK_FALSE(recorded().ok());
    shared.add(memory);
    CHECK(recorded().ok());
  }
}

TEST_CASE("versions: simultaneous use") {
  for (const std::uint32_t patch : {0U, 7U, 8U}) {
    for (const bool capable : {false, true}) {
      INFO("0.9." << patch << (capable ? " with" : " without"));
      FakeDriver driver;
      driver.version = make_version(0, 9, patch);
      driver.capabilities = capable ? 1U << 2U : 0;
      backends::OpenClBackend backend(driver.dispatch);
      RecordMaker records(kInOrder);
      const auto graph = make_graph(kInOrder, {kernel(records, 1)});
      std::unique_ptr<backends::CommandBuffer> buffer;
      REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
      REQUIRE(driver.create_flags == (capable ? "1293=1" : ""));
      driver.events_complete = false;
      REQUIRE(buffer->enqueue({}, nullptr).ok());
      REQUIRE(buffer->busy());
      const auto second = buffer->enqueue({}, nullptr);
      REQUIRE(second.ok() == (capable || patch == 8));
      REQUIRE(second.ok() == backend.capabilities(kInOrder).simultaneous_use);
      driver.events_complete = true;
      REQUIRE_FALSE(buffer->busy());
    }
  }
}

TEST_CASE("versions: in an out-of-order queue every submission is over by itself") {
  static std::set<cl_event> running;
  FakeDriver driver;
  driver.capabilities = (1U << 2U) | (1U << 3U);
  driver.queue_properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  driver.dispatch.clGetEventInfo = [](cl_event event, cl_event_info, std::size_t, void* into, std::size_t*) -> cl_int {
    const cl_int state = running.contains(event) ? CL_RUNNING : CL_COMPLETE;
    std::memcpy(into, &state, sizeof(state));
    return CL_SUCCESS;
  };
  {
    backends::OpenClBackend backend(driver.dispatch);
    RecordMaker records(kOutOfOrder);
    const auto graph = make_graph(kOutOfOrder, {kernel(records, 1)});
    std::unique_ptr<backends::CommandBuffer> buffer;
    REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
    Event first = backends::kNoEvent, second = backends::kNoEvent;
    REQUIRE(buffer->enqueue({}, &first).ok());
    running.insert(reinterpret_cast<cl_event>(first));
    REQUIRE(buffer->enqueue({}, &second).ok());
    running.insert(reinterpret_cast<cl_event>(second));
    backend.release_event(first);
    backend.release_event(second);
    running.erase(reinterpret_cast<cl_event>(second));
    CHECK(buffer->busy());
    buffer.reset();
    CHECK(driver.references[reinterpret_cast<void*>(0x40)] == 1);
    running.clear();
    backend.give_back();
    CHECK(driver.references[reinterpret_cast<void*>(0x40)] == 0);
  }
  check_no_leak(driver);
}

TEST_CASE("versions: copies from and to the program's own memory are in no command buffer") {
  FakeDriver driver;
  driver.version = make_version(0, 9, 4);
  backends::OpenClBackend backend(driver.dispatch);
  RecordMaker records(kInOrder);
  const auto copy = [&](ArgumentKind to, ArgumentKind from) {
    return records.make(OperationKind::kPointerCopy, {64, 0}, [&](OperationWriter& w) {
      w.argument_handle(to, 0, 0x10);
      w.argument_handle(from, 0, 0x20);
    });
  };
  CHECK(backend.can_record(copy(ArgumentKind::kPointer, ArgumentKind::kPointer), kInOrder).ok);
  for (const auto& [to, from] : {std::pair{ArgumentKind::kPointer, ArgumentKind::kHostPointer},
                                 std::pair{ArgumentKind::kHostPointer, ArgumentKind::kPointer}}) {
    const OperationView operation = copy(to, from);
    const backends::Recordable answer = backend.can_record(operation, kInOrder);
    CHECK_FALSE(answer.ok);
    CHECK(std::string(answer.why) == "it copies from or to the program's own memory");
    const auto graph = make_graph(kInOrder, {operation});
    std::unique_ptr<backends::CommandBuffer> buffer;
    CHECK_FALSE(backend.record(graph, all_nodes(graph), &buffer).ok());
  }
}

std::vector<std::size_t> sizes_set;  // of arguments, by the driver's order of calls

TEST_CASE("promise 4, same data: local memory of another size is set anew, and of the same size it is not",
          "[promise-4]") {
  FakeDriver driver;
  sizes_set.clear();
  driver.dispatch.clSetKernelArg = [](cl_kernel, cl_uint, std::size_t size, const void*) {
    sizes_set.push_back(size);
    return CL_SUCCESS;
  };
  driver.dispatch.clEnqueueNDRangeKernel = [](cl_command_queue, cl_kernel, cl_uint, const std::size_t*,
                                              const std::size_t*, const std::size_t*, cl_uint, const cl_event*,
                                              cl_event*) { return CL_SUCCESS; };
  backends::OpenClBackend backend(driver.dispatch);
  RecordMaker records(kInOrder);
  for (const std::uint32_t bytes : {64U, 64U, 128U, 128U, 64U}) {
    const auto launch = records.make(
        OperationKind::kKernel, {2, 1, 2, 3, 64, 8, 1, 4, 4, 1}, [&](OperationWriter& w) { w.argument_local(bytes); },
        0, 5, 0x50);
    CHECK(backend.issue(launch, {}, nullptr).code == CL_SUCCESS);
  }
  CHECK(sizes_set == std::vector<std::size_t>{64, 128, 64});
}

TEST_CASE("versions: destroyed while running, objects are kept until the end") {
  FakeDriver driver;
  {
    backends::OpenClBackend backend(driver.dispatch);
    RecordMaker records(kInOrder);
    const auto graph = make_graph(kInOrder, {kernel(records, 1)});
    std::unique_ptr<backends::CommandBuffer> buffer;
    REQUIRE(backend.record(graph, all_nodes(graph), &buffer).ok());
    driver.events_complete = false;
    REQUIRE(buffer->enqueue({}, nullptr).ok());
    buffer.reset();
    REQUIRE(driver.references[reinterpret_cast<void*>(0x40)] == 1);
    driver.events_complete = true;
    backend.give_back();
    REQUIRE(driver.references[reinterpret_cast<void*>(0x40)] == 0);
  }
  check_no_leak(driver);
}
