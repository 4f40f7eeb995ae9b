// Threads' own default streams.

#include <atomic>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr int kRounds = 200;
const CUstream kOwn = CU_STREAM_PER_THREAD;

/// Waits for its own default stream in one of the ways that there are.
void wait_for_own(int way, CUevent event) {
  CUresult status = CUDA_SUCCESS;
  switch (way % 4) {
    case 0: CHECK_CU(cuStreamSynchronize(kOwn)); break;
    case 1:
      do {
        std::this_thread::yield();
        status = cuStreamQuery(kOwn);
      } while (status == CUDA_ERROR_NOT_READY);
      CHECK_CU(status);
      break;
    case 2:
      CHECK_CU(cuEventRecord(event, kOwn));
      CHECK_CU(cuEventSynchronize(event));
      break;
    default: CHECK_CU(cuCtxSynchronize());
  }
}

/// The context is given back by another thread, which has a reference of its own, while work is in this one's stream.
void use_own_stream_in_context() {
  constexpr int kDevice = 0;
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction scale_function = gpu.function("scale");
  CUfunction busy = gpu.function("busy");
  for (int round = 0; round < 2 * kRounds; ++round) {
    for (Word i = 0; i < 8; ++i) {
      scale(kOwn, scale_function, x, kCount, 3, i);
    }
    if (round % 60 == 59) {
      launch_on(kOwn, busy, 1, x, Word{300});
      for (Word i = 0; i < 8; ++i) {
        scale(kOwn, scale_function, x, kCount, 3, i);
      }
      std::thread([] {
        CUcontext again = nullptr;
        CHECK_CU(cuDevicePrimaryCtxRetain(&again, kDevice));
        CHECK_CU(cuDevicePrimaryCtxRelease(kDevice));
      }).join();
      scale(kOwn, scale_function, x, kCount, 7, 1);  // not held
      std::vector<Word> pageable(4, 5);
      CHECK_CU(cuMemcpyHtoDAsync(x, pageable.data(), 4 * sizeof(Word), kOwn));
    } else if (round % 2 == 0) {
      CHECK_CU(cuStreamSynchronize(kOwn));
    }
  }
  CHECK_CU(cuStreamSynchronize(kOwn));
  print("x", x, kCount);
}

}  // namespace

