// Several queues, several threads, out-of-order queues, threads and processes that end.

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "test/opencl/program.h"

using namespace program;

namespace {
constexpr std::size_t kCount = 128;
constexpr int kRounds = 400;
}  // namespace

/// A diamond in an out-of-order queue, ordered by wait lists only, and barriers.
PROGRAM(out_of_order) {
  const Device gpu;
  cl_command_queue queue = gpu.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_mem a = gpu.filled(kCount, 1);
  cl_mem b = gpu.filled(kCount, 2);
  cl_mem c = gpu.filled(kCount, 3);
  cl_kernel scale = gpu.kernel("scale");
  cl_kernel mix_in = gpu.kernel("mix_in");
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 5U);
  set(mix_in, 2, static_cast<cl_uint>(kCount));
  set(mix_in, 3, 1U);
  cl_event last = nullptr;
  for (int round = 0; round < kRounds; ++round) {
    cl_event top = nullptr;
    cl_event left = nullptr;
    cl_event right = nullptr;
    cl_event bottom = nullptr;
    set(scale, 0, a);
    set(scale, 3, 1U);
    launch(queue, scale, kCount, last == nullptr ? std::vector<cl_event>{} : std::vector<cl_event>{last}, &top);
    set(mix_in, 0, b);
    set(mix_in, 1, a);
    launch(queue, mix_in, kCount, {top}, &left);
    set(mix_in, 0, c);
    launch(queue, mix_in, kCount, {top}, &right);
    set(mix_in, 0, a);
    set(mix_in, 1, b);
    launch(queue, mix_in, kCount, {left, right}, &bottom);
    if (last != nullptr) {
      CHECK_CL(clReleaseEvent(last));
    }
    CHECK_CL(clReleaseEvent(top));
    CHECK_CL(clReleaseEvent(left));
    CHECK_CL(clReleaseEvent(right));
    last = bottom;
    if (round % 10 == 9) {
      CHECK_CL(clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr));
      cl_event marker = nullptr;
      CHECK_CL(clEnqueueMarkerWithWaitList(queue, 1, &last, &marker));
      CHECK_CL(clWaitForEvents(1, &marker));
      CHECK_CL(clReleaseEvent(marker));
    }
  }
  CHECK_CL(clFinish(queue));
  CHECK_CL(clReleaseEvent(last));
  print("a", read(queue, a, kCount));
  print("b", read(queue, b, kCount));
  print("c", read(queue, c, kCount));
  return 0;
}

/// Two in-order queues that wait for each other's events.
PROGRAM(two_queues) {
  const Device gpu;
  cl_command_queue first = gpu.queue();
  cl_command_queue second = gpu.queue();
  cl_mem a = gpu.filled(kCount, 1);
  cl_mem b = gpu.filled(kCount, 2);
  cl_kernel mix_in = gpu.kernel("mix_in");
  set(mix_in, 2, static_cast<cl_uint>(kCount));
  set(mix_in, 3, 1U);
  cl_event back = nullptr;
  for (int round = 0; round < kRounds; ++round) {
    cl_event there = nullptr;
    set(mix_in, 0, a);
    set(mix_in, 1, b);
    launch(first, mix_in, kCount, back == nullptr ? std::vector<cl_event>{} : std::vector<cl_event>{back}, &there);
    if (back != nullptr) {
      CHECK_CL(clReleaseEvent(back));
      back = nullptr;
    }
    CHECK_CL(clFlush(first));
    set(mix_in, 0, b);
    set(mix_in, 1, a);
    CHECK_CL(clEnqueueBarrierWithWaitList(second, 1, &there, nullptr));
    launch(second, mix_in, kCount, {}, &back);
    CHECK_CL(clReleaseEvent(there));
    CHECK_CL(clFlush(second));
    if (round % 4 == 3) {
      CHECK_CL(clFinish(second));
    }
  }
  CHECK_CL(clFinish(second));
  CHECK_CL(clReleaseEvent(back));
  print("a", read(first, a, kCount));
  print("b", read(first, b, kCount));
  return 0;
}

