// What the layer knows of programs, objects that other functions made, held objects and events that it gave out itself.

#include <atomic>
#include <chrono>
#include <thread>

#include "layer/opencl/enqueue.h"
#include "layer/opencl/hooks.h"
#include "layer/opencl/stubs.h"
#include "test/opencl/record_fixture.h"

namespace {

using namespace refrain;
using namespace refrain::layer;
using namespace refrain::layer::opencl;

cl_int CL_API_CALL look_at_something(cl_int number) {
  return number + 1;
}
cl_int CL_API_CALL make_something(cl_int number) {
  return number + 2;
}
void* CL_API_CALL extension_function(const char* name) {
  const bool makes = std::strcmp(name, "clCreateSomethingEXT") == 0;
  return reinterpret_cast<void*>(makes ? &make_something : &look_at_something);
}

int kernel_references = 0;  ///< that the layer took and has not given back
cl_int CL_API_CALL counted_retain(cl_kernel kernel) {
  ++kernel_references;
  return ::clRetainKernel(kernel);
}
cl_int CL_API_CALL counted_release(cl_kernel kernel) {
  --kernel_references;
  return ::clReleaseKernel(kernel);
}

}  // namespace

TEST_CASE("of threads that begin to hold work for one object at the same time, none is forgotten") {
  constexpr int kRounds = 20'000;
  // On a busy machine each round takes as long as others may run.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  Object object;
  std::atomic<int> begun{0}, done{0};
  const auto reached = [](const std::atomic<int>& what, int round) {
    for (int spin = 0; what.load(std::memory_order_acquire) < round; ++spin) {
      if (spin > 1000) {
        std::this_thread::yield();
      }
    }
  };
  std::thread other([&] {
    for (int round = 1; reached(begun, round), begun.load(std::memory_order_acquire) == round; ++round) {
      object.held_by(2);
      done.store(round, std::memory_order_release);
    }
  });
  int forgotten = 0;
  for (int round = 1; round <= kRounds && std::chrono::steady_clock::now() < end; ++round) {
    object.begin();
    begun.store(round, std::memory_order_release);
    object.held_by(1);
    reached(done, round);
    forgotten += object.holder == kManyLanes ? 0 : 1;
  }
  begun.store(kRounds + 2, std::memory_order_release);
  other.join();
  CHECK(forgotten == 0);
}

TEST_CASE_METHOD(Fixture, "programs of the same source are others with other headers", "[promise-4]") {
  const auto function_with = [&](const char* header) {
    const char* source = "#include \"value.h\"\nkernel void h(global uint* x) { x[0] = VALUE; }\n";
    const char* name = "value.h";
    cl_program text = wrap::clCreateProgramWithSource(context, 1, &header, nullptr, nullptr);
    cl_program compiled = wrap::clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    REQUIRE(wrap::clCompileProgram(compiled, 1, &device, "", 1, &text, &name, nullptr, nullptr) == CL_SUCCESS);
    cl_program linked = wrap::clLinkProgram(context, 1, &device, "", 1, &compiled, nullptr, nullptr, nullptr);
    REQUIRE(linked != nullptr);
    cl_kernel made = wrap::clCreateKernel(linked, "h", nullptr);
    REQUIRE(made != nullptr);
    const capture::FunctionId function = find_kernel(made)->function;
    wrap::clReleaseKernel(made);
    for (cl_program each : {linked, compiled, text}) {
      wrap::clReleaseProgram(each);
    }
    return function;
  };
  const capture::FunctionId one = function_with("#define VALUE 1\n");
  CHECK(function_with("#define VALUE 1\n") == one);
  CHECK(function_with("#define VALUE 2\n") != one);
}

