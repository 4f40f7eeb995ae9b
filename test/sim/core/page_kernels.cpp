// What device code does in backends/cuda/page_hash.cpp, which is not run here: numbers of pages.
#include "test/sim/core/page_kernels.h"

#include <algorithm>

namespace sim {
namespace {

using Number = std::uint64_t;

constexpr Number kPage = 65536;

Number mix(Number value, Number place) noexcept {
  Number x = value ^ (place * 0x9e3779b97f4a7c15U);
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 29U;
  x *= 0x94d049bb133111ebU;
  return x ^ (x >> 32U);
}

// refrain_page_words(start, words, sums)
constexpr Parameter kWords[] = {{0, 8, true}, {8, 8}, {16, 8, true}};
void page_words(const std::byte* arguments, const Shape& shape) {
  const std::byte* start = host(argument<Address>(arguments, 0));
  const Number words = argument<Number>(arguments, 8);
  auto* sums = argument<Number*>(arguments, 16);
  constexpr Number kWordsOfPage = kPage / sizeof(Number);
  for (Number i = 0; i < std::min<Number>(words, shape.grid[0] * kWordsOfPage); ++i) {
    sums[i / kWordsOfPage] += mix(argument<Number>(start, i * sizeof(Number)), i % kWordsOfPage);
  }
}
void page_words_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  all.reads(argument<Address>(arguments, 0), argument<Number>(arguments, 8) * sizeof(Number));
  all.writes(argument<Address>(arguments, 16), shape.grid[0] * sizeof(Number));
}

// refrain_page_bytes(start, first, end, sums)
constexpr Parameter kBytes[] = {{0, 8, true}, {8, 8}, {16, 8}, {24, 8, true}};
void page_bytes(const std::byte* arguments, const Shape&) {
  const std::byte* start = host(argument<Address>(arguments, 0));
  auto* sums = argument<Number*>(arguments, 24);
  for (Number i = argument<Number>(arguments, 8); i < argument<Number>(arguments, 16); ++i) {
    sums[i / kPage] += mix(std::to_integer<Number>(start[i]), i % kPage + (Number{1} << 32U));
  }
}
void page_bytes_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  const Number first = argument<Number>(arguments, 8);
  const Number end = argument<Number>(arguments, 16);
  all.reads(argument<Address>(arguments, 0) + first, end - first);
  all.writes(argument<Address>(arguments, 24) + first / kPage * sizeof(Number),
             ((end - 1) / kPage - first / kPage + 1) * sizeof(Number));
}

const Kernel kKernels[] = {
    {"refrain_page_words", kWords, &page_words, &page_words_accesses},
    {"refrain_page_bytes", kBytes, &page_bytes, &page_bytes_accesses},
};

}  // namespace

std::span<const Kernel> page_kernels() noexcept {
  return kKernels;
}

}  // namespace sim
