// What the driver may refuse is never held: it is asked at once, and its answer is the application's.

#include "layer/opencl/doubts.h"

#include <nlohmann/json.hpp>

#include "test/opencl/record_fixture.h"

namespace {

using namespace refrain;
using namespace refrain::layer;
using namespace refrain::layer::opencl;

constexpr cl_uint kPattern = 7;

QueueState& state_of(cl_command_queue queue) {
  QueueState* const known = objects.queues.find(handle_of(queue));
  REQUIRE(known != nullptr);
  return *known;
}

/// As if the device's command buffers could do everything.
QueueState& for_everything(cl_command_queue queue) {
  QueueState& known = state_of(queue);
  known.unholdable = nullptr;
  known.cannot_record.fill(nullptr);
  return known;
}

/// How many commands were not to be held so far, for whatever reason.
std::uint64_t not_to_be_held() {
  std::uint64_t all = 0;
  const auto report = nlohmann::json::parse(engine()->report_json());
  for (const auto& [reason, count] : report["unholdable"].items()) {
    all += count.get<std::uint64_t>();
  }
  return all;
}

cl_mem part_of(cl_mem buffer, std::size_t origin, std::size_t size) {
  const cl_buffer_region region{origin, size};
  cl_mem part = wrap::clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, nullptr);
  REQUIRE(part != nullptr);
  return part;
}

std::size_t alignment_in(cl_context context) {
  const std::size_t alignment = objects.contexts.find(handle_of(context))->alignment;
  REQUIRE(alignment >= 64);
  return alignment;
}

/// A device that wants parts of buffers aligned twice as far.
cl_int CL_API_CALL wider_alignment(cl_device_id device, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) {
  const cl_int status = ::clGetDeviceInfo(device, name, size, value, size_ret);
  if (status == CL_SUCCESS && name == CL_DEVICE_MEM_BASE_ADDR_ALIGN && value != nullptr) {
    *static_cast<cl_uint*>(value) *= 2;
  }
  return status;
}

cl_int CL_API_CALL refused_wait_list(cl_command_queue, cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*,
                                     cl_uint, const cl_event*, cl_event*) {
  return CL_INVALID_EVENT_WAIT_LIST;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a fill is doubtful between the elements of its pattern, and behind the end", "[promise-5]") {
  const QueueState& known = state_of(queue);
  CHECK(doubt_fill(known, {x, 8}, &kPattern, sizeof(kPattern), 16) == nullptr);
  CHECK(doubt_fill(known, {x, 6}, &kPattern, sizeof(kPattern), 16) != nullptr);
  CHECK(doubt_fill(known, {x, 8}, &kPattern, sizeof(kPattern), 18) != nullptr);
  CHECK(doubt_fill(known, {x, 248}, &kPattern, sizeof(kPattern), 16) != nullptr);
}

TEST_CASE_METHOD(Fixture, "a copy is doubtful between parts of a buffer that have bytes in common", "[promise-5]") {
  const QueueState& known = state_of(queue);
  const std::size_t step = alignment_in(context);
  cl_mem whole = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * step, nullptr, nullptr);
  cl_mem first = part_of(whole, 0, 2 * step);
  cl_mem second = part_of(whole, step, 2 * step);
  CHECK(doubt_copy(known, {first, 0}, {second, 0}, 32) == nullptr);
  CHECK(doubt_copy(known, {first, step}, {second, 0}, 32) != nullptr);
  CHECK(doubt_copy(known, {whole, step}, {second, 0}, 32) != nullptr);
  for (cl_mem memory : {first, second, whole}) {
    wrap::clReleaseMemObject(memory);
  }
}

TEST_CASE_METHOD(Fixture, "a part of a buffer that is not aligned for every device is doubtful", "[promise-5]") {
  const Instead below(target.clGetDeviceInfo, &wider_alignment);
  cl_context wide = wrap::clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  REQUIRE(wide != nullptr);
  cl_command_queue other = wrap::clCreateCommandQueue(wide, device, 0, nullptr);
  const QueueState& known = state_of(other);
  const std::size_t step = alignment_in(wide);
  cl_mem whole = wrap::clCreateBuffer(wide, CL_MEM_READ_WRITE, 4 * step, nullptr, nullptr);
  cl_mem aligned = part_of(whole, step, step);
  cl_mem between = part_of(whole, step / 2, step);
  CHECK(doubt_fill(known, {aligned, 0}, &kPattern, sizeof(kPattern), 16) == nullptr);
  CHECK(doubt_fill(known, {between, 0}, &kPattern, sizeof(kPattern), 16) != nullptr);
  for (cl_mem memory : {aligned, between, whole}) {
    wrap::clReleaseMemObject(memory);
  }
  wrap::clReleaseCommandQueue(other);
  wrap::clReleaseContext(wide);
}

