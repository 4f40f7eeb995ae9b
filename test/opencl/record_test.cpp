// What the layer writes down of each call: tokens, identities, arguments, waits.

#include "test/opencl/record_fixture.h"

namespace {

using namespace refrain;
using namespace refrain::layer;
using namespace refrain::layer::opencl;

TEST_CASE_METHOD(Fixture, "arguments are copied as they are at the enqueue") {
  const OperationView record = launch(kernel);
  REQUIRE(record.kind() == capture::OperationKind::kKernel);
  REQUIRE(record.arguments().size() == 4);
  CHECK(record.arguments()[0].kind == ArgumentKind::kBuffer);
  CHECK(record.handle_of(0) == handle_of(x));
  CHECK(record.arguments()[0].object == objects.memory.find(handle_of(x))->id);
  CHECK(record.arguments()[1].kind == ArgumentKind::kValue);
  CHECK(record.arguments()[1].size == 4);
  CHECK(record.arguments()[2].kind == ArgumentKind::kValue);
  CHECK(record.handle_of(2) == 7);
  CHECK(record.arguments()[3].kind == ArgumentKind::kLocalMemory);
  CHECK(record.arguments()[3].size == 64);
  set(kernel, 1, cl_uint{6});
  const OperationView again = launch(kernel);
  const OperationView before = recorder().last(1);
  CHECK(before.value_of(1)[0] == std::byte{5});
  CHECK(again.value_of(1)[0] == std::byte{6});
  CHECK(again.token() == before.token());
  CHECK_FALSE(same_work(again, before));
  set(kernel, 1, cl_uint{5});
  launch(kernel);
  CHECK(same_work(recorder().last(), recorder().last(2)));
}

TEST_CASE_METHOD(Fixture, "a number that changes its size or becomes a buffer is repacked") {
  // Only the driver decides what is valid; the layer must keep its own copy in shape whatever comes.
  KernelState* known = find_kernel(kernel);
  REQUIRE(known != nullptr);
  set(kernel, 0, y);
  launch(kernel);
  CHECK(recorder().last().handle_of(0) == handle_of(y));
  REQUIRE(wrap::clSetKernelArg(kernel, 0, sizeof(cl_mem), nullptr) == CL_SUCCESS);  // a null buffer
  CHECK(known->descriptors[0].kind == ArgumentKind::kLocalMemory);
  CHECK(known->values.size() == 16);
  set(kernel, 0, x);
  CHECK(known->values.size() == 24);
  launch(kernel);
  CHECK(recorder().last().handle_of(0) == handle_of(x));
  CHECK(recorder().last().handle_of(2) == 7);
  // A call the driver refuses changes nothing.
  CHECK(wrap::clSetKernelArg(kernel, 1, 2, &x) != CL_SUCCESS);
  CHECK(known->descriptors[1].size == 4);
}

TEST_CASE_METHOD(Fixture, "identity is content, not handle") {
  const OperationView first = launch(kernel);
  const capture::FunctionId function = first.header().function;
  const capture::Token token = first.token();
  cl_program same = build(kRecordSource, "");
  cl_kernel twin = ready_kernel(same);
  launch(twin);
  CHECK(recorder().last().header().function == function);
  CHECK(recorder().last().token() == token);
  cl_program optioned = build(kRecordSource, "-DOTHER=1");
  cl_kernel other = ready_kernel(optioned);
  launch(other);
  CHECK(recorder().last().header().function != function);
  CHECK(recorder().last().token() != token);
  cl_kernel clone = wrap::clCloneKernel(kernel, nullptr);
  REQUIRE(clone != nullptr);
  launch(clone);
  CHECK(recorder().last().header().function == function);
  CHECK(recorder().last().comparable().size() == recorder().last(2).comparable().size());
  CHECK(same_work(recorder().last(), recorder().last(2)));
  for (cl_kernel k : {twin, other, clone}) {
    CHECK(wrap::clReleaseKernel(k) == CL_SUCCESS);
  }
  wrap::clReleaseProgram(same);
  wrap::clReleaseProgram(optioned);
  // The recorder was told each function once, with what is needed to build it again.
  std::size_t told = 0;
  for (const auto& info : recorder().all<capture::FunctionInfo>()) {
    told += info.id == function ? 1 : 0;
    CHECK(info.name == "f");
  }
  CHECK(told >= 1);
  bool source_stored = false;
  for (const auto& [id, text] : recorder().codes) {
    source_stored = source_stored || text == kRecordSource;
  }
  CHECK(source_stored);
}

TEST_CASE_METHOD(Fixture, "tokens: shape and queue role count, handles do not") {
  const capture::Token token = launch(kernel).token();
  CHECK(launch(kernel, 32).token() != token);
  CHECK(launch(kernel).token() == token);
  cl_command_queue second = wrap::clCreateCommandQueue(context, device, 0, nullptr);
  const capture::Token other = launch(kernel, 16, {}, nullptr, second).token();
  CHECK(other != token);
  const ObjectId id = recorder().last().header().queue;
  CHECK(::clFinish(second) == CL_SUCCESS);
  CHECK(wrap::clReleaseCommandQueue(second) == CL_SUCCESS);
  // A queue made anew plays the same role, and is a different object.
  second = wrap::clCreateCommandQueue(context, device, 0, nullptr);
  CHECK(launch(kernel, 16, {}, nullptr, second).token() == other);
  CHECK(recorder().last().header().queue != id);
  CHECK(::clFinish(second) == CL_SUCCESS);
  CHECK(wrap::clReleaseCommandQueue(second) == CL_SUCCESS);
  REQUIRE(wrap::clEnqueueCopyBuffer(queue, x, y, 0, 64, 64, 0, nullptr, nullptr) == CL_SUCCESS);
  REQUIRE(wrap::clEnqueueCopyBuffer(queue, y, x, 64, 0, 64, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK(recorder().last().token() == recorder().last(1).token());
  CHECK(recorder().last().as<capture::words::CopyBuffer>().from_offset == 64);
  CHECK(recorder().last(1).as<capture::words::CopyBuffer>().from_offset == 0);
  REQUIRE(wrap::clEnqueueCopyBuffer(queue, y, x, 0, 0, 32, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK(recorder().last().token() != recorder().last(1).token());
}

TEST_CASE_METHOD(Fixture, "the shape of a launch is written down with its offset, one in unused directions") {
  const std::size_t offset[2] = {3, 5};
  const std::size_t global[2] = {8, 4};
  const std::size_t local[2] = {2, 2};
  REQUIRE(wrap::clEnqueueNDRangeKernel(queue, kernel, 2, offset, global, local, 0, nullptr, nullptr) == CL_SUCCESS);
  const auto words = recorder().last().words();
  CHECK(std::vector<std::uint64_t>(words.begin(), words.end()) ==
        std::vector<std::uint64_t>{2, 3, 5, 0, 8, 4, 1, 2, 2, 1});
}

TEST_CASE_METHOD(Fixture,
                 "global sizes that keep changing leave the token where recorded launches can be given others") {
  const bool can = GENERATE(true, false);
  CAPTURE(can);
  QueueState& known = *objects.queues.find(handle_of(queue));
  known.slot.capabilities.update_sizes = can;
  state.resizes.store(can);
  const auto token = [&](std::size_t global, std::size_t local) {
    REQUIRE(wrap::clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr) ==
            CL_SUCCESS);
    REQUIRE(wrap::clFinish(queue) == CL_SUCCESS);
    return recorder().last().token();
  };
  const capture::Token first = token(8, 8);
  for (std::size_t groups = 2; groups < 20; ++groups) {
    token(8 * groups, 8);
  }
  CHECK((token(8 * 40, 8) == token(8 * 41, 8)) == can);
  CHECK((token(8, 8) == first) != can);
  CHECK(token(8 * 40, 4) != token(8 * 40, 8));
  const auto words = recorder().last().words();
  CHECK(words[4] == 8 * 40);  // the record has it all the same
  // One that a driver may refuse stays alone.
  const Instead accepting(
      target.clEnqueueNDRangeKernel,
      +[](cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*, cl_uint, const cl_event*,
          cl_event*) -> cl_int { return CL_SUCCESS; });
  CHECK(token(8 * 40 + 4, 8) != token(8 * 41 + 4, 8));
  // So does one whose groups the driver chooses, as it does not choose the same for every size.
  const auto open = [&](std::size_t global) {
    REQUIRE(wrap::clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr) ==
            CL_SUCCESS);
    return recorder().last().token();
  };
  CHECK(open(8 * 40) != open(8 * 41));
  CHECK(token(std::size_t{1} << 32U, 8) != token(std::size_t{1} << 33U, 8));
  state.resizes.store(false);
}

TEST_CASE_METHOD(Fixture, "a rectangle is written down with both of its places") {
  const std::size_t from[3] = {4, 1, 1};
  const std::size_t to[3] = {8, 0, 2};
  const std::size_t region[3] = {8, 2, 1};
  REQUIRE(wrap::clEnqueueCopyBufferRect(queue, x, y, from, to, region, 16, 64, 32, 96, 0, nullptr, nullptr) ==
          CL_SUCCESS);
  const auto words = recorder().last().words();
  CHECK(std::vector<std::uint64_t>(words.begin(), words.end()) ==
        std::vector<std::uint64_t>{4, 1, 1, 8, 0, 2, 8, 2, 1, 16, 64, 32, 96});
}

TEST_CASE_METHOD(Fixture, "buffers are told with their contents before their first use") {
  const std::vector<cl_uint> values = {11, 22, 33, 44};
  cl_mem filled = wrap::clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, values.size() * 4,
                                       const_cast<cl_uint*>(values.data()), nullptr);
  cl_buffer_region region{0, 8};
  cl_mem part = wrap::clCreateSubBuffer(filled, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, nullptr);
  REQUIRE(part != nullptr);
  set(kernel, 0, part);
  launch(kernel);
  const ObjectId id = objects.memory.find(handle_of(filled))->id;
  REQUIRE(recorder().stored.count(id) == 1);
  CHECK(std::memcmp(recorder().stored[id].data(), values.data(), 16) == 0);
  const capture::BufferInfo& told = recorder().all<capture::BufferInfo>().back();
  CHECK(told.parent == id);
  CHECK(told.size == 8);
  set(kernel, 0, x);
  wrap::clReleaseMemObject(part);
  wrap::clReleaseMemObject(filled);
  CHECK(objects.memory.find(handle_of(filled)) == nullptr);
}

TEST_CASE_METHOD(Fixture, "contents of buffers that are mapped are those that the program wrote") {
  const ObjectId id = objects.memory.find(handle_of(x))->id;
  void* mapped = wrap::clEnqueueMapBuffer(queue, x, CL_TRUE, CL_MAP_WRITE, 0, 256, 0, nullptr, nullptr, nullptr);
  REQUIRE(mapped != nullptr);
  const auto is_told = [&] {
    return std::ranges::any_of(recorder().all<capture::BufferInfo>(), [&](const auto& told) { return told.id == id; });
  };
  CHECK(is_told());
  const std::vector<std::byte> values(256, std::byte{42});
  std::memcpy(mapped, values.data(), values.size());
  REQUIRE(wrap::clEnqueueUnmapMemObject(queue, x, mapped, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK_FALSE(recorder().stored.contains(id));
  launch(kernel);
  REQUIRE(recorder().stored.contains(id));
  CHECK(recorder().stored[id] == values);
}

TEST_CASE_METHOD(Fixture, "reference counts are mirrored") {
  const std::size_t before = objects.memory.size();
  cl_mem buffer = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, 64, nullptr, nullptr);
  CHECK(objects.memory.size() == before + 1);
  CHECK(wrap::clRetainMemObject(buffer) == CL_SUCCESS);
  CHECK(wrap::clReleaseMemObject(buffer) == CL_SUCCESS);
  CHECK(objects.memory.size() == before + 1);
  CHECK(wrap::clReleaseMemObject(buffer) == CL_SUCCESS);
  CHECK(objects.memory.size() == before);
  const std::size_t kernels = objects.kernels.size();
  cl_kernel k = wrap::clCreateKernel(program, "g", nullptr);
  CHECK(wrap::clRetainKernel(k) == CL_SUCCESS);
  CHECK(wrap::clReleaseKernel(k) == CL_SUCCESS);
  CHECK(wrap::clReleaseKernel(k) == CL_SUCCESS);
  CHECK(objects.kernels.size() == kernels);
}

TEST_CASE_METHOD(Fixture, "shared virtual memory is known until it is freed") {
  const auto known = [](const std::byte* address) {
    return state.shared_memory.find(reinterpret_cast<std::uint64_t>(address)).has_value();
  };
  auto* now = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  auto* later = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  REQUIRE((now != nullptr && later != nullptr));
  CHECK((known(now) && known(now + 63) && known(later)));
  wrap::clSVMFree(context, now);
  CHECK_FALSE(known(now));
  void* freed = later;
  REQUIRE(wrap::clEnqueueSVMFree(queue, 1, &freed, nullptr, nullptr, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK_FALSE(known(later));
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
}

TEST_CASE_METHOD(Fixture, "calls that are wrong get the driver's answer") {
  const size_t global = 16;
  CHECK(wrap::clEnqueueNDRangeKernel(nullptr, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr) ==
        CL_INVALID_COMMAND_QUEUE);
  const cl_event none = nullptr;  // (PoCL 3.1 crashes on a count without a list)
  CHECK(wrap::clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, &none, nullptr) ==
        ::clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, &none, nullptr));
  cl_kernel unset = wrap::clCreateKernel(program, "g", nullptr);
  CHECK(wrap::clEnqueueNDRangeKernel(queue, unset, 1, nullptr, &global, nullptr, 0, nullptr, nullptr) ==
        CL_INVALID_KERNEL_ARGS);
  wrap::clReleaseKernel(unset);
  CHECK(wrap::clEnqueueCopyBuffer(queue, x, y, 0, 0, 100000, 0, nullptr, nullptr) == CL_INVALID_VALUE);
  CHECK(wrap::clReleaseKernel(nullptr) != CL_SUCCESS);
  CHECK(wrap::clReleaseMemObject(nullptr) != CL_SUCCESS);
}

TEST_CASE("extension functions: the same address each time, and none made up") {
  const Fixture ready;
  void* first = wrap::clGetExtensionFunctionAddress("clCreateCommandBufferKHR");
  CHECK(first == wrap::clGetExtensionFunctionAddress("clCreateCommandBufferKHR"));
  CHECK(wrap::clGetExtensionFunctionAddress("clNoSuchFunction") == ::clGetExtensionFunctionAddress("clNoSuchFunction"));
  CHECK(wrap::clGetExtensionFunctionAddress(nullptr) == nullptr);
  if (first != nullptr) {
    CHECK(first != ::clGetExtensionFunctionAddress("clCreateCommandBufferKHR"));
    cl_platform_id platform = nullptr;
    REQUIRE(::clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
    CHECK(wrap::clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandBufferKHR") == first);
  }
}

TEST_CASE("every slot has a class and every class is used") {
  std::map<EntryClass, int> counts;
  for (const EntryDescription& description : entry_descriptions()) {
    ++counts[description.entry_class];
  }
  CHECK(entry_descriptions().size() == sizeof(cl_icd_dispatch) / sizeof(void*));
  CHECK(counts[EntryClass::kUnknown] == 0);
  CHECK(counts.size() == 8);  // kUnknown was added by the question above
}

}  // namespace
