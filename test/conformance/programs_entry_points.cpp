// The entry points of a command buffer, as a program sees them.
#include <array>

#include "test/conformance/programs.h"

using namespace conformance;
using portable::mix_in;
using portable::scale;

/// Queues and memory are released with work in them.
PROGRAM(release_in_flight) {
  Memory* kept = bench.memory(5);
  for (unsigned round = 0; round < 12; ++round) {
    Queue* queue = bench.device.make_queue(QueueKind::kInOrder);
    Memory* x = bench.memory(round);
    for (unsigned i = 0; i < 30; ++i) {
      for (Word step = 0; step < 6; ++step) {
        mix_in(bench.device, queue, bench.mix_in, x, kept, kWords, step);
      }
      bench.device.synchronize(queue);
    }
    pause_briefly();
    for (Word step = 0; step < 6; ++step) {
      mix_in(bench.device, queue, bench.mix_in, x, kept, kWords, step);
    }
    if (bench.device.cannot(Feature::kReleaseQueue) != nullptr) {
      bench.device.synchronize(queue);
    }
    bench.device.release(queue);
    bench.print("x", x);
    bench.free(x);
  }
}

/// Arguments are changed right after the call: the implementations overwrite their arrays, values come from variables.
PROGRAM(arguments) {
  Memory* x = bench.memory(1);
  for (unsigned round = 0; round < kRounds; ++round) {
    for (Word step = 0; step < 8; ++step) {
      Word a = 2 * step + 3;
      Word b = step;
      scale(bench.device, bench.queue, bench.scale, x, kWords, a, b);
      a = b = 0xDEAD;  // NOLINT(clang-analyzer-deadcode.DeadStores): nobody may read it
    }
    portable::Wide values{};
    values.values[7] = 77;
    portable::launch(bench.device, bench.queue, bench.wide, kWords, {}, values, x);
    values.values[7] = 0xBAD;
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
}

namespace {

std::vector<std::byte> pattern_of(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> pattern(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    pattern[i] = static_cast<std::byte>(seed + 5 * i);
  }
  return pattern;
}

void fill_with_all(Bench& bench, Memory* to, std::initializer_list<std::size_t> sizes) {
  for (const std::size_t size : sizes) {
    std::vector<std::byte> pattern = pattern_of(size, static_cast<unsigned>(size));
    bench.device.fill(bench.queue, {to, 2 * size}, pattern, 3 * size);
    pattern.assign(size, std::byte{0xEE});
  }
}

void copy_and_fill(Bench& bench, Place place, std::initializer_list<std::size_t> patterns) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100, place);
  Memory* z = bench.memory(200, place);
  for (unsigned round = 0; round < kRounds; ++round) {
    bench.device.copy(bench.queue, {y, 16}, {x, 0}, 64);
    bench.device.copy(bench.queue, {z, 0}, {y, 8}, 128);
    fill_with_all(bench, z, patterns);
    mix_in(bench.device, bench.queue, bench.mix_in, x, z, kWords, 3);
    bench.device.copy(bench.queue, {x, 32}, {z, 64}, 20);
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
  bench.print("z", z);
}

}  // namespace

PROGRAM(pointers) {
  copy_and_fill(bench, Place::kPinned, {1, 2, 4});
}
PROGRAM(buffers) {
  copy_and_fill(bench, Place::kDevice, {1, 2, 4});
}
PROGRAM(wide_patterns) {
  copy_and_fill(bench, Place::kDevice, {8, 16});
}

/// What the host wrote before a replay is read by it, and what it reads afterwards was written by it.
PROGRAM(host_pointers) {
  Memory* x = bench.memory(1);
  Memory* in = bench.memory(7, Place::kPinned);
  Memory* out = bench.memory(9, Place::kPinned);
  std::uint64_t sum = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    auto* words = reinterpret_cast<Word*>(bench.device.host(in));
    for (Word i = 0; i < kWords; ++i) {
      words[i] = round * 3 + i;
    }
    bench.device.copy(bench.queue, {x, 0}, {in, 0}, kBytes / 2);
    mix_in(bench.device, bench.queue, bench.mix_in, x, x, kWords, 4);
    bench.device.copy(bench.queue, {out, 0}, {x, 0}, kBytes);
    bench.device.synchronize(bench.queue);
    sum = sum * 31 + reinterpret_cast<Word*>(bench.device.host(out))[round % kWords];
  }
  bench.print("sum", sum);
}