/// Nothing but the thread's own default stream, waited for in every way; "mixed": with calls in between that the
/// driver gets at once.
PROGRAM(per_thread) {
  const Device gpu;
  const bool mixed = argc > 1;
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUevent event = make_event();
  CUevent timing = make_event(CU_EVENT_DEFAULT);
  CUfunction mix = gpu.function("mix_in");
  CUfunction busy = gpu.function("busy");
  CUstream captured = make_stream();
  std::vector<Word> pageable(kCount);
  Word* told = pinned(kCount);
  Word sum = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    for (Word i = 0; i < 5; ++i) {
      mix_in(kOwn, mix, x, y, kCount, i);
      mix_in(kOwn, mix, y, x, kCount, i);
    }
    if (mixed) {
      switch (round % 7) {
        case 0: {  // from pageable memory
          pageable.assign(kCount, static_cast<Word>(round));
          CHECK_CU(cuMemcpyHtoDAsync(y, pageable.data(), kCount * sizeof(Word), kOwn));
          pageable.assign(kCount, 0xBAD);
          break;
        }
        case 2: CHECK_CU(cuEventRecord(timing, kOwn)); break;
        case 3:
          launch_on(kOwn, busy, 1, x, Word{30});
          mix_in(nullptr, mix, x, y, kCount, 77);  // behind it, and before what comes
          break;
        case 4:  // looks at the thread's stream, and submits nothing
          CHECK_CU(cuMemcpyDtoH(pageable.data(), x, kCount * sizeof(Word)));
          sum = sum * 31 + pageable[1];
          break;
        case 5: {
          CUdeviceptr made = 0;
          CHECK_CU(cuMemAlloc(&made, 64));
          CHECK_CU(cuMemFree(made));
          break;
        }
        case 6: {  // beside a capture of the program's own
          CUgraph graph = nullptr;
          CHECK_CU(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
          mix_in(kOwn, mix, x, y, kCount, 78);
          CHECK_CU(cuStreamEndCapture(captured, &graph));
          CHECK_CU(cuGraphDestroy(graph));
          break;
        }
        default: break;
      }
      mix_in(kOwn, mix, x, y, kCount, 9);
    }
    CHECK_CU(cuMemcpyDtoHAsync(told, x, kCount * sizeof(Word), kOwn));
    if (round % 3 != 1) {
      wait_for_own(round / 3, event);
      sum = sum * 31 + told[2];
    }
  }
  CHECK_CU(cuStreamSynchronize(kOwn));
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Two threads capture their own default streams, which have one handle, and the one that was last goes on when the
/// other one has ended: in what it captures is all that it launched.
PROGRAM(per_thread_captures) {
  const Device gpu;
  CUfunction scale_function = gpu.function("scale");
  constexpr Word kLaunches = 8;
  std::atomic<int> stage{0};
  const auto reach = [&](int number) { stage.store(number); };
  const auto wait_for = [&](int number) {
    while (stage.load() < number) {
      std::this_thread::yield();
    }
  };
  const auto use = [](const char* whose, CUgraph graph) {
#ifndef PROGRAMS_ON_HIP
    size_t count = 0;
    CHECK_CU(cuGraphGetNodes(graph, nullptr, &count));
    std::printf("%s: %zu nodes\n", whose, count);
#else
    static_cast<void>(whose);
#endif
    CUgraphExec exec = nullptr;
    CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
    CHECK_CU(cuGraphLaunch(exec, kOwn));
    CHECK_CU(cuStreamSynchronize(kOwn));
    CHECK_CU(cuGraphExecDestroy(exec));
    CHECK_CU(cuGraphDestroy(graph));
  };
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const auto launch_all = [&](CUdeviceptr memory) {
    for (Word i = 0; i < kLaunches; ++i) {
      scale(kOwn, scale_function, memory, kCount, 3, i);
    }
  };
  std::thread first([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    for (int round = 0; round < 3; ++round) {
      wait_for(4 * round + 1);
      CUgraph graph = nullptr;
      CHECK_CU(cuStreamBeginCapture(kOwn, CU_STREAM_CAPTURE_MODE_RELAXED));
      reach(4 * round + 2);
      wait_for(4 * round + 3);
      launch_all(y);
      CHECK_CU(cuStreamEndCapture(kOwn, &graph));
      use("first", graph);
      reach(4 * round + 4);
    }
  });
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kRounds; ++i) {
      launch_all(x);
      CHECK_CU(cuStreamSynchronize(kOwn));
    }
    reach(4 * round + 1);
    wait_for(4 * round + 2);
    CUgraph graph = nullptr;
    CHECK_CU(cuStreamBeginCapture(kOwn, CU_STREAM_CAPTURE_MODE_RELAXED));
    reach(4 * round + 3);
    wait_for(4 * round + 4);
    launch_all(x);
    CHECK_CU(cuStreamEndCapture(kOwn, &graph));
    use("second", graph);
  }
  first.join();
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Threads with nothing but their own default streams: each waits for an event of its neighbour's now and then, the
/// default stream orders them all, and the first thread waits for the whole device while others hold work.
PROGRAM(per_thread_threads) {
  const Device gpu;
  constexpr int kThreads = 3;
  CUdeviceptr memory[kThreads];
  CUevent events[kThreads], ends[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    memory[i] = filled(kCount, static_cast<Word>(i));
    events[i] = make_event();
    ends[i] = make_event();
  }
  const CUdeviceptr all_of_them = filled(kCount, 9);
  CUfunction mix = gpu.function("mix_in");
  std::atomic<int> arrived[kThreads] = {};
  std::vector<std::thread> all;
  for (int self = 0; self < kThreads; ++self) {
    all.emplace_back([&, self] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      const int other = (self + 1) % kThreads;
      for (int round = 0; round < kRounds; ++round) {
        for (Word i = 0; i < 7; ++i) {
          mix_in(kOwn, mix, memory[self], memory[self], kCount, i);
        }
        if (round % 20 == 0) {
          CHECK_CU(cuEventRecord(events[self], kOwn));
          arrived[self].store(round / 20 + 1);
          while (arrived[other].load() <= round / 20) {
            std::this_thread::yield();
          }
          CHECK_CU(cuStreamWaitEvent(kOwn, events[other], 0));
        }
        if (round % 5 == self) {
          wait_for_own(round, ends[self]);
        }
      }
      CHECK_CU(cuEventRecord(ends[self], kOwn));  // and the thread ends, with work in its stream
    });
  }
  for (int i = 0; i < 50; ++i) {
    CHECK_CU(cuCtxSynchronize());
    mix_in(nullptr, mix, all_of_them, all_of_them, kCount, static_cast<Word>(i));
    std::this_thread::yield();
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  for (int i = 0; i < kThreads; ++i) {
    CHECK_CU(cuStreamWaitEvent(kOwn, ends[i], 0));
    mix_in(kOwn, mix, all_of_them, memory[i], kCount, 3);
  }
  CHECK_CU(cuStreamSynchronize(kOwn));
  for (const CUdeviceptr each : memory) {
    print("memory", each, kCount);
  }
  print("all of them", all_of_them, kCount);
  return 0;
}

