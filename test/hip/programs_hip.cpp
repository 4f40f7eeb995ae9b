// What HIP programs do that CUDA programs do otherwise: kernels as clang registers them, launches in work-items,
// streams of threads, the last error, calls behind which there are others.
// Newer headers have other types for them.
#define hipGetDriverEntryPoint hipGetDriverEntryPoint_as_the_header_has_it
#define hipGetDriverEntryPoint_spt hipGetDriverEntryPoint_spt_as_the_header_has_it
#define hipGetProcAddress hipGetProcAddress_as_the_header_has_it
#include <cuda.h>  // in HIP's words
#undef hipGetDriverEntryPoint
#undef hipGetDriverEntryPoint_spt
#undef hipGetProcAddress

#include <thread>

#include "test/cuda/program.h"

extern "C" {
extern const char contract_bundle[];
extern const char contract_other[];
extern const char contract_compressed[];
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** modules, const void* host_function, char* device_function, const char* name,
                           unsigned thread_limit, void* thread, void* block, dim3* block_size, dim3* grid_size,
                           int* warp_size);
void __hipUnregisterFatBinary(void** modules);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, hipStream_t stream);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, hipStream_t* stream);
hipError_t hipMemsetAsync_spt(void* to, int value, size_t bytes, hipStream_t stream);
hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream);
hipError_t hipGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* found);
hipError_t hipGetDriverEntryPoint_spt(const char* symbol, void** function, unsigned long long flags, int* found);
hipError_t hipGetProcAddress(const char* symbol, void** function, int version, std::uint64_t flags, int* found);
}
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t global_x, std::uint32_t global_y,
                                    std::uint32_t global_z, std::uint32_t local_x, std::uint32_t local_y,
                                    std::uint32_t local_z, std::size_t shared_bytes, hipStream_t stream,
                                    void** parameters, void** extra, hipEvent_t start, hipEvent_t stop,
                                    std::uint32_t flags);

using program::Device;
using program::filled;
using program::make_event;
using program::make_stream;
using program::print;
using program::Word;

namespace {

constexpr Word kCount = 256;
constexpr int kRounds = 200;

// What clang makes of `__global__ void scale(Word* x, Word n, Word a, Word b)` and of a program with kernels.
void scale(Word* x, Word n, Word a, Word b) {
  dim3 grid, block;
  std::size_t shared = 0;
  hipStream_t stream = nullptr;
  CHECK_CU(__hipPopCallConfiguration(&grid, &block, &shared, &stream));
  void* parameters[] = {&x, &n, &a, &b};
  CHECK_CU(hipLaunchKernel(reinterpret_cast<const void*>(&scale), grid, block, parameters, shared, stream));
}
void mix_in(Word* x, const Word* y, Word n, Word a) {
  dim3 grid, block;
  std::size_t shared = 0;
  hipStream_t stream = nullptr;
  CHECK_CU(__hipPopCallConfiguration(&grid, &block, &shared, &stream));
  void* parameters[] = {&x, &y, &n, &a};
  CHECK_CU(hipLaunchKernel(reinterpret_cast<const void*>(&mix_in), grid, block, parameters, shared, stream));
}

struct FatBinaryWrapper {
  std::uint32_t magic, version;
  const void* binary;
  void* unused;
};

void** modules = nullptr;
void unregister_kernels() {
  __hipUnregisterFatBinary(modules);
}
__attribute__((constructor)) void register_kernels() {
  static const FatBinaryWrapper wrapper = {0x48495046, 1, contract_bundle, nullptr};
  modules = __hipRegisterFatBinary(&wrapper);
  static_cast<void>(*static_cast<void* volatile*>(modules));  // it is the address of something
  static char names[][8] = {"scale", "mix_in"};
  __hipRegisterFunction(modules, reinterpret_cast<const void*>(&scale), names[0], names[0], ~0U, nullptr, nullptr,
                        nullptr, nullptr, nullptr);
  __hipRegisterFunction(modules, reinterpret_cast<const void*>(&mix_in), names[1], names[1], ~0U, nullptr, nullptr,
                        nullptr, nullptr, nullptr);
  std::atexit(&unregister_kernels);
}

template <class Kernel, class... Values>
void call(Kernel* kernel, hipStream_t stream, Values... values) {
  if (__hipPushCallConfiguration(dim3(1), dim3(64), 0, stream) == hipSuccess) {
    kernel(values...);
  }
}

Word* pointer(CUdeviceptr address) {
  return reinterpret_cast<Word*>(address);
}

}  // namespace

