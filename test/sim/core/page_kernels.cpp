// What device code does in backends/cuda/page_hash.cpp, which is not run here: numbers of pages, and copies.
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

/// An entry of the table.
struct Piece {
  Number from, to, bytes, first_page;
};

/// Of a page at `from`: whole words where the device reads two at once, else bytes.
Number number_of(const std::byte* from, Number to, Number bytes) noexcept {
  Number sum = 0;
  const Number words = (address_of(from) | to) % 16 == 0 ? bytes / 16 * 2 : 0;
  for (Number i = 0; i < words; ++i) {
    sum += mix(argument<Number>(from, i * sizeof(Number)), i);
  }
  for (Number i = words * sizeof(Number); i < bytes; ++i) {
    sum += mix(std::to_integer<Number>(from[i]), i + (Number{1} << 32U));
  }
  return sum;
}

// refrain_pages(table, pieces, numbers); a block for each page
constexpr Parameter kParameters[] = {{0, 8, true}, {8, 8}, {16, 8, true}};
std::span<const Piece> pieces_of(const std::byte* arguments) noexcept {
  return {argument<const Piece*>(arguments, 0), argument<Number>(arguments, 8)};
}
void pages(const std::byte* arguments, const Shape& shape) {
  auto* numbers = argument<Number*>(arguments, 16);
  const auto pieces = pieces_of(arguments);
  for (Number page = 0; page < shape.grid[0]; ++page) {
    const Piece& piece = *std::prev(std::ranges::upper_bound(pieces, page, {}, &Piece::first_page));
    const Number offset = (page - piece.first_page) * kPage;
    const Number bytes = std::min(kPage, piece.bytes - offset);
    const Number to = piece.to == 0 ? 0 : piece.to + offset;
    const std::byte* from = host(piece.from) + offset;
    if (to != 0) {
      std::memcpy(host(to), from, bytes);
    }
    if (numbers != nullptr) {
      numbers[page] += number_of(from, to, bytes);
    }
  }
}
void pages_accesses(const std::byte* arguments, const Shape& shape, Accesses& all) {
  const auto pieces = pieces_of(arguments);
  all.reads(argument<Address>(arguments, 0), pieces.size_bytes());
  if (argument<Address>(arguments, 16) != 0) {
    all.writes(argument<Address>(arguments, 16), shape.grid[0] * sizeof(Number));
  }
  for (const Piece& piece : pieces) {  // the copy that fills the table came before
    all.reads(piece.from, piece.bytes);
    all.writes(piece.to, piece.to == 0 ? 0 : piece.bytes);
  }
}

const Kernel kKernels[] = {{"refrain_pages", kParameters, &pages, &pages_accesses}};

}  // namespace

std::span<const Kernel> page_kernels() noexcept {
  return kKernels;
}

}  // namespace sim
