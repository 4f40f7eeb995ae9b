// The kernels of samples/cuda/forkjoin.cu.
#include "test/sim/kernels/side.h"

namespace {

using namespace side;

constexpr int kStreams = 4;
struct Populations {
  unsigned* cells[kStreams];
};

// exchange(Populations all, int count)
constexpr Parameter kExchange[] = {{0, sizeof(Populations), false}, word(32)};
void exchange(const std::byte* arguments, const Shape&) {
  const auto all = argument<Populations>(arguments, 0);
  for (std::size_t i = 0; i < count_at(arguments, 32); ++i) {
    unsigned before[kStreams];
    for (int s = 0; s < kStreams; ++s) {
      before[s] = all.cells[s][i];
    }
    for (int s = 0; s < kStreams; ++s) {
      all.cells[s][i] = before[s] * 5U + before[(s + 1) % kStreams];
    }
  }
}
void exchange_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  for (std::size_t s = 0; s < kStreams; ++s) {
    writes(all, arguments, 8 * s, count_at(arguments, 32));
  }
}

// move(unsigned* cells, int count, unsigned factor, unsigned step)
constexpr Parameter kMove[] = {pointer(0), word(8), word(12), word(16)};
void move(const std::byte* arguments, const Shape&) {
  auto* cells = at<unsigned>(arguments, 0);
  for (std::size_t i = 0; i < count_at(arguments, 8); ++i) {
    cells[i] = (cells[i] ^ argument<unsigned>(arguments, 16)) * argument<unsigned>(arguments, 12) + 12345U;
  }
}
void move_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  writes(all, arguments, 0, count_at(arguments, 8));
}

const Kernel kKernels[] = {{"exchange", kExchange, &exchange, &exchange_accesses},
                           {"move", kMove, &move, &move_accesses}};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
