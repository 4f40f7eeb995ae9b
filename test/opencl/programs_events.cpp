// Events of all sorts: polled, waited for, called back, profiled, released at every moment.

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "test/opencl/program.h"

using namespace program;

namespace {
constexpr std::size_t kCount = 256;
constexpr int kRounds = 400;

cl_int status_of(cl_event event) {
  cl_int status = 99;
  CHECK_CL(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr));
  return status;
}

struct Loop {
  Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 3);
  cl_kernel scale = gpu.kernel("scale");

  Loop() {
    set(scale, 0, x);
    set(scale, 1, static_cast<cl_uint>(kCount));
  }
  void step(cl_uint a, cl_uint b, const std::vector<cl_event>& waits = {}, cl_event* event = nullptr) const {
    set(scale, 2, a);
    set(scale, 3, b);
    launch(queue, scale, kCount, waits, event);
  }
};
}  // namespace

/// What clGetEventInfo says of events of held commands, and reference counts around submission.
PROGRAM(event_info) {
  const Loop loop;
  for (int round = 0; round < kRounds; ++round) {
    cl_event events[4];
    for (cl_uint i = 0; i < 4; ++i) {
      loop.step(3, i, {}, &events[i]);
    }
    cl_command_type type = 0;
    cl_command_queue queue = nullptr;
    cl_context context = nullptr;
    cl_uint references = 0;
    CHECK_CL(clGetEventInfo(events[1], CL_EVENT_COMMAND_TYPE, sizeof(type), &type, nullptr));
    CHECK_CL(clGetEventInfo(events[1], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, nullptr));
    CHECK_CL(clGetEventInfo(events[1], CL_EVENT_CONTEXT, sizeof(context), &context, nullptr));
    CHECK_CL(clRetainEvent(events[1]));
    CHECK_CL(clRetainEvent(events[1]));
    CHECK_CL(clReleaseEvent(events[1]));
    CHECK_CL(clGetEventInfo(events[1], CL_EVENT_REFERENCE_COUNT, sizeof(references), &references, nullptr));
    if (type != CL_COMMAND_NDRANGE_KERNEL || queue != loop.queue || context != loop.gpu.context || references < 2) {
      std::printf("wrong event info: %x %d %d %u\n", type, queue == loop.queue, context == loop.gpu.context,
                  references);
      return 1;
    }
    cl_ulong time = 0;
    if (clGetEventProfilingInfo(events[2], CL_PROFILING_COMMAND_END, sizeof(time), &time, nullptr) !=
        CL_PROFILING_INFO_NOT_AVAILABLE) {
      std::printf("profiling info without profiling\n");
      return 1;
    }
    if (clSetUserEventStatus(events[2], CL_COMPLETE) != CL_INVALID_EVENT) {
      std::printf("the event of a command was taken for a user event\n");
      return 1;
    }
    CHECK_CL(clReleaseEvent(events[0]));  // before submission
    CHECK_CL(clWaitForEvents(2, events + 2));
    if (status_of(events[1]) != CL_COMPLETE || status_of(events[3]) != CL_COMPLETE) {
      std::printf("waited for, but not complete\n");
      return 1;
    }
    CHECK_CL(clReleaseEvent(events[1]));
    CHECK_CL(clReleaseEvent(events[1]));
    CHECK_CL(clReleaseEvent(events[2]));
    CHECK_CL(clReleaseEvent(events[3]));
  }
  print("x", read(loop.queue, loop.x, kCount));
  return 0;
}

/// Polls with no other call, as OpenCV and hashcat do.
PROGRAM(poll) {
  const Loop loop;
  double longest = 0;
  for (int round = 0; round < kRounds; ++round) {
    cl_event last = nullptr;
    for (cl_uint i = 0; i < 4; ++i) {
      loop.step(3, i, {}, i == 3 ? &last : nullptr);
    }
    const double start = now_ms();
    cl_int status = CL_QUEUED;
    while (status != CL_COMPLETE && now_ms() - start < 20000) {
      status = status_of(last);
    }
    const double spent = now_ms() - start;
    longest = spent > longest ? spent : longest;
    CHECK_CL(clReleaseEvent(last));
    if (status != CL_COMPLETE) {
      std::printf("never complete\n");
      return 1;
    }
  }
  print("x", read(loop.queue, loop.x, kCount));
  std::fprintf(stderr, "longest %.3f ms\n", longest);
  return 0;
}