TEST_CASE_METHOD(Fixture, "a fill of shared memory at a pointer that is not aligned is not to be held", "[promise-5]") {
  for_everything(queue);
  auto* memory = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  REQUIRE(memory != nullptr);
  const std::uint64_t before = not_to_be_held();
  CHECK(wrap::clEnqueueSVMMemFill(queue, memory + 4, &kPattern, sizeof(kPattern), 16, 0, nullptr, nullptr) ==
        CL_SUCCESS);
  CHECK(not_to_be_held() == before);
  static_cast<void>(wrap::clEnqueueSVMMemFill(queue, memory + 2, &kPattern, sizeof(kPattern), 16, 0, nullptr, nullptr));
  CHECK(not_to_be_held() == before + 1);
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  wrap::clSVMFree(context, memory);
}

TEST_CASE_METHOD(Fixture,
                 "copies and fills by pointer are doubtful outside of one piece of shared memory of the context",
                 "[promise-4]") {
  const QueueState& known = state_of(queue);
  const Fixture there;
  auto* a = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  auto* b = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  auto* other = static_cast<std::byte*>(wrap::clSVMAlloc(there.context, CL_MEM_READ_WRITE, 64, 0));
  alignas(64) std::byte own[64] = {};
  const auto fill = [&](std::byte* at) { return doubt_pointer_fill(known, at, &kPattern, sizeof(kPattern), 16); };
  CHECK(doubt_pointer_copy(known, a, b + 16, 48) == nullptr);
  CHECK(doubt_pointer_copy(known, a, a + 16, 16) == nullptr);
  CHECK(doubt_pointer_copy(known, a, a + 16, 17) != nullptr);
  CHECK(doubt_pointer_copy(known, a, b, 0) != nullptr);
  CHECK(doubt_pointer_copy(known, a, b + 16, 49) != nullptr);
  CHECK(doubt_pointer_copy(known, a + 16, b, 49) != nullptr);
  CHECK(doubt_pointer_copy(known, a, b, ~std::size_t{0}) != nullptr);
  CHECK(fill(a + 48) == nullptr);
  CHECK(fill(a + 52) != nullptr);
  for (std::byte* stranger : {own, other}) {
    CHECK(doubt_pointer_copy(known, stranger, b, 16) != nullptr);
    CHECK(doubt_pointer_copy(known, a, stranger, 16) != nullptr);
    CHECK(fill(stranger) != nullptr);
  }
  wrap::clSVMFree(context, a);
  CHECK(doubt_pointer_copy(known, a, b, 16) != nullptr);
  CHECK(fill(a) != nullptr);
  wrap::clSVMFree(context, b);
  wrap::clSVMFree(there.context, other);
}

TEST_CASE_METHOD(Fixture, "copies between shared memory may be held, and those from or to the program's own may not",
                 "[promise-4]") {
  for_everything(queue);
  auto* memory = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  REQUIRE(memory != nullptr);
  std::byte own[16] = {};
  const auto copy = [&](void* to, const void* from, cl_bool blocking) {
    const std::uint64_t before = not_to_be_held();
    REQUIRE(wrap::clEnqueueSVMMemcpy(queue, blocking, to, from, 16, 0, nullptr, nullptr) == CL_SUCCESS);
    return not_to_be_held() == before;
  };
  CHECK(copy(memory + 16, memory, CL_FALSE));
  CHECK_FALSE(copy(memory + 16, memory, CL_TRUE));
  CHECK_FALSE(copy(memory, own, CL_FALSE));
  CHECK_FALSE(copy(own, memory, CL_FALSE));
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  wrap::clSVMFree(context, memory);
}

