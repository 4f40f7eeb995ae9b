// Arguments that change from one repetition to the next.
#include <atomic>
#include <chrono>
#include <thread>

#include "test/conformance/programs.h"

using namespace conformance;
using portable::mix_in;
using portable::scale;

/// Of two pointers to memory of the same size one changes.
PROGRAM(by_index) {
  Memory* x = bench.memory(1);
  Memory* y[3] = {bench.memory(100), bench.memory(200), bench.memory(300)};
  for (unsigned round = 0; round < 4 * kRounds; ++round) {
    for (Word step = 0; step < 4; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, x, y[round % 3], kWords, step);
      mix_in(bench.device, bench.queue, bench.mix_in, y[round % 3], x, kWords, step);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  for (Memory* each : y) {
    bench.print("y", each);
  }
}

/// The same nodes, one more, one less, in another order.
PROGRAM(other_graphs) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  const auto part = [&](int which, Word value) {
    switch (which) {
      case 0: scale(bench.device, bench.queue, bench.scale, x, kWords, 3, value); break;
      case 1: mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, value); break;
      case 2: bench.device.copy(bench.queue, {x, 16}, {y, 0}, 64); break;
      default: portable::launch(bench.device, bench.queue, bench.store, 1, {}, y, value); break;
    }
  };
  for (Word round = 0; round < 2 * kRounds; ++round) {
    const int orders[4][5] = {{0, 1, 2, 3, 0}, {0, 1, 2, 3, -1}, {0, 2, 1, 3, 0}, {0, 1, 2, 3, 0}};
    for (const int which : orders[(round / 20) % 4]) {
      if (which >= 0) {
        part(which, round);
      }
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}

/// One number that all launches of a round have.
PROGRAM(one_scalar) {
  Memory* m[4] = {bench.memory(1), bench.memory(2), bench.memory(3), bench.memory(4)};
  for (Word round = 0; round < 4 * kRounds; ++round) {
    for (Memory* each : m) {
      mix_in(bench.device, bench.queue, bench.mix_in, each, each, kWords, round);
      scale(bench.device, bench.queue, bench.scale, each, kWords, 3, round);
    }
    bench.device.synchronize(bench.queue);
  }
  for (Memory* each : m) {
    bench.print("m", each);
  }
}

/// The third launch is of another kernel, with another number of arguments, every time.
PROGRAM(switching) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  for (Word round = 0; round < 2 * kRounds; ++round) {
    scale(bench.device, bench.queue, bench.scale, x, kWords, 3, 1);
    mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, 2);
    switch (round % 3) {
      case 0: scale(bench.device, bench.queue, bench.scale, y, kWords, 7, 1); break;
      case 1: portable::launch(bench.device, bench.queue, bench.store, 1, {}, y, Word{5}); break;
      default: mix_in(bench.device, bench.queue, bench.mix_in, y, y, kWords, 9); break;
    }
    mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, 3);
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}

/// The device is kept busy by a host function that only this thread ends, after it has submitted more, with changed
/// arguments.
PROGRAM(in_flight) {
  Memory* x = bench.memory(1);
  Event* done = bench.event();
  const auto body = [&](Word value) {
    for (Word step = 0; step < 6; ++step) {
      scale(bench.device, bench.queue, bench.scale, x, kWords, 2 * step + 3, value + step);
    }
  };
  for (Word round = 0; round < kRounds; ++round) {
    body(round);
    bench.device.synchronize(bench.queue);
  }
  for (Word round = 0; round < 20; ++round) {
    std::atomic<bool> open{false};
    bench.device.host_function(
        bench.queue,
        [](void* data) {
          while (!static_cast<std::atomic<bool>*>(data)->load()) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
          }
        },
        &open);
    for (Word again = 0; again < 5; ++again) {
      body(100 * round + again);
      bench.device.record(bench.queue, done);
      bench.device.flush(bench.queue);
    }
    open = true;
    bench.device.synchronize(done);
  }
  bench.print("x", x);
}

/// Memory that was never used before, in a stretch that repeats.
PROGRAM(first_use) {
  Memory* x = bench.memory(1);
  for (Word round = 0; round < kRounds; ++round) {
    Memory* fresh = bench.device.allocate(Place::kDevice, kBytes);
    bench.device.copy(bench.queue, {fresh, 0}, {x, 0}, kBytes);
    for (Word step = 0; step < 4; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, fresh, x, kWords, step);
    }
    bench.device.copy(bench.queue, {x, 0}, {fresh, 0}, kBytes);
    bench.device.synchronize(bench.queue);
    bench.device.release(fresh);
  }
  bench.print("x", x);
}

/// Read after write, write after read, write after write, over two queues.
PROGRAM(hazards) {
  Queue* second = bench.another_queue();
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  Event* written = bench.event();
  Event* read = bench.event();
  for (Word round = 0; round < kRounds; ++round) {
    scale(bench.device, bench.queue, bench.scale, x, kWords, 3, 1, {{}, written});
    Event* const raw[] = {written};
    mix_in(bench.device, second, bench.mix_in, y, x, kWords, 2, {raw, read});
    Event* const war[] = {read};
    scale(bench.device, bench.queue, bench.scale, x, kWords, 5, 2, {war, written});
    Event* const waw[] = {written};
    scale(bench.device, second, bench.scale, x, kWords, 7, 3, {waw, read});
    bench.device.synchronize(read);
    bench.device.synchronize(bench.queue);
    bench.device.synchronize(second);
  }
  bench.print("x", x);
  bench.print("y", y);
}

/// A thousand small stretches in flight at a time.
PROGRAM(many_in_flight) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < 1000; ++i) {
      mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, 1);
      mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, 2);
      mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, 3);
      bench.device.flush(bench.queue);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}
