// Several devices of one process that use each other's memory, from one thread or from a thread for each: copies from
// device to device, memory that is read directly once peer access is switched on in the middle of the loop, and kernels
// that wait for a word that another device's kernel writes. Integers, so that results do not depend on any order that
// the program leaves open. A member is a device with a stream; with one device there are two members of it.
#include <barrier>
#include <memory>
#include <utility>

#include "step_times.h"

namespace {

constexpr const char* kUsage =
    "peer_loops [--devices N] [--steps N] [--threads] [--signals] [--skew]\n"
    "  --threads   a thread for each device; else one has them all\n"
    "  --signals   kernels wait for words that another device writes; else copies, ordered by events, and direct "
    "reads\n"
    "  --skew      the last one's thread sleeps every 50 steps, in the middle of the step";
constexpr unsigned kCount = 1 << 12;
constexpr unsigned kBlocks = kCount / 256;
constexpr int kKernels = 6;  // of each member in a step, besides what it does with its neighbour

__global__ void stir(unsigned* own, const unsigned* taken, unsigned salt) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) own[i] = (own[i] ^ taken[i]) * 1664525u + salt;
}

/// Reads what another device has, over there.
__global__ void read_directly(unsigned* taken, const unsigned* there) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) taken[i] = there[i];
}

/// What was written before is seen by whoever sees the word. The word is counted up by the device, so that the launch
/// has the same arguments in every step.
__global__ void tell(volatile unsigned* word) {
  __threadfence_system();
  *word = *word + 1;
  __threadfence_system();
}

/// Waits until the word is beyond `mine`, which counts up with it. Gives up after ten seconds: a program that stalls
/// must end, and say so.
__global__ void wait_for(const volatile unsigned* word, unsigned* mine, unsigned* stalled) {
  const unsigned wanted = *mine + 1;
  const long long start = clock64();
  while (static_cast<int>(*word - wanted) < 0) {
    if (*stalled != 0) break;
    if (clock64() - start > 20000000000ll) *stalled = wanted;
  }
  *mine = wanted;
  __threadfence_system();
}

struct Member {
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t written = nullptr, taken_event = nullptr;
  unsigned *own = nullptr, *shown = nullptr, *taken = nullptr;
  // Words that the one before and the one behind write, and how far this one has come with either.
  unsigned *from_before = nullptr, *from_behind = nullptr, *seen = nullptr, *stalled = nullptr;
};

struct Program {
  std::vector<Member> members;
  int steps = 300;
  bool signals = false, skew = false;
  std::unique_ptr<std::barrier<>> all;

  Member& at(std::size_t i) { return members[i % members.size()]; }
  Member& before(std::size_t i) { return at(i + members.size() - 1); }
};

unsigned* memory(std::size_t count) {
  unsigned* made = nullptr;
  CHECK_CUDA(cudaMalloc(&made, count * sizeof(unsigned)));
  CHECK_CUDA(cudaMemset(made, 0, count * sizeof(unsigned)));
  return made;
}

void make(Program& program, int devices) {
  program.members.resize(static_cast<std::size_t>(std::max(devices, 2)));
  for (std::size_t m = 0; m < program.members.size(); ++m) {
    Member& member = program.members[m];
    member.device = static_cast<int>(m) % devices;
    CHECK_CUDA(cudaSetDevice(member.device));
    CHECK_CUDA(cudaStreamCreateWithFlags(&member.stream, cudaStreamNonBlocking));
    for (cudaEvent_t* event : {&member.written, &member.taken_event}) {
      CHECK_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }
    std::vector<unsigned> start(kCount);
    for (unsigned i = 0; i < kCount; ++i) start[i] = i * 2654435761u + static_cast<unsigned>(m);
    for (unsigned** data : {&member.own, &member.shown, &member.taken}) *data = memory(kCount);
    CHECK_CUDA(cudaMemcpy(member.own, start.data(), kCount * sizeof(unsigned), cudaMemcpyHostToDevice));
    unsigned* words = memory(256);
    member.from_before = words;
    member.from_behind = words + 64;
    member.seen = words + 128;
    member.stalled = words + 192;
    CHECK_CUDA(cudaDeviceSynchronize());
  }
}

/// The current device may use the memory of `there` from now on.
void allow(int here, int there) {
  if (here == there) return;
  CHECK_CUDA(cudaSetDevice(here));
  const cudaError_t status = cudaDeviceEnablePeerAccess(there, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
    return;
  }
  CHECK_CUDA(status);
}

/// Whether every device may use its neighbours' memory.
bool reachable(const Program& program) {
  bool all = true;
  for (std::size_t m = 0; m < program.members.size(); ++m) {
    const int here = program.members[m].device, there = program.members[(m + 1) % program.members.size()].device;
    for (const auto& [one, other] : {std::pair(here, there), std::pair(there, here)}) {
      int can = 1;
      if (one != other) CHECK_CUDA(cudaDeviceCanAccessPeer(&can, one, other));
      all = all && can != 0;
    }
  }
  return all;
}

void allow_neighbours(Program& program, std::size_t m) {
  const int here = program.at(m).device;
  allow(here, program.before(m).device);
  allow(here, program.at(m + 1).device);
}

void compute(const Member& member, int step) {
  for (int k = 0; k < kKernels; ++k) {
    stir<<<kBlocks, 256, 0, member.stream>>>(member.own, member.taken, static_cast<unsigned>(k + step % 4));
    CHECK_CUDA(cudaGetLastError());
  }
}

/// What it has is put where its neighbour finds it.
void show(Member& member) {
  CHECK_CUDA(
      cudaMemcpyAsync(member.shown, member.own, kCount * sizeof(unsigned), cudaMemcpyDeviceToDevice, member.stream));
}

