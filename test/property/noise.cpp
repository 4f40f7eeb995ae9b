#include "test/property/noise.h"

#include <array>
#include <chrono>
#include <random>
#include <vector>

#include "layer/refrain.h"
#include "test/portable/kernels.h"

namespace property {
namespace {

using namespace portable;

constexpr std::size_t kBytes = 64 * sizeof(Word);

class Worker {
 public:
  Worker(Device& device, std::uint64_t seed, bool blocking) : device_(device), random_(seed), blocking_(blocking) {
    // Many now and then: who keeps something by the queue runs into others' places.
    const unsigned count = below(3) == 0 ? 100 : 1 + below(3);
    for (unsigned i = 0; i < count; ++i) {
      queues_.push_back(device_.make_queue(some_kind(i == 0)));
    }
    for (Memory*& memory : memory_) {
      memory = device_.allocate(Place::kDevice, kBytes);
    }
    scale_ = device_.find_kernel("scale");
    mix_ = device_.find_kernel("mix_in");
  }
  ~Worker() {
    for (Queue* queue : queues_) {
      device_.synchronize(queue);
      device_.release(queue);
    }
    for (Memory* memory : memory_) {
      device_.release(memory);
    }
    device_.release(scale_);
    device_.release(mix_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The same few calls for a while: so often that they may be replayed, or that nobody looks at them any more.
  void body(const std::stop_token& stop) {
    std::array<unsigned, 6> calls{};
    const std::size_t count = 1 + below(calls.size());
    for (unsigned& call : calls) {
      call = below(kCalls);
    }
    const unsigned times = 10 + below(400);
    const bool in_turn = below(2) == 0;
    const bool pauses = below(4) == 0;
    const bool stopped = below(6) == 0;
    if (stopped) {
      refrain_stop();
    }
    const unsigned waits_every = below(2) == 0 ? 1 : 1 + below(30);
    for (unsigned i = 0; i < times && !stop.stop_requested(); ++i) {
      Queue*& queue = queues_[in_turn ? i / waits_every % queues_.size() : 0];
      for (std::size_t each = 0; each < count; ++each) {
        call(calls[each], &queue);
      }
      if (i % waits_every + 1 == waits_every || i + 1 == times) {
        device_.synchronize(queue);
      }
      if (pauses) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      } else {
        std::this_thread::yield();
      }
    }
    if (stopped) {
      refrain_start();
    }
  }

 private:
  static constexpr unsigned kCalls = 11;

  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }

  QueueKind some_kind(bool first) {
    if (!blocking_ || below(2) == 0) {
      return QueueKind::kInOrder;
    }
    return first && below(2) == 0 ? QueueKind::kThreadsOwn : QueueKind::kBlocking;
  }

  void call(unsigned which, Queue** queue) {
    std::array<Word, 64> words{};
    switch (which) {
      case 0: scale(device_, *queue, scale_, memory_[0], 64, 3, 1); break;
      case 1: mix_in(device_, *queue, mix_, memory_[0], memory_[1], 64, 5); break;
      case 2: device_.copy(*queue, {memory_[1], 0}, {memory_[0], 0}, kBytes / 2); break;
      case 3: device_.read(*queue, words.data(), {memory_[0], 0}, kBytes); break;
      case 4: device_.write(*queue, {memory_[0], 0}, words.data(), kBytes); break;
      case 5:
        if (device_.cannot(Feature::kReleaseWaits) != nullptr) {
          device_.synchronize(*queue);
        }
        device_.release(memory_[1]);
        memory_[1] = device_.allocate(Place::kDevice, kBytes);
        break;
      case 6:
        if (device_.cannot(Feature::kQueryQueue) == nullptr) {
          static_cast<void>(device_.done(*queue));
        }
        break;
      case 7: device_.ask_something(); break;
      case 8: below(2) == 0 ? refrain_region_begin("noise") : refrain_region_end(); break;
      case 9: refrain_flush(); break;
      default:
        if ((*queue)->kind == QueueKind::kInOrder && below(8) == 0) {
          device_.synchronize(*queue);
          device_.release(*queue);
          *queue = device_.make_queue(QueueKind::kInOrder);
        }
    }
  }

  Device& device_;
  std::mt19937_64 random_;
  bool blocking_;
  std::vector<Queue*> queues_;
  std::array<Memory*, 2> memory_{};
  Kernel* scale_ = nullptr;
  Kernel* mix_ = nullptr;
};

}  // namespace

Noise::Noise(Device& device, std::uint64_t seed, bool blocking)
    : thread_([&device, seed, blocking](const std::stop_token& stop) {
        device.enter_thread();
        Worker worker(device, seed, blocking);
        while (!stop.stop_requested()) {
          worker.body(stop);
        }
      }) {}

}  // namespace property
