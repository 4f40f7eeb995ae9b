// What one thread submits and another one observes.

#include <atomic>
#include <thread>
#include <vector>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr Word kWays = 9;
constexpr Word kRounds = 40 * kWays;

/// The newest word that a stream's kernels have stored, where the host and other streams can read it.
struct Stored {
  Word* host = pinned(1);
  CUdeviceptr device = 0;
  Stored() { CHECK_CU(cuMemHostGetDevicePointer(&device, host, 0)); }
};

void wait_until(const std::atomic<Word>& word, Word value) {
  while (word.load() != value) {
    std::this_thread::yield();
  }
}

template <class Query>
void poll(Query&& query) {
  CUresult status = CUDA_SUCCESS;
  while ((status = query()) == CUDA_ERROR_NOT_READY) {
    std::this_thread::yield();
  }
  check(status, "query");
}
}  // namespace

/// One thread submits and never waits; another one, which submits as well, waits for its own work alone, and then
/// for the first one's, in every way there is. "blocking": in streams that are in order with the default stream.
PROGRAM(observed_by_another) {
  const Device gpu;
  const bool blocking = argc > 1;
  const unsigned flags = blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  CUstream first = make_stream(flags), second = make_stream(flags);
  CUevent event = make_event();
  const CUdeviceptr x = filled(kCount, 1), y = filled(kCount, 2);
  const Stored from_first, from_second, copied;
  CUfunction kernel = gpu.function("scale"), store = gpu.function("store");
  std::atomic<Word> submitted{0}, observed{0};
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (Word round = 1; round <= kRounds; ++round) {
      for (Word i = 0; i < 6; ++i) {
        scale(first, kernel, x, kCount, 3, i);
      }
      launch_on(first, store, 1, from_first.device, round);
      CHECK_CU(cuEventRecord(event, first));
      submitted.store(round);
      wait_until(observed, round);
    }
  });
  Word wrong = 0;
  for (Word round = 1; round <= kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      scale(second, kernel, y, kCount, 5, i);
    }
    launch_on(second, store, 1, from_second.device, round);
    wait_until(submitted, round);
    CHECK_CU(cuStreamSynchronize(second));  // has nothing to do with the other thread's work
    wrong += *from_second.host != round ? 1 : 0;
    const Word* seen = from_first.host;
    switch (round % kWays) {
      case 0: CHECK_CU(cuStreamSynchronize(first)); break;
      case 1: CHECK_CU(cuEventSynchronize(event)); break;
      case 2: poll([&] { return cuEventQuery(event); }); break;
      case 3: poll([&] { return cuStreamQuery(first); }); break;
      case 4: CHECK_CU(cuCtxSynchronize()); break;
      case 5:
        CHECK_CU(cuStreamWaitEvent(second, event, 0));
        CHECK_CU(cuMemcpyAsync(copied.device, from_first.device, sizeof(Word), second));
        CHECK_CU(cuStreamSynchronize(second));
        seen = copied.host;
        break;
      case 6:  // the same, told by an event behind it
        CHECK_CU(cuStreamWaitEvent(second, event, 0));
        CHECK_CU(cuMemcpyAsync(copied.device, from_first.device, sizeof(Word), second));
        CHECK_CU(cuEventRecord(event, second));
        CHECK_CU(cuEventSynchronize(event));
        seen = copied.host;
        break;
      case 7:  // waits for all blocking streams, and for no others
        if (blocking) {
          CHECK_CU(cuStreamSynchronize(nullptr));
        } else {
          CHECK_CU(cuStreamSynchronize(first));
        }
        break;
      default:
        if (blocking) {  // the default stream's copy comes after what is in the other thread's stream
          CHECK_CU(cuMemcpyAsync(copied.device, from_first.device, sizeof(Word), nullptr));
          CHECK_CU(cuStreamSynchronize(nullptr));
          seen = copied.host;
        } else {
          CHECK_CU(cuEventSynchronize(event));
        }
        break;
    }
    wrong += *seen != round ? 1 : 0;
    observed.store(round);
  }
  other.join();
  CHECK_CU(cuCtxSynchronize());
  std::printf("wrong %u\n", wrong);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// A thread stands still in the middle of what it repeats until another one has read, by a copy of rows, what it