/// Callbacks, registered while the work is held and later, some on events that are released at once.
PROGRAM(callbacks) {
  const Loop loop;
  static std::atomic<int> called{0};
  static std::atomic<int> wrong{0};
  const auto callback = [](cl_event event, cl_int status, void* user) {
    called.fetch_add(1);
    if (status != CL_COMPLETE || (user != nullptr && event != *static_cast<cl_event*>(user))) {
      wrong.fetch_add(1);
    }
  };
  static std::vector<cl_event> kept;
  kept.resize(kRounds);
  for (int round = 0; round < kRounds; ++round) {
    cl_event dropped = nullptr;
    loop.step(3, 1, {}, &dropped);
    CHECK_CL(clSetEventCallback(dropped, CL_COMPLETE, callback, nullptr));
    CHECK_CL(clReleaseEvent(dropped));
    loop.step(3, 2, {}, &kept[static_cast<std::size_t>(round)]);
    CHECK_CL(clSetEventCallback(kept[static_cast<std::size_t>(round)], CL_COMPLETE, callback,
                                &kept[static_cast<std::size_t>(round)]));
    loop.step(3, 3);
    CHECK_CL(clFinish(loop.queue));
    CHECK_CL(clSetEventCallback(kept[static_cast<std::size_t>(round)], CL_COMPLETE, callback,
                                &kept[static_cast<std::size_t>(round)]));
  }
  const double start = now_ms();
  while (called.load() < 3 * kRounds && now_ms() - start < 20000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (cl_event event : kept) {
    CHECK_CL(clReleaseEvent(event));
  }
  std::printf("called %d wrong %d\n", called.load(), wrong.load());
  print("x", read(loop.queue, loop.x, kCount));
  return 0;
}

/// Callbacks that take what the program holds in calls that have nothing to do with their events: none may come there.
/// Work that is done soon after a call submits it, and behind that work that the hold limit submits.
PROGRAM(callbacks_under_lock) {
  const Loop loop;
  static thread_local bool holds = false;
  static std::atomic<int> wrong{0};
  static std::atomic<int> called{0};
  const auto callback = [](cl_event, cl_int status, void*) {
    wrong.fetch_add(holds || status != CL_COMPLETE ? 1 : 0);
    called.fetch_add(1);
  };
  for (int round = 0; round < 4 * kRounds; ++round) {
    const bool flushes = round < 3 * kRounds;
    for (cl_uint i = 0; i < 4; ++i) {
      loop.step(3, i);
    }
    cl_event last = nullptr;
    loop.step(3, 4, {}, &last);
    CHECK_CL(clSetEventCallback(last, CL_COMPLETE, callback, nullptr));
    holds = true;
    const double start = now_ms();
    do {
      CHECK_CL(clReleaseMemObject(loop.gpu.buffer(64)));
    } while (!flushes && called.load() <= round && now_ms() - start < 20);
    CHECK_CL(clFlush(loop.queue));
    cl_int status = CL_SUCCESS;
    cl_event other = clCreateUserEvent(loop.gpu.context, &status);
    check(status, "clCreateUserEvent");
    CHECK_CL(clSetUserEventStatus(other, CL_COMPLETE));
    CHECK_CL(clReleaseEvent(other));
    for (int i = 0; flushes && i < round % 8; ++i) {  // it is complete at some moment of these
      CHECK_CL(clReleaseMemObject(loop.gpu.buffer(64)));
    }
    holds = false;
    while (called.load() <= round) {
      std::this_thread::yield();
    }
    CHECK_CL(clReleaseEvent(last));
  }
  std::printf("in a call: %d\n", wrong.load());
  print("x", read(loop.queue, loop.x, kCount));
  return 0;
}

/// The program waits for callbacks alone, which write where its handler of SIGSEGV lets them (as programs with a
/// garbage collector do), in threads to which it may send signals. argv[1]: "behind", "before": a flush is behind the
/// callback's registration, or before it; "none": nothing guarantees that the work begins.
PROGRAM(callbacks_alone) {
  const std::string flush = argv[1];
  const Loop loop;
  static char* page;
  static std::atomic<int> faults{0};
  static std::atomic<int> blocked{0};
  static sem_t called;
  sem_init(&called, 0, 0);
  page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction handler {};
  handler.sa_handler = [](int) {
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    faults.fetch_add(1);
  };
  sigaction(SIGSEGV, &handler, nullptr);
  const auto callback = [](cl_event, cl_int, void*) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.fetch_add(sigismember(&mask, SIGUSR1) == 1 ? 1 : 0);
    mprotect(page, 4096, PROT_READ);
    *static_cast<volatile char*>(page) = 1;
    sem_post(&called);
  };
  double longest = 0;
  for (int round = 0; round < kRounds; ++round) {
    cl_event last = nullptr;
    for (cl_uint i = 0; i < 10; ++i) {
      loop.step(3, i, {}, i == 9 ? &last : nullptr);
    }
    const double start = now_ms();
    if (flush == "before") {
      CHECK_CL(clFlush(loop.queue));
    }
    CHECK_CL(clSetEventCallback(last, CL_COMPLETE, callback, nullptr));
    if (flush == "behind") {
      CHECK_CL(clFlush(loop.queue));
    }
    while (sem_wait(&called) != 0) {
    }
    const double spent = now_ms() - start;
    longest = spent > longest ? spent : longest;
    CHECK_CL(clReleaseEvent(last));
  }
  std::printf("faults %d blocked %d\n", faults.load(), blocked.load());
  print("x", read(loop.queue, loop.x, kCount));
  std::fprintf(stderr, "longest %.3f ms\n", longest);
  return 0;
}

