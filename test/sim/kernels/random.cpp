// The kernels of test/gpu/random_kernels.cuh.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "test/sim/kernels/side.h"

namespace {

using namespace side;
using Word = std::uint32_t;

constexpr unsigned kWords = 4096;

/// `count` threads at most: what the launch has.
unsigned threads_of(const Shape& shape, unsigned count) {
  return std::min(static_cast<unsigned>(shape.threads()), count);
}

// mix(Word* to, const Word* from, unsigned offset, unsigned count, Word value), and mix_dependent
constexpr Parameter kMix[] = {pointer(0), pointer(8), word(16), word(20), word(24)};
template <unsigned step, Word factor>
void mix(const std::byte* arguments, const Shape& shape) {
  Word* to = at<Word>(arguments, 0);
  const Word* from = at<const Word>(arguments, 8);
  const auto offset = argument<unsigned>(arguments, 16);
  const auto value = argument<Word>(arguments, 24);
  for (unsigned i = 0; i < threads_of(shape, argument<unsigned>(arguments, 20)); ++i) {
    to[offset + i] = (to[offset + i] ^ from[(offset + i * step + value) % kWords]) * factor + value;
  }
}
void mix_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  const auto offset = argument<unsigned>(arguments, 16);
  all.writes(argument<Address>(arguments, 0) + offset * sizeof(Word),
             threads_of(shape, argument<unsigned>(arguments, 20)) * sizeof(Word));
  reads(all, arguments, 8, kWords);
}

// mix_packet(Packet packet, unsigned count)
struct Packet {
  Word* to;
  const Word *first, *second;
  Word keys[24];
};
constexpr Parameter kPacket[] = {{0, sizeof(Packet), false}, word(sizeof(Packet))};
void mix_packet(const std::byte* arguments, const Shape& shape) {
  const auto packet = argument<Packet>(arguments, 0);
  for (unsigned i = 0; i < threads_of(shape, argument<unsigned>(arguments, sizeof(Packet))); ++i) {
    packet.to[i] = packet.to[i] * 5U + (packet.first[i] ^ packet.keys[i % 24]) + (packet.second[i] >> 3);
  }
}
void mix_packet_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  const auto packet = argument<Packet>(arguments, 0);
  const std::size_t bytes = threads_of(shape, argument<unsigned>(arguments, sizeof(Packet))) * sizeof(Word);
  all.writes(sim::address_of(packet.to), bytes);
  all.reads(sim::address_of(packet.first), bytes);
  all.reads(sim::address_of(packet.second), bytes);
}

// turn(Word* words, unsigned offset, unsigned count, Word value)
constexpr Parameter kTurn[] = {pointer(0), word(8), word(12), word(16)};
void turn(const std::byte* arguments, const Shape& shape) {
  const auto offset = argument<unsigned>(arguments, 8);
  const auto count = argument<unsigned>(arguments, 12);
  const auto value = argument<Word>(arguments, 16);
  Word* words = at<Word>(arguments, 0) + offset;
  const unsigned size = shape.block[0];
  std::vector<Word> shared(size);
  for (unsigned block = 0; block < shape.grid[0]; ++block) {
    for (unsigned id = 0; id < size; ++id) {
      shared[id] = block * size + id < count ? words[block * size + id] : 0;
    }
    for (unsigned id = 0; id < size && block * size + id < count; ++id) {
      words[block * size + id] = shared[(id + value) % size] * 2246822519U + value;
    }
  }
}
void turn_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  all.writes(argument<Address>(arguments, 0) + argument<unsigned>(arguments, 8) * sizeof(Word),
             threads_of(shape, argument<unsigned>(arguments, 12)) * sizeof(Word));
}

// signal(volatile Word* flag, Word value)
constexpr Parameter kSignal[] = {pointer(0), word(8)};
void signal(const std::byte* arguments, const Shape&) {
  __atomic_store_n(at<Word>(arguments, 0), argument<Word>(arguments, 8), __ATOMIC_SEQ_CST);
}
void signal_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  writes(all, arguments, 0, 1);
}

// await_gate(volatile Word* opened, GateCounts* counts) and open_gate(volatile Word* opened): no order follows from
// them
constexpr Parameter kAwait[] = {pointer(0), pointer(8)};
void await_gate(const std::byte* arguments, const Shape&) {
  constexpr auto kLimit = std::chrono::seconds(6);
  constexpr auto kPause = std::chrono::microseconds(20);
  Word* counts = at<Word>(arguments, 8);  // closed, late
  const Word number = ++counts[0];
  const auto end = std::chrono::steady_clock::now() + (counts[1] == 0 ? kLimit : kLimit / 1000);
  while (static_cast<int>(__atomic_load_n(at<Word>(arguments, 0), __ATOMIC_SEQ_CST) - number) < 0) {
    if (std::chrono::steady_clock::now() > end) {
      ++counts[1];
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}
constexpr Parameter kOpen[] = {pointer(0)};
void open_gate(const std::byte* arguments, const Shape&) {
  __atomic_fetch_add(at<Word>(arguments, 0), 1, __ATOMIC_SEQ_CST);
}
void undeclared(const std::byte*, const Shape&, Accesses&) {}

const Kernel kKernels[] = {{"mix", kMix, &mix<7, 1664525U>, &mix_accesses},
                           {"mix_dependent", kMix, &mix<5, 22695477U>, &mix_accesses},
                           {"mix_packet", kPacket, &mix_packet, &mix_packet_accesses},
                           {"turn", kTurn, &turn, &turn_accesses},
                           {"await_gate", kAwait, &await_gate, &undeclared},
                           {"open_gate", kOpen, &open_gate, &undeclared},
                           {"signal", kSignal, &signal, &signal_accesses, true}};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
