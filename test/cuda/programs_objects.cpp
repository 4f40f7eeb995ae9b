// Objects that come and go, the program's own graphs, contexts.

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

#include "test/cuda/program.h"
#include "test/support/meeting.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr int kRounds = 200;
}  // namespace

/// A module is unloaded and loaded again every few rounds: its functions are other ones then, at the same addresses
/// maybe.
PROGRAM(reload) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  for (int round = 0; round < 8; ++round) {
    CUmodule module = nullptr;
    CUfunction first = nullptr;
    CUfunction second = nullptr;
    CHECK_CU(cuModuleLoadData(&module, "kernels"));
    // Whichever comes first may get the address that the other one had.
    CHECK_CU(cuModuleGetFunction(&first, module, round % 2 == 0 ? "mix_in" : "scale"));
    CHECK_CU(cuModuleGetFunction(&second, module, round % 2 == 0 ? "scale" : "mix_in"));
    for (int inner = 0; inner < kRounds / 2; ++inner) {
      for (Word i = 0; i < 4; ++i) {
        mix_in(stream, round % 2 == 0 ? first : second, x, y, kCount, i);
        scale(stream, round % 2 == 0 ? second : first, y, kCount, 3, i);
      }
      CHECK_CU(cuStreamSynchronize(stream));
    }
    // The work of the last round is not waited for by the program.
    scale(stream, round % 2 == 0 ? second : first, y, kCount, 3, 1);
    mix_in(stream, round % 2 == 0 ? first : second, x, y, kCount, 1);
    CHECK_CU(cuModuleUnload(module));
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Streams, events and memory are made for every round and dropped with work in them.
PROGRAM(recreate) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction mix = gpu.function("mix_in");
  CUstream stream = make_stream();
  for (int round = 0; round < kRounds; ++round) {
    CUstream other = make_stream();
    CUevent event = make_event();
    const CUdeviceptr y = allocate(kCount);
    CHECK_CU(cuMemsetD32Async(y, static_cast<Word>(round % 4), kCount, other));
    mix_in(other, mix, y, y, kCount, 1);
    CHECK_CU(cuEventRecord(event, other));
    CHECK_CU(cuStreamWaitEvent(stream, event, 0));
    CHECK_CU(cuEventDestroy(event));
    CHECK_CU(cuStreamDestroy(other));
    for (Word i = 0; i < 4; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
    }
    CHECK_CU(cuMemFree(y));
    if (round % 16 == 0) {
      CHECK_CU(cuStreamSynchronize(stream));
      CHECK_CU(cuStreamDestroy(stream));
      stream = make_stream();
    }
  }
  print("x", x, kCount);
  return 0;
}

/// Memory that is freed between two stretches, and allocated again: perhaps at the same address, but another
/// allocation.
PROGRAM(new_memory) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction mix = gpu.function("mix_in");
  CUstream stream = make_stream();
  for (int stretch = 0; stretch < 8; ++stretch) {
    const CUdeviceptr y = allocate(kCount);
    for (int round = 0; round < kRounds; ++round) {
      CHECK_CU(cuMemsetD32Async(y, 3, kCount, stream));
      for (Word i = 0; i < 4; ++i) {
        mix_in(stream, mix, x, y, kCount, i);
      }
      CHECK_CU(cuStreamSynchronize(stream));
    }
    CHECK_CU(cuMemFree(y));
  }
  print("x", x, kCount);
  return 0;
}

/// Memory in stream order.
PROGRAM(stream_memory) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction mix = gpu.function("mix_in");
  CUstream stream = make_stream();
  for (int round = 0; round < kRounds; ++round) {
    CUdeviceptr y = 0;
    CHECK_CU(cuMemAllocAsync(&y, kCount * sizeof(Word), stream));
    CHECK_CU(cuMemsetD32Async(y, 3, kCount, stream));
    for (Word i = 0; i < 4; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
    }
    CHECK_CU(cuMemFreeAsync(y, stream));
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}

