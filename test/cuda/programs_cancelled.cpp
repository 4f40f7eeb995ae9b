// Threads that are cancelled while they wait.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 32;
std::atomic<bool> open_gate{false};
std::atomic<bool> waiting{false};
std::atomic<bool> blocked{false};
std::atomic<int> left{0};

void wait_at_gate(void* /*unused*/) {
  while (!open_gate.load()) {
    std::this_thread::yield();
  }
}

/// What a thread leaves behind calls the driver, too.
struct Leaving {
  CUstream stream;
  CUfunction kernel;
  CUdeviceptr x;
  ~Leaving() {
    scale(stream, kernel, x, kCount, 5, 1);
    left.fetch_add(1);
  }
};

struct Task {
  CUcontext context;
  CUstream own, blocked;
  CUevent event;
  CUfunction kernel;
  CUdeviceptr x;
  int way;
};

void work(const Task& task) {
  for (Word round = 0; round < 60; ++round) {
    for (Word i = 0; i < 8; ++i) {
      scale(task.own, task.kernel, task.x, kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(task.own));
  }
  for (Word i = 0; i < 3; ++i) {  // what a graph begins with: held, if there is one
    scale(task.own, task.kernel, task.x, kCount, 3, i);
  }
}

void* run(void* given) {
  const Task& task = *static_cast<Task*>(given);
  CHECK_CU(cuCtxSetCurrent(task.context));
  work(task);
  const Leaving leaving{task.own, task.kernel, task.x};
  Word word = 0;
  waiting.store(true);
  while (!blocked.load()) {
    std::this_thread::yield();
  }
  switch (task.way) {
    case 0: CHECK_CU(cuStreamSynchronize(task.blocked)); break;
    case 1: CHECK_CU(cuEventSynchronize(task.event)); break;
    case 2: CHECK_CU(cuCtxSynchronize()); break;
    default: CHECK_CU(cuMemcpyDtoH(&word, task.x, sizeof(word))); break;
  }
  return nullptr;
}

}  // namespace

PROGRAM(cancelled) {
  const Device gpu;
  // In order with the default stream, which the copy uses.
  Task task{gpu.context,
            make_stream(CU_STREAM_DEFAULT),
            make_stream(CU_STREAM_DEFAULT),
            make_event(),
            gpu.function("scale"),
            filled(kCount, 1),
            0};
  for (task.way = 0; task.way < 4; ++task.way) {
    open_gate.store(false);
    waiting.store(false);
    blocked.store(false);
    pthread_t thread{};
    void* result = nullptr;
    if (pthread_create(&thread, nullptr, &run, &task) != 0) {
      return 1;
    }
    while (!waiting.load()) {
      std::this_thread::yield();
    }
    CHECK_CU(cuLaunchHostFunc(task.blocked, &wait_at_gate, nullptr));
    CHECK_CU(cuEventRecord(task.event, task.blocked));
    blocked.store(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    pthread_cancel(thread);
    pthread_join(thread, &result);
    open_gate.store(true);
    CHECK_CU(cuCtxSynchronize());
    std::printf("way %d: %s, left %d\n", task.way, result == PTHREAD_CANCELED ? "cancelled" : "came to its end",
                left.load());
    work(task);  // the same goes on in another thread
    print("x", task.x, kCount);
  }
  return 0;
}
