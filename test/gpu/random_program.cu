// Random programs over CUDA: loops of random operations, repeated with small variations, on several streams and host
// threads. Free of races by construction (random_tracker.h), so the printed checksums of all memory depend on the
// seeds alone, and two runs that differ have not done the same work in the same order.
#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>

#include "random_worker.h"

namespace {

using random_test::Word;
using random_test::Worker;

constexpr const char* kUsage =
    "random_program [--seed S] [--steps N] [--threads T] [--programs P] [--seconds X] [--parts] [--careful]\n"
    "  --seed S      the first program's seed; the next ones count up (default: 1)\n"
    "  --steps N     loops per thread in one program (default: 16)\n"
    "  --threads T   host threads (default: drawn per program, 1 to 4)\n"
    "  --programs P  so many programs (default: 1)\n"
    "  --together N  so many at once, each with threads of its own; then without gates (default: 1)\n"
    "  --seconds X   instead of a number: programs until X seconds have passed\n"
    "  --parts       checksums of all buffers, in the order of random_worker.h, as well\n"
    "  --careful     wait before pageable memory is used again\n"
    "  --without M   leave out some kinds of operations: bit K of the mask is kind K (random_operations.h)\n"
    "  --wait-for M  wait for the device before and after operations of these kinds";

constexpr unsigned kGatedThreads = 2;

struct Shared {
  Word* words = nullptr;
  cudaEvent_t given = nullptr, taken = nullptr;
};

struct Options {
  unsigned steps = 16;
  bool careful = false, parts = false, gates = true;
};

/// Runs one program and prints its checksums in the order of threads.
void run_program(std::uint64_t seed, unsigned threads, const Options& options) {
  std::vector<Shared> shared(threads);
  for (Shared& entry : shared) {
    CHECK_CUDA(cudaMalloc(&entry.words, random_test::kWords * sizeof(Word)));
    CHECK_CUDA(cudaEventCreateWithFlags(&entry.given, cudaEventDisableTiming));
    CHECK_CUDA(cudaEventCreateWithFlags(&entry.taken, cudaEventDisableTiming));
  }
  const unsigned steps = options.steps;
  std::vector<std::vector<std::uint64_t>> checksums(threads);
  std::vector<std::vector<std::vector<std::uint64_t>>> parts(threads);
  std::barrier meeting(static_cast<std::ptrdiff_t>(threads));
  const auto body = [&](unsigned number) {
    Worker worker(seed, number, options.careful, options.gates && threads <= kGatedThreads);
    Shared& own = shared[number];
    Shared& neighbour = shared[(number + 1) % threads];
    for (unsigned step = 0; step < steps; ++step) {
      worker.run_round();
      worker.give(own.words, own.given, own.taken);
      meeting.arrive_and_wait();
      worker.take(neighbour.words, neighbour.given, neighbour.taken);
      meeting.arrive_and_wait();
      if (step % 4 == 3 || step + 1 == steps) {
        checksums[number].push_back(worker.checksum(&parts[number].emplace_back()));
      }
    }
    // Nobody takes memory away that a neighbour may still be reading.
    meeting.arrive_and_wait();
  };
  std::vector<std::thread> running;
  for (unsigned i = 1; i < threads; ++i) running.emplace_back(body, i);
  body(0);
  for (std::thread& thread : running) thread.join();
  for (Shared& entry : shared) {
    CHECK_CUDA(cudaFree(entry.words));
    CHECK_CUDA(cudaEventDestroy(entry.given));
    CHECK_CUDA(cudaEventDestroy(entry.taken));
  }
  static std::mutex printing;
  const std::lock_guard<std::mutex> alone(printing);
  for (unsigned i = 0; i < threads; ++i) {
    std::printf("seed %llu thread %u:", static_cast<unsigned long long>(seed), i);
    for (const std::uint64_t value : checksums[i]) std::printf(" %016llx", static_cast<unsigned long long>(value));
    std::printf("\n");
    for (std::size_t k = 0; options.parts && k < parts[i].size(); ++k) {
      std::printf("seed %llu thread %u checksum %zu:", static_cast<unsigned long long>(seed), i, k);
      for (const std::uint64_t value : parts[i][k]) std::printf(" %016llx", static_cast<unsigned long long>(value));
      std::printf("\n");
    }
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, kUsage);
  const auto seed = static_cast<std::uint64_t>(arguments.number("seed", 1));
  Options options;
  options.steps = static_cast<unsigned>(std::max(1, arguments.integer("steps", 16)));
  const unsigned threads = static_cast<unsigned>(arguments.integer("threads", 0));
  const unsigned programs = static_cast<unsigned>(arguments.integer("programs", 1));
  const auto together = static_cast<unsigned>(std::max(1, arguments.integer("together", 1)));
  const double seconds = arguments.number("seconds", 0);
  options.careful = arguments.flag("careful");
  options.parts = arguments.flag("parts");
  options.gates = together == 1;  // so many streams share connections, and who shares one with a gate waits for it
  const auto without = static_cast<std::uint64_t>(arguments.number("without", 0));
  const auto wait_around = static_cast<std::uint64_t>(arguments.number("wait-for", 0));
  arguments.nothing_left();
  for (std::size_t kind = 0; kind < random_test::left_out.size(); ++kind) {
    random_test::left_out[kind] = (without >> kind & 1) != 0;
    random_test::waited_around[kind] = (wait_around >> kind & 1) != 0;
  }

  // Streams that share a connection wait for each other, which no gate may be in the way of.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  random_test::load_kernels();
  const auto start = std::chrono::steady_clock::now();
  const auto more = [&](unsigned done) {
    if (seconds <= 0) return done < programs;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds;
  };
  std::atomic<unsigned> begun{0};
  const auto programs_in_turn = [&] {
    for (unsigned i = begun++; more(i); i = begun++) {
      random_test::Random random(seed + i);
      run_program(seed + i, threads > 0 ? threads : 1 + random.below(4), options);
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < together; ++i) others.emplace_back(programs_in_turn);
  programs_in_turn();
  for (std::thread& other : others) other.join();
  return 0;
}
