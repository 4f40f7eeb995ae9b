// Which orders the device keeps that a program may rely on: a writer of pinned memory in one stream, a reader in
// another, behind a kernel that takes long, and what orders the two. For each line: how many of the readers found what
// the writer had written. Found with it: what is in docs/apis/cuda.md about host functions and the legacy default
// stream.
#include <chrono>
#include <thread>

#include "cuda_check.h"

namespace {

using Word = unsigned;
constexpr std::size_t kLarge = 1 << 20;  // words
constexpr long long kDelayNs = 3'000'000;

__global__ void delay(long long ns) {
  long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}
__global__ void nothing() {}
__global__ void write(Word* to, Word value) {
  *to = value;
}
__global__ void read(Word* to, const volatile Word* from) {
  *to = *from;
}

struct Memory {
  Word *pinned = nullptr, *device = nullptr, *source = nullptr;
  Word value = 0, seen = 0;
  std::size_t small_words = 1;  ///< of a small copy
  bool slow = false;
};

void CUDART_CB host_write(void* argument) {
  auto& memory = *static_cast<Memory*>(argument);
  if (memory.slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  *static_cast<volatile Word*>(memory.pinned) = memory.value;
}

enum { kLegacy, kBlocking, kFree, kOtherFree, kStreams };

void CUDART_CB host_read(void* argument) {
  auto& memory = *static_cast<Memory*>(argument);
  memory.seen = *static_cast<volatile Word*>(memory.pinned);
}

struct Streams {
  cudaStream_t all[kStreams] = {cudaStreamLegacy, nullptr, nullptr, nullptr};
  cudaEvent_t event = nullptr;
};

enum class Writer { kHost, kSlowHost, kKernel, kCopyOut };
enum class Reader { kCopyIn, kLargeCopyIn, kKernel, kHost };
const char* const kWriters[] = {"host function", "slow host function", "kernel", "copy out"};
const char* const kReaders[] = {"small copy in", "4 MiB copy in", "kernel", "host function"};

void submit(Writer writer, Memory& memory, cudaStream_t stream) {
  switch (writer) {
    case Writer::kHost:
    case Writer::kSlowHost:
      memory.slow = writer == Writer::kSlowHost;
      CHECK_CUDA(cudaLaunchHostFunc(stream, host_write, &memory));
      break;
    case Writer::kKernel: write<<<1, 1, 0, stream>>>(memory.pinned, memory.value); break;
    case Writer::kCopyOut:
      CHECK_CUDA(cudaMemcpyAsync(memory.pinned, memory.source, sizeof(Word), cudaMemcpyDeviceToHost, stream));
      break;
  }
}

void submit(Reader reader, Memory& memory, cudaStream_t stream) {
  switch (reader) {
    case Reader::kCopyIn:
    case Reader::kLargeCopyIn:
      CHECK_CUDA(cudaMemcpyAsync(memory.device, memory.pinned,
                                 (reader == Reader::kCopyIn ? memory.small_words : kLarge) * sizeof(Word),
                                 cudaMemcpyHostToDevice, stream));
      break;
    case Reader::kKernel: read<<<1, 1, 0, stream>>>(memory.device, memory.pinned); break;
    case Reader::kHost: CHECK_CUDA(cudaLaunchHostFunc(stream, host_read, &memory)); break;
  }
}

struct Link {
  const char* name;
  int from, to;
  enum { kNone, kEvent, kKernelBehind, kWaitBetween } how;
};

const Link kLinks[] = {
    {"the same stream", kFree, kFree, Link::kNone},
    {"the legacy stream itself", kLegacy, kLegacy, Link::kNone},
    {"an event, non-blocking streams", kFree, kOtherFree, Link::kEvent},
    {"an event, from the legacy stream", kLegacy, kFree, Link::kEvent},
    {"an event, to the legacy stream", kFree, kLegacy, Link::kEvent},
    {"legacy, then blocking", kLegacy, kBlocking, Link::kNone},
    {"legacy and a kernel behind it, then blocking", kLegacy, kBlocking, Link::kKernelBehind},
    {"blocking, then legacy", kBlocking, kLegacy, Link::kNone},
    {"blocking and a kernel behind it, then legacy", kBlocking, kLegacy, Link::kKernelBehind},
    {"the legacy stream waits for an event, then blocking", kFree, kBlocking, Link::kWaitBetween},
};

bool kept(const Streams& streams, const Link& link, Writer writer, Reader reader, Memory& memory) {
  CHECK_CUDA(cudaDeviceSynchronize());
  ++memory.value;
  CHECK_CUDA(cudaMemcpy(memory.source, &memory.value, sizeof(Word), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(memory.device, 0, sizeof(Word)));
  CHECK_CUDA(cudaDeviceSynchronize());
  const cudaStream_t from = streams.all[link.from], to = streams.all[link.to];
  delay<<<1, 1, 0, from>>>(kDelayNs);
  submit(writer, memory, from);
  if (link.how == Link::kKernelBehind) nothing<<<1, 1, 0, from>>>();
  if (link.how == Link::kEvent || link.how == Link::kWaitBetween) {
    CHECK_CUDA(cudaEventRecord(streams.event, from));
    CHECK_CUDA(cudaStreamWaitEvent(link.how == Link::kEvent ? to : cudaStreamLegacy, streams.event, 0));
  }
  submit(reader, memory, to);
  CHECK_CUDA(cudaDeviceSynchronize());
  if (reader == Reader::kHost) return memory.seen == memory.value;
  Word found = 0;
  CHECK_CUDA(cudaMemcpy(&found, memory.device, sizeof(Word), cudaMemcpyDeviceToHost));
  return found == memory.value;
}

}  // namespace

int main(int argc, char** argv) {
  gpu_test::Arguments arguments(argc, argv, "order_rules [--rounds N]\n  --rounds N   of each case (default: 4)");
  const int rounds = std::max(1, arguments.integer("rounds", 4));
  arguments.nothing_left();
  Streams streams;
  CHECK_CUDA(cudaStreamCreate(&streams.all[kBlocking]));
  CHECK_CUDA(cudaStreamCreateWithFlags(&streams.all[kFree], cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreateWithFlags(&streams.all[kOtherFree], cudaStreamNonBlocking));
  CHECK_CUDA(cudaEventCreateWithFlags(&streams.event, cudaEventDisableTiming));
  Memory memory;
  CHECK_CUDA(cudaMallocHost(&memory.pinned, kLarge * sizeof(Word)));
  CHECK_CUDA(cudaMalloc(&memory.device, kLarge * sizeof(Word)));
  CHECK_CUDA(cudaMalloc(&memory.source, sizeof(Word)));
  int broken = 0;
  for (const Link& link : kLinks) {
    for (int writer = 0; writer < 4; ++writer) {
      for (int reader = 0; reader < 4; ++reader) {
        int good = 0;
        for (int i = 0; i < rounds; ++i) {
          good += kept(streams, link, static_cast<Writer>(writer), static_cast<Reader>(reader), memory) ? 1 : 0;
        }
        broken += good == rounds ? 0 : 1;
        std::printf("%-55s %-20s %-16s %d of %d%s\n", link.name, kWriters[writer], kReaders[reader], good, rounds,
                    good == rounds ? "" : "  NOT KEPT");
      }
    }
  }
  std::printf("%d cases not kept\n", broken);
  for (memory.small_words = 1; memory.small_words <= kLarge; memory.small_words *= 2) {
    const bool good = kept(streams, kLinks[5], Writer::kKernel, Reader::kCopyIn, memory);
    std::printf("%s, copy in of %zu bytes: %s\n", kLinks[5].name, memory.small_words * sizeof(Word),
                good ? "kept" : "NOT KEPT");
  }
  return 0;
}
