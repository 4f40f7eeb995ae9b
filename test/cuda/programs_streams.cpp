// Several streams, events, default streams, threads.

#include <atomic>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr int kRounds = 200;
}  // namespace

/// Events with times: never held, and their order is that of the work.
PROGRAM(timing) {
  const Device gpu;
  CUstream stream = make_stream();
  CUevent start = make_event(0);
  CUevent end = make_event(0);
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  CUfunction busy = gpu.function("busy");
  int short_ones = 0;
  for (int round = 0; round < kRounds; ++round) {
    CHECK_CU(cuEventRecord(start, stream));
    scale(stream, kernel, x, kCount, 3, 1);
    launch_on(stream, busy, 1, x, Word{50});
    scale(stream, kernel, x, kCount, 5, 2);
    CHECK_CU(cuEventRecord(end, stream));
    CHECK_CU(cuEventSynchronize(end));
    float ms = -1;
    CHECK_CU(cuEventElapsedTime(&ms, start, end));
    short_ones += ms < 0.05F ? 1 : 0;
  }
  std::printf("too short %d\n", short_ones);
  print("x", x, kCount);
  return 0;
}

/// A stream waits for what was recorded long before; and events are recorded again while a wait for the earlier
/// record may not have been submitted.
PROGRAM(old_events) {
  const Device gpu;
  CUstream first = make_stream();
  CUstream second = make_stream();
  CUevent old = make_event();
  CUevent again = make_event();
  CUevent back = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  mix_in(first, mix, x, y, kCount, 1);
  CHECK_CU(cuEventRecord(old, first));
  for (int round = 0; round < kRounds; ++round) {
    CHECK_CU(cuStreamWaitEvent(second, old, 0));  // of the round before, or older
    mix_in(second, mix, y, x, kCount, 2);
    CHECK_CU(cuEventRecord(back, second));
    CHECK_CU(cuStreamWaitEvent(first, back, 0));
    mix_in(first, mix, x, y, kCount, 3);
    CHECK_CU(cuEventRecord(again, first));
    CHECK_CU(cuStreamWaitEvent(second, again, 0));
    mix_in(second, mix, y, x, kCount, 4);
    CHECK_CU(cuEventRecord(again, second));  // while the wait above may be held
    CHECK_CU(cuStreamWaitEvent(first, again, 0));
    mix_in(first, mix, x, y, kCount, 5);
    CHECK_CU(cuEventRecord(old, first));
    if (round % 3 == 0) {
      CHECK_CU(cuStreamSynchronize(first));
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// The default stream orders blocking streams around itself, and no others.
PROGRAM(default_stream) {
  const Device gpu;
  CUstream blocking = make_stream(CU_STREAM_DEFAULT);
  CUstream other = make_stream(CU_STREAM_DEFAULT);
  CUstream alone = make_stream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const CUdeviceptr z = filled(kCount, 3);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    mix_in(blocking, mix, x, y, kCount, 1);
    mix_in(alone, mix, z, z, kCount, 7);
    mix_in(nullptr, mix, y, x, kCount, 2);
    mix_in(other, mix, x, y, kCount, 3);
    mix_in(alone, mix, z, z, kCount, 8);
    mix_in(CU_STREAM_LEGACY, mix, y, x, kCount, 4);
    mix_in(blocking, mix, y, x, kCount, 5);
    CHECK_CU(cuMemsetD32(x, 9, 2));  // in the default stream, too
    if (round % 4 == 3) {
      CHECK_CU(cuStreamSynchronize(nullptr));
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  print("z", z, kCount);
  return 0;
}

/// The default stream alone, and the thread's default stream.
PROGRAM(own_default_stream) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      mix_in(nullptr, mix, x, y, kCount, i);
    }
    mix_in(CU_STREAM_PER_THREAD, mix, y, x, kCount, 5);
    mix_in(nullptr, mix, x, y, kCount, 6);
    CHECK_CU(cuCtxSynchronize());
  }
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Two threads take turns on one stream, with nothing but their own hand-over between them.
PROGRAM(handover) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  std::atomic<int> turn{0};
  const auto work = [&](int self) {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (int round = self; round < 2 * kRounds; round += 2) {
      while (turn.load() != round) {
        std::this_thread::yield();
      }
      for (Word i = 0; i < 4; ++i) {
        mix_in(stream, mix, self == 0 ? x : y, self == 0 ? y : x, kCount, i);
      }
      turn.store(round + 1);
    }
  };
  std::thread second(work, 1);
  work(0);
  second.join();
  CHECK_CU(cuStreamSynchronize(stream));
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Threads with a stream each; every one waits for an event of its neighbour's now and then.
PROGRAM(threads) {
  const Device gpu;
  constexpr int kThreads = 3;
  CUstream streams[kThreads];
  CUdeviceptr memory[kThreads];
  CUevent events[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    streams[i] = make_stream();
    memory[i] = filled(kCount, static_cast<Word>(i));
    events[i] = make_event();
  }
  CUfunction kernel = gpu.function("scale");
  std::atomic<int> arrived[kThreads] = {};
  std::vector<std::thread> all;
  for (int self = 0; self < kThreads; ++self) {
    all.emplace_back([&, self] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      for (int round = 0; round < kRounds; ++round) {
        for (Word i = 0; i < 5; ++i) {
          scale(streams[self], kernel, memory[self], kCount, 3, i);
        }
        if (round % 20 == 0) {
          CHECK_CU(cuEventRecord(events[self], streams[self]));
          arrived[self].store(round / 20 + 1);
          const int other = (self + 1) % kThreads;
          while (arrived[other].load() <= round / 20) {
            std::this_thread::yield();
          }
          CHECK_CU(cuStreamWaitEvent(streams[self], events[other], 0));
        }
        CHECK_CU(cuStreamSynchronize(streams[self]));
      }
    });
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  for (const CUdeviceptr each : memory) {
    print("memory", each, kCount);
  }
  return 0;
}

/// Looks at memory and calls nothing: what is held must be submitted all the same.
PROGRAM(spin) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  Word* flag = pinned(1);
  CUdeviceptr flag_address = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&flag_address, flag, 0));
  CUfunction kernel = gpu.function("scale");
  CUfunction store = gpu.function("store");
  double longest = 0;
  for (Word round = 1; round <= 150; ++round) {
    const double before = now_ms();
    for (Word i = 0; i < 3; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    launch_on(stream, store, 1, flag_address, round);
    scale(stream, kernel, x, kCount, 5, 7);
    while (std::atomic_ref(*flag).load(std::memory_order_acquire) != round) {
    }
    const double spent = now_ms() - before;
    longest = spent > longest ? spent : longest;
    if (round % 2 == 0) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
  }
  std::fprintf(stderr, "longest %f\n", longest);
  print("x", x, kCount);
  return 0;
}