/// Many threads, one after the other, each of which leaves work behind in its default stream; the next one comes after
/// it by an event.
PROGRAM(per_thread_ends) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction mix = gpu.function("mix_in");
  CUfunction busy = gpu.function("busy");
  CUevent end = make_event();
  for (int each = 0; each < 12; ++each) {
    std::thread([&] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      CHECK_CU(cuStreamWaitEvent(kOwn, end, 0));
      for (int round = 0; round < kRounds; ++round) {
        for (Word i = 0; i < 6; ++i) {
          mix_in(kOwn, mix, x, y, kCount, i);
        }
        if (round % 4 == 0) {
          CHECK_CU(cuStreamSynchronize(kOwn));
        }
      }
      launch_on(kOwn, busy, 1, x, Word{300});
      for (Word i = 0; i < 6; ++i) {
        mix_in(kOwn, mix, x, y, kCount, i);
      }
      CHECK_CU(cuEventRecord(end, kOwn));
    }).join();
  }
  CHECK_CU(cuEventSynchronize(end));
  print("x", x, kCount);
  return 0;
}

/// Looks at memory and calls nothing: another thread must submit what this one holds of its own default stream.
PROGRAM(per_thread_spin) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  Word* flag = pinned(1);
  CUdeviceptr flag_address = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&flag_address, flag, 0));
  CUfunction scale_function = gpu.function("scale");
  CUfunction store = gpu.function("store");
  for (Word round = 1; round <= 150; ++round) {
    for (Word i = 0; i < 3; ++i) {
      scale(kOwn, scale_function, x, kCount, 3, i);
    }
    launch_on(kOwn, store, 1, flag_address, round);
    scale(kOwn, scale_function, x, kCount, 5, 7);
    while (std::atomic_ref(*flag).load(std::memory_order_acquire) != round) {
    }
    if (round % 2 == 0) {
      CHECK_CU(cuStreamSynchronize(kOwn));
    }
  }
  print("x", x, kCount);
  return 0;
}

/// What is known to be done is told to be done: the thread's stream is asked after an event behind all its work, also
/// after calls that made the thread's stream wait for what Refrain held elsewhere. "copies": another thread makes such
/// meanwhile, in its own default stream.
PROGRAM(per_thread_done) {
  const Device gpu;
  std::atomic<bool> over{argc < 2};
  const CUdeviceptr others = filled(kCount, 2);
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    Word words[kCount] = {};
    while (!over) {
      CHECK_CU(cuMemcpyDtoHAsync(words, others, sizeof(words), kOwn));
      CHECK_CU(cuStreamSynchronize(kOwn));
      std::this_thread::yield();
    }
  });
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction scale_function = gpu.function("scale");
  CUevent event = make_event();
  CUevent first = make_event(CU_EVENT_DEFAULT);
  CUevent second = make_event(CU_EVENT_DEFAULT);
  CHECK_CU(cuEventRecord(first, kOwn));
  CHECK_CU(cuEventRecord(second, kOwn));
  CHECK_CU(cuEventSynchronize(second));
  int asked = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    const bool in_the_middle = round % 16 == 12;  // of what repeats: no graph is launched
    for (int half = 0; half < (in_the_middle ? 1 : 2); ++half) {
      for (Word i = 0; i < 5; ++i) {
        scale(kOwn, scale_function, x, kCount, 3, i);
      }
      CHECK_CU(cuEventRecord(event, kOwn));
    }
    if (round % 2 == 0) {
      float milliseconds = 0;
      CHECK_CU(cuEventElapsedTime(&milliseconds, first, second));  // waits for nothing
    }
    if (round % 3 == 0) {
      while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
      }
    } else {
      CHECK_CU(cuEventSynchronize(event));
    }
    ++asked;
    if (cuStreamQuery(kOwn) != CUDA_SUCCESS) {
      std::printf("not ready: question %d\n", asked);
    }
  }
  over = true;
  other.join();
  print("x", x, kCount);
  return 0;
}

