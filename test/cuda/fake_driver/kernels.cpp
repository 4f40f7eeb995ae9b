// The kernels that modules have. Each does one thing that depends on the order in which work is done.
#include <atomic>
#include <chrono>
#include <cstring>

#include "test/cuda/fake_driver/task.h"

namespace fake {
namespace {

template <class T>
T at(const std::byte* arguments, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, arguments + offset, sizeof(value));
  return value;
}

using Word = std::uint32_t;

// scale(Word* x, Word n, Word a, Word b): x[i] = x[i] * a + b
void scale(const std::byte* arguments, unsigned) {
  auto* x = at<Word*>(arguments, 0);
  for (Word i = 0; i < at<Word>(arguments, 8); ++i) {
    x[i] = x[i] * at<Word>(arguments, 12) + at<Word>(arguments, 16);
  }
}

// mix_in(Word* x, const Word* y, Word n, Word a): x[i] = x[i] * 31 + y[i] + a
void mix_in(const std::byte* arguments, unsigned) {
  auto* x = at<Word*>(arguments, 0);
  const auto* y = at<const Word*>(arguments, 8);
  for (Word i = 0; i < at<Word>(arguments, 16); ++i) {
    x[i] = x[i] * 31 + y[i] + at<Word>(arguments, 20);
  }
}

// odd(unsigned char a, Word* x, unsigned short b, unsigned long c): gaps between the parameters
void odd(const std::byte* arguments, unsigned threads) {
  auto* x = at<Word*>(arguments, 8);
  for (Word i = 0; i < threads; ++i) {
    x[i] = x[i] * 3 + at<unsigned char>(arguments, 0) + 7U * at<unsigned short>(arguments, 16) +
           static_cast<Word>(at<std::uint64_t>(arguments, 24) % 1000003);
  }
}

// wide(Word values[64], Word* x): x[i] = x[i] * 5 + values[i]
void wide(const std::byte* arguments, unsigned) {
  auto* x = at<Word*>(arguments, 256);
  for (Word i = 0; i < 64; ++i) {
    x[i] = x[i] * 5 + at<Word>(arguments, 4 * std::size_t{i});
  }
}

// store(Word* x, Word value): for programs that look at pinned memory without any call
void store(const std::byte* arguments, unsigned) {
  std::atomic_ref(*at<Word*>(arguments, 0)).store(at<Word>(arguments, 8), std::memory_order_release);
}

// busy(Word* x, Word microseconds): takes time, then x[0] = x[0] * 3 + 1
void busy(const std::byte* arguments, unsigned) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(at<Word>(arguments, 8));
  while (std::chrono::steady_clock::now() < end) {
  }
  auto* x = at<Word*>(arguments, 0);
  *x = *x * 3 + 1;
}

void nothing(const std::byte*, unsigned) {}

const std::vector<Kernel>& kernels() {
  static const auto& all = *new std::vector<Kernel>{
      {"scale", {{0, 8, true}, {8, 4}, {12, 4}, {16, 4}}, &scale},
      {"mix_in", {{0, 8, true}, {8, 8, true}, {16, 4}, {20, 4}}, &mix_in},
      {"odd", {{0, 1}, {8, 8, true}, {16, 2}, {24, 8}}, &odd},
      {"wide", {{0, 256}, {256, 8, true}}, &wide},
      {"store", {{0, 8, true}, {8, 4}}, &store},
      {"busy", {{0, 8, true}, {8, 4}}, &busy},
      {"nothing", {}, &nothing},
  };
  return all;
}

}  // namespace

const Kernel* find_kernel(const char* name) noexcept {
  for (const Kernel& kernel : kernels()) {
    if (std::strcmp(kernel.name, name) == 0) {
      return &kernel;
    }
  }
  return nullptr;
}

}  // namespace fake