const void* registered_scale() noexcept;  // for programs_variants.cpp
const void* registered_scale() noexcept {
  return reinterpret_cast<const void*>(&scale);
}

/// Kernels of the program itself.
PROGRAM(registered) {
  hipStream_t stream = make_stream();
  Word* x = pointer(filled(kCount, 1));
  Word* y = pointer(filled(kCount, 7));
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 5; ++i) {
      call(&scale, stream, x, kCount, 3U, i + static_cast<Word>(round));
      call(&mix_in, stream, y, static_cast<const Word*>(x), kCount, i);
    }
    CHECK_CU(hipGetLastError());
    CHECK_CU(hipStreamSynchronize(stream));
  }
  print("x", reinterpret_cast<CUdeviceptr>(x), kCount);
  print("y", reinterpret_cast<CUdeviceptr>(y), kCount);
  return 0;
}

/// Launches with events of their own where the same launches without are predicted: each event is recorded.
PROGRAM(own_events) {
  hipStream_t stream = make_stream();
  Word* x = pointer(filled(kCount, 1));
  std::vector<std::pair<hipEvent_t, hipEvent_t>> events;
  for (int i = 0; i < kRounds / 10; ++i) {
    events.emplace_back(make_event(hipEventDefault), make_event(hipEventDefault));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      Word n = kCount, a = 3;
      void* parameters[] = {&x, &n, &a, &i};
      const auto& [start, stop] = events[static_cast<std::size_t>(round / 10)];
      const bool timed = round % 10 == 9 && i == 3;
      CHECK_CU(hipExtLaunchKernel(reinterpret_cast<const void*>(&scale), dim3(1), dim3(64), parameters, 0, stream,
                                  timed ? start : nullptr, timed ? stop : nullptr, 0));
    }
    CHECK_CU(hipStreamSynchronize(stream));
  }
  int recorded = 0;
  for (const auto& [start, stop] : events) {
    float milliseconds = -1;
    recorded += hipEventElapsedTime(&milliseconds, start, stop) == hipSuccess && milliseconds >= 0 ? 1 : 0;
  }
  std::printf("recorded %d\n", recorded);
  print("x", reinterpret_cast<CUdeviceptr>(x), kCount);
  return 0;
}

/// Sizes in work-items, with and without events of the launch's own; and with a last block that would be smaller, which
/// this device refuses.
PROGRAM(work_items) {
  const Device gpu;
  hipStream_t stream = make_stream();
  hipEvent_t start = make_event(hipEventDefault);
  hipEvent_t stop = make_event(hipEventDefault);
  const CUdeviceptr x = filled(kCount, 1);
  hipFunction_t kernel = gpu.function("odd");
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      unsigned char a = static_cast<unsigned char>(i);
      Word* address = pointer(x);
      unsigned short b = 11;
      unsigned long c = 5;
      void* parameters[] = {&a, &address, &b, &c};
      const bool timed = round % 20 == 19 && i == 3;
      const auto launch = [&](Word width, Word height, Word depth) {
        return hipExtModuleLaunchKernel(kernel, width, height, depth, 32, 2, 2, 0, stream, parameters, nullptr,
                                        timed ? start : nullptr, timed ? stop : nullptr, 0);
      };
      if (i == 2 && round % 10 == 5) {
        const int side = round / 10 % 3;
        refused += launch(side == 0 ? 40 : 32, side == 1 ? 5 : 4, side == 2 ? 3 : 2) != hipSuccess ? 1 : 0;
      }
      CHECK_CU(launch(32, 4, 2));
    }
    CHECK_CU(hipStreamSynchronize(stream));
  }
  std::printf("refused %d\n", refused);
  print("x", x, kCount);
  return 0;
}

/// The default streams of threads, by names of their own, beside the one they all share.
PROGRAM(thread_streams) {
  Word* x = pointer(filled(kCount, 1));
  hipEvent_t event = make_event();
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      Word n = kCount, a = 3, b = i;
      void* parameters[] = {&x, &n, &a, &b};
      CHECK_CU(hipLaunchKernel_spt(reinterpret_cast<const void*>(&scale), dim3(1), dim3(64), parameters, 0, nullptr));
      call(&scale, nullptr, x, kCount, 5U, i);
    }
    CHECK_CU(hipMemsetAsync_spt(x, round, 8, nullptr));
    CHECK_CU(hipEventRecord_spt(event, nullptr));
    CHECK_CU(hipStreamWaitEvent_spt(nullptr, event, 0));
    CHECK_CU(hipStreamSynchronize_spt(nullptr));
  }
  print("x", reinterpret_cast<CUdeviceptr>(x), kCount);
  return 0;
}