/// Memory that is filled again and again, and now and then freed and allocated, mostly at the same address: a fill of a
/// graph names the allocation, not the address.
PROGRAM(refilled_memory) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction mix = gpu.function("mix_in");
  CUstream stream = make_stream();
  CUdeviceptr y = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round % 20 == 0) {
      if (y != 0) {
        CHECK_CU(cuMemFreeAsync(y, stream));
      }
      CHECK_CU(cuMemAllocAsync(&y, kCount * sizeof(Word), stream));
    }
    for (Word i = 0; i < 4; ++i) {
      mix_in(stream, mix, x, x, kCount, i);
      CHECK_CU(cuMemsetD32Async(y, 3, kCount, stream));
      mix_in(stream, mix, x, y, kCount, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  CHECK_CU(cuMemFreeAsync(y, stream));
  return 0;
}

/// One thread makes and destroys streams, while another one uses memory for the first time: who captures contents waits
/// for all streams.
PROGRAM(streams_beside_memory) {
  const Device gpu;
  CUfunction kernel = gpu.function("scale");
  CUfunction busy = gpu.function("busy");
  const CUdeviceptr y = filled(kCount, 2);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    while (!stop) {
      CUstream stream = make_stream();
      launch_on(stream, busy, 1, y, Word{100});
      CHECK_CU(cuStreamSynchronize(stream));
      CHECK_CU(cuStreamDestroy(stream));
    }
  });
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  for (Word i = 0; i < 200; ++i) {
    CUdeviceptr fresh = 0;
    CHECK_CU(cuMemAlloc(&fresh, kCount * sizeof(Word)));
    CHECK_CU(cuMemcpyDtoDAsync(fresh, x, kCount * sizeof(Word), stream));
    scale(stream, kernel, fresh, kCount, 3, i);
    CHECK_CU(cuMemcpyDtoDAsync(x, fresh, kCount * sizeof(Word), stream));
    CHECK_CU(cuStreamSynchronize(stream));
    CHECK_CU(cuMemFree(fresh));
  }
  stop = true;
  other.join();
  print("x", x, kCount);
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// Contexts with many streams are made and destroyed while another thread works in a context that stays.
PROGRAM(contexts_beside) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    CUstream stream = make_stream();
    for (int round = 0; round < 20 * kRounds; ++round) {
      for (Word i = 0; i < 4; ++i) {
        scale(stream, kernel, x, kCount, 5, i);
      }
      CHECK_CU(cuStreamSynchronize(stream));
    }
  });
  for (int turn = 0; turn < 12; ++turn) {
    CUcontext made = nullptr;
    CUmodule module = nullptr;
    CUfunction there = nullptr;
    CHECK_CU(cuCtxCreate(&made, nullptr, 0, 0));
    CHECK_CU(cuModuleLoadData(&module, "kernels"));
    CHECK_CU(cuModuleGetFunction(&there, module, "scale"));
    const CUdeviceptr y = filled(kCount, 5);
    for (int i = 0; i < 2 * kRounds; ++i) {
      scale(make_stream(), there, y, 0, 3, 1);
    }
    CHECK_CU(cuCtxDestroy(made));
  }
  other.join();
  CHECK_CU(cuCtxSetCurrent(gpu.context));
  print("x", x, kCount);
  return 0;
}

/// Contexts that are made and destroyed, and two that are used in turns.
PROGRAM(contexts) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  for (int turn = 0; turn < 4; ++turn) {
    CUcontext other = nullptr;
    CHECK_CU(cuCtxCreate(&other, nullptr, 0, 0));
    CUmodule module = nullptr;
    CUfunction there = nullptr;
    CHECK_CU(cuModuleLoadData(&module, "kernels"));
    CHECK_CU(cuModuleGetFunction(&there, module, "scale"));
    const CUdeviceptr y = filled(kCount, 5);
    CUstream own = make_stream();
    for (int round = 0; round < kRounds / 2; ++round) {
      for (Word i = 0; i < 4; ++i) {
        CHECK_CU(cuCtxSetCurrent(other));
        scale(own, there, y, kCount, 3, i);
        CHECK_CU(cuCtxPushCurrent(gpu.context));
        scale(stream, kernel, x, kCount, 5, i);
        CHECK_CU(cuCtxPopCurrent(nullptr));
      }
      CHECK_CU(cuCtxSetCurrent(other));
      CHECK_CU(cuStreamSynchronize(own));
      CHECK_CU(cuStreamSynchronize(stream));
    }
    print("y", y, kCount);
    scale(own, there, y, kCount, 3, 1);
    scale(own, there, y, kCount, 3, 2);
    CHECK_CU(cuCtxDestroy(other));
    CHECK_CU(cuCtxSetCurrent(gpu.context));
  }
  print("x", x, kCount);
  return 0;
}
#endif