TEST_CASE_METHOD(Fixture, "kernels print whose text, headers, options, linked parts or SPIR-V say so", "[promise-4]") {
  Hooks hooks;
  const auto prints = [&](cl_program of) {
    REQUIRE(of != nullptr);
    cl_kernel made = wrap::clCreateKernel(of, "h", nullptr);
    REQUIRE(made != nullptr);
    const bool result = hooks.prints(find_kernel(made)->function);
    wrap::clReleaseKernel(made);
    wrap::clReleaseProgram(of);
    return result;
  };
  const char* const silent = "kernel void h(global uint* x) { x[0] = 1; }\n";
  const char* const loud = "kernel void h(global uint* x) { printf(\"%u\", x[0]); }\n";
  CHECK_FALSE(prints(build(silent, "")));
  CHECK(prints(build(loud, "")));
  CHECK(prints(build("kernel void h(global uint* x) { SAY(\"1\"); }\n", "-DSAY=printf")));

  const auto linked = [&](const char* text, const char* header) {
    const char* name = "say.h";
    cl_program included = wrap::clCreateProgramWithSource(context, 1, &header, nullptr, nullptr);
    cl_program compiled = wrap::clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
    REQUIRE(wrap::clCompileProgram(compiled, 1, &device, "", 1, &included, &name, nullptr, nullptr) == CL_SUCCESS);
    cl_program whole = wrap::clLinkProgram(context, 1, &device, "", 1, &compiled, nullptr, nullptr, nullptr);
    wrap::clReleaseProgram(compiled);
    wrap::clReleaseProgram(included);
    return whole;
  };
  const char* const with_header = "#include \"say.h\"\nkernel void h(global uint* x) { SAY(\"1\"); }\n";
  CHECK_FALSE(prints(linked(with_header, "#define SAY(what) x[0] = 1\n")));
  CHECK(prints(linked(with_header, "#define SAY printf\n")));
  CHECK(prints(linked(loud, "")));

  // The driver here may know no SPIR-V.
  const Instead below(
      target.clCreateProgramWithIL, +[](cl_context of, const void*, size_t, cl_int* error) -> cl_program {
        const char* text = "kernel void h(global uint* x) { x[0] = 1; }\n";
        cl_program made = ::clCreateProgramWithSource(of, 1, &text, nullptr, error);
        ::clBuildProgram(made, 0, nullptr, "", nullptr, nullptr);
        return made;
      });
  constexpr std::uint32_t kPrintf = 184, kSin = 57;
  const auto from_il = [&](std::uint32_t magic, std::uint32_t instruction) {
    std::vector<std::uint32_t> words{magic, 0x00010200, 0, 100, 0, 5U << 16U | 11U, 1, 0, 0, 0};
    std::memcpy(&words[7], "OpenCL.std", 11);
    words.insert(words.end(), {5U << 16U | 12U, 2, 3, 1, instruction});
    return wrap::clCreateProgramWithIL(context, words.data(), words.size() * sizeof(words[0]), nullptr);
  };
  CHECK_FALSE(prints(from_il(0x07230203, kSin)));
  CHECK(prints(from_il(0x07230203, kPrintf)));
  CHECK(prints(from_il(1, kSin)));  // nobody can say what it does
}

TEST_CASE_METHOD(Fixture, "an extension function is the same one however often a program asks", "[promise-7]") {
  const Instead below(target.clGetExtensionFunctionAddress, &extension_function);
  void* const first = wrap::clGetExtensionFunctionAddress("clLookAtSomethingEXT");
  CHECK(first != reinterpret_cast<void*>(&look_at_something));
  std::uint32_t others = 0;
  for (std::uint32_t i = 0; i < interpose::HostStubs::kCount; ++i) {
    others += wrap::clGetExtensionFunctionAddress("clLookAtSomethingEXT") != first ? 1 : 0;
  }
  CHECK(others == 0);
  CHECK(engine() != nullptr);
}

