// Streams that fork and join.

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr int kRounds = 200;
constexpr int kBranches = 4;

struct Branches {
  CUstream streams[kBranches];
  CUevent done[kBranches];
  CUdeviceptr parts[kBranches];
  CUdeviceptr x = filled(kCount, 100);

  Branches() {
    for (int i = 0; i < kBranches; ++i) {
      streams[i] = make_stream();
      done[i] = make_event();
      parts[i] = filled(kCount, static_cast<Word>(i));
    }
  }
  int print_all() const {
    print("x", x, kCount);
    for (const CUdeviceptr part : parts) {
      print("part", part, kCount);
    }
    return 0;
  }
};

}  // namespace

/// Four branches that come together.
PROGRAM(fork_join) {
  const Device gpu;
  CUstream main_stream = make_stream();
  CUevent start = make_event();
  const Branches branches;
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    mix_in(main_stream, mix, branches.x, branches.parts[0], kCount, 1);
    CHECK_CU(cuEventRecord(start, main_stream));
    for (int i = 0; i < kBranches; ++i) {
      CHECK_CU(cuStreamWaitEvent(branches.streams[i], start, 0));
      for (Word j = 0; j < 3; ++j) {
        mix_in(branches.streams[i], mix, branches.parts[i], branches.x, kCount, j);
      }
      CHECK_CU(cuEventRecord(branches.done[i], branches.streams[i]));
    }
    for (CUevent done : branches.done) {
      CHECK_CU(cuStreamWaitEvent(main_stream, done, 0));
    }
    for (const CUdeviceptr part : branches.parts) {
      mix_in(main_stream, mix, branches.x, part, kCount, 5);
    }
    CHECK_CU(cuStreamSynchronize(main_stream));
  }
  return branches.print_all();
}

/// Streams that get their work in turn, so that any piece of it has work for all of them.
PROGRAM(turns) {
  constexpr Word kLength = 26;
  const Device gpu;
  const Branches branches;
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    CHECK_CU(cuEventRecord(branches.done[0], branches.streams[0]));
    for (int i = 1; i < kBranches; ++i) {
      CHECK_CU(cuStreamWaitEvent(branches.streams[i], branches.done[0], 0));
    }
    for (Word j = 0; j < kLength; ++j) {
      for (int i = 0; i < kBranches; ++i) {
        mix_in(branches.streams[i], mix, branches.parts[i], branches.x, kCount, j);
      }
    }
    for (int i = 1; i < kBranches; ++i) {
      CHECK_CU(cuEventRecord(branches.done[i], branches.streams[i]));
      CHECK_CU(cuStreamWaitEvent(branches.streams[0], branches.done[i], 0));
    }
    CHECK_CU(cuStreamSynchronize(branches.streams[0]));
  }
  return branches.print_all();
}