/// The program captures streams and launches graphs itself, between launches that repeat.
PROGRAM(own_graphs) {
  const Device gpu;
  CUstream stream = make_stream();
  CUstream side = make_stream();
  CUevent fork_event = make_event();
  CUevent join_event = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  CUgraphExec exec = nullptr;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
    }
    if (round % 50 == 10) {
      if (exec != nullptr) {
        CHECK_CU(cuGraphExecDestroy(exec));
      }
      CUgraph graph = nullptr;
      const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                           CU_STREAM_CAPTURE_MODE_RELAXED};
      CHECK_CU(cuStreamBeginCapture(stream, modes[round / 50 % 3]));
      for (Word i = 0; i < 4; ++i) {
        mix_in(stream, mix, x, y, kCount, i);
      }
      CHECK_CU(cuEventRecord(fork_event, stream));
      CHECK_CU(cuStreamWaitEvent(side, fork_event, 0));
      mix_in(side, mix, y, x, kCount, 7);
      CHECK_CU(cuEventRecord(join_event, side));
      CHECK_CU(cuStreamWaitEvent(stream, join_event, 0));
      pause_briefly();  // what others do in the background must not disturb the capture
      CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
      CHECK_CU(cuStreamIsCapturing(stream, &status));
      CHECK_CU(cuMemsetD8Async(y, 3, 5, stream));
      CHECK_CU(cuStreamEndCapture(stream, &graph));
      CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
      CHECK_CU(cuGraphDestroy(graph));
    }
    if (exec != nullptr) {
      CHECK_CU(cuGraphLaunch(exec, stream));
      mix_in(stream, mix, x, y, kCount, 9);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  // A capture that is ended by a call that is not allowed, as a program may do on purpose.
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  mix_in(stream, mix, x, y, kCount, 1);
  const CUresult forbidden = cuCtxSynchronize();
  const CUresult ended = cuStreamEndCapture(stream, &graph);
  std::printf("forbidden %d ended %d\n", static_cast<int>(forbidden), static_cast<int>(ended));
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Calls that end a capture, or do not: by the thread that captures and by another one, in modes that forbid them and
/// in modes that do not.
PROGRAM(forbidden_calls) {
  const Device gpu;
  CUstream captured = make_stream();
  CUstream other = make_stream();
  CUevent event = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  const auto capture = [&](CUstreamCaptureMode mode) {
    CHECK_CU(cuStreamBeginCapture(captured, mode));
    scale(captured, kernel, x, kCount, 3, 1);
  };
  CUgraph graph = nullptr;
  capture(CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK_CU(cuStreamEndCapture(captured, &graph));
  const std::pair<const char*, std::function<CUresult()>> calls[] = {
      {"query stream", [&] { return cuStreamQuery(other); }},
      {"query event", [&] { return cuEventQuery(event); }},
      {"wait for stream", [&] { return cuStreamSynchronize(other); }},
      {"wait for event", [&] { return cuEventSynchronize(event); }},
      {"instantiate",
       [&] {
         CUgraphExec made = nullptr;
         return cuGraphInstantiate(&made, graph, 0);
       }},
      {"allocate",
       [&] {
         CUdeviceptr made = 0;
         return cuMemAlloc(&made, 64);
       }},
      {"record", [&] { return cuEventRecord(event, other); }},
      {"query captured stream", [&] { return cuStreamQuery(captured); }},
  };
  for (const auto& entry : calls) {
    const std::function<CUresult()>& call = entry.second;
    for (const CUstreamCaptureMode mode :
         {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
      for (const bool other_thread : {false, true}) {
        for (CUstreamCaptureMode own : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
          for (Word i = 0; i < 6; ++i) {
            scale(other, kernel, x, kCount, 3, i);
          }
          CHECK_CU(cuEventRecord(event, other));
          CHECK_CU(cuStreamSynchronize(other));
          capture(mode);
          CUresult result = CUDA_SUCCESS;
          const auto work = [&] {
            CHECK_CU(cuCtxSetCurrent(gpu.context));
            CHECK_CU(cuThreadExchangeStreamCaptureMode(&own));
            result = call();
            CHECK_CU(cuThreadExchangeStreamCaptureMode(&own));
          };
          if (other_thread) {
            std::thread(work).join();
          } else {
            work();
          }
          CUgraph made = nullptr;
          const CUresult ended = cuStreamEndCapture(captured, &made);
          std::printf("%s%s, modes %d and %d: %d, ended %d\n", entry.first, other_thread ? " in another thread" : "",
                      static_cast<int>(mode), static_cast<int>(own), static_cast<int>(result), static_cast<int>(ended));
        }
      }
    }
  }
  print("x", x, kCount);
  return 0;
}

/// Ends with work that nobody waits for; errors of the program are reported as ever.
PROGRAM(leave) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  CUdeviceptr address = x;
  Word count = kCount, a = 1, b = 1;
  void* parameters[] = {&address, &count, &a, &b};
  std::printf("no block: %d\n",
              static_cast<int>(cuLaunchKernel(kernel, 1, 1, 1, 0, 1, 1, 0, stream, parameters, nullptr)));
  std::printf("big block: %d\n",
              static_cast<int>(cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, stream, parameters, nullptr)));
  print("x", x, kCount);
  for (Word i = 0; i < 3; ++i) {
    scale(stream, kernel, x, kCount, 3, i);
  }
  std::printf("end 0\n");
  std::exit(0);
}

/// Blocking streams that go with work in them, done or not; what is submitted to the default stream comes after it.
/// Nobody asks the driver meanwhile whether it is done.
PROGRAM(left_behind) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  for (Word round = 0; round < 40; ++round) {
    CUstream stream = make_stream(CU_STREAM_DEFAULT);
    for (Word i = 0; i < 6; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    if (round % 2 != 0) {
      pause_briefly();
    }
    CHECK_CU(cuStreamDestroy(stream));
    for (Word i = 0; i < 6; ++i) {
      scale(nullptr, kernel, x, kCount, 5, i);
    }
    CHECK_CU(cuCtxSynchronize());
  }
  print("x", x, kCount);
  return 0;
}

/// Asks itself for a report, if anybody handles the signal, and then calls something that waits. With an argument it is
/// killed then.
PROGRAM(report) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  struct sigaction now {};
  if (sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler != SIG_DFL) {
    raise(SIGUSR1);
  }
  scale(stream, gpu.function("scale"), x, kCount, 3, 1);
  CHECK_CU(cuStreamSynchronize(stream));
  print("x", x, kCount);
  if (argc > 1) {
    raise(SIGKILL);
  }
  return 0;
}

