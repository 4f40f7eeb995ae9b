// For side libraries: the kernels of a program as host functions.
#pragma once

#include "test/sim/core/kernel.h"

namespace side {

using sim::Accesses;
using sim::Address;
using sim::argument;
using sim::Kernel;
using sim::Parameter;
using sim::Shape;

constexpr Parameter pointer(std::size_t offset) {
  return {offset, 8, true};
}
constexpr Parameter word(std::size_t offset) {
  return {offset, 4, false};
}

template <class T>
T* at(const std::byte* arguments, std::size_t offset) noexcept {
  return argument<T*>(arguments, offset);
}

/// `count` floats at the pointer at `offset`.
inline void reads(Accesses& all, const std::byte* arguments, std::size_t offset, std::size_t count) {
  all.reads(argument<Address>(arguments, offset), count * 4);
}
inline void writes(Accesses& all, const std::byte* arguments, std::size_t offset, std::size_t count) {
  all.writes(argument<Address>(arguments, offset), count * 4);
}
inline std::size_t count_at(const std::byte* arguments, std::size_t offset) noexcept {
  return static_cast<std::size_t>(argument<int>(arguments, offset));
}

/// Calls `work(x, y)` for every thread of a flat launch.
template <class Work>
void for_threads(const Shape& shape, Work&& work) {
  for (unsigned y = 0; y < shape.grid[1] * shape.block[1]; ++y) {
    for (unsigned x = 0; x < shape.grid[0] * shape.block[0]; ++x) {
      work(static_cast<int>(x), static_cast<int>(y));
    }
  }
}

/// One partial sum per block: `term(i)` for all i below `count`, in the order of a tree over the block's threads (at
/// most 1024).
template <class Term>
void partial_sums(const Shape& shape, int count, float* partial, Term&& term) {
  const int size = static_cast<int>(shape.block[0]);
  const int blocks = static_cast<int>(shape.grid[0]);
  float sums[1024] = {};
  for (int block = 0; block < blocks; ++block) {
    for (int id = 0; id < size; ++id) {
      sums[id] = 0;
      for (int i = block * size + id; i < count; i += blocks * size) {
        sums[id] += term(i);
      }
    }
    for (int span = size / 2; span > 0; span /= 2) {
      for (int id = 0; id < span; ++id) {
        sums[id] += sums[id + span];
      }
    }
    partial[block] = sums[0];
  }
}

}  // namespace side
