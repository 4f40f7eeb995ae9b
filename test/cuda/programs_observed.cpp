// Launches that are counted, and recognised if they repeat and only then, whatever way the layer takes with each.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr int kRounds = 200;
}  // namespace

/// Launches alone, whose number is printed: more kernels than a thread remembers, two streams in turn, some launches
/// that are refused, some that are captured and do not count; streams and kernels that come again at other addresses,
/// or at the same.
PROGRAM(counted) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  long launches = 0;
  for (int part = 0; part < 3; ++part) {
    const std::size_t scales = part == 1 ? 0 : 1;  // every other kernel, from this one on
    std::vector<CUmodule> modules(6);
    std::vector<CUfunction> kernels;
    for (CUmodule& module : modules) {
      CHECK_CU(cuModuleLoadData(&module, "kernels"));
      for (const char* name : {scales == 0 ? "scale" : "mix_in", scales == 0 ? "mix_in" : "scale"}) {
        CUfunction function = nullptr;
        CHECK_CU(cuModuleGetFunction(&function, module, name));
        kernels.push_back(function);
      }
    }
    CUstream streams[] = {make_stream(), make_stream()};
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < kernels.size(); ++i, ++launches) {
        const bool side = i / 5 % 2 != 0;
        const CUdeviceptr own = side ? y : x;
        if (i % 2 == scales) {
          scale(streams[side], kernels[i], own, kCount, 3, static_cast<Word>(round));
        } else {
          mix_in(streams[side], kernels[i], own, own, kCount, 3);
        }
      }
      if (round % 10 == 9) {
        Word count = kCount, factor = 3, plus = 1;
        CUdeviceptr memory = x;
        void* parameters[] = {&memory, &count, &factor, &plus};
        std::printf("refused %d\n", cuLaunchKernel(kernels[scales], 0, 1, 1, 32, 1, 1, 0, streams[0], parameters,
                                                   nullptr) != CUDA_SUCCESS);
        ++launches;
      }
      if (round % 50 == 49) {
        CUgraph graph = nullptr;
        CHECK_CU(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
        for (Word i = 0; i < 20; ++i) {
          scale(streams[0], kernels[scales], x, kCount, 3, i);
        }
        CHECK_CU(cuStreamEndCapture(streams[0], &graph));
        CHECK_CU(cuGraphDestroy(graph));
      }
      if (round % 7 == 0 || round % 5 == 0) {  // after 12 to 60 launches
        CHECK_CU(cuStreamSynchronize(streams[0]));
        CHECK_CU(cuStreamSynchronize(streams[1]));
      }
    }
    CHECK_CU(cuCtxSynchronize());
    for (CUstream stream : streams) {
      CHECK_CU(cuStreamDestroy(stream));
    }
    for (CUmodule module : modules) {
      CHECK_CU(cuModuleUnload(module));
    }
  }
  print("x", x, kCount);
  print("y", y, kCount);
  std::printf("launches %ld\n", launches);
  return 0;
}

/// Launches in no order: of two kernels of many at a time, then of one kernel in four streams.
PROGRAM(disordered) {
  const Device gpu;
  const CUdeviceptr x = filled(kCount, 1);
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t less_than) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33U) % less_than;
  };
  std::vector<CUfunction> kernels;
  for (int i = 0; i < 12; ++i) {
    CUmodule module = nullptr;
    kernels.emplace_back();
    CHECK_CU(cuModuleLoadData(&module, "kernels"));
    CHECK_CU(cuModuleGetFunction(&kernels.back(), module, "scale"));
  }
  long launches = 0;
  CUstream streams[] = {make_stream(), make_stream(), make_stream(), make_stream()};
  for (std::size_t one = 0; one < kernels.size(); ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      for (int i = 0; i < 100; ++i, ++launches) {
        scale(streams[0], kernels[random(2) == 0 ? one : other], x, kCount, 3, 1);
      }
      CHECK_CU(cuStreamSynchronize(streams[0]));
    }
  }
  for (int i = 0; i < 1000; ++i, ++launches) {
    scale(streams[random(4)], kernels[0], x, 0, 3, 1);
  }
  CHECK_CU(cuCtxSynchronize());
  print("x", x, kCount);
  std::printf("launches %ld\n", launches);
  return 0;
}

/// A thread launches, and once another one has destroyed the stream and unloaded the kernel it launches something else.
PROGRAM(gone_since) {
  const Device gpu;
  CUstream kept = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  std::atomic<int> step{0};
  const auto reach = [&](int value) {
    step = value;
    while (step == value) {
      std::this_thread::yield();
    }
  };
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  std::thread other([&] {
    CHECK_CU(cuCtxSetCurrent(gpu.context));
    CUfunction kernel = gpu.function("scale");
    for (int round = 0; round < kRounds; ++round) {
      while (step != 1) {
        std::this_thread::yield();
      }
      CUfunction short_lived = nullptr;
      CHECK_CU(cuModuleGetFunction(&short_lived, module, "scale"));
      scale(stream, short_lived, x, kCount, 3, 1);
      step = 2;
      while (step != 3) {
        std::this_thread::yield();
      }
      for (Word i = 0; i < 3; ++i) {
        scale(kept, kernel, x, kCount, 3, i);
      }
      step = 4;
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    stream = make_stream();
    CHECK_CU(cuModuleLoadData(&module, "kernels"));
    reach(1);
    CHECK_CU(cuStreamSynchronize(stream));
    CHECK_CU(cuStreamDestroy(stream));
    CHECK_CU(cuModuleUnload(module));
    reach(3);
    CHECK_CU(cuStreamSynchronize(kept));
    step = 0;
  }
  other.join();
  print("x", x, kCount);
  return 0;
}

/// With blocking launches the host may look at once at what a kernel wrote.
PROGRAM(blocking) {
  const Device gpu;
  CUstream stream = make_stream();
  Word* host = pinned(1);
  CUdeviceptr seen_by_device = 0;
  CHECK_CU(cuMemHostGetDevicePointer(&seen_by_device, host, 0));
  CUfunction store = gpu.function("store");
  int stale = 0;
  for (int round = 0; round < 200; ++round) {
    for (Word i = 1; i <= 5; ++i) {
      launch_on(stream, store, 1, seen_by_device, i);
      stale += *static_cast<volatile Word*>(host) != i ? 1 : 0;
    }
    CHECK_CU(cuStreamSynchronize(stream));
    if (round % 20 == 0) {
      pause_briefly();
    }
  }
  std::printf("stale reads %s\n", stale == 0 ? "none" : "some");
  return 0;
}

#ifndef PROGRAMS_ON_HIP
/// Asks the driver for the table that CUPTI asks for when it is used: in the middle, or with an argument at first.
PROGRAM(profiled) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  CUfunction kernel = gpu.function("scale");
  constexpr int kHalf = 150;
  for (int round = 0; round < 2 * kHalf; ++round) {
    for (Word i = 0; i < 6; ++i) {
      if (round == (argc > 1 ? 0 : kHalf) && i == 3) {
        constexpr unsigned char kTable[] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
                                            0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
        CUuuid id{};
        std::memcpy(id.bytes, kTable, sizeof(kTable));
        const void* table = nullptr;
        std::printf("table: %d\n", static_cast<int>(cuGetExportTable(&table, &id)));
      }
      scale(stream, kernel, x, kCount, 3, i);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
  return 0;
}
#endif
