// Two devices in one process: copies from one to the other, memory that one uses of the other, kernels that wait for
// each other, and a device that goes while the other one works.

#include <array>
#include <functional>
#include <string>
#include <thread>

#include "test/cuda/program.h"
#include "test/support/meeting.h"

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr std::size_t kBytes = kCount * sizeof(Word);

/// One device: its primary context, or one that was made for it.
struct Side {
  CUdevice device = 0;
  bool is_primary = true;
  unsigned flags = CU_STREAM_NON_BLOCKING;  ///< of `stream`
  CUcontext context = nullptr;
  CUfunction step = nullptr, mix = nullptr, seen = nullptr, await = nullptr, bump = nullptr;
  CUstream stream = nullptr;
  CUevent shown = nullptr, taken = nullptr;
  CUdeviceptr own = 0, window = 0, copied = 0;  ///< the other one reads `window`
  CUdeviceptr word = 0, counted = 0;            ///< what the other one bumps, and how often this one awaited it

  void make(int number, bool primary = true) {
    device = number;
    is_primary = primary;
    if (primary) {
      CHECK_CU(cuDevicePrimaryCtxRetain(&context, device));
      enter();
    } else {
      CHECK_CU(cuCtxCreate(&context, nullptr, 0, device));  // is current
    }
    CUmodule module = nullptr;
    CHECK_CU(cuModuleLoadData(&module, "kernels"));
    CHECK_CU(cuModuleGetFunction(&step, module, "scale"));
    CHECK_CU(cuModuleGetFunction(&mix, module, "mix_in"));
    CHECK_CU(cuModuleGetFunction(&seen, module, "seen"));
    CHECK_CU(cuModuleGetFunction(&await, module, "await"));
    CHECK_CU(cuModuleGetFunction(&bump, module, "bump"));
    stream = make_stream(flags);
    shown = make_event();
    taken = make_event();
    own = filled(kCount, 1 + static_cast<Word>(number));
    window = filled(kCount, 100 + static_cast<Word>(number));
    copied = filled(kCount, 200 + static_cast<Word>(number));
    word = allocate(64);
    counted = allocate(64);
    CHECK_CU(cuMemsetD32(word, 0, 64));
    CHECK_CU(cuMemsetD32(counted, 0, 64));
    CHECK_CU(cuCtxSynchronize());
  }
  void enter() const { CHECK_CU(cuCtxSetCurrent(context)); }
  void wait() const {
    enter();
    CHECK_CU(cuStreamSynchronize(stream));
  }
  void compute(Word steps = 4) const {
    for (Word i = 0; i < steps; ++i) {
      scale(stream, step, own, kCount, 3, i);
    }
    mix_in(stream, mix, own, copied, kCount, 7);
  }
  /// What it has is put where the other one reads it, which has read what was there.
  void show(const Side& reader) const {
    CHECK_CU(cuStreamWaitEvent(stream, reader.taken, 0));
    CHECK_CU(cuMemcpyDtoDAsync(window, own, kBytes, stream));
    CHECK_CU(cuEventRecord(shown, stream));
  }
  void take(const Side& from) const {
    CHECK_CU(cuStreamWaitEvent(stream, from.shown, 0));
    CHECK_CU(cuMemcpyPeerAsync(copied, context, from.window, from.context, kBytes, stream));
    CHECK_CU(cuEventRecord(taken, stream));
  }
  void signal(const Side& other) const { launch_on(stream, bump, 1, other.word); }
  void await_signal() const { launch_on(stream, await, 1, word, counted); }
  void print_all() const {
    enter();
    print("own", own, kCount);
    print("copied", copied, kCount);
  }
  /// With whatever it still does.
  void end() const {
    if (is_primary) {
      CHECK_CU(cuDevicePrimaryCtxReset(device));
    } else {
      CHECK_CU(cuCtxDestroy(context));
    }
  }
};

using Pair = std::array<Side, 2>;

Pair make_both() {
  CHECK_CU(cuInit(0));
  Pair both;
  for (int i = 0; i < 2; ++i) {
    both[static_cast<std::size_t>(i)].make(i);
  }
  return both;
}

/// The rest of a program: what both have, and their end.
int finish(const Pair& both) {
  for (const Side& side : both) {
    side.print_all();
  }
  for (const Side& side : both) {
    side.end();
  }
  return 0;
}

void allow_both(const Pair& both) {
  for (std::size_t i = 0; i < 2; ++i) {
    both[i].enter();
    CHECK_CU(cuCtxEnablePeerAccess(both[1 - i].context, 0));
  }
}