/// Work that waits for a user event, set in the middle, at the end, with an error, and never.
PROGRAM(user_events) {
  const Loop loop;
  for (int round = 0; round < kRounds; ++round) {
    cl_int status = CL_SUCCESS;
    cl_event gate = clCreateUserEvent(loop.gpu.context, &status);
    check(status, "clCreateUserEvent");
    loop.step(3, 1);
    cl_event after = nullptr;
    loop.step(3, 2, {gate}, &after);
    loop.step(3, 3, {after});
    if (round % 2 == 0) {
      CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
      loop.step(3, 4);
    } else {
      loop.step(3, 4);
      CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    }
    CHECK_CL(clReleaseEvent(gate));
    CHECK_CL(clWaitForEvents(1, &after));
    CHECK_CL(clReleaseEvent(after));
    CHECK_CL(clFinish(loop.queue));
  }
  print("x", read(loop.queue, loop.x, kCount));
  return 0;
}

/// An upload's event in the wait list of all that comes later, however long ago that was: in the upload's own queue, in
/// another one, in one without order. With one more argument the upload waits for the host, for the first rounds.
PROGRAM(wait_lists) {
  const std::string where = argc > 1 ? argv[1] : "in_order";
  const bool unordered = where == "out_of_order";
  const Device gpu;
  cl_command_queue queue = gpu.queue(unordered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  cl_command_queue uploads = where == "in_order" || unordered ? queue : gpu.queue();
  cl_mem x = gpu.filled(kCount, 3);
  cl_mem y = gpu.filled(kCount, 5);
  cl_kernel scale = gpu.kernel("scale");
  cl_kernel mix_in = gpu.kernel("mix_in");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(mix_in, 0, x);
  set(mix_in, 1, y);
  set(mix_in, 2, static_cast<cl_uint>(kCount));
  std::vector<cl_uint> source(kCount, 77);
  cl_int made = CL_SUCCESS;
  cl_event gate = argc > 2 ? clCreateUserEvent(gpu.context, &made) : nullptr;
  check(made, "clCreateUserEvent");
  cl_event upload = nullptr;
  CHECK_CL(clEnqueueWriteBuffer(uploads, y, CL_FALSE, 0, kCount * sizeof(cl_uint), source.data(),
                                gate != nullptr ? 1 : 0, gate != nullptr ? &gate : nullptr, &upload));
  CHECK_CL(clFlush(uploads));
  cl_event last = nullptr;
  const auto step = [&](cl_kernel kernel, cl_uint index, cl_uint a) {
    set(kernel, index, a);
    std::vector<cl_event> waits{upload};
    if (last != nullptr) {
      waits.push_back(last);
    }
    cl_event event = nullptr;
    launch(queue, kernel, kCount, waits, unordered ? &event : nullptr);
    if (last != nullptr) {
      CHECK_CL(clReleaseEvent(last));
    }
    last = event;
  };
  set(scale, 3, 1U);
  for (int round = 0; round < 8 * kRounds; ++round) {
    step(scale, 2, 3);
    step(mix_in, 3, 1);
    step(scale, 2, 5);
    step(mix_in, 3, 2);
    if (gate != nullptr && round == kRounds / 4) {
      CHECK_CL(clSetUserEventStatus(gate, CL_COMPLETE));
    }
    if (round % 20 == 19 && (gate == nullptr || round > kRounds / 4)) {
      CHECK_CL(clFinish(queue));
    }
  }
  CHECK_CL(clFinish(queue));
  for (cl_event event : {upload, last, gate}) {
    if (event != nullptr) {
      CHECK_CL(clReleaseEvent(event));
    }
  }
  print("x", read(queue, x, kCount));
  return 0;
}

/// Profiled events tell times in the right order.
PROGRAM(profiling) {
  const Device gpu;
  cl_command_queue queue = gpu.queue(CL_QUEUE_PROFILING_ENABLE);
  cl_mem x = gpu.filled(kCount, 3);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  set(scale, 3, 1U);
  for (int round = 0; round < kRounds; ++round) {
    launch(queue, scale, kCount);
    launch(queue, scale, kCount);
    launch(queue, scale, kCount);
    cl_event event = nullptr;
    launch(queue, scale, kCount, {}, &event);
    CHECK_CL(clWaitForEvents(1, &event));
    cl_ulong start = 0;
    cl_ulong end = 0;
    CHECK_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr));
    CHECK_CL(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr));
    if (end < start) {
      std::printf("ended before it started\n");
      return 1;
    }
    CHECK_CL(clReleaseEvent(event));
  }
  print("x", read(queue, x, kCount));
  return 0;
}

