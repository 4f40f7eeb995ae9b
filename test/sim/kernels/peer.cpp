// The kernels of test/gpu/peer_loops.cu. Those that tell each other something by words declare no accesses: what orders
// them is not known to the device.
#include <atomic>
#include <chrono>
#include <thread>

#include "test/sim/kernels/side.h"

namespace {

using namespace side;
using Word = unsigned;

constexpr std::size_t kCount = 1 << 12;
constexpr auto kPatience = std::chrono::seconds(10);

std::atomic_ref<Word> word_at(const std::byte* arguments, std::size_t offset) {
  return std::atomic_ref(*at<Word>(arguments, offset));
}

// stir(Word* own, const Word* taken, Word salt)
constexpr Parameter kStir[] = {pointer(0), pointer(8), word(16)};
void stir(const std::byte* arguments, const Shape&) {
  Word* own = at<Word>(arguments, 0);
  const Word* taken = at<const Word>(arguments, 8);
  for (std::size_t i = 0; i < kCount; ++i) {
    own[i] = (own[i] ^ taken[i]) * 1664525U + argument<Word>(arguments, 16);
  }
}
void stir_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  writes(all, arguments, 0, kCount);
  reads(all, arguments, 8, kCount);
}

// read_directly(Word* taken, const Word* there)
constexpr Parameter kRead[] = {pointer(0), pointer(8)};
void read_directly(const std::byte* arguments, const Shape&) {
  std::memcpy(at<Word>(arguments, 0), at<Word>(arguments, 8), kCount * sizeof(Word));
}
void read_accesses(const std::byte* arguments, const Shape&, Accesses& all) {
  writes(all, arguments, 0, kCount);
}

// tell(Word* word)
constexpr Parameter kTell[] = {pointer(0)};
void tell(const std::byte* arguments, const Shape&) {
  word_at(arguments, 0).fetch_add(1);
}

// wait_for(const Word* word, Word* mine, Word* stalled)
constexpr Parameter kWaitFor[] = {pointer(0), pointer(8), pointer(16)};
void wait_for(const std::byte* arguments, const Shape&) {
  const Word wanted = word_at(arguments, 8).load() + 1;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (static_cast<int>(word_at(arguments, 0).load() - wanted) < 0 && word_at(arguments, 16).load() == 0) {
    if (std::chrono::steady_clock::now() > end) {
      word_at(arguments, 16).store(wanted);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  word_at(arguments, 8).store(wanted);
}
void nowhere(const std::byte*, const Shape&, Accesses&) {}

const Kernel kKernels[] = {
    {"stir", kStir, &stir, &stir_accesses},
    {"read_directly", kRead, &read_directly, &read_accesses},
    {"tell", kTell, &tell, &nowhere},
    {"wait_for", kWaitFor, &wait_for, &nowhere},
};

}  // namespace

SIM_EXPORT_KERNELS(kKernels);