/// computes: that copy comes after all that is in blocking streams.
PROGRAM(read_by_another) {
  const Device gpu;
  constexpr Word kLength = 12, kLoops = 200, kKnown = 60;
  CUstream stream = make_stream(CU_STREAM_DEFAULT);
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  std::atomic<Word> submitted{0}, observed{0};
  constexpr Word kTimes = (kLoops - kKnown) / 5;
  Word sum = 0;
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (Word time = 1; time <= kTimes; ++time) {
      wait_until(submitted, time);
      Word word = 0;
      CUDA_MEMCPY2D row{};
      row.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      row.srcDevice = x;
      row.dstMemoryType = CU_MEMORYTYPE_HOST;
      row.dstHost = &word;
      row.srcPitch = row.dstPitch = row.WidthInBytes = sizeof(word);
      row.Height = 1;
      CHECK_CU(cuMemcpy2D(&row));
      sum = sum * 31 + word;
      observed.store(time);
    }
  });
  Word times = 0;
  for (Word round = 0; round < kLoops; ++round) {
    for (Word i = 0; i < kLength; ++i) {
      if (round >= kKnown && round % 5 == 0 && i == round / 5 % kLength) {
        submitted.store(++times);
        wait_until(observed, times);
      }
      scale(stream, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  other.join();
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  return 0;
}
#endif

/// Two threads work on the same words in turn, one in the default stream and one in a stream that is in order with it:
/// that alone orders what they do. A third one has words and such a stream of its own.
PROGRAM(ordered_by_default) {
  const Device gpu;
  constexpr Word kTurns = 6, kWait = 4;
  CUstream blocking = make_stream(CU_STREAM_DEFAULT), apart = make_stream(CU_STREAM_DEFAULT);
  const CUdeviceptr x = filled(kCount, 1), y = filled(kCount, 2);
  CUfunction kernel = gpu.function("scale");
  std::atomic<Word> turn{0};
  const auto take_turns = [&](Word mine, CUstream stream) {
    for (Word round = 0; round < kRounds; ++round) {
      wait_until(turn, 2 * round + mine);
      for (Word i = 0; i < kTurns; ++i) {
        scale(stream, kernel, x, kCount, 3 + 2 * mine, i);
      }
      turn.store(2 * round + mine + 1);
      if (round % kWait == mine) {
        CHECK_CU(cuStreamSynchronize(stream));
      }
    }
  };
  std::thread with_default([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    take_turns(1, blocking);
  });
  std::thread by_itself([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (Word round = 0; round < kRounds; ++round) {
      for (Word i = 0; i < 2 * kTurns; ++i) {
        scale(apart, kernel, y, kCount, 7, i);
      }
      CHECK_CU(cuStreamSynchronize(apart));
    }
  });
  take_turns(0, nullptr);
  with_default.join();
  by_itself.join();
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Threads that launch without a pause, each in a stream of its own: with SIM_CROWD one of them is always inside the
/// driver.
PROGRAM(crowd) {
  const Device gpu;
  constexpr std::size_t kThreads = 6;
  constexpr Word kCrowdRounds = 300, kKernels = 8;
  std::vector<CUstream> streams;
  std::vector<CUdeviceptr> words;
  for (std::size_t i = 0; i < kThreads; ++i) {
    streams.push_back(make_stream(CU_STREAM_NON_BLOCKING));
    words.push_back(filled(kCount, static_cast<Word>(i)));
  }
  CUfunction kernel = gpu.function("scale");
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      for (Word round = 0; round < kCrowdRounds; ++round) {
        for (Word i = 0; i < kKernels; ++i) {
          scale(streams[thread], kernel, words[thread], kCount, 3, i);
        }
        CHECK_CU(cuStreamSynchronize(streams[thread]));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (CUdeviceptr each : words) {
    print("words", each, kCount);
  }
  return 0;
}