/// Threads hand events to each other, and take turns on one queue.
PROGRAM(handover) {
  const Device gpu;
  cl_command_queue shared = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  std::array<std::atomic<cl_event>, 2> mailbox{};
  std::atomic<int> turn{0};
  const auto work = [&](int self) {
    cl_kernel scale = gpu.kernel("scale");
    set(scale, 0, x);
    set(scale, 1, static_cast<cl_uint>(kCount));
    cl_command_queue own = gpu.queue();
    for (int round = 0; round < kRounds; ++round) {
      while (turn.load() % 2 != self) {
        std::this_thread::yield();
      }
      std::vector<cl_event> waits;
      if (cl_event before = mailbox[static_cast<std::size_t>(1 - self)].exchange(nullptr); before != nullptr) {
        waits.push_back(before);
      }
      cl_event event = nullptr;
      for (cl_uint i = 0; i < 4; ++i) {
        set(scale, 2, 3 + static_cast<cl_uint>(self));
        set(scale, 3, i);
        launch(round % 2 == 0 ? shared : own, scale, kCount, i == 0 ? waits : std::vector<cl_event>{},
               i == 3 ? &event : nullptr);
      }
      for (cl_event before : waits) {
        CHECK_CL(clReleaseEvent(before));
      }
      mailbox[static_cast<std::size_t>(self)].store(event);
      turn.fetch_add(1);
    }
    CHECK_CL(clFinish(own));
    CHECK_CL(clReleaseKernel(scale));
    CHECK_CL(clReleaseCommandQueue(own));
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (auto& slot : mailbox) {
    if (cl_event event = slot.load(); event != nullptr) {
      CHECK_CL(clWaitForEvents(1, &event));
      CHECK_CL(clReleaseEvent(event));
    }
  }
  print("x", read(shared, x, kCount));
  return 0;
}

/// Long, and with a scalar that changes at every launch: nothing here can be replayed without mutable
/// dispatch. Events go from queue to queue, and the host waits in three ways. "slow": with work of the host's before
/// each launch, so that the last of those that are waited for is a chunk of its own.
PROGRAM(hopeless) {
  const bool slow = argc > 1 && std::string_view(argv[1]) == "slow";
  const Device gpu;
  const std::array<cl_command_queue, 2> queues = {gpu.queue(), gpu.queue()};
  cl_mem x = gpu.filled(kCount, 1);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  cl_uint number = 0;
  std::uint64_t sum = 0;
  for (int round = 0; round < 4000; ++round) {
    std::array<cl_event, 2> events{};
    for (std::size_t part = 0; part < 2; ++part) {
      for (int i = 0; i < 4; ++i) {
        const auto start = std::chrono::steady_clock::now();
        while (slow && std::chrono::steady_clock::now() - start < std::chrono::microseconds(8)) {
        }
        set(scale, 3, ++number);
        const bool first = i == 0 && part == 1;
        launch(queues[part], scale, kCount, first ? std::vector<cl_event>{events[0]} : std::vector<cl_event>{},
               i == 3 ? &events[part] : nullptr);
      }
    }
    if (round % 3 == 0) {
      CHECK_CL(clWaitForEvents(1, &events[1]));
    } else if (round % 3 == 1) {
      CHECK_CL(clFinish(queues[1]));
    } else {
      sum = sum * 31 + hash_of(read(queues[1], x, kCount));
    }
    for (cl_event event : events) {
      CHECK_CL(clReleaseEvent(event));
    }
  }
  std::printf("sum %016llx\n", static_cast<unsigned long long>(sum));
  return 0;
}

/// One thread enqueues and lets go of its objects while another releases them.
PROGRAM(foreign_release) {
  const Device gpu;
  cl_mem x = gpu.filled(kCount, 1);
  cl_command_queue queue = gpu.queue();
  for (int round = 0; round < kRounds; ++round) {
    cl_mem y = gpu.filled(kCount, 9);
    cl_kernel kernel = gpu.kernel("mix_in");
    cl_event event = nullptr;
    set(kernel, 0, x);
    set(kernel, 1, y);
    set(kernel, 2, static_cast<cl_uint>(kCount));
    for (cl_uint i = 0; i < 4; ++i) {
      set(kernel, 3, i);
      launch(queue, kernel, kCount, {}, i == 3 ? &event : nullptr);
    }
    std::thread([&] {
      CHECK_CL(clReleaseMemObject(y));
      CHECK_CL(clReleaseKernel(kernel));
      CHECK_CL(clWaitForEvents(1, &event));
      CHECK_CL(clReleaseEvent(event));
    }).join();
  }
  print("x", read(queue, x, kCount));
  return 0;
}

/// Ends with work in its queues, never finished and never released.
PROGRAM(leave) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  for (int round = 0; round < kRounds; ++round) {
    for (cl_uint i = 0; i < 4; ++i) {
      set(scale, 3, i);
      launch(queue, scale, kCount);
    }
    if (round < kRounds - 1) {
      CHECK_CL(clFinish(queue));
    }
  }
  set(scale, 3, 0U);
  launch(queue, scale, kCount);
  std::printf("left\n");
  return 0;
}

/// fork() in the middle: the child exits through exit handlers and must not hang or disturb.
PROGRAM(forks) {
  const Device gpu;
  cl_command_queue queue = gpu.queue();
  cl_mem x = gpu.filled(kCount, 1);
  cl_kernel scale = gpu.kernel("scale");
  set(scale, 0, x);
  set(scale, 1, static_cast<cl_uint>(kCount));
  set(scale, 2, 3U);
  set(scale, 3, 1U);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 6; ++i) {
      launch(queue, scale, kCount);
      if (round == 40 && i == 3) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
          cl_uint platforms = 0;
          _exit(clGetPlatformIDs(0, nullptr, &platforms) == CL_SUCCESS ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        std::printf("child %d\n", status);
      }
    }
    CHECK_CL(clFinish(queue));
  }
  print("x", read(queue, x, kCount));
  return 0;
}

namespace {

struct Wait {
  cl_command_queue queue;
  cl_event event;
  bool for_event;
};

void* wait_for_ever(void* given) {
  const Wait& wait = *static_cast<Wait*>(given);
  CHECK_CL(wait.for_event ? clWaitForEvents(1, &wait.event) : clFinish(wait.queue));
  return nullptr;
}

}  // namespace

/// Threads that are cancelled while they wait for what the host has not set yet. Nothing is done afterwards: a driver
/// may have been left with a lock of its own.
PROGRAM(cancelled) {
  Device device;
  cl_int error = CL_SUCCESS;
  Wait wait{device.queue(), clCreateUserEvent(device.context, &error), argc > 1};
  CHECK_CL(error);
  CHECK_CL(clEnqueueMarkerWithWaitList(wait.queue, 1, &wait.event, nullptr));
  pthread_t thread{};
  void* result = nullptr;
  if (pthread_create(&thread, nullptr, &wait_for_ever, &wait) != 0) {
    return 1;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pthread_cancel(thread);
  pthread_join(thread, &result);
  std::printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "came to its end");
  std::fflush(stdout);
  _exit(0);
}