/// Two threads use one event in turn; the first has submitted far more than the other.
PROGRAM(event_in_turn) {
  const Device gpu;
  CUstream first = make_stream();
  CUstream second = make_stream();
  CUevent event = make_event();
  Word* told = pinned(1);
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  CUfunction busy = gpu.function("busy");
  CUfunction store = gpu.function("store");
  for (Word i = 0; i < 3000; ++i) {
    scale(first, kernel, x, kCount, 3, i);
  }
  CHECK_CU(cuStreamSynchronize(first));
  int late = 0;
  refrain::test::Meeting turn(2);
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (Word round = 1; round <= 200; ++round) {
      turn.arrive_and_wait();
      launch_on(second, busy, 1, x, Word{300});
      launch_on(second, store, 1, reinterpret_cast<CUdeviceptr>(told), round);
      CHECK_CU(cuEventRecord(event, second));
      CHECK_CU(cuEventSynchronize(event));
      late += *static_cast<volatile Word*>(told) == round ? 0 : 1;
      turn.arrive_and_wait();
    }
  });
  for (int round = 0; round < 200; ++round) {
    for (Word i = 0; i < 3; ++i) {
      scale(first, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuEventRecord(event, first));
    CHECK_CU(cuEventSynchronize(event));
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  other.join();
  CHECK_CU(cuCtxSynchronize());
  std::printf("late %d\n", late);
  print("x", x, kCount);
  return 0;
}
