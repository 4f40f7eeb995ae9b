// Several queues, several threads, out-of-order queues, random calls.

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
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
/// dispatch. Events go from queue to queue, and the host waits in three ways.
PROGRAM(hopeless) {
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

/// Random calls of one thread, from a seed: bodies that repeat a random number of times, and single calls
/// between them. What the buffers hold in the end does not depend on timing.
class RandomThread {
 public:
  RandomThread(const Device& gpu, std::uint32_t seed) : gpu_(gpu), random_(seed) {
    in_order_ = gpu.queue();
    out_of_order_ = gpu.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    for (cl_uint i = 0; i < kBuffers; ++i) {
      buffers_[i] = gpu.filled(kCount, seed * 10 + i);
    }
    make_kernels();
  }

  std::uint64_t run(int bodies) {
    std::vector<std::vector<Step>> pool(kPool);
    for (int i = 0; i < bodies; ++i) {
      std::vector<Step>& body = pool[below(kPool)];
      if (body.empty() || below(8) == 0) {  // most bodies come back
        body.resize(1 + below(12));
        for (Step& step : body) {
          step = random_step();
        }
      }
      const std::uint32_t times = below(4) == 0 ? 1 : 3 + below(30);
      for (std::uint32_t k = 0; k < times; ++k) {
        for (const Step& step : body) {
          perform(step, k);
        }
        if (below(3) == 0) {
          wait();
        }
      }
    }
    wait();
    std::uint64_t sum = host_sum_;
    for (cl_mem buffer : buffers_) {
      sum = sum * 31 + hash_of(read(in_order_, buffer, kCount));
      CHECK_CL(clReleaseMemObject(buffer));
    }
    CHECK_CL(clReleaseKernel(scale_));
    CHECK_CL(clReleaseKernel(mix_in_));
    CHECK_CL(clReleaseCommandQueue(in_order_));
    CHECK_CL(clReleaseCommandQueue(out_of_order_));
    return sum;
  }

 private:
  static constexpr std::size_t kBuffers = 4;
  static constexpr std::size_t kPool = 5;
  struct Step {
    std::uint32_t kind = 0, a = 0, b = 0, value = 0;
    bool vary = false, other_queue = false, wants_event = false;
  };

  std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  void make_kernels() {
    scale_ = gpu_.kernel("scale");
    mix_in_ = gpu_.kernel("mix_in");
  }
  Step random_step() {
    Step step;
    step.kind = below(10) == 0 ? below(16) : below(10);  // commands that cut are rarer
    step.a = below(kBuffers);
    step.b = (step.a + 1 + below(kBuffers - 1)) % kBuffers;
    step.value = below(100);
    step.vary = below(6) == 0;
    step.other_queue = below(5) == 0;
    step.wants_event = below(4) == 0;
    return step;
  }
  void wait() {
    CHECK_CL(clFinish(in_order_));
    CHECK_CL(clFinish(out_of_order_));
    drop_event();
  }
  void drop_event() {
    if (last_ != nullptr) {
      CHECK_CL(clReleaseEvent(last_));
      last_ = nullptr;
    }
  }

  /// Every command waits for the last one of the other queue, so that results are defined.
  void perform(const Step& step, std::uint32_t repetition) {
    const cl_uint value = step.value + (step.vary ? repetition : 0);
    cl_command_queue queue = step.other_queue ? out_of_order_ : in_order_;
    std::vector<cl_event> waits;
    if (last_ != nullptr && (queue != last_queue_ || queue == out_of_order_)) {
      waits.push_back(last_);
    } else if (queue != last_queue_ && last_queue_ != nullptr) {
      CHECK_CL(clFinish(last_queue_));
    }
    cl_event event = nullptr;
    cl_event* wanted = step.wants_event || queue == out_of_order_ ? &event : nullptr;
    const auto count = static_cast<cl_uint>(waits.size());
    const cl_event* list = waits.empty() ? nullptr : waits.data();
    std::vector<cl_uint> host(kCount, value);
    switch (step.kind) {
      default:
        set(scale_, 0, buffers_[step.a]);
        set(scale_, 1, static_cast<cl_uint>(kCount));
        set(scale_, 2, 2 * value + 1);
        set(scale_, 3, value);
        launch(queue, scale_, kCount, waits, wanted);
        break;
      case 5:
      case 6:
      case 7:
        set(mix_in_, 0, buffers_[step.a]);
        set(mix_in_, 1, buffers_[step.b]);
        set(mix_in_, 2, static_cast<cl_uint>(kCount));
        set(mix_in_, 3, value);
        launch(queue, mix_in_, kCount, waits, wanted);
        break;
      case 8:
        CHECK_CL(clEnqueueCopyBuffer(queue, buffers_[step.a], buffers_[step.b], 0, 64, 128, count, list, wanted));
        break;
      case 9:
        CHECK_CL(clEnqueueFillBuffer(queue, buffers_[step.a], &value, sizeof(value), 64, 64, count, list, wanted));
        break;
      case 10:
        CHECK_CL(
            clEnqueueReadBuffer(queue, buffers_[step.a], CL_TRUE, 0, kCount * 4, host.data(), count, list, wanted));
        host_sum_ = host_sum_ * 31 + hash_of(host);
        break;
      case 11:
        CHECK_CL(clEnqueueWriteBuffer(queue, buffers_[step.a], CL_TRUE, 0, 128, host.data(), count, list, wanted));
        break;
      case 12:  // kernels come and go
        CHECK_CL(clReleaseKernel(scale_));
        CHECK_CL(clReleaseKernel(mix_in_));
        make_kernels();
        return;
      case 13: {  // so do buffers
        cl_mem fresh = gpu_.filled(kCount, value);
        CHECK_CL(clEnqueueCopyBuffer(queue, buffers_[step.a], fresh, 0, 0, 256, count, list, wanted));
        CHECK_CL(clReleaseMemObject(buffers_[step.a]));
        buffers_[step.a] = fresh;
        break;
      }
      case 14: CHECK_CL(clFlush(queue)); return;
      case 15:
        if (queue == in_order_ && count == 0) {
          CHECK_CL(clEnqueueBarrier(queue));
          return;
        }
        CHECK_CL(clEnqueueMarkerWithWaitList(queue, count, list, wanted));
        if (wanted != nullptr && queue == out_of_order_ && count == 0) {
          CHECK_CL(clWaitForEvents(1, &event));
        }
        break;
    }
    drop_event();
    last_ = event;
    last_queue_ = queue;
    if (step.value == 42 && last_ != nullptr) {
      CHECK_CL(clWaitForEvents(1, &last_));
    }
  }

  const Device& gpu_;
  std::mt19937 random_;
  cl_command_queue in_order_ = nullptr;
  cl_command_queue out_of_order_ = nullptr;
  std::array<cl_mem, kBuffers> buffers_{};
  cl_kernel scale_ = nullptr;
  cl_kernel mix_in_ = nullptr;
  cl_event last_ = nullptr;
  cl_command_queue last_queue_ = nullptr;
  std::uint64_t host_sum_ = 0;
};

}  // namespace

/// random SEED THREADS BODIES
PROGRAM(random_calls) {
  const auto seed = static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1);
  const int threads = argc > 2 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 8;
  const int bodies = argc > 3 ? static_cast<int>(std::strtol(argv[3], nullptr, 10)) : 50;
  const Device gpu;
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      sums[static_cast<std::size_t>(i)] = RandomThread(gpu, seed * 1000 + static_cast<std::uint32_t>(i)).run(bodies);
    });
  }
  for (std::thread& thread : running) {
    thread.join();
  }
  for (std::uint64_t sum : sums) {
    std::printf("%016llx\n", static_cast<unsigned long long>(sum));
  }
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
