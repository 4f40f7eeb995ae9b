// Memory that is allocated and freed in the order of streams.

#include <cstring>
#include <string>
#include <thread>

#include "test/cuda/program.h"

using namespace program;

namespace {

constexpr Word kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 60;

CUdeviceptr allocate_in(CUstream stream, std::size_t bytes = kBytes) {
  CUdeviceptr made = 0;
  CHECK_CU(cuMemAllocAsync(&made, bytes, stream));
  return made;
}
void free_in(CUstream stream, CUdeviceptr memory) {
  CHECK_CU(cuMemFreeAsync(memory, stream));
}

/// A task with memory of its own: in from the host, ten kernels, out again.
void task(CUstream stream, CUfunction step, CUdeviceptr own, const Word* in, Word* out) {
  CHECK_CU(cuMemcpyHtoDAsync(own, in, kBytes, stream));
  for (Word i = 0; i < 10; ++i) {
    scale(stream, step, own, kCount, 3, i);
  }
  CHECK_CU(cuMemcpyDtoHAsync(out, own, kBytes, stream));
}

/// What a task gets from the host.
Word* numbers() {
  Word* made = pinned(kCount);
  for (Word i = 0; i < kCount; ++i) {
    made[i] = 7 * i;
  }
  return made;
}

void print(const char* name, const Word* words) {
  program::print(name, std::vector<Word>(words, words + kCount));
}

}  // namespace

/// Ten tasks, and a wait. "default": in the default stream; "pool": of a pool of its own; "free": each is waited for
/// before its memory is freed; "long": more often.
PROGRAM(allocation_loop) {
  const Device gpu;
  const std::string way = argc > 1 ? argv[1] : "";
  CUstream stream = way == "default" ? nullptr : make_stream();
  CUfunction step = gpu.function("scale");
  Word* in = numbers();
  Word* out = pinned(kCount);
  CUmemoryPool pool = nullptr;
  if (way == "pool") {
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    CHECK_CU(cuMemPoolCreate(&pool, &wanted));
  }
  for (int round = 0; round < (way == "long" ? 20 : 1) * kRounds; ++round) {
    for (int i = 0; i < 10; ++i) {
      CUdeviceptr own = 0;
      if (pool != nullptr) {
        CHECK_CU(cuMemAllocFromPoolAsync(&own, kBytes, pool, stream));
      } else {
        own = allocate_in(stream);
      }
      task(stream, step, own, in, out);
      if (way == "free") {
        CHECK_CU(cuStreamSynchronize(stream));
      }
      free_in(stream, own);
    }
    CHECK_CU(cuStreamSynchronize(stream));
    in[0] += out[1];
  }
  print("out", out);
  if (pool != nullptr) {
    CHECK_CU(cuMemPoolDestroy(pool));
  }
  return 0;
}

/// Temporaries as an array library has them: some live longer than others, and are of different sizes.
PROGRAM(allocation_temporaries) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  CUfunction mix = gpu.function("mix_in");
  const CUdeviceptr x = filled(kCount, 1);
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      const CUdeviceptr a = allocate_in(stream);
      CHECK_CU(cuMemcpyDtoDAsync(a, x, kBytes, stream));
      const CUdeviceptr b = allocate_in(stream);
      CHECK_CU(cuMemcpyDtoDAsync(b, a, kBytes, stream));
      scale(stream, step, a, kCount, 3, i);
      const CUdeviceptr wide = allocate_in(stream, 4 * kBytes);
      CHECK_CU(cuMemsetD32Async(wide, 3 + i, kCount, stream));
      mix_in(stream, mix, b, a, kCount, i);
      free_in(stream, a);
      mix_in(stream, mix, b, wide, kCount, i);
      const CUdeviceptr c = allocate_in(stream);  // what a was
      CHECK_CU(cuMemsetD32Async(c, i, kCount, stream));
      mix_in(stream, mix, b, c, kCount, 1);
      mix_in(stream, mix, x, b, kCount, i);
      free_in(stream, wide);
      free_in(stream, c);
      free_in(stream, b);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  program::print("x", x, kCount);
  return 0;
}

/// There is memory for one of these at a time. (SIM_POOL)
PROGRAM(allocation_limit) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  Word* in = numbers();
  Word* out = pinned(kCount);
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t times : {2, 3, 2, 3}) {
      const CUdeviceptr own = allocate_in(stream, times * kBytes);
      task(stream, step, own, in, out);
      free_in(stream, own);
    }
    CUdeviceptr never = 5;
    std::printf("%d ", static_cast<int>(cuMemAllocAsync(&never, 9 * kBytes, stream)));
    CHECK_CU(cuStreamSynchronize(stream));
    in[0] += out[1];
  }
  print("out", out);
  return 0;
}

