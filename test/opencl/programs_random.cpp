// Random calls of several threads, from a seed.
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "test/opencl/program.h"

using namespace program;

namespace {
constexpr std::size_t kCount = 128;

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
    holds_lock = false;
    while (called_.load() < expected_) {
      std::this_thread::yield();
    }
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
  /// Takes a lock that the thread holds in every other call.
  static void CL_CALLBACK call_back(cl_event, cl_int, void* user) {
    if (holds_lock) {
      std::printf("a callback in a call that has nothing to do with it\n");
    }
    static_cast<RandomThread*>(user)->called_.fetch_add(1);
  }
  void watch(cl_event event) {
    holds_lock = false;
    CHECK_CL(clSetEventCallback(event, CL_COMPLETE, &call_back, this));
    holds_lock = true;
    ++expected_;
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
    if (step.value % 8 == 0 && last_ != nullptr) {
      watch(last_);
    }
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
  static thread_local bool holds_lock;
  std::atomic<int> called_{0};
  int expected_ = 0;
};

thread_local bool RandomThread::holds_lock = false;

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