/// Another thread resets the device: what stood in for this one's default stream is gone with it.
PROGRAM(reset_by_another) {
  for (int turn = 0; turn < 3; ++turn) {
    CHECK_CU(hipSetDevice(0));
    hipModule_t module = nullptr;
    hipFunction_t kernel = nullptr;
    CHECK_CU(hipModuleLoadData(&module, contract_image));
    CHECK_CU(hipModuleGetFunction(&kernel, module, "scale"));
    const CUdeviceptr x = filled(kCount, 1);
    const auto loop = [&] {
      for (int round = 0; round < kRounds; ++round) {
        for (Word i = 0; i < 6; ++i) {
          program::scale(hipStreamPerThread, kernel, x, kCount, 3, i);
        }
        CHECK_CU(hipStreamSynchronize(hipStreamPerThread));
      }
    };
    loop();
    print("x", x, kCount);
    loop();
    std::thread([] { CHECK_CU(hipDeviceReset()); }).join();
    std::printf("wait %d, ask %d\n", static_cast<int>(hipStreamSynchronize(hipStreamPerThread)),
                static_cast<int>(hipStreamQuery(hipStreamPerThread)));
  }
  return 0;
}

/// What is held fails when it is submitted (SIM_FAIL_AT): the error is the thread's last one, until a call succeeds.
PROGRAM(held_error) {
  constexpr int kFew = 60;
  const Device gpu;
  hipStream_t stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  hipFunction_t kernel = gpu.function("scale");
  bool told = false;
  for (int round = 0; round < kFew; ++round) {
    for (Word i = 0; i < 8; ++i) {
      CUdeviceptr address = x;
      Word n = kCount, a = 3, b = i;
      void* parameters[] = {&address, &n, &a, &b};
      const hipError_t status = hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
      if (status != hipSuccess) {
        const hipError_t last = hipPeekAtLastError();
        std::printf("launch: error %d, last %d%s\n", status, last, status == last ? "" : ": not the same");
      } else if (told) {
        std::printf("then: %d\n", static_cast<int>(hipGetLastError()));
      }
      told = status != hipSuccess;
    }
    CHECK_CU(hipStreamSynchronize(stream));
    if (round < 8) {
      program::pause_briefly();
    }
  }
  return 0;
}

/// Streams of two devices (SIM_DEVICES), of which the first one stays the thread's.
PROGRAM(devices) {
  const Device gpu;
  hipStream_t first = make_stream();
  hipStream_t second = make_stream();
  CHECK_CU(hipSetDevice(1));
  hipStream_t other = make_stream();
  CHECK_CU(hipSetDevice(0));
  hipFunction_t kernel = gpu.function("scale");
  for (hipStream_t stream : {first, second, other}) {
    const CUdeviceptr x = filled(kCount, 1);
    for (int round = 0; round < kRounds; ++round) {
      program::scale(stream, kernel, x, kCount, 3, 1);
      program::scale(stream, kernel, x, kCount, 5, 2);
      CHECK_CU(hipStreamSynchronize(stream));
    }
    print("x", x, kCount);
  }
  return 0;
}

/// What hipGetLastError() tells after good calls and bad ones, held or not.
PROGRAM(last_error) {
  const Device gpu;
  hipStream_t stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  hipFunction_t kernel = gpu.function("scale");
  int sum = 0;
  const auto add = [&](hipError_t error) { sum = (sum * 31 + static_cast<int>(error)) % 1000003; };
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      if (round % 10 == 5 && i == 3) {
        add(hipSetDevice(7));  // an error that does not concern what is held
      }
      program::scale(stream, kernel, x, kCount, 3, i);
      if (round % 10 == 9 && i == 4) {
        add(hipModuleLaunchKernel(kernel, 1, 1, 1, 0, 1, 1, 0, stream, nullptr, nullptr));  // no threads
        add(hipPeekAtLastError());
        program::scale(stream, kernel, x, kCount, 7, i);
        add(hipPeekAtLastError());
      }
      add(hipGetLastError());
    }
    std::vector<Word> values(4);  // pageable
    CHECK_CU(hipMemcpyAsync(values.data(), in_hip(x), sizeof(Word) * values.size(), hipMemcpyDefault, stream));
    add(hipGetLastError());
    CHECK_CU(hipStreamSynchronize(stream));
    add(hipGetLastError());
  }
  std::printf("sum %d\n", sum);
  print("x", x, kCount);
  return 0;
}