TEST_CASE_METHOD(Fixture, "a marker for everything in an out-of-order queue is not to be held", "[promise-1]") {
  cl_command_queue unordered =
      wrap::clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, nullptr);
  REQUIRE(unordered != nullptr);
  for_everything(unordered);
  for_everything(queue);
  cl_event event = nullptr;
  launch(kernel, 16, {}, &event, unordered);
  const std::uint64_t before = not_to_be_held();
  CHECK(wrap::clEnqueueMarkerWithWaitList(unordered, 1, &event, nullptr) == CL_SUCCESS);
  CHECK(wrap::clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK(not_to_be_held() == before);
  CHECK(wrap::clEnqueueMarkerWithWaitList(unordered, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK(not_to_be_held() == before + 1);
  CHECK(wrap::clFinish(unordered) == CL_SUCCESS);
  wrap::clReleaseEvent(event);
  wrap::clReleaseCommandQueue(unordered);
}

TEST_CASE_METHOD(Fixture, "events that are announced and not given are the driver's to refuse", "[promise-5]") {
  const Instead below(target.clEnqueueNDRangeKernel, &refused_wait_list);
  const std::size_t global = 16;
  CHECK(wrap::clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 1, nullptr, nullptr) ==
        CL_INVALID_EVENT_WAIT_LIST);
}

TEST_CASE_METHOD(Fixture, "a kernel is doubtful in a queue of another context, whatever had its record before",
                 "[promise-5]") {
  const QueueState& known = state_of(queue);
  const std::size_t global = 16;
  cl_kernel before = ready_kernel(program);
  const KernelState* const record = find_kernel(before);
  CHECK(doubt_launch(known, *find_kernel(before), {1, nullptr, &global, nullptr}) == nullptr);
  wrap::clReleaseKernel(before);
  const Fixture there;
  REQUIRE(find_kernel(there.kernel) == record);
  CHECK(doubt_launch(known, *find_kernel(there.kernel), {1, nullptr, &global, nullptr}) != nullptr);
}

TEST_CASE_METHOD(Fixture, "the clone of a kernel that cannot be held cannot be held either", "[promise-4]") {
  void* memory = ::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
  REQUIRE(wrap::clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(memory), &memory) == CL_SUCCESS);
  cl_kernel clone = wrap::clCloneKernel(kernel, nullptr);
  REQUIRE(clone != nullptr);
  CHECK(unholdable_kernel(*find_kernel(kernel)) != nullptr);
  CHECK(unholdable_kernel(*find_kernel(clone)) != nullptr);
  wrap::clReleaseKernel(clone);
  ::clSVMFree(context, memory);
}

TEST_CASE_METHOD(Fixture, "migrations of memory of the context may be held, which the driver would not refuse",
                 "[promise-5]") {
  const QueueState& known = for_everything(queue);
  const Fixture there;
  constexpr cl_mem_migration_flags kBoth = CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
  const auto buffers = [&](std::vector<cl_mem> all, cl_mem_migration_flags flags) {
    return doubt_migrate(known, all, flags) == nullptr;
  };
  CHECK(buffers({x, y}, 0));
  CHECK(buffers({x}, kBoth));
  CHECK_FALSE(buffers({}, 0));
  CHECK_FALSE(buffers({x}, 8));
  CHECK_FALSE(buffers({x, there.x}, 0));
  CHECK_FALSE(buffers({nullptr}, 0));
  auto* memory = static_cast<std::byte*>(wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0));
  REQUIRE(memory != nullptr);
  std::byte own[16] = {};
  const auto pointers = [&](std::vector<const void*> all, std::vector<std::size_t> sizes) {
    return doubt_pointer_migrate(known, all, sizes, 0) == nullptr;
  };
  CHECK(pointers({memory, memory + 16}, {64, 48}));
  CHECK(pointers({memory}, {}));
  CHECK_FALSE(pointers({memory, memory + 16}, {64, 49}));
  CHECK_FALSE(pointers({own}, {}));
  CHECK_FALSE(pointers({}, {}));
  const void* const start = memory;
  const std::uint64_t before = not_to_be_held();
  CHECK(wrap::clEnqueueMigrateMemObjects(queue, 1, &x, 0, 0, nullptr, nullptr) == CL_SUCCESS);
  CHECK(not_to_be_held() == before);
  CHECK(wrap::clEnqueueMigrateMemObjects(queue, 0, nullptr, 0, 0, nullptr, nullptr) != CL_SUCCESS);
  CHECK(not_to_be_held() == before + 1);
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  wrap::clSVMFree(context, memory);
  CHECK_FALSE(pointers({start}, {}));
}