/// Asks how far an event is, over and over.
PROGRAM(poll) {
  const Device gpu;
  CUstream stream = make_stream();
  CUevent event = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      scale(stream, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuEventRecord(event, stream));
    CUresult status = CUDA_ERROR_NOT_READY;
    while (status == CUDA_ERROR_NOT_READY) {
      status = round % 2 == 0 ? cuEventQuery(event) : cuStreamQuery(stream);
      std::this_thread::yield();
    }
    CHECK_CU(status);
  }
  print("x", x, kCount);
  return 0;
}

/// Functions of the program between kernels.
PROGRAM(host_functions) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  Word* host = pinned(kCount);
  CUfunction kernel = gpu.function("scale");
  struct Data {
    Word* host;
    Word sum;
  } data{host, 0};
  for (int round = 0; round < kRounds; ++round) {
    scale(stream, kernel, x, kCount, 3, 1);
    scale(stream, kernel, x, kCount, 5, 2);
    CHECK_CU(cuMemcpyDtoHAsync(host, x, kCount * sizeof(Word), stream));
    CHECK_CU(cuLaunchHostFunc(
        stream,
        [](void* pointer) {
          auto* given = static_cast<Data*>(pointer);
          given->sum = given->sum * 31 + given->host[1];
          given->host[2] = given->sum;
        },
        &data));
    CHECK_CU(cuMemcpyHtoDAsync(x, host, kCount * sizeof(Word), stream));
    scale(stream, kernel, x, kCount, 7, 3);
    if (round % 2 == 1) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
  }
  CHECK_CU(cuStreamSynchronize(stream));
  std::printf("sum %u\n", data.sum);
  print("x", x, kCount);
  return 0;
}