/// Calls of the runtime behind which there are other calls of the runtime.
PROGRAM(nested) {
  const Device gpu;
  hipStream_t stream = make_stream(hipStreamDefault);
  const CUdeviceptr x = filled(kCount, 1);
  const CUdeviceptr y = filled(kCount, 2);
  hipFunction_t kernel = gpu.function("scale");
  Word* host = program::pinned(kCount);
  Word sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 4; ++i) {
      program::scale(stream, kernel, x, kCount, 3, i);
      CHECK_CU(hipMemcpyDtoDAsync(in_hip(y), in_hip(x), 64, stream));
      char name[64];
      CHECK_CU(hipDeviceGetName(name, sizeof(name), 0));
    }
    if (round % 4 == 1) {
      CHECK_CU(hipMemset(in_hip(x), round, 16));
    }
    if (round % 4 == 3) {
      CHECK_CU(hipMemcpyWithStream(host, in_hip(x), kCount * sizeof(Word), hipMemcpyDeviceToHost, stream));
      sum = sum * 31 + host[round % 64];
    }
    CHECK_CU(hipMemcpyDtoHAsync(host, in_hip(y), kCount * sizeof(Word), stream));
    CHECK_CU(hipStreamSynchronize(stream));
    sum = sum * 31 + host[round % 16];
  }
  std::printf("sum %u\n", sum);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}

/// Modules whose kernels' parameters cannot be known for sure.
PROGRAM(unclear_modules) {
  hipStream_t stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  for (const char* image : {contract_other, contract_compressed}) {
    hipModule_t module = nullptr;
    hipFunction_t kernel = nullptr;
    CHECK_CU(hipModuleLoadData(&module, image));
    CHECK_CU(hipModuleGetFunction(&kernel, module, "scale"));
    for (int round = 0; round < kRounds / 4; ++round) {
      for (Word i = 0; i < 6; ++i) {
        program::scale(stream, kernel, x, kCount, 3, i);
      }
      CHECK_CU(hipStreamSynchronize(stream));
    }
    CHECK_CU(hipModuleUnload(module));
  }
  print("x", x, kCount);
  return 0;
}

/// Functions that were looked up instead of linked.
PROGRAM(looked_up) {
  const Device gpu;
  hipStream_t stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  hipFunction_t kernel = gpu.function("scale");
  const auto look_up = [](const char* name) {
    void* function = nullptr;
    int found = -1;
    CHECK_CU(hipGetProcAddress(name, &function, 50700000, 0, &found));
    return function;
  };
  auto* launch = reinterpret_cast<decltype(&hipModuleLaunchKernel)>(look_up("hipModuleLaunchKernel"));
  auto* synchronize = reinterpret_cast<decltype(&hipStreamSynchronize)>(look_up("hipStreamSynchronize"));
  auto* future = reinterpret_cast<int (*)(int*)>(look_up("hipFutureWork"));
  int value = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Word i = 0; i < 6; ++i) {
      CUdeviceptr address = x;
      Word n = kCount, a = 3, b = i;
      void* parameters[] = {&address, &n, &a, &b};
      CHECK_CU(launch(kernel, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr));
      if (round % 10 == 3 && i == 2) {
        future(&value);
      }
    }
    CHECK_CU(synchronize(stream));
  }
  void* nowhere = nullptr;
  std::printf("value %d, nowhere %d\n", value,
              static_cast<int>(hipGetProcAddress("hipNowhere", &nowhere, 50700000, 0, nullptr)));
  std::printf("the same again: %d\n", static_cast<int>(look_up("hipFutureWork") == reinterpret_cast<void*>(future)));
  for (auto* by : {&hipGetDriverEntryPoint, &hipGetDriverEntryPoint_spt}) {  // success is no address
    int found = -1;
    nowhere = &value;
    const hipError_t status = by("hipNowhere", &nowhere, 0, &found);
    std::printf("nowhere %d, found %d, %s\n", static_cast<int>(status), found, nowhere == nullptr ? "null" : "there");
  }
  print("x", x, kCount);
  return 0;
}