/// In between so much in another stream that does not pay that Refrain may stop looking at any wait, while the last
/// work of the thread's own stream is unfinished; then there is more of it.
PROGRAM(per_thread_dormant) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  const CUdeviceptr z = filled(kCount, 3);
  CUfunction mix = gpu.function("mix_in");
  CUfunction scale_function = gpu.function("scale");
  CUfunction busy = gpu.function("busy");
  CUstream alone = make_stream();
  const auto work_alone = [&](int times) {
    for (int i = 0; i < times; ++i) {
      scale(alone, scale_function, z, kCount, 3, 1);
      CHECK_CU(cuStreamSynchronize(alone));
    }
  };
  constexpr int kPart = kRounds + 200;
  for (int round = 0; round < 3 * kPart; ++round) {
    const bool known = round % kPart < kRounds;  // else it ends in the middle of what is
    work_alone(known ? 1 : 100);
    launch_on(kOwn, busy, 1, x, Word{20});
    for (Word i = 0; i < (known ? 15 : 4); ++i) {
      mix_in(kOwn, mix, x, y, kCount, i);
    }
    CHECK_CU(cuStreamSynchronize(alone));
    if (!known) {
      mix_in(kOwn, mix, y, x, kCount, 7);
    }
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// The context is given back while work is in the thread's stream, and then by the last that has a reference; and
/// there is another context with the same handle.
PROGRAM(per_thread_contexts) {
  for (int turn = 0; turn < 4; ++turn) {
    use_own_stream_in_context();
#ifdef PROGRAMS_ON_HIP
    if (turn % 2 == 1) {
      CHECK_CU(hipDeviceReset());
    }
#endif
  }
  return 0;
}

#ifndef PROGRAMS_ON_HIP
extern "C" {
CUresult cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void**, void**);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig*, CUfunction, void**, void**);
CUresult cuMemsetD8Async_ptsz(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyDtoH_v2_ptds(void*, CUdeviceptr, size_t);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr, const void*, size_t);
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpy_ptds(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemsetD32_v2_ptds(CUdeviceptr, unsigned, size_t);
CUresult cuStreamSynchronize_ptsz(CUstream);
CUresult cuStreamQuery_ptsz(CUstream);
}

/// As programs are that were compiled for it: their functions have other names, and 0 is the thread's default stream.
PROGRAM(per_thread_names) {
  const Device gpu;
  CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  CUfunction scale_function = gpu.function("scale");
  Word count = kCount;
  std::vector<Word> back(kCount);
  Word sum = 0;
  for (int round = 0; round < 2 * kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      Word a = 3;
      void* parameters[] = {&x, &count, &a, &i};
      CHECK_CU(cuLaunchKernel_ptsz(scale_function, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
      CUlaunchConfig config{};
      config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = 64;
      CHECK_CU(cuLaunchKernelEx_ptsz(&config, scale_function, parameters, nullptr));
    }
    CHECK_CU(cuMemcpyDtoDAsync_v2_ptsz(y, x, 8 * sizeof(Word), nullptr));
    CHECK_CU(cuMemsetD8Async_ptsz(x, 5, 3, nullptr));
    switch (round % 8) {
      case 0: CHECK_CU(cuStreamSynchronize_ptsz(nullptr)); break;
      case 4:
        back.assign(kCount, static_cast<Word>(round));
        CHECK_CU(cuMemcpyHtoD_v2_ptds(y, back.data(), 4 * sizeof(Word)));
        break;
      case 5: CHECK_CU(cuMemcpy_ptds(x, y, 6 * sizeof(Word))); break;
      case 6: CHECK_CU(cuMemcpyDtoD_v2_ptds(y + 8, x, 6 * sizeof(Word))); break;
      case 1:
        CHECK_CU(cuMemcpyDtoH_v2_ptds(back.data(), y, kCount * sizeof(Word)));
        sum = sum * 31 + back[2];
        break;
      case 2: CHECK_CU(cuMemsetD32_v2_ptds(y, static_cast<unsigned>(round), 3)); break;
      case 3:
        while (cuStreamQuery_ptsz(nullptr) == CUDA_ERROR_NOT_READY) {
          std::this_thread::yield();
        }
        break;
      default: break;
    }
  }
  CHECK_CU(cuStreamSynchronize_ptsz(nullptr));
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}
#endif