/// Memory is freed, and then somebody asks: how much there is, and what an address belongs to.
PROGRAM(allocation_questions) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  Word* in = numbers();
  Word* out = pinned(kCount);
  for (int round = 0; round < kRounds; ++round) {
    const CUdeviceptr kept = allocate_in(stream);
    const CUdeviceptr own = allocate_in(stream, 2 * kBytes);
    task(stream, step, own, in, out);
    task(stream, step, kept, in, out);
    free_in(stream, own);
    unsigned type = 0;
    CUdeviceptr start = 0;
    size_t bytes = 0;
    size_t unused = 0;
#ifndef PROGRAMS_ON_HIP
    CUmemoryPool pool = nullptr;
    cuuint64_t used = 0;
    CHECK_CU(cuDeviceGetDefaultMemPool(&pool, 0));
    switch (round % 6) {
      case 0:
        std::printf("%d ", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, own + 8));
        std::printf("%d ", cuMemGetAddressRange(&start, &bytes, own + 8));
        break;
      case 1: {
        CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
        void* answers[] = {&start};
        CHECK_CU(cuPointerGetAttributes(1, wanted, answers, own));
        std::printf("%d ", start == 0);
        break;
      }
      case 2:
        CHECK_CU(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        std::printf("%d ", static_cast<int>(used));
        break;
      case 3:
        CHECK_CU(cuMemGetInfo(&unused, &bytes));
        std::printf("%d ", static_cast<int>(bytes - unused));
        break;
      case 4: CHECK_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kept)); break;
      default: CHECK_CU(cuMemPoolTrimTo(pool, 0));
    }
#else
    static_cast<void>(type), static_cast<void>(start), static_cast<void>(bytes), static_cast<void>(unused);
#endif
    free_in(stream, kept);
    if (round % 3 == 0) {
      CHECK_CU(cuStreamSynchronize(stream));
    }
  }
  CHECK_CU(cuStreamSynchronize(stream));
  print("out", out);
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// Memory that others know of, pools that change, and memory that is freed by other calls, or not at all.
PROGRAM(allocation_ends) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  Word* in = numbers();
  Word* out = pinned(kCount);
  Word* brief_out = pinned(kCount);
  CUmemoryPool pools[2] = {};
  CUmemPoolProps wanted{};
  wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CHECK_CU(cuDeviceGetMemPool(&pools[0], 0));
  CHECK_CU(cuMemPoolCreate(&pools[1], &wanted));
  for (int round = 0; round < 3 * kRounds; ++round) {
    CUdeviceptr own[4];
    for (CUdeviceptr& each : own) {
      each = allocate_in(stream);
      task(stream, step, each, in, out);
    }
    CUmemPoolPtrExportData exported{};
    free_in(stream, own[0]);
    switch (round % 8) {
      case 0: CHECK_CU(cuMemPoolExportPointer(&exported, own[1])); break;
      case 1: CHECK_CU(cuDeviceSetMemPool(0, pools[round / 8 % 2])); break;
      case 2: {
        const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CHECK_CU(cuMemPoolSetAccess(pools[round / 8 % 2], &access, 1));
        break;
      }
      case 3: {
        const CUdeviceptr other = allocate_in(stream);
        CHECK_CU(cuMemFree(other));
        break;
      }
      case 4: {
        // Destroyed behind memory of its that is freed.
        CUstream brief = make_stream();
        CUdeviceptr its = allocate_in(brief);
        task(brief, step, its, in, brief_out);
        free_in(brief, its);
        CHECK_CU(cuStreamDestroy(brief));
        CHECK_CU(cuCtxSynchronize());  // the next one is the only one then
        break;
      }
      default: break;
    }
    free_in(stream, own[1]);
    const CUdeviceptr again = allocate_in(stream);
    task(stream, step, again, in, out);
    CUmemoryPool now = nullptr;
    cuuint64_t used = 0;
    free_in(stream, own[2]);
    free_in(stream, own[3]);
    free_in(stream, again);
    if (round % 5 == 0) {
      CHECK_CU(cuDeviceGetMemPool(&now, 0));
      CHECK_CU(cuMemPoolGetAttribute(now, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
      std::printf("%d ", static_cast<int>(used));
    }
    CHECK_CU(cuStreamSynchronize(stream));
    in[0] += out[1];
  }
  print("out", out);
  // What is held when the process ends.
  for (int i = 0; i < 10; ++i) {
    const CUdeviceptr own = allocate_in(stream);
    task(stream, step, own, in, out);
    free_in(stream, own);
  }
  return 0;
}
#endif

/// Memory that is used by two streams, and freed by either. "alone": one of them in each round, with a wait in between.
PROGRAM(allocation_elsewhere) {
  const Device gpu;
  const bool alone = argc > 1 && std::string(argv[1]) == "alone";
  CUstream streams[] = {make_stream(), make_stream()};
  CUevent event = make_event();
  CUfunction step = gpu.function("scale");
  Word* in = numbers();
  Word* out = pinned(kCount);
  Word* out_of_other = pinned(kCount);
  for (int round = 0; round < 2 * kRounds; ++round) {
    CUstream first = streams[alone ? round / 40 % 2 : round % 2];
    CUstream second = alone ? first : streams[1 - round % 2];
    for (int i = 0; i < 4; ++i) {
      const CUdeviceptr own = allocate_in(first);
      task(first, step, own, in, out);
      CHECK_CU(cuEventRecord(event, first));
      CHECK_CU(cuStreamWaitEvent(second, event, 0));
      scale(second, step, own, kCount, 5, 1);
      CHECK_CU(cuMemcpyDtoHAsync(out_of_other, own, kBytes, second));
      if (i % 2 == 0) {
        free_in(second, own);
        const CUdeviceptr next = allocate_in(first);  // not what second has not done with
        task(first, step, next, in, out);
        free_in(first, next);
      } else {
        CHECK_CU(cuEventRecord(event, second));
        CHECK_CU(cuStreamWaitEvent(first, event, 0));
        free_in(first, own);
        const CUdeviceptr next = allocate_in(second);
        task(second, step, next, in, out_of_other);
        free_in(second, next);
      }
      CHECK_CU(cuEventRecord(event, second));  // out is first's, and out_of_other second's
      CHECK_CU(cuStreamWaitEvent(first, event, 0));
      CHECK_CU(cuEventRecord(event, first));
      CHECK_CU(cuStreamWaitEvent(second, event, 0));
    }
    CHECK_CU(cuCtxSynchronize());
    in[0] += out[1] + out_of_other[2];
  }
  print("out", out);
  print("other", out_of_other);
  return 0;
}

/// A kernel in one stream waits for what another one gets later, behind an allocation for which a driver has memory
/// that the first one freed before. "late": for long only the first one has work at all; "joining": for long only it
/// has such memory, while the kernels that wait are there from the first round on.
PROGRAM(allocation_gate) {
  const Device gpu;
  const bool joining = argc > 1 && std::string_view(argv[1]) == "joining";
  const int since = argc > 1 ? kRounds / 2 : 0;
  const CUdeviceptr standing = allocate(kCount);
  CUstream gated = make_stream();
  CUstream other = make_stream();
  CUfunction step = gpu.function("scale");
  CUfunction await = gpu.function("await");
  CUfunction bump = gpu.function("bump");
  const auto gate = reinterpret_cast<CUdeviceptr>(pinned(64));
  Word* in = numbers();
  Word* out = pinned(kCount);
  Word* out_of_other = pinned(kCount);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 3; ++i) {
      const CUdeviceptr own = allocate_in(gated);
      task(gated, step, own, in, out);
      free_in(gated, own);
    }
    if (round >= since || joining) {
      launch_on(gated, await, 1, gate, gate + 128);
      scale(gated, step, reinterpret_cast<CUdeviceptr>(out), kCount, 3, 1);
      const CUdeviceptr own = round >= since ? allocate_in(other) : standing;
      task(other, step, own, in, out_of_other);
      launch_on(other, bump, 1, gate);
      if (round >= since) {
        free_in(other, own);
      }
    }
    CHECK_CU(cuCtxSynchronize());
    in[0] += out[1];
  }
  print("out", out);
  print("other", out_of_other);
  return 0;
}