PROGRAM(rectangles) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  for (unsigned round = 0; round < kRounds; ++round) {
    bench.device.copy_rectangle(bench.queue, {y, 4, 16, 64}, {x, 8, 32, 128}, {8, 3, 1});
    mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, 1);
    bench.device.copy_rectangle(bench.queue, {x, 0, 8, 32}, {y, 0, 16, 64}, {8, 2, 2});
    scale(bench.device, bench.queue, bench.scale, y, kWords, 3, 1);
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}

/// A prefetch carries its dependencies: what waits for its event comes after what it waited for.
PROGRAM(prefetch) {
  Queue* second = bench.another_queue();
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);
  Event* first = bench.event();
  Event* then = bench.event();
  for (unsigned round = 0; round < kRounds; ++round) {
    mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, 1, {{}, first});
    Event* const after[] = {first};
    bench.device.prefetch(second, {y, 0}, kBytes, {after, then});
    Event* const last[] = {then};
    mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, 2, {last, nullptr});
    mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, 3);
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}

namespace {

void prefetch_between(Bench& bench, std::size_t offset) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(100);  // where the kind of memory counts, of that which can be fetched
  for (unsigned round = 0; round < kRounds; ++round) {
    for (Word step = 0; step < 3; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, step);
    }
    bench.device.prefetch(bench.queue, {y, offset}, kBytes - offset);
    for (Word step = 0; step < 3; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, step);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
  bench.print("y", y);
}

}  // namespace

PROGRAM(prefetch_to_device) {
  prefetch_between(bench, 0);
}
PROGRAM(prefetch_to_host) {
  prefetch_between(bench, sizeof(Word));
}

/// N submissions, N events, done in their order: whoever sees one done sees all before it done.
PROGRAM(events) {
  constexpr std::size_t kEvents = 6;
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(50);
  std::array<Event*, kEvents> made{};
  for (Event*& each : made) {
    each = bench.event();
  }
  Queue* second = bench.another_queue();
  std::uint64_t wrong = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kEvents; ++i) {
      scale(bench.device, bench.queue, bench.scale, x, kWords, 3, static_cast<Word>(i), {{}, made[i]});
    }
    Event* const after[] = {made[2], made[kEvents - 1]};
    mix_in(bench.device, second, bench.mix_in, y, x, kWords, 1, {after, nullptr});
    bench.device.synchronize(made[round % kEvents]);
    for (std::size_t i = 0; i <= round % kEvents; ++i) {
      wrong += bench.device.done(made[i]) ? 0 : 1;
    }
    bench.device.synchronize(second);
    bench.device.synchronize(bench.queue);
    wrong += bench.device.done(made[kEvents - 1]) ? 0 : 1;
  }
  bench.print("wrong", wrong);
  bench.print("y", y);
}

/// Every launch has another argument, every time.
PROGRAM(update) {
  Memory* x = bench.memory(1);
  for (Word round = 0; round < 4 * kRounds; ++round) {
    for (Word step = 0; step < 6; ++step) {
      scale(bench.device, bench.queue, bench.scale, x, kWords, 2 * step + 1, round * 7 + step);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.print("x", x);
}

/// A graph of the program's own among its launches.
PROGRAM(own_graph) {
  Memory* x = bench.memory(1);
  Memory* y = bench.memory(60);
  bench.device.begin_graph(bench.queue);
  scale(bench.device, bench.queue, bench.scale, x, kWords, 5, 1);
  mix_in(bench.device, bench.queue, bench.mix_in, y, x, kWords, 2);
  Graph* graph = bench.device.end_graph(bench.queue);
  for (unsigned round = 0; round < kRounds; ++round) {
    for (Word step = 0; step < 4; ++step) {
      mix_in(bench.device, bench.queue, bench.mix_in, x, y, kWords, step);
    }
    bench.device.launch(bench.queue, graph);
    for (Word step = 0; step < 4; ++step) {
      scale(bench.device, bench.queue, bench.scale, y, kWords, 3, step);
    }
    bench.device.synchronize(bench.queue);
  }
  bench.device.release(graph);
  bench.print("x", x);
  bench.print("y", y);
}