void signals_first_half(Program& program, std::size_t m, int step) {
  Member& member = program.at(m);
  compute(member, step);
  show(member);
  tell<<<1, 1, 0, member.stream>>>(program.at(m + 1).from_before);
}

void signals_second_half(Program& program, std::size_t m) {
  Member& member = program.at(m);
  Member& before = program.before(m);
  wait_for<<<1, 1, 0, member.stream>>>(member.from_before, member.seen, member.stalled);
  read_directly<<<kBlocks, 256, 0, member.stream>>>(member.taken, before.shown);
  tell<<<1, 1, 0, member.stream>>>(before.from_behind);
  // Not before the next one has read what is shown may it be written again.
  wait_for<<<1, 1, 0, member.stream>>>(member.from_behind, member.seen + 1, member.stalled);
  CHECK_CUDA(cudaGetLastError());
}

void copies_first_half(Program& program, std::size_t m, int step) {
  Member& member = program.at(m);
  compute(member, step);
  // The next one took the last step's; it has recorded that, as all threads have met since.
  CHECK_CUDA(cudaStreamWaitEvent(member.stream, program.at(m + 1).taken_event, 0));
  show(member);
  CHECK_CUDA(cudaEventRecord(member.written, member.stream));
}

void copies_second_half(Program& program, std::size_t m, bool directly) {
  Member& member = program.at(m);
  Member& before = program.before(m);
  CHECK_CUDA(cudaStreamWaitEvent(member.stream, before.written, 0));
  if (directly) {
    read_directly<<<kBlocks, 256, 0, member.stream>>>(member.taken, before.shown);
    CHECK_CUDA(cudaGetLastError());
  } else {
    CHECK_CUDA(cudaMemcpyPeerAsync(member.taken, member.device, before.shown, before.device, kCount * sizeof(unsigned),
                                   member.stream));
  }
  CHECK_CUDA(cudaEventRecord(member.taken_event, member.stream));
}

/// Of one member, or of all in one thread: the halves of a step are in the order in which several threads do them.
void loop(Program& program, std::size_t first, std::size_t count, bool can_access) {
  gpu_test::StepTimes times;
  const bool meets = count < program.members.size();
  const auto each = [&](auto&& work) {
    for (std::size_t m = first; m < first + count; ++m) {
      CHECK_CUDA(cudaSetDevice(program.members[m].device));
      work(m);
    }
  };
  const auto meet = [&] {
    if (meets) program.all->arrive_and_wait();
  };
  meet();
  for (int step = 0; step < program.steps; ++step) {
    const bool second_part = step >= program.steps / 2;
    times.begin();
    if (!program.signals && can_access && step == program.steps / 2) {
      each([&](std::size_t m) { allow_neighbours(program, m); });
    }
    if (program.signals) {
      each([&](std::size_t m) { signals_first_half(program, m, step); });
    } else {
      each([&](std::size_t m) { copies_first_half(program, m, step); });
      meet();  // an event is to be recorded before others wait for it
    }
    if (program.skew && first + count == program.members.size()) gpu_test::late(step);
    if (program.signals) {
      each([&](std::size_t m) { signals_second_half(program, m); });
    } else {
      each([&](std::size_t m) { copies_second_half(program, m, can_access && second_part && step % 3 != 0); });
      meet();
    }
    each([&](std::size_t m) { CHECK_CUDA(cudaStreamSynchronize(program.members[m].stream)); });
    times.end();
  }
  meet();
  if (first == 0) times.print();
}

}  // namespace

int main(int argc, char** argv) {
  // A kernel that is loaded with its first launch may wait for all that runs, and so for kernels that wait for it.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  gpu_test::Arguments arguments(argc, argv, kUsage);
  Program program;
  int available = 0;
  CHECK_CUDA(cudaGetDeviceCount(&available));
  const int devices = arguments.integer("devices", available);
  program.steps = arguments.integer("steps", program.steps);
  const bool threads = arguments.flag("threads");
  program.signals = arguments.flag("signals");
  program.skew = arguments.flag("skew");
  arguments.nothing_left();
  if (devices < 1 || devices > available) {
    std::fprintf(stderr, "there are %d devices, not %d\n", available, devices);
    return 1;
  }
  make(program, devices);
  const std::size_t count = program.members.size();
  const bool can_access = reachable(program);
  if (program.signals && !can_access) {
    std::printf("missing: access from device to device\n");
    return 0;
  }
  // With signals from the beginning, as there is no step without.
  for (std::size_t m = 0; program.signals && m < count; ++m) allow_neighbours(program, m);
  if (threads) {
    program.all = std::make_unique<std::barrier<>>(static_cast<std::ptrdiff_t>(count));
    std::vector<std::thread> running;
    for (std::size_t m = 0; m < count; ++m) running.emplace_back([&, m] { loop(program, m, 1, can_access); });
    for (std::thread& thread : running) thread.join();
  } else {
    loop(program, 0, count, can_access);
  }

  unsigned stalls = 0;
  for (std::size_t m = 0; m < count; ++m) {
    Member& member = program.members[m];
    CHECK_CUDA(cudaSetDevice(member.device));
    CHECK_CUDA(cudaStreamSynchronize(member.stream));
    gpu_test::Checksum checksum;
    checksum.add_device(member.own, kCount);
    checksum.add_device(member.taken, kCount);
    unsigned stalled = 0;
    CHECK_CUDA(cudaMemcpy(&stalled, member.stalled, sizeof stalled, cudaMemcpyDeviceToHost));
    if (stalled != 0) {
      std::printf("member %zu, device %d: stalled in step %u\n", m, member.device, stalled);
      ++stalls;
    }
    std::printf("member %zu checksum %016llx\n", m, static_cast<unsigned long long>(checksum.value()));
  }
  return stalls == 0 ? 0 : 3;
}