TEST_CASE_METHOD(Fixture, "once another function may have made an object, numbers of its size may be it",
                 "[promise-4]") {
  const Instead below(target.clGetExtensionFunctionAddress, &extension_function);
  const auto call = [](const char* name) {
    return reinterpret_cast<cl_int(CL_API_CALL*)(cl_int)>(wrap::clGetExtensionFunctionAddress(name))(40);
  };
  const KernelState& known = *find_kernel(kernel);
  REQUIRE(unholdable_kernel(known) == nullptr);
  CHECK(call("clLookAtSomethingEXT") == 41);
  CHECK(unholdable_kernel(known) == nullptr);
  CHECK(call("clCreateSomethingEXT") == 42);
  CHECK(unholdable_kernel(known) != nullptr);
  state.foreign_objects = false;
}

TEST_CASE_METHOD(Fixture, "a graph that cannot be made for a buffer that is gone keeps nothing", "[promise-7]") {
  const Instead retain(target.clRetainKernel, &counted_retain);
  const Instead release(target.clReleaseKernel, &counted_release);
  cl_mem buffer = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
  set(kernel, 0, buffer);
  const OperationView record = launch(kernel);
  REQUIRE(wrap::clFinish(queue) == CL_SUCCESS);
  Hooks hooks;
  kernel_references = 0;
  REQUIRE(hooks.retain_objects(record));
  CHECK(kernel_references == 1);
  hooks.release_objects(record);
  CHECK(kernel_references == 0);
  set(kernel, 0, x);
  wrap::clReleaseMemObject(buffer);
  CHECK_FALSE(hooks.retain_objects(record));
  CHECK(kernel_references == 0);
}

TEST_CASE_METHOD(Fixture, "no graph names shared virtual memory that was freed", "[promise-4]") {
  const bool by_command = GENERATE(false, true);
  void* const memory = wrap::clSVMAlloc(context, CL_MEM_READ_WRITE, 256, 0);
  REQUIRE(memory != nullptr);
  cl_kernel given = ready_kernel(program);
  REQUIRE(wrap::clSetKernelArgSVMPointer(given, 0, memory) == CL_SUCCESS);
  Hooks hooks;
  const OperationView kernel_record = launch(given);
  const cl_uint pattern = 1;
  REQUIRE(wrap::clEnqueueSVMMemFill(queue, memory, &pattern, sizeof(pattern), 64, 0, nullptr, nullptr) == CL_SUCCESS);
  REQUIRE(wrap::clFinish(queue) == CL_SUCCESS);
  const OperationView fill = recorder().last();
  const ObjectId id = kernel_record.arguments()[0].object;
  CHECK(id != 0);
  CHECK(fill.arguments()[0].object == id);
  for (const OperationView& record : {kernel_record, fill}) {
    REQUIRE(hooks.retain_objects(record));
    hooks.release_objects(record);
  }
  const std::uint64_t gone = engine()->context().state.gone.load();
  if (by_command) {
    void* freed = memory;
    REQUIRE(wrap::clEnqueueSVMFree(queue, 1, &freed, nullptr, nullptr, 0, nullptr, nullptr) == CL_SUCCESS);
    REQUIRE(wrap::clFinish(queue) == CL_SUCCESS);
  } else {
    wrap::clSVMFree(context, memory);
  }
  CHECK(engine()->context().state.gone.load() > gone);
  // Other memory at the same place is another allocation.
  state.shared_memory.add({handle_of(memory), 256, next_object_id(), 0, capture::MemoryPlace::kManaged});
  CHECK_FALSE(hooks.retain_objects(kernel_record));
  CHECK_FALSE(hooks.retain_objects(fill));
  state.shared_memory.remove(handle_of(memory));
  wrap::clReleaseKernel(given);
}

TEST_CASE_METHOD(Fixture, "contents are not read while the device may wait for the program", "[promise-1]") {
  cl_event user = wrap::clCreateUserEvent(context, nullptr);
  cl_mem buffer = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
  const ObjectId id = objects.memory.find(handle_of(buffer))->id;
  set(kernel, 0, buffer);
  launch(kernel);
  CHECK(recorder().all<capture::BufferInfo>().back().id == id);
  CHECK(recorder().stored.count(id) == 0);
  set(kernel, 0, x);
  CHECK(wrap::clSetUserEventStatus(user, CL_COMPLETE) == CL_SUCCESS);
  wrap::clReleaseEvent(user);
  wrap::clReleaseMemObject(buffer);
}

