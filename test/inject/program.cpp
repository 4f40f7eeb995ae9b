// A program as it could be anybody's: `start` does one of each, `loop` repeats what Refrain replays, with objects that
// come and go, a second thread, and changes. It prints what it computed.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "test/portable/kernels.h"

namespace {

using namespace portable;

constexpr Word kWords = 64;
constexpr std::size_t kBytes = kWords * sizeof(Word);

/// What one thread works with.
struct Work {
  explicit Work(Device& its_device)
      : device(its_device),
        queue(device.make_queue(QueueKind::kInOrder)),
        other(device.make_queue(QueueKind::kInOrder)),
        event(device.make_event()),
        scaling(device.find_kernel("scale")),
        mixing(device.find_kernel("mix_in")),
        x(device.allocate(Place::kDevice, kBytes)),
        y(device.allocate(Place::kDevice, kBytes)) {
    std::array<Word, kWords> words{};
    for (Word i = 0; i < kWords; ++i) {
      words[i] = i;
    }
    device.write(queue, {x, 0}, words.data(), kBytes);
    device.write(queue, {y, 0}, words.data(), kBytes);
    device.synchronize(queue);
  }
  ~Work() {
    device.release(x);
    device.release(y);
    device.release(scaling);
    device.release(mixing);
    device.release(event);
    device.release(queue);
    device.release(other);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void step(Word value) {
    scale(device, queue, scaling, x, kWords, 3, value);
    mix_in(device, queue, mixing, y, x, kWords, 1);
    device.record(queue, event);
    device.wait(other, event);
    mix_in(device, other, mixing, x, y, kWords, 2);
    device.record(other, event);
    device.wait(queue, event);
    const std::byte pattern[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    device.fill(queue, {y, 0}, pattern, 16);
    device.copy(queue, {y, 32}, {x, 32}, 32);
    for (int i = 0; i < 6; ++i) {
      scale(device, queue, scaling, x, kWords, 5, 7);
    }
  }
  /// What `count` rounds compute is read back.
  void rounds(int count, bool changing) {
    for (int round = 0; round < count; ++round) {
      step(changing ? static_cast<Word>(round) : 11);
      device.synchronize(queue);
      if (round % 8 == 7) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // graphs are made meanwhile
      }
    }
  }
  void print(const char* name) {
    std::array<Word, kWords> words{};
    for (Memory* memory : {x, y}) {
      device.read(queue, words.data(), {memory, 0}, kBytes);
      Word sum = 0;
      for (const Word word : words) {
        sum = sum * 31 + word;
      }
      std::printf("%s %08x\n", name, sum);
    }
  }

  Device& device;
  Queue* queue;
  Queue* other;
  Event* event;
  Kernel* scaling;
  Kernel* mixing;
  Memory* x;
  Memory* y;
};

void come_and_go(Device& device, Work& work) {
  for (int i = 0; i < 2; ++i) {
    Work more(device);
    more.rounds(4, false);
    more.print("more");
    Memory* const own = device.allocate(Place::kPinned, kBytes);
    device.copy(work.queue, {own, 0}, {work.x, 0}, kBytes);
    device.synchronize(work.queue);
    Word first = 0;
    std::memcpy(&first, device.host(own), sizeof(first));
    std::printf("pinned %08x\n", first);
    device.release(own);
  }
}

void loop(Device& device) {
  Work work(device);
  work.rounds(40, false);
  work.print("same");
  work.rounds(16, true);
  work.print("changing");
  Work theirs(device);
  std::thread second([&] {
    device.enter_thread();
    theirs.rounds(16, false);
  });
  work.rounds(8, false);
  second.join();
  theirs.print("second thread");
  come_and_go(device, work);
  work.rounds(16, false);
  for (int i = 0; i < 3; ++i) {
    scale(device, work.queue, work.scaling, work.x, kWords, 3, 11);  // the beginning of what repeats
  }
  work.print("end");
}

void start(Device& device) {
  Work work(device);
  work.rounds(2, false);
  work.print("start");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what != "start" && what != "loop") {
    std::fprintf(stderr, "usage: %s start|loop\n", argv[0]);
    return 2;
  }
  {
    const std::unique_ptr<Device> device = make_device();
    what == "start" ? start(*device) : loop(*device);
  }
  std::puts("done");
  return 0;
}
