// Shapes of graphs, host work in them, memory that comes and goes.
#include <atomic>
#include <chrono>
#include <thread>

#include "test/conformance/programs.h"

using namespace conformance;
using portable::mix_in;
using portable::scale;

/// A chain in one queue.
PROGRAM(chain) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  for (unsigned round = 0; round < kRounds; ++round) {
    for (Word step = 0; step < 10; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, step % 2 == 0 ? x : y, step % 2 == 0 ? y : x, kWords, step);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}

namespace {

/// One launch, two that wait for it in other queues, one that waits for both; the first queue's own branch as well.
void fork_join_once(Bench& bench, Memory* (&m)[4], Event* (&e)[3], Word value) {
  Queue* second = bench.queues[0];
  Queue* third = bench.queues[1];
  scale(bench.device, bench.queue, bench.scale, m[0], kWords, 3, value, {{}, e[0]});
  Event* const forked[] = {e[0]};
  mix_in(bench.device, second, bench.mix_in, m[1], m[0], kWords, 1, {forked, e[1]});
  mix_in(bench.device, third, bench.mix_in, m[2], m[0], kWords, 2, {forked, e[2]});
  mix_in(bench.device, bench.queue, bench.mix_in, m[3], m[0], kWords, 3);
  Event* const joined[] = {e[1], e[2]};
  mix_in(bench.device, bench.queue, bench.mix_in, m[3], m[1], kWords, 4, {joined, nullptr});
  mix_in(bench.device, bench.queue, bench.mix_in, m[0], m[2], kWords, 5);
}

void fork_join_rounds(Bench& bench, bool changing) {
  bench.another_queue();
  bench.another_queue();
  Memory* m[4] = {bench.memory(1), bench.memory(100), bench.memory(200), bench.memory(300)};
  Event* e[3] = {bench.event(), bench.event(), bench.event()};
  for (Word round = 0; round < kRounds; ++round) {
    fork_join_once(bench, m, e, changing ? round : 7);
    bench.device.synchronize(bench.queue);
    bench.device.synchronize(bench.queues[0]);
    bench.device.synchronize(bench.queues[1]);
  }
  for (Memory* each : m) {
    bench.print("m", each);
  }
}

}  // namespace

PROGRAM(fork_join) {
  fork_join_rounds(bench, false);
}

/// Several roots and tails, nodes with several successors, one that only brings others together, nothing at all, and
/// the same again without a wait in between.
PROGRAM(shapes) {
  Queue* second = bench.another_queue();
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  Event* first = bench.event();
  Event* other = bench.event();
  for (unsigned round = 0; round < kRounds; ++round) {
    for (int again = 0; again < 2; ++again) {
      scale(bench.device, bench.queue, bench.scale, x, kWords, 3, 1);
      scale(bench.device, second, bench.scale, y, kWords, 5, 2);
      bench.device.record(bench.queue, first);
      bench.device.record(second, other);
      bench.device.wait(bench.queue, other);
      bench.device.wait(second, first);
      bench.device.barrier(bench.queue);
      mix_in(bench.device, bench.queue, bench.mix_in, x, x, kWords, 3);
      mix_in(bench.device, second, bench.mix_in, y, y, kWords, 4);
    }
    bench.device.synchronize(bench.queue);
    bench.device.synchronize(second);
    bench.device.synchronize(bench.queue);  // nothing in it
  }
  bench.print("x", x);
  bench.print("y", y);
}

/// New data before each launch that reads it.
PROGRAM(upload) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  for (Word round = 0; round < kRounds; ++round) {
    Word words[kWords];
    for (Word& word : words) {
      word = round * 5;
    }
    bench.device.write(bench.queue, {x, 0}, words, kBytes);
    for (Word step = 0; step < 5; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, step);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("y", y);
}

/// What the host does between submissions happens once for each time it is written.
PROGRAM(host_code) {
  Memory* x = bench.memory(1);
  std::uint64_t counter = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (Word step = 0; step < 6; ++step) {
      ++counter;
      scale(bench.device, bench.queue, bench.scale, x, kWords, 3, step);
      counter = counter * 3 + step;
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("counter", counter);
  bench.print("x", x);
}

/// A kernel, host work, a kernel.
PROGRAM(host_middle) {
  Memory* x = bench.memory(1);
  Memory* pinned = bench.memory(9, Place::kPinned);
  for (unsigned round = 0; round < kRounds; ++round) {
    mix_in(bench.device, bench.queue, bench.mix_in, pinned, x, kWords, 1);
    bench.device.host_function(
        bench.queue, [](void* data) { static_cast<Word*>(data)[2] += 11; }, bench.device.host(pinned));
    mix_in(bench.device, bench.queue, bench.mix_in, x, pinned, kWords, 2);
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
}

namespace {

struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int> passed{0};
  static void wait(void* data) {
    auto* gate = static_cast<Gate*>(data);
    while (!gate->open.load()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    gate->passed.fetch_add(1);
  }
};

}  // namespace

/// Host work that sleeps in one branch must not hold up the other, which this thread waits for first.
PROGRAM(roots) {
  Queue* second = bench.another_queue();
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  for (unsigned round = 0; round < 60; ++round) {
    Gate gate;
    bench.device.host_function(second, &Gate::wait, &gate);
    for (Word step = 0; step < 4; ++step) {
      scale(bench.device, second, bench.scale, y, kWords, 3, step);
      scale(bench.device, bench.queue, bench.scale, x, kWords, 5, step);
    }
    bench.device.synchronize(bench.queue);
    gate.open = true;
    bench.device.synchronize(second);
  }
  bench.print("x", x);
  bench.print("y", y);
}

/// The last event comes after all ends: while one of them sleeps, it is not done.
PROGRAM(tails) {
  Queue* second = bench.another_queue();
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  Event* one = bench.event();
  Event* last = bench.event();
  std::uint64_t too_early = 0;
  for (unsigned round = 0; round < 60; ++round) {
    Gate gate;
    for (Word step = 0; step < 4; ++step) {
      scale(bench.device, bench.queue, bench.scale, x, kWords, 5, step);
      scale(bench.device, second, bench.scale, y, kWords, 3, step);
    }
    bench.device.host_function(second, &Gate::wait, &gate);
    bench.device.record(second, one);
    bench.device.wait(bench.queue, one);
    bench.device.record(bench.queue, last);
    for (int i = 0; i < 5; ++i) {
      too_early += bench.device.done(last) ? 1 : 0;
    }
    gate.open = true;
    bench.device.synchronize(last);
    too_early += gate.passed.load() == 1 ? 0 : 1;
  }
  bench.print("too early", too_early);
  bench.print("x", x);
  bench.print("y", y);
}

/// Memory, kernels and events of repeating stretches go, and others come.
PROGRAM(lifetimes) {
  Memory* kept = bench.memory(5);
  for (unsigned life = 0; life < 10; ++life) {
    Memory* x = bench.memory(life);
    Kernel* kernel = bench.device.find_kernel("mix_in");
    Event* event = bench.device.make_event();
    for (unsigned round = 0; round < 25; ++round) {
      for (Word step = 0; step < 5; ++step) {
        mix_in(bench.device, bench.queue, kernel, x, kept, kWords, step, {{}, event});
      }
      mix_in(bench.device, bench.queue, kernel, kept, x, kWords, 1);
      bench.device.synchronize(event);
    }
    pause_briefly();
    bench.device.synchronize(bench.queue);
    bench.device.release(kernel);
    bench.device.release(event);
    bench.print("x", x);
    bench.free(x);
  }
  bench.print("kept", kept);
}