TEST_CASE_METHOD(Fixture, "who holds work is known to the kernel, the buffers and the events that it names",
                 "[promise-4]") {
  constexpr std::uint64_t kHolder = 77, kOther = 78;
  cl_event event = nullptr;
  launch(kernel, 16, {}, &event);
  const OperationView record = launch(kernel, 16, {event});
  mark_held(record, kHolder);
  Waits(1, &event).mark_held(kHolder);
  CHECK(find_kernel(kernel)->holder.load() == kHolder);
  CHECK(objects.memory.find(handle_of(x))->holder.load() == kHolder);
  CHECK(objects.events.find(handle_of(event))->holder.load() == kHolder);
  mark_held(record, kOther);
  Waits(1, &event).mark_held(kOther);
  CHECK(find_kernel(kernel)->holder.load() == kManyLanes);
  CHECK(objects.memory.find(handle_of(x))->holder.load() == kManyLanes);
  CHECK(objects.events.find(handle_of(event))->holder.load() == kManyLanes);
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  wrap::clReleaseEvent(event);
}

TEST_CASE_METHOD(Fixture,
                 "a callback of work that is done or refused by the end of a call comes in no call of the program's",
                 "[promise-3]") {
  const bool refused = GENERATE(false, true);
  CAPTURE(refused);
  EventState* promise = make_promise(*objects.queues.find(handle_of(queue)), CL_COMMAND_NDRANGE_KERNEL);
  REQUIRE(promise != nullptr);
  const auto event = native<cl_event>(promise->handle.load());
  struct Called {
    std::thread::id mine = std::this_thread::get_id();
    std::atomic<int> status{1};
    std::atomic<bool> here{false};
  } called;
  const auto callback = [](cl_event, cl_int status, void* user) {
    auto& place = *static_cast<Called*>(user);
    place.here = std::this_thread::get_id() == place.mine;
    place.status = status;
  };
  REQUIRE(wrap::clSetEventCallback(event, CL_COMPLETE, callback, &called) == CL_SUCCESS);
  cl_event done = nullptr;
  REQUIRE(::clEnqueueMarkerWithWaitList(queue, 0, nullptr, &done) == CL_SUCCESS);
  REQUIRE(::clFinish(queue) == CL_SUCCESS);
  static_cast<void>(engine()->lane());  // a thread of the program's has one
  {
    const EntryScope call;
    fulfil_promise(*promise, refused ? 0 : handle_of(done), refused ? CL_OUT_OF_RESOURCES : CL_SUCCESS);
  }
  cl_int status = CL_QUEUED;
  for (int i = 0; i < 5000 && (status > 0 || (called.status == 1 && !refused)); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(::clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr) == CL_SUCCESS);
  }
  CHECK(status == (refused ? CL_OUT_OF_RESOURCES : CL_COMPLETE));
  CHECK((called.status == CL_COMPLETE || refused));  // PoCL does not call back where an event fails, or names no error
  CHECK_FALSE(called.here);
  CHECK(wrap::clReleaseEvent(event) == CL_SUCCESS);
  if (refused) {
    ::clReleaseEvent(done);
  }
}

TEST_CASE_METHOD(Fixture, "an event is told what a thread that is not the program's submitted, with no other call",
                 "[promise-3]") {
  EventState* promise = make_promise(*objects.queues.find(handle_of(queue)), CL_COMMAND_NDRANGE_KERNEL);
  REQUIRE(promise != nullptr);
  const auto event = native<cl_event>(promise->handle.load());
  std::thread([&] { fulfil_promise(*promise, 0, CL_OUT_OF_RESOURCES); }).join();
  cl_int status = CL_QUEUED;
  for (int i = 0; i < 5000 && status >= 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(::clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr) == CL_SUCCESS);
  }
  CHECK(status == CL_OUT_OF_RESOURCES);
  CHECK(wrap::clReleaseEvent(event) == CL_SUCCESS);
}
