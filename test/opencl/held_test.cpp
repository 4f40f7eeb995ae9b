// What one thread holds, and what others do meanwhile. The wrappers are called directly, on top of the installed
// driver, which tells in which order launches and releases reach it.

#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "layer/opencl/dispatch.h"
#include "layer/opencl/layer.h"
#include "layer/opencl/wrappers.h"
#include "test/opencl/driver_table.h"

namespace {

using namespace refrain;
using namespace refrain::layer;
using namespace refrain::layer::opencl;

constexpr std::size_t kThreads = 16, kOtherThreads = 8;
constexpr std::uint32_t kLooks = 1024;  // submissions, before a thread in which nothing pays is left alone
const char* const kSource =
    "kernel void f(global uint* x, uint a) { x[get_global_id(0)] = x[get_global_id(0)] * 31 + a; }\n";

std::atomic<int> launches{0};           ///< of kThreads, that reached the driver
std::atomic<int> launches_before{-1};   ///< what comes after them: that many when it reached the driver
thread_local cl_mem watched = nullptr;  ///< the buffer whose releases by this thread are watched
std::atomic<bool> swallowed{false};     ///< launches are done without the driver
std::atomic<bool> refuses{false};       ///< the driver refuses launches

cl_int CL_API_CALL launch_below(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                const size_t* global, const size_t* local, cl_uint count, const cl_event* waits,
                                cl_event* event) {
  if (swallowed) {
    return CL_SUCCESS;
  }
  if (refuses) {
    return CL_OUT_OF_RESOURCES;
  }
  pthread_testcancel();  // as in a driver that writes to a file
  if (*global == kThreads) {
    ++launches;
  } else {
    launches_before = launches.load();
  }
  return ::clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, waits, event);
}

cl_int CL_API_CALL release_below(cl_mem memory) {
  if (memory == watched) {  // by graphs that go first, then for the application
    launches_before = launches.load();
  }
  return ::clReleaseMemObject(memory);
}

cl_int CL_API_CALL finish_below(cl_command_queue queue) {
  pthread_testcancel();
  return ::clFinish(queue);
}

/// The engine is made once per process; every test makes its own context.
struct Fixture {
  Fixture() {
    static cl_icd_dispatch table = driver_table();
    table.clEnqueueNDRangeKernel = &launch_below;
    table.clReleaseMemObject = &release_below;
    table.clFinish = &finish_below;
    if (engine() == nullptr) {
      state.settings.mode = env::Mode::kReplay;
      state.settings.gate = false;
      state.settings.report = false;
      state.settings.hold_limit_us = 5'000'000;
      state.settings.history = kLooks;
      state.settings.dormant_after = kLooks;
      cl_uint entries = 0;
      build_dispatch(&table, sizeof(table) / sizeof(void*), &entries);
    }
    cl_platform_id platform = nullptr;
    REQUIRE(::clGetPlatformIDs(1, &platform, nullptr) == CL_SUCCESS);
    REQUIRE(::clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS);
    context = wrap::clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    REQUIRE(engine() != nullptr);
    const char* source = kSource;
    program = wrap::clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    REQUIRE(wrap::clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS);
    queue = wrap::clCreateCommandQueue(context, device, 0, nullptr);
    x = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, kThreads * sizeof(cl_uint), nullptr, nullptr);
    kernel = kernel_on(x);
  }
  ~Fixture() {
    watched = nullptr;
    if (kernel != nullptr) {
      release_kernel_and_program();
    }
    if (x != nullptr) {
      wrap::clReleaseMemObject(x);
    }
    if (queue != nullptr) {
      wrap::clReleaseCommandQueue(queue);
      wrap::clReleaseContext(context);
    }
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void release_kernel_and_program() {
    CHECK(wrap::clReleaseKernel(std::exchange(kernel, nullptr)) == CL_SUCCESS);
    CHECK(wrap::clReleaseProgram(program) == CL_SUCCESS);
  }
  [[nodiscard]] cl_kernel kernel_on(cl_mem buffer) const {
    cl_kernel made = wrap::clCreateKernel(program, "f", nullptr);
    const cl_uint number = 1;
    wrap::clSetKernelArg(made, 0, sizeof(buffer), &buffer);
    wrap::clSetKernelArg(made, 1, sizeof(number), &number);
    return made;
  }
  cl_int launch(cl_kernel of, std::size_t threads) const {
    return wrap::clEnqueueNDRangeKernel(queue, of, 1, nullptr, &threads, nullptr, 0, nullptr, nullptr);
  }
  /// Repeats something until the first two launches of it are held.
  void hold_two() const {
    for (int round = 0; round < 400; ++round) {
      launches = 0;
      launches_before = -1;
      for (int i = 0; i < 8; ++i) {
        if (i == 2 && engine()->anything_held()) {
          return;
        }
        launch(kernel, kThreads);
      }
      wrap::clFinish(queue);
      engine()->wait_idle();
    }
  }
  /// Runs `meanwhile` while another thread holds two launches.
  template <class Meanwhile>
  void while_held(Meanwhile&& meanwhile) const {
    std::promise<void> held, done;
    std::thread holder([&] {
      hold_two();
      held.set_value();
      done.get_future().wait();
      wrap::clFinish(queue);
    });
    held.get_future().wait();
    const bool anything = engine()->anything_held();
    meanwhile();
    done.set_value();
    holder.join();
    REQUIRE(anything);
  }

  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem x = nullptr;
  cl_kernel kernel = nullptr;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a thread that is left alone submits behind what another one holds for the queue",
                 "[promise-1]") {
  cl_mem y = wrap::clCreateBuffer(context, CL_MEM_READ_WRITE, kThreads * sizeof(cl_uint), nullptr, nullptr);
  cl_kernel other = kernel_on(y);
  swallowed = true;  // nothing repeats, for long
  for (std::size_t i = 0; i < std::size_t{5} * kLooks; ++i) {
    launch(other, i + 1);
  }
  wrap::clFinish(queue);
  swallowed = false;
  REQUIRE(replay::Lane::current->is_dormant());
  while_held([&] {
    CHECK(replay::Lane::current->is_dormant());
    CHECK(launch(other, kOtherThreads) == CL_SUCCESS);
    CHECK(launches_before.load() == 2);
  });
  wrap::clReleaseKernel(other);
  wrap::clReleaseMemObject(y);
}