/// Rounds of two parts, by a thread for each side, or by one that does each part of one side and then of the other one.
constexpr int kParts = 2;
void rounds(bool threads, int count, const std::function<void(std::size_t side, int round, int part)>& work) {
  if (!threads) {
    for (int round = 0; round < count; ++round) {
      for (int part = 0; part < kParts; ++part) {
        work(0, round, part);
        work(1, round, part);
      }
    }
    return;
  }
  refrain::test::Meeting meeting(2);
  const auto body = [&](std::size_t side) {
    for (int round = 0; round < count; ++round) {
      for (int part = 0; part < kParts; ++part) {
        work(side, round, part);
        meeting.arrive_and_wait();  // an event is to be recorded before the other one waits for it
      }
    }
  };
  std::thread other(body, 1);
  body(0);
  other.join();
}

bool has(int argc, char** argv, const std::string& word) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == word) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// One thread's launches go to one device and the other in turns, with another context each time: by setting it, or
/// "push".
PROGRAM(device_switches) {
  const Pair both = make_both();
  const bool pushes = has(argc, argv, "push");
  for (Word round = 0; round < 250; ++round) {
    for (Word i = 0; i < 10; ++i) {
      const Side& side = both[i % 2];
      if (pushes) {
        CHECK_CU(cuCtxPushCurrent(side.context));
      } else {
        side.enter();
      }
      scale(side.stream, side.step, side.own, kCount, 3, i);
      mix_in(side.stream, side.mix, side.own, side.copied, kCount, i);
      if (pushes) {
        CHECK_CU(cuCtxPopCurrent(nullptr));
      }
    }
    both[0].wait();
    both[1].wait();
  }
  return finish(both);
}

/// Each device takes what the other one shows, by copies that events of the other one are waited for before; by one
/// thread, or by two ("threads").
PROGRAM(device_copies) {
  const Pair both = make_both();
  rounds(has(argc, argv, "threads"), 200, [&](std::size_t i, int round, int part) {
    const Side& side = both[i];
    const Side& other = both[1 - i];
    side.enter();
    if (part == 0) {
      side.compute();
      side.show(other);
      return;
    }
    side.take(other);
    if (round % 3 == 2) {
      side.wait();
    }
  });
  return finish(both);
}

/// The third kernel of six is launched as libraries for several devices launch theirs: other devices read what it
/// writes.
PROGRAM(remote_domain) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction function = gpu.function("scale");
  CUdeviceptr x = filled(kCount, 1);
  CUlaunchAttribute remote{};
  remote.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  remote.value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  for (int round = 0; round < 200; ++round) {
    for (Word i = 0; i < 6; ++i) {
      if (i != 2) {
        scale(stream, function, x, kCount, 3, i);
        continue;
      }
      CUlaunchConfig config{};
      config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = 64;
      config.hStream = stream;
      config.attrs = &remote;
      config.numAttrs = 1;
      Word count = kCount, a = 3, b = i;
      void* parameters[] = {&x, &count, &a, &b};
      CHECK_CU(cuLaunchKernelEx(&config, function, parameters, nullptr));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}

/// Between kernels each device takes what the other one had when both were last waited for, and gives it something, by
/// copies of several sizes and addresses in turn. "wrong": now and then the context is not that of the memory; "apart":
/// the second side is another context of the first one's device; "default": these copies are in the default stream.
PROGRAM(device_exchange) {
  const bool apart = has(argc, argv, "apart"), wrong = has(argc, argv, "wrong"), legacy = has(argc, argv, "default");
  CHECK_CU(cuInit(0));
  Pair both;
  both[0].flags = both[1].flags = legacy ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  both[0].make(0);
  both[1].make(apart ? 0 : 1, !apart);
  int refused = 0;
  constexpr int kRounds = 240;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Side& side = both[i];
      const Side& other = both[1 - i];
      side.enter();
      CUstream copies = legacy ? nullptr : side.stream;
      const std::size_t first = round < kRounds / 2 ? 0 : static_cast<std::size_t>(round % 4);
      const std::size_t bytes = kBytes / (round % 8 == 7 ? 4 : 2);
      // What it gave the last time, and replaces below.
      CHECK_CU(cuMemcpyPeerAsync(side.copied + kBytes / 2, side.context, other.word, other.context, 16, copies));
      for (Word k = 0; k < 3; ++k) {
        scale(side.stream, side.step, side.own, kCount, 3, k);
      }
      const CUcontext named = wrong && round % 20 == 13 ? side.context : other.context;
      refused += cuMemcpyPeerAsync(side.copied + first * sizeof(Word), side.context, other.window, named, bytes,
                                   copies) == CUDA_SUCCESS
                     ? 0
                     : 1;
      mix_in(side.stream, side.mix, side.own, side.copied, kCount, 7);
      CHECK_CU(cuMemcpyDtoDAsync(other.word + first * sizeof(Word), side.own, 16, side.stream));
      scale(side.stream, side.step, side.own, kCount, 5, 1);
    }
    both[0].wait();
    both[1].wait();
    if (round % 16 == 15) {
      for (const Side& side : both) {
        side.enter();
        CHECK_CU(cuMemcpyDtoDAsync(side.window, side.own, kBytes, side.stream));
        side.wait();
      }
    }
  }
  std::printf("refused %d\n", refused);
  for (const Side& side : both) {
    side.enter();
    print("word", side.word, 16);
  }
  return finish(both);
}