/// What a blocking stream does is ordered with the default stream even where a non-blocking one works beside it:
/// before it, and after it, with calls in between that end what may be held, and without.
PROGRAM(mixed_kinds) {
  const Device gpu;
  CUstream alone = make_stream(CU_STREAM_NON_BLOCKING);
  CUstream blocking = make_stream(CU_STREAM_DEFAULT);
  CUevent event = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const CUdeviceptr z = filled(kCount, 3);
  CUfunction mix = gpu.function("mix_in");
  CUfunction busy = gpu.function("busy");
  const auto both = [&](Word value) {
    mix_in(alone, mix, z, z, kCount, value);
    mix_in(blocking, mix, x, y, kCount, value);
    mix_in(alone, mix, z, z, kCount, value + 1);
    mix_in(blocking, mix, x, y, kCount, value + 2);
  };
  for (int round = 0; round < kRounds; ++round) {
    launch_on(nullptr, busy, 1, y, Word{30});
    cuEventQuery(event);  // ends what may be held
    both(1);
    cuEventQuery(event);
    both(5);
    launch_on(nullptr, busy, 1, x, Word{10});
    cuEventQuery(event);
    both(9);
    CHECK_CU(cuStreamSynchronize(round % 2 == 0 ? alone : blocking));
    launch_on(blocking, busy, 1, x, Word{20});
    launch_on(alone, busy, 1, z, Word{20});
    both(13);
    launch_on(nullptr, busy, 1, x, Word{1 + static_cast<Word>(round % 3)});
    mix_in(nullptr, mix, y, x, kCount, 3);
    if (round % 5 == 0) {
      CHECK_CU(cuCtxSynchronize());
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  print("z", z, kCount);
  return 0;
}

/// The end of one stream's work is known from its event alone, to the host and to another stream: for the errors.
PROGRAM(short_events) {
  const Device gpu;
  CUstream first = make_stream();
  CUstream second = make_stream();
  CUevent done = make_event();
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  Word* host = pinned(kCount);
  CUfunction mix = gpu.function("mix_in");
  CUfunction busy = gpu.function("busy");
  Word sum = 0;
  for (int round = 0; round < 60; ++round) {
    launch_on(first, busy, 1, x, Word{30});
    mix_in(first, mix, x, y, kCount, 1);
    CHECK_CU(cuMemcpyDtoHAsync(host, x, kCount * sizeof(Word), first));
    CHECK_CU(cuEventRecord(done, first));
    CHECK_CU(cuEventSynchronize(done));
    sum = sum * 31 + host[5];
    launch_on(first, busy, 1, x, Word{30});
    mix_in(first, mix, x, y, kCount, 2);
    CHECK_CU(cuEventRecord(done, first));
    pause_briefly();
    CHECK_CU(cuStreamWaitEvent(second, done, 0));
    mix_in(second, mix, y, x, kCount, 3);
    CHECK_CU(cuStreamSynchronize(second));
  }
  std::printf("sum %u\n", sum);
  print("y", y, kCount);
  return 0;
}

/// A mistake: the second stream does not wait for the first.
PROGRAM(racing) {
  const Device gpu;
  CUfunction scale_function = gpu.function("scale");
  CUstream first = make_stream();
  CUstream second = make_stream();
  const CUdeviceptr x = filled(64, 1);
  scale(first, scale_function, x, 64, 3, 1);
  scale(second, scale_function, x, 64, 5, 1);
  CHECK_CU(cuCtxSynchronize());
  return 0;
}

/// The first copy comes after the kernel by the default stream's implicit order alone, the second one by an event.
PROGRAM(read_at_once) {
  const Device gpu;
  CUfunction store = gpu.function("store");
  CUstream stream = make_stream(CU_STREAM_DEFAULT);
  CUevent event = make_event();
  Word* told = pinned(2);
  const CUdeviceptr x = filled(2, 0);
  CHECK_CU(cuCtxSynchronize());
  for (Word i = 0; i < 2; ++i) {
    told[i] = 100 + i;
    launch_on(nullptr, store, 1, reinterpret_cast<CUdeviceptr>(told + i), Word{7});
    if (i == 1) {
      CHECK_CU(cuEventRecord(event, nullptr));
      CHECK_CU(cuStreamWaitEvent(stream, event, 0));
    }
    CHECK_CU(cuMemcpyHtoDAsync(x + i * sizeof(Word), told + i, sizeof(Word), stream));
    CHECK_CU(cuCtxSynchronize());
  }
  Word values[2] = {};
  CHECK_CU(cuMemcpyDtoH(values, x, sizeof(values)));
  std::printf("x %llu %llu\n", static_cast<unsigned long long>(values[0]), static_cast<unsigned long long>(values[1]));
  return 0;
}

/// A mistake: the call may return before the values have arrived, and the stream does not wait for the default one.
PROGRAM(copied_late) {
  const Device gpu;
  CUfunction scale_function = gpu.function("scale");
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(64, 1);
  const std::vector<Word> values(64, 5);
  CHECK_CU(cuMemcpyHtoD(x, values.data(), values.size() * sizeof(Word)));
  scale(stream, scale_function, x, 64, 3, 1);
  CHECK_CU(cuCtxSynchronize());
  return 0;
}

/// Allowed, and waits for nothing.
PROGRAM(unrecorded) {
  const Device gpu;
  CUstream stream = make_stream();
  CUevent event = make_event();
  CHECK_CU(cuStreamWaitEvent(stream, event, 0));
  CHECK_CU(cuEventSynchronize(event));
  CHECK_CU(cuEventRecord(event, stream));
  CHECK_CU(cuStreamWaitEvent(stream, event, 0));
  CHECK_CU(cuEventSynchronize(event));
  return 0;
}

/// A stream that gets work only while another one is captured: 0 the legacy default stream by its number 0, 1 by its
/// name, 2 a stream of the program's, 3 the thread's own. A loop goes on beside it: in the same thread, or, if the
/// argument is no number, in another one.
PROGRAM(used_beside_captures) {
  const bool alone = argc <= 1 || argv[1][0] <= '9';
  const long kind = argc > 1 && alone ? std::strtol(argv[1], nullptr, 10) : 2;
  constexpr int kBeside = 30;
  constexpr int kCaptures = 40;
  const Device gpu;
  CUstream stream = make_stream();
  CUstream captured = make_stream();
  CUstream used = kind == 0 ? nullptr : kind == 1 ? CU_STREAM_LEGACY : kind == 2 ? make_stream() : CU_STREAM_PER_THREAD;
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const CUdeviceptr z = filled(kCount, 3);
  const CUdeviceptr constant = filled(kCount, 4);
  CUfunction mix = gpu.function("mix_in");
  CUfunction busy = gpu.function("busy");
  CHECK_CU(cuCtxSynchronize());
  const auto capture = [&] {
    CHECK_CU(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    mix_in(captured, mix, y, x, kCount, 1);
    for (int i = 0; i < kBeside; ++i) {
      launch_on(used, busy, 1, constant, 100U);
      mix_in(used, mix, z, constant, kCount, 1);
    }
    CUgraph graph = nullptr;
    CHECK_CU(cuStreamEndCapture(captured, &graph));
    CHECK_CU(cuGraphDestroy(graph));
  };
  std::atomic<int> rounds{0};
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < kCaptures && !alone; ++i) {
      while (rounds.load() < 2 * kRounds / kCaptures * i) {
        std::this_thread::yield();
      }
      capture();
    }
  });
  for (int round = 0; round < 2 * kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      mix_in(stream, mix, x, y, kCount, i);
    }
    if (alone && round % (2 * kRounds / kCaptures) == 3) {
      capture();
    }
    CHECK_CU(cuStreamSynchronize(stream));
    rounds.store(round + 1);
  }
  other.join();
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("z", z, kCount);
  return 0;
}