TEST_CASE_METHOD(Fixture, "a buffer that work of several threads named is released behind what one of them holds",
                 "[promise-4]") {
  while_held([&] {
    MemoryState* known = objects.memory.find(handle_of(x));
    known->held_by(known->holder + 1);  // as if one more had
    watched = x;
    CHECK(wrap::clReleaseMemObject(std::exchange(x, nullptr)) == CL_SUCCESS);
    CHECK(launches_before.load() == 2);
  });
}

TEST_CASE_METHOD(Fixture,
                 "nothing keeps the context of work that was held when its kernel and its program were released",
                 "[promise-7]") {
  static std::atomic<bool> gone;
  gone = false;
  REQUIRE(::clSetContextDestructorCallback(
              context, [](cl_context, void*) { gone = true; }, nullptr) == CL_SUCCESS);
  const bool by_another_thread = GENERATE(false, true);
  CAPTURE(by_another_thread);
  if (by_another_thread) {
    while_held([&] { release_kernel_and_program(); });
  } else {
    hold_two();
    REQUIRE(engine()->anything_held());
    release_kernel_and_program();
    CHECK(wrap::clFinish(queue) == CL_SUCCESS);
  }
  wrap::clReleaseMemObject(std::exchange(x, nullptr));
  wrap::clReleaseCommandQueue(std::exchange(queue, nullptr));
  wrap::clReleaseContext(context);
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
       !gone && std::chrono::steady_clock::now() < end;) {
    engine()->wait_idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(gone);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose run times do not like it
/// A thread that is to end waits for the queue.
void* finish_cancelled(void* queue) {
  pthread_cancel(pthread_self());
  wrap::clFinish(static_cast<cl_command_queue>(queue));
  return nullptr;
}

TEST_CASE_METHOD(Fixture, "a thread that is cancelled submits what another one holds, and ends where it waits",
                 "[promise-7]") {
  void* result = nullptr;
  while_held([&] {
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, &finish_cancelled, queue) == 0) {
      pthread_join(thread, &result);
    }
    CHECK(launches.load() == 2);
  });
  CHECK(result == PTHREAD_CANCELED);
}
#endif

TEST_CASE_METHOD(Fixture, "an error of held work that a release met is told by the thread's next call", "[promise-5]") {
  hold_two();
  REQUIRE(engine()->anything_held());
  MemoryState* known = objects.memory.find(handle_of(x));
  known->held_by(known->holder + 1);  // as if another thread had work for it, too
  refuses = true;
  CHECK(wrap::clReleaseMemObject(std::exchange(x, nullptr)) == CL_SUCCESS);
  refuses = false;
  CHECK_FALSE(engine()->anything_held());
  CHECK(wrap::clFinish(queue) == CL_OUT_OF_RESOURCES);
  CHECK(wrap::clFinish(queue) == CL_SUCCESS);
}