/// Spins on memory that a kernel writes, making no call at all.
PROGRAM(spin) {
  const Device gpu;
  cl_device_svm_capabilities can = 0;
  if (clGetDeviceInfo(gpu.device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, nullptr) != CL_SUCCESS ||
      (can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) {
    std::printf("no fine-grained SVM\n");
    return 0;
  }
  cl_command_queue queue = gpu.queue();
  auto* flags = static_cast<volatile cl_uint*>(
      clSVMAlloc(gpu.context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 64 * sizeof(cl_uint), 0));
  cl_kernel store = gpu.kernel("store_svm");
  CHECK_CL(clSetKernelArgSVMPointer(store, 0, const_cast<cl_uint*>(flags)));
  double longest = 0;
  for (int round = 0; round < kRounds; ++round) {
    flags[3] = 0;
    for (cl_uint i = 0; i < 4; ++i) {
      set(store, 1, i);
      set(store, 2, 77U);
      launch(queue, store, 1);
    }
    CHECK_CL(clFlush(queue));
    const double start = now_ms();
    while (flags[3] != 77 && now_ms() - start < 20000) {
    }
    const double spent = now_ms() - start;
    longest = spent > longest ? spent : longest;
    if (flags[3] != 77) {
      std::printf("never written\n");
      return 1;
    }
  }
  CHECK_CL(clFinish(queue));
  clSVMFree(gpu.context, const_cast<cl_uint*>(flags));
  std::fprintf(stderr, "longest %.3f ms\n", longest);
  std::printf("all written\n");
  return 0;
}

/// Sends itself SIGUSR1, which ends a program that does not expect it. With an argument it is killed then.
PROGRAM(signalled) {
  const Loop loop;
  for (int round = 0; round < 50; ++round) {
    loop.step(3, 1);
    loop.step(3, 2);
    CHECK_CL(clFinish(loop.queue));
  }
  raise(SIGUSR1);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::printf("survived\n");
  if (argc > 1) {
    raise(SIGKILL);
  }
  return 0;
}

/// Records and enqueues a command buffer of its own between launches, if the driver can.
PROGRAM(own_command_buffer) {
  const Loop loop;
  const auto get = [&](const char* name) { return clGetExtensionFunctionAddressForPlatform(loop.gpu.platform, name); };
  const auto create = reinterpret_cast<clCreateCommandBufferKHR_fn>(get("clCreateCommandBufferKHR"));
  const auto record = reinterpret_cast<clCommandNDRangeKernelKHR_fn>(get("clCommandNDRangeKernelKHR"));
  const auto finalize = reinterpret_cast<clFinalizeCommandBufferKHR_fn>(get("clFinalizeCommandBufferKHR"));
  const auto enqueue = reinterpret_cast<clEnqueueCommandBufferKHR_fn>(get("clEnqueueCommandBufferKHR"));
  const auto release = reinterpret_cast<clReleaseCommandBufferKHR_fn>(get("clReleaseCommandBufferKHR"));
  if (create == nullptr || record == nullptr || finalize == nullptr || enqueue == nullptr || release == nullptr) {
    std::printf("no command buffers\n");
    return 0;
  }
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = loop.queue;
  cl_command_buffer_khr buffer = create(1, &queue, nullptr, &status);
  check(status, "clCreateCommandBufferKHR");
  set(loop.scale, 2, 5U);
  set(loop.scale, 3, 9U);
  const size_t count = kCount;
  CHECK_CL(record(buffer, nullptr, nullptr, loop.scale, 1, nullptr, &count, nullptr, 0, nullptr, nullptr, nullptr));
  CHECK_CL(finalize(buffer));
  for (int round = 0; round < 100; ++round) {
    set(loop.scale, 2, 5U);  // PoCL 3.1 reads the arguments again at the enqueue
    set(loop.scale, 3, 9U);
    CHECK_CL(enqueue(0, nullptr, buffer, 0, nullptr, nullptr));
    CHECK_CL(clFinish(queue));
    cl_event event = nullptr;
    loop.step(3, 1);
    loop.step(3, 2, {}, &event);
    set(loop.scale, 2, 5U);
    set(loop.scale, 3, 9U);
    cl_event done = nullptr;
    CHECK_CL(enqueue(0, nullptr, buffer, 1, &event, &done));  // waits for the event of a held command
    CHECK_CL(clReleaseEvent(event));
    CHECK_CL(clWaitForEvents(1, &done));
    CHECK_CL(clReleaseEvent(done));
  }
  print("x", read(queue, loop.x, kCount));
  CHECK_CL(release(buffer));
  return 0;
}