/// Copies at first; then each device may use the other one's memory, and does; then copies again. A kernel sees what
/// was set. "threads" as above.
PROGRAM(peer_access) {
  const Pair both = make_both();
  constexpr int kRounds = 240;
  const bool threads = has(argc, argv, "threads");
  rounds(threads, kRounds, [&](std::size_t i, int round, int part) {
    const Side& side = both[i];
    const Side& other = both[1 - i];
    const bool directly = round >= kRounds / 3 && round < 2 * kRounds / 3;
    side.enter();
    if (part == 0) {
      side.compute();
      if (!threads) {  // with two, some of the other one's kernels see it and some do not
        launch_on(side.stream, side.seen, 1, side.own);
      }
      if (round == kRounds / 3) {
        CHECK_CU(cuCtxEnablePeerAccess(other.context, 0));
      }
      side.compute(2);
      side.show(other);
      return;
    }
    if (directly) {
      CHECK_CU(cuStreamWaitEvent(side.stream, other.shown, 0));
      mix_in(side.stream, side.mix, side.copied, other.window, kCount, 1);
      CHECK_CU(cuEventRecord(side.taken, side.stream));
    } else {
      side.take(other);
    }
    if (round == 2 * kRounds / 3 - 1) {
      CHECK_CU(cuStreamSynchronize(side.stream));
      CHECK_CU(cuCtxDisablePeerAccess(other.context));
    }
    if (round % 3 == 2) {
      side.wait();
    }
  });
  return finish(both);
}

/// A kernel waits for one that the other device gets later, in the middle of what may be submitted together; "much":
/// so much later that it is not. The word lies in the memory of the one that waits, or "pinned".
PROGRAM(device_gate) {
  Pair both = make_both();
  allow_both(both);
  Side& gated = both[0];
  const Side& other = both[1];
  const Word between = has(argc, argv, "much") ? 100 : 3;
  if (has(argc, argv, "pinned")) {
    gated.word = reinterpret_cast<CUdeviceptr>(pinned(64));
  }
  for (int round = 0; round < 150; ++round) {
    gated.enter();
    gated.compute();
    gated.await_signal();
    scale(gated.stream, gated.step, gated.own, kCount, 5, 3);
    other.enter();
    other.compute(between);
    other.signal(gated);
    scale(other.stream, other.step, other.own, kCount, 5, 4);
    if (round % 5 == 4) {
      gated.wait();
      other.wait();
    }
  }
  return finish(both);
}

/// Each device's kernels wait for the other one's, twice in a round, as those of libraries for several devices do.
PROGRAM(device_signals) {
  const Pair both = make_both();
  allow_both(both);
  rounds(has(argc, argv, "threads"), 150, [&](std::size_t i, int round, int part) {
    const Side& side = both[i];
    side.enter();
    if (part == 0) {
      side.compute();
      side.signal(both[1 - i]);
      return;
    }
    side.await_signal();
    scale(side.stream, side.step, side.own, kCount, 5, 1);
    if (round % 5 == 4) {
      side.wait();
    }
  });
  return finish(both);
}

/// A thread for each device, whose kernels wait for each other while the threads do not: one may be far behind.
PROGRAM(device_signals_apart) {
  const Pair both = make_both();
  allow_both(both);
  const auto body = [&](std::size_t i) {
    const Side& side = both[i];
    side.enter();
    for (int round = 0; round < 150; ++round) {
      side.compute();
      side.signal(both[1 - i]);
      if (i == 1 && round % 50 == 20) {
        pause_briefly();
      }
      side.await_signal();
      scale(side.stream, side.step, side.own, kCount, 5, 1);
      if (round % 5 == 4) {
        CHECK_CU(cuStreamSynchronize(side.stream));
      }
    }
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  return finish(both);
}

/// One device is reset, or its context destroyed ("context"), with work in it, again and again, while the other one
/// goes on; at the end it is gone.
PROGRAM(device_reset) {
  CHECK_CU(cuInit(0));
  const bool primary = !has(argc, argv, "context");
  Side stays;
  stays.make(0);
  for (int life = 0; life < 4; ++life) {
    Side goes;
    goes.make(1, primary);
    for (int round = 0; round < 80; ++round) {
      stays.enter();
      stays.compute();
      goes.enter();
      goes.compute();
      goes.show(stays);
      stays.enter();
      stays.take(goes);
      if (round % 4 == 3) {
        stays.wait();
        goes.wait();
      }
    }
    goes.print_all();
    stays.enter();
    stays.compute();
    goes.enter();
    goes.compute();
    if (life % 2 == 0) {  // its context need not be current
      stays.enter();
    }
    goes.end();
    stays.enter();
  }
  for (int round = 0; round < 40; ++round) {
    stays.compute();
    stays.wait();
  }
  stays.print_all();
  stays.end();
  return 0;
}
