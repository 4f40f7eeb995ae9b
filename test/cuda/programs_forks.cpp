// Streams that fork and join.

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>

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

/// A round of kernels in all branches, after what `main_stream` has and before its next work.
void fork_and_join(const Branches& branches, CUfunction mix, CUstream main_stream, CUevent start, Word length) {
  mix_in(main_stream, mix, branches.x, branches.parts[0], kCount, 1);
  CHECK_CU(cuEventRecord(start, main_stream));
  for (int i = 0; i < kBranches; ++i) {
    CHECK_CU(cuStreamWaitEvent(branches.streams[i], start, 0));
    for (Word j = 0; j < length; ++j) {
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
}

}  // namespace

/// Four branches that come together.
PROGRAM(fork_join) {
  const Device gpu;
  CUstream main_stream = make_stream();
  CUevent start = make_event();
  const Branches branches;
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    fork_and_join(branches, mix, main_stream, start, 3);
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

/// Long stretches of kernels that stand alone, which no graph makes faster: Refrain may stop looking. Between and after
/// them, work in streams that another thread, whose work repeats, has a part in as well, in turns.
PROGRAM(lonely) {
  constexpr int kAlone = 6000;
  constexpr int kTurns = 150;
  constexpr Word kLength = 16;
  const Device gpu;
  const Branches branches;
  CUstream main_stream = make_stream();
  CUstream alone = make_stream();
  CUevent start = make_event();
  CUevent between = make_event();
  CUfunction mix = gpu.function("mix_in");
  CUfunction kernel = gpu.function("scale");
  const CUdeviceptr z = filled(kCount, 7);
  CUdeviceptr own[kBranches];
  for (CUdeviceptr& each : own) {
    each = filled(kCount, 8);
  }
  std::atomic<int> turn{0};  // odd: the other thread's
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < 2 * kTurns; ++i) {
      while (turn.load() != 2 * i + 1) {
        std::this_thread::yield();
      }
      for (int round = 0; round < 2; ++round) {
        fork_and_join(branches, mix, main_stream, start, kLength);
        // What nothing but the streams themselves brings into order.
        for (int branch = 0; branch < kBranches; ++branch) {
          scale(branches.streams[branch], kernel, own[branch], kCount, 5, 1);
        }
      }
      if (i % 3 == 0) {
        CHECK_CU(cuStreamSynchronize(main_stream));
      }
      turn.store(2 * i + 2);
    }
  });
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < kAlone; ++i) {
      scale(alone, kernel, z, kCount, 3, static_cast<Word>(i));
      CHECK_CU(cuStreamSynchronize(alone));
    }
    for (int i = part * kTurns; i < (part + 1) * kTurns; ++i) {
      CUstream branch = branches.streams[i % kBranches];
      for (int k = 0; k < kBranches; ++k) {
        scale(branches.streams[k], kernel, own[k], kCount, 3, 2);
      }
      CHECK_CU(cuEventRecord(between, main_stream));
      CHECK_CU(cuStreamWaitEvent(branch, between, 0));
      mix_in(branch, mix, branches.parts[i % kBranches], branches.x, kCount, 9);
      CHECK_CU(cuEventRecord(between, branch));
      CHECK_CU(cuStreamWaitEvent(main_stream, between, 0));
      mix_in(main_stream, mix, branches.x, branches.parts[i % kBranches], kCount, 2);
      turn.store(2 * i + 1);
      while (turn.load() != 2 * i + 2) {
        std::this_thread::yield();
      }
    }
  }
  other.join();
  // Much that repeats: it is noticed some time.
  for (int round = 0; round < 2 * kRounds; ++round) {
    fork_and_join(branches, mix, main_stream, start, kLength);
    CHECK_CU(cuStreamSynchronize(main_stream));
  }
  print("z", z, kCount);
  for (int i = 0; i < kBranches; ++i) {
    CHECK_CU(cuStreamSynchronize(branches.streams[i]));
    print("own", own[i], kCount);
  }
  return branches.print_all();
}

/// One thread captures its own streams again and again, while others fork and join. Nothing but what the API allows is
/// called during a capture: launches, records and waits in other streams. Whoever asks or waits takes the lock. The
/// argument is the number of captures.
PROGRAM(captures_beside) {
  constexpr int kWorkers = 2;
  constexpr int kPerCapture = 4;  // rounds of each worker: what is captured beside goes on all the time
  const int captures = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 400;
  const Device gpu;
  CUfunction mix = gpu.function("mix_in");
  CUstream stream = make_stream();
  CUstream side = make_stream();
  CUevent fork_event = make_event();
  CUevent join_event = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  std::shared_mutex capturing;
  std::atomic<int> captured{0};
  std::atomic<int> rounds[kWorkers] = {};
  struct Worker {
    Branches branches;
    CUstream main_stream = make_stream();
    CUevent start = make_event();
  };
  const Worker workers[kWorkers];
  std::vector<std::thread> all;
  for (int self = 0; self < kWorkers; ++self) {
    all.emplace_back([&, self] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      const Worker& worker = workers[self];
      for (int round = 0; round < captures * kPerCapture; ++round) {
        while (captured.load() < round / kPerCapture - 1) {
          std::this_thread::yield();
        }
        fork_and_join(worker.branches, mix, worker.main_stream, worker.start, 3);
        rounds[self].store(round + 1);
        if (round % 8 == 7) {
          const std::shared_lock nobody_captures(capturing);
          while (round % 16 == 7 && cuStreamQuery(worker.main_stream) == CUDA_ERROR_NOT_READY) {
            std::this_thread::yield();
          }
          CHECK_CU(cuStreamSynchronize(worker.main_stream));
        }
      }
    });
  }
  constexpr CUstreamCaptureMode kModes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                            CU_STREAM_CAPTURE_MODE_RELAXED};
  for (int i = 0; i < captures; ++i) {
    for (const std::atomic<int>& done : rounds) {
      while (done.load() < i * kPerCapture) {
        std::this_thread::yield();
      }
    }
    CUgraph graph = nullptr;
    {
      const std::unique_lock alone(capturing);
      CHECK_CU(cuStreamBeginCapture(stream, kModes[i % 3]));
      mix_in(stream, mix, x, y, kCount, static_cast<Word>(i));
      CHECK_CU(cuEventRecord(fork_event, stream));
      CHECK_CU(cuStreamWaitEvent(side, fork_event, 0));
      mix_in(side, mix, y, x, kCount, 7);
      CHECK_CU(cuEventRecord(join_event, side));
      CHECK_CU(cuStreamWaitEvent(stream, join_event, 0));
      CHECK_CU(cuStreamEndCapture(stream, &graph));
    }
    CUgraphExec exec = nullptr;
    CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
    CHECK_CU(cuGraphLaunch(exec, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    CHECK_CU(cuGraphExecDestroy(exec));
    CHECK_CU(cuGraphDestroy(graph));
    captured.store(i + 1);
  }
  for (std::thread& worker : all) {
    worker.join();
  }
  print("x", x, kCount);
  print("y", y, kCount);
  for (const Worker& worker : workers) {
    worker.branches.print_all();
  }
  return 0;
}
