// Each does one thing that depends on the order in which work is done.
#include "test/sim/core/contract_kernels.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace sim {
namespace {

using Word = std::uint32_t;

std::size_t words(const std::byte* arguments, std::size_t offset) noexcept {
  return argument<Word>(arguments, offset) * sizeof(Word);
}

void nowhere(const std::byte*, const Shape&, Accesses&) {}

// scale(Word* x, Word n, Word a, Word b): x[i] = x[i] * a + b
constexpr Parameter kScale[] = {{0, 8, true}, {8, 4}, {12, 4}, {16, 4}};
void scale(const std::byte* arguments, const Shape&) {
  auto* x = argument<Word*>(arguments, 0);
  for (Word i = 0; i < argument<Word>(arguments, 8); ++i) {
    x[i] = x[i] * argument<Word>(arguments, 12) + argument<Word>(arguments, 16);
  }
}
void scale_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  all.writes(argument<Address>(arguments, 0), words(arguments, 8));
}

// mix_in(Word* x, const Word* y, Word n, Word a): x[i] = x[i] * 31 + y[i] + a
constexpr Parameter kMixIn[] = {{0, 8, true}, {8, 8, true}, {16, 4}, {20, 4}};
void mix_in(const std::byte* arguments, const Shape&) {
  auto* x = argument<Word*>(arguments, 0);
  const auto* y = argument<const Word*>(arguments, 8);
  for (Word i = 0; i < argument<Word>(arguments, 16); ++i) {
    x[i] = x[i] * 31 + y[i] + argument<Word>(arguments, 20);
  }
}
void mix_in_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  all.writes(argument<Address>(arguments, 0), words(arguments, 16));
  all.reads(argument<Address>(arguments, 8), words(arguments, 16));
}

// odd(unsigned char a, Word* x, unsigned short b, unsigned long c): gaps between the parameters
constexpr Parameter kOdd[] = {{0, 1}, {8, 8, true}, {16, 2}, {24, 8}};
void odd(const std::byte* arguments, const Shape& shape) {
  auto* x = argument<Word*>(arguments, 8);
  for (std::size_t i = 0; i < shape.threads(); ++i) {
    x[i] = x[i] * 3 + argument<unsigned char>(arguments, 0) + 7U * argument<unsigned short>(arguments, 16) +
           static_cast<Word>(argument<std::uint64_t>(arguments, 24) % 1000003);
  }
}
void odd_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  all.writes(argument<Address>(arguments, 8), shape.threads() * sizeof(Word));
}

// wide(Word values[64], Word* x): x[i] = x[i] * 5 + values[i]
constexpr Parameter kWide[] = {{0, 256}, {256, 8, true}};
void wide(const std::byte* arguments, const Shape&) {
  auto* x = argument<Word*>(arguments, 256);
  for (Word i = 0; i < 64; ++i) {
    x[i] = x[i] * 5 + argument<Word>(arguments, 4 * std::size_t{i});
  }
}
void wide_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  all.writes(argument<Address>(arguments, 256), 64 * sizeof(Word));
}

// store(Word* x, Word value): for programs that look at pinned memory without any call
constexpr Parameter kStore[] = {{0, 8, true}, {8, 4}};
void store(const std::byte* arguments, const Shape&) {
  std::atomic_ref(*argument<Word*>(arguments, 0)).store(argument<Word>(arguments, 8), std::memory_order_release);
}

// await(Word* opened, Word* closed): counts what is closed, then waits until as much was opened; bump(Word* opened)
// opens. No order follows from that, and none is declared: other queues, or the host, may do it at any time.
constexpr Parameter kAwait[] = {{0, 8, true}, {8, 8, true}};
void await(const std::byte* arguments, const Shape&) {
  constexpr auto kPause = std::chrono::microseconds(20);
  const Word number = ++*argument<Word*>(arguments, 8);
  while (std::atomic_ref(*argument<Word*>(arguments, 0)).load() < number) {
    std::this_thread::sleep_for(kPause);
  }
}
constexpr Parameter kBump[] = {{0, 8, true}};
void bump(const std::byte* arguments, const Shape&) {
  std::atomic_ref(*argument<Word*>(arguments, 0)).fetch_add(1);
}

// busy(Word* x, Word microseconds): takes time, then x[0] = x[0] * 3 + 1
constexpr Parameter kBusy[] = {{0, 8, true}, {8, 4}};
void busy(const std::byte* arguments, const Shape&) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(argument<Word>(arguments, 8));
  while (std::chrono::steady_clock::now() < end) {
  }
  auto* x = argument<Word*>(arguments, 0);
  *x = *x * 3 + 1;
}
void one_word(const std::byte* arguments, const Shape&, Accesses& all) {
  all.writes(argument<Address>(arguments, 0), sizeof(Word));
}

// seen(Word* x): x[0] = x[0] * 31 + what it was launched with
constexpr Parameter kSeen[] = {{0, 8, true}};
void seen(const std::byte* arguments, const Shape& shape) {
  auto* x = argument<Word*>(arguments, 0);
  *x = *x * 31 + static_cast<Word>(shape.set ^ (shape.set >> 32U));
}

// counted(Word* x): x[0] = x[0] * 31 + how often it ran
constexpr Parameter kCounted[] = {{0, 8, true}};
void counted(const std::byte* arguments, const Shape& shape) {
  auto* x = argument<Word*>(arguments, 0);
  auto* calls = reinterpret_cast<Word*>(shape.variable);
  *x = *x * 31 + (calls != nullptr ? ++*calls : 0);
}
void counted_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  one_word(arguments, shape, all);
  if (shape.variable != 0) {
    all.writes(shape.variable, sizeof(Word));
  }
}

// tagged(Word* x): x[0] = x[0] * 31 + what it was launched with + what its module's variable says
void tagged(const std::byte* arguments, const Shape& shape) {
  auto* x = argument<Word*>(arguments, 0);
  const auto* tag = reinterpret_cast<const Word*>(shape.variable);
  *x = *x * 31 + static_cast<Word>(shape.set ^ (shape.set >> 32U)) + (tag != nullptr ? *tag : 0) * 1000 + shape.grid[0];
}
void tagged_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  one_word(arguments, shape, all);
  if (shape.variable != 0) {
    all.reads(shape.variable, sizeof(Word));
  }
}

void nothing(const std::byte*, const Shape&) {}

const Kernel kKernels[] = {
    {"scale", kScale, &scale, &scale_accesses},
    {"mix_in", kMixIn, &mix_in, &mix_in_accesses},
    {"await", kAwait, &await, &nowhere},
    {"bump", kBump, &bump, &nowhere},
    {"odd", kOdd, &odd, &odd_accesses},
    {"wide", kWide, &wide, &wide_accesses},
    {"store", kStore, &store, &one_word, true},
    {"busy", kBusy, &busy, &one_word},
    {"seen", kSeen, &seen, &one_word},
    {"counted", kCounted, &counted, &counted_accesses},
    {"tagged", kSeen, &tagged, &tagged_accesses, false, false, 32},
    {"nothing", {}, &nothing, &nowhere},
    {"ncclDevKernel_scale", kScale, &scale, &scale_accesses},
    {"scale_early", kScale, &scale, &scale_accesses, false, true},
};

}  // namespace

std::span<const Kernel> contract_kernels() noexcept {
  return kKernels;
}

}  // namespace sim
