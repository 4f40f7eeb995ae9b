// Loops of every kind, long enough that making graphs takes next to none of their time: how much of each can be
// graphed is what this is for (./run). Prints nothing but "end".
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "test/portable/kernels.h"

namespace {

using namespace portable;

constexpr Word kWords = 64;
constexpr std::size_t kBytes = kWords * sizeof(Word);
constexpr unsigned kSteps = 3000;

struct Bench {
  explicit Bench(Device& device_used)
      : device(device_used),
        queue(device.make_queue(QueueKind::kInOrder)),
        other(device.make_queue(QueueKind::kInOrder)),
        x(device.allocate(Place::kDevice, kBytes)),
        y(device.allocate(Place::kDevice, kBytes)),
        scale(device.find_kernel("scale")) {
    const std::vector<Word> words(kWords, 1);
    device.write(queue, {x, 0}, words.data(), kBytes);
    device.write(queue, {y, 0}, words.data(), kBytes);
    device.synchronize();
  }
  ~Bench() {
    device.synchronize();
    device.release(scale);
    device.release(x);
    device.release(y);
    for (Queue* each : {queue, other}) {
      device.release(each);
    }
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void scales(unsigned count, Word value, Queue* where) {
    for (unsigned i = 0; i < count; ++i) {
      launch(device, where, scale, kWords, {}, x, kWords, Word{3}, value);
    }
  }

  /// What comes for `to` waits for what came for `from`.
  void hand_over(Queue* from, Event* event, Queue* to) const {
    device.record(from, event);
    device.wait(to, event);
  }

  /// At the end of step `step`. In the first ones whoever makes graphs gets a moment, as where a program computes
  /// something: on a busy machine all would be over before there is one.
  void wait(unsigned step) const {
    device.synchronize(queue);
    pause(step);
  }
  static void pause(unsigned step) {
    if (step < 200 && step % 20 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  Device& device;
  Queue *queue, *other;
  Memory *x, *y;
  Kernel* scale;
};

void loop(Bench& bench) {
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(10, 1, bench.queue);
    bench.wait(i);
  }
}

void changing(Bench& bench) {
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(10, i, bench.queue);
    bench.wait(i);
  }
}

/// Two values in turn, as of buffers that swap roles.
void turns(Bench& bench) {
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(10, i % 2, bench.queue);
    bench.wait(i);
  }
}

/// No host call in between. The device is waited for now and then, or the program would be through before it is known.
void alone(Bench& bench) {
  for (unsigned i = 0; i < 150; ++i) {
    for (unsigned part = 0; part < 50; ++part) {
      bench.scales(100, 1, bench.queue);
      Bench::pause(i == 0 ? 2 * part : 1);
    }
    bench.wait(20 * i);
  }
}

void kinds(Bench& bench) {
  const Word pattern = 7;
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(3, 1, bench.queue);
    bench.device.copy(bench.queue, {bench.y, 0}, {bench.x, 0}, kBytes / 2);
    bench.device.fill(bench.queue, {bench.y, kBytes / 2}, std::as_bytes(std::span(&pattern, 1)), kBytes / 2);
    bench.scales(3, 2, bench.queue);
    bench.wait(i);
  }
}

/// Each stretch is one submission.
void single(Bench& bench) {
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(1, 1, bench.queue);
    bench.wait(i);
  }
}

/// What cannot be held stands in the middle.
void reads(Bench& bench) {
  Word words[kWords];
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(6, 1, bench.queue);
    bench.device.read(bench.queue, words, {bench.x, 0}, kBytes);
    bench.scales(1, 1, bench.queue);
    bench.wait(i);
  }
}

void two_queues(Bench& bench) {
  Event* const there = bench.device.make_event();
  Event* const back = bench.device.make_event();
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.scales(4, 1, bench.queue);
    bench.hand_over(bench.queue, there, bench.other);
    bench.scales(4, 2, bench.other);
    bench.hand_over(bench.other, back, bench.queue);
    bench.scales(4, 3, bench.queue);
    bench.wait(i);
  }
  bench.device.release(there);
  bench.device.release(back);
}

/// One submission here, one there: no part of a graph is long enough.
void ping_pong(Bench& bench) {
  Event* const there = bench.device.make_event();
  Event* const back = bench.device.make_event();
  for (unsigned i = 0; i < kSteps; ++i) {
    for (int turn = 0; turn < 4; ++turn) {
      bench.scales(1, 1, bench.queue);
      bench.hand_over(bench.queue, there, bench.other);
      bench.scales(1, 2, bench.other);
      bench.hand_over(bench.other, back, bench.queue);
    }
    bench.wait(i);
  }
  bench.device.release(there);
  bench.device.release(back);
}

void timed(Bench& bench) {
  if (bench.device.cannot(Feature::kTimedEvent) != nullptr) {
    return;
  }
  Event* const begin = bench.device.make_event(true);
  Event* const end = bench.device.make_event(true);
  for (unsigned i = 0; i < kSteps; ++i) {
    bench.device.record(bench.queue, begin);
    bench.scales(6, 1, bench.queue);
    bench.device.record(bench.queue, end);
    bench.wait(i);
  }
  bench.device.release(begin);
  bench.device.release(end);
}

/// Other kernels each time, in no order.
void random(Bench& bench) {
  std::mt19937 choice(1);
  for (unsigned i = 0; i < kSteps; ++i) {
    for (int k = 0; k < 10; ++k) {
      // How many threads is part of what makes two launches the same.
      launch(bench.device, bench.queue, bench.scale, 1 + static_cast<unsigned>(choice() % kWords), {}, bench.x, kWords,
             Word{3}, Word{1});
    }
    bench.wait(i);
  }
}

/// A body of 700 submissions that are not alike, with waits in between.
void long_body(Bench& bench) {
  for (unsigned i = 0; i < kSteps / 10; ++i) {
    std::mt19937 choice(2);
    for (int part = 0; part < 70; ++part) {
      for (int k = 0; k < 10; ++k) {
        launch(bench.device, bench.queue, bench.scale, 1 + static_cast<unsigned>(choice() % kWords), {}, bench.x,
               kWords, Word{3}, Word{1});
      }
      bench.wait(70 * i + static_cast<unsigned>(part));
    }
  }
}

using Function = void (*)(Bench&);
struct Program {
  const char* name;
  Function function;
};
constexpr Program kPrograms[] = {{"loop", loop},   {"changing", changing},     {"turns", turns},
                                 {"alone", alone}, {"kinds", kinds},           {"single", single},
                                 {"reads", reads}, {"two_queues", two_queues}, {"ping_pong", ping_pong},
                                 {"timed", timed}, {"random", random},         {"long_body", long_body}};

}  // namespace

int main(int count, char** words) {
  for (const Program& program : kPrograms) {
    if (count > 1 && std::strcmp(words[1], program.name) == 0) {
      const std::unique_ptr<Device> device = make_device();
      Bench bench(*device);
      program.function(bench);
      std::puts("end");
      return 0;
    }
  }
  std::fprintf(stderr, "usage: %s PROGRAM; programs:", words[0]);
  for (const Program& program : kPrograms) {
    std::fprintf(stderr, " %s", program.name);
  }
  std::fprintf(stderr, "\n");
  return 2;
}