/// A driver may give the allocation the memory that the thread's own default stream frees, behind a kernel that waits
/// for what comes before the allocation.
PROGRAM(allocation_behind_gate) {
  const Device gpu;
  CUstream stream = make_stream();
  CUfunction step = gpu.function("scale");
  CUfunction await = gpu.function("await");
  CUfunction bump = gpu.function("bump");
  const CUdeviceptr standing = filled(kCount, 1);
  const auto gate = reinterpret_cast<CUdeviceptr>(pinned(64));
  Word* in = numbers();
  Word* out = pinned(kCount);
  for (int round = 0; round < kRounds; ++round) {
    const CUdeviceptr awaiting = allocate_in(CU_STREAM_PER_THREAD);
    launch_on(CU_STREAM_PER_THREAD, await, 1, gate, gate + 128);
    free_in(CU_STREAM_PER_THREAD, awaiting);
    for (Word i = 0; i < 10; ++i) {
      scale(stream, step, standing, kCount, 3, i);
    }
    launch_on(stream, bump, 1, gate);
    const CUdeviceptr own = allocate_in(stream);
    task(stream, step, own, in, out);
    free_in(stream, own);
    CHECK_CU(cuCtxSynchronize());
    in[0] += out[1];
  }
  print("out", out);
  program::print("standing", standing, kCount);
  return 0;
}

/// Threads with a stream each.
PROGRAM(allocation_threads) {
  const Device gpu;
  CUfunction step = gpu.function("scale");
  std::vector<std::thread> threads;
  std::vector<Word*> results;
  for (int number = 0; number < 3; ++number) {
    results.push_back(pinned(kCount));
    threads.emplace_back([&, out = results.back()] {
      CHECK_CU(cuCtxSetCurrent(gpu.context));
      CUstream stream = make_stream();
      Word* in = numbers();
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < 6; ++i) {
          const CUdeviceptr own = allocate_in(stream);
          task(stream, step, own, in, out);
          free_in(stream, own);
        }
        CHECK_CU(cuStreamSynchronize(stream));
        in[0] += out[1];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Word* result : results) {
    print("out", result);
  }
  return 0;
}
