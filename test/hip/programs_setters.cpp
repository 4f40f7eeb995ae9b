// Setters in the middle of loops that are replayed: kernels tell what they were launched with.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // programs call such functions, too

// Newer headers have other types for them.
#define hipDeviceSetLimit hipDeviceSetLimit_as_the_header_has_it
#define hipKernelSetAttribute hipKernelSetAttribute_as_the_header_has_it
#define hipPointerSetAttribute hipPointerSetAttribute_as_the_header_has_it
#define hipStreamSetAttribute hipStreamSetAttribute_as_the_header_has_it
#include <cuda.h>  // in HIP's words
#undef hipDeviceSetLimit
#undef hipKernelSetAttribute
#undef hipPointerSetAttribute
#undef hipStreamSetAttribute

#include "test/cuda/program.h"

extern "C" {
hipError_t hipDeviceSetLimit(int limit, std::size_t value);
hipError_t hipPointerSetAttribute(const void* value, int attribute, void* pointer);
hipError_t hipStreamSetAttribute(hipStream_t stream, int attribute, const void* value);
hipError_t hipStreamCopyAttributes(hipStream_t to, hipStream_t from);
hipError_t hipKernelSetAttribute(int attribute, int value, void* kernel, hipDevice_t device);
}

using namespace program;

namespace {

constexpr Word kCount = 16;

struct Loop {
  const Device gpu;
  CUstream stream = make_stream();
  CUstream other = make_stream();
  CUdeviceptr x = filled(kCount, 1);
  CUfunction seen = gpu.function("seen");
  CUfunction scale = gpu.function("scale");

  void run(int rounds, int each) const {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 6; ++i) {
        launch_on(stream, seen, 32, x);
        program::scale(stream, scale, x, kCount, 3, static_cast<Word>(i));
      }
      if (round % each == each - 1) {
        CHECK_CU(cuStreamSynchronize(stream));
      }
    }
  }
};

struct Setter {
  const char* name;
  int values;
  void (*set)(const Loop& loop, int value);
};

const Setter kSetters[] = {
    {"hipFuncSetAttribute", 4,
     [](const Loop& loop, int value) {
       CHECK_CU(hipFuncSetAttribute(loop.seen, hipFuncAttributePreferredSharedMemoryCarveout, value));
     }},
    {"hipFuncSetCacheConfig", 3,
     [](const Loop& loop, int value) {
       CHECK_CU(hipFuncSetCacheConfig(loop.seen, static_cast<hipFuncCache_t>(value)));
     }},
    {"hipFuncSetSharedMemConfig", 2,
     [](const Loop& loop, int value) {
       CHECK_CU(hipFuncSetSharedMemConfig(loop.seen, static_cast<hipSharedMemConfig>(value)));
     }},
    {"hipKernelSetAttribute", 2, [](const Loop&, int value) { CHECK_CU(hipKernelSetAttribute(8, value, nullptr, 0)); }},
    {"hipDeviceSetCacheConfig", 3,
     [](const Loop&, int value) { CHECK_CU(hipDeviceSetCacheConfig(static_cast<hipFuncCache_t>(value))); }},
    {"hipCtxSetCacheConfig", 3,
     [](const Loop&, int value) { CHECK_CU(hipCtxSetCacheConfig(static_cast<hipFuncCache_t>(value))); }},
    {"hipDeviceSetSharedMemConfig", 2,
     [](const Loop&, int value) { CHECK_CU(hipDeviceSetSharedMemConfig(static_cast<hipSharedMemConfig>(value))); }},
    {"hipCtxSetSharedMemConfig", 2,
     [](const Loop&, int value) { CHECK_CU(hipCtxSetSharedMemConfig(static_cast<hipSharedMemConfig>(value))); }},
    {"hipDeviceSetLimit", 3,
     [](const Loop&, int value) { CHECK_CU(hipDeviceSetLimit(0, std::size_t{1024} * static_cast<unsigned>(value))); }},
    {"hipSetDeviceFlags", 2, [](const Loop&, int value) { CHECK_CU(hipSetDeviceFlags(static_cast<unsigned>(value))); }},
    {"hipDevicePrimaryCtxSetFlags", 2,
     [](const Loop&, int value) { CHECK_CU(hipDevicePrimaryCtxSetFlags(0, static_cast<unsigned>(value))); }},
    {"hipDeviceEnablePeerAccess, hipDeviceDisablePeerAccess", 2,
     [](const Loop&, int value) {
       CHECK_CU(value == 1 ? hipDeviceEnablePeerAccess(0, 0) : hipDeviceDisablePeerAccess(0));
     }},
    {"hipCtxEnablePeerAccess, hipCtxDisablePeerAccess", 2,
     [](const Loop&, int value) {
       CHECK_CU(value == 1 ? hipCtxEnablePeerAccess(nullptr, 0) : hipCtxDisablePeerAccess(nullptr));
     }},
    {"hipMemSetAccess", 2,
     [](const Loop& loop, int value) {
       hipMemAccessDesc access{};
       access.flags = value == 1 ? hipMemAccessFlagsProtRead : hipMemAccessFlagsProtReadWrite;
       CHECK_CU(hipMemSetAccess(in_hip(loop.x), 64, &access, 1));
     }},
    {"hipMemPoolSetAccess", 2,
     [](const Loop&, int value) {
       hipMemAccessDesc access{};
       access.flags = value == 1 ? hipMemAccessFlagsProtRead : hipMemAccessFlagsProtReadWrite;
       CHECK_CU(hipMemPoolSetAccess(nullptr, &access, 1));
     }},
    {"hipPointerSetAttribute", 2,
     [](const Loop& loop, int value) { CHECK_CU(hipPointerSetAttribute(&value, 6, in_hip(loop.x))); }},
    {"hipTexRefSetFlags", 2,
     [](const Loop&, int value) { CHECK_CU(hipTexRefSetFlags(nullptr, static_cast<unsigned>(value))); }},
    // At the end: kernels of streams with attributes are not recorded.
    {"hipStreamSetAttribute", 2,
     [](const Loop& loop, int value) { CHECK_CU(hipStreamSetAttribute(loop.stream, 10, &value)); }},
    {"hipStreamCopyAttributes", 2,
     [](const Loop& loop, int value) {
       CHECK_CU(hipStreamSetAttribute(loop.other, 10, &value));
       CHECK_CU(hipStreamCopyAttributes(loop.stream, loop.other));
     }},
};

}  // namespace

/// Each setter in turn: long loops between the calls, so that each state has its graphs, then calls in each round.
PROGRAM(every_setter) {
  const Loop loop;
  for (const Setter& setter : kSetters) {
    for (int i = 0; i <= 2 * setter.values; ++i) {
      setter.set(loop, 1 + i % setter.values);
      loop.run(24, i % 2 == 0 ? 2 : 1);
      pause_briefly();  // graphs of this state are made
      loop.run(24, 2);
    }
    for (int i = 0; i < 60; ++i) {
      setter.set(loop, 1 + i % setter.values);
      loop.run(1, 1);
    }
    print(setter.name, loop.x, kCount);
  }
  return 0;
}

/// What libraries do: the same before each launch, which must not end what is held.
PROGRAM(same_setters) {
  const Loop loop;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 8; ++i) {
      CHECK_CU(hipFuncSetAttribute(loop.seen, hipFuncAttributeMaxDynamicSharedMemorySize, 65536));
      launch_on(loop.stream, loop.seen, 32, loop.x);
      CHECK_CU(hipDeviceSetCacheConfig(hipFuncCachePreferL1));
      scale(loop.stream, loop.scale, loop.x, kCount, 3, static_cast<Word>(i));
    }
    CHECK_CU(cuStreamSynchronize(loop.stream));
  }
  print("x", loop.x, kCount);
  return 0;
}

/// The same value for one device and then for another one (SIM_DEVICES).
PROGRAM(setters_of_devices) {
  const Loop loop;
  for (int i = 0; i < 12; ++i) {
    CHECK_CU(hipSetDevice(i % 2));
    CHECK_CU(hipDeviceSetCacheConfig(static_cast<hipFuncCache_t>(1 + i / 2 % 3)));
    CHECK_CU(hipSetDevice(0));
    loop.run(24, i % 2 == 0 ? 2 : 1);
    pause_briefly();
    loop.run(24, 2);
  }
  print("x", loop.x, kCount);
  return 0;
}

/// The most dynamic shared memory that a kernel may have is lowered in mid-loop: launches with more are refused.
PROGRAM(lowered_limit) {
  const Loop loop;
  for (int part = 0; part < 6; ++part) {
    CHECK_CU(hipFuncSetAttribute(loop.seen, hipFuncAttributeMaxDynamicSharedMemorySize, part % 2 == 0 ? 98304 : 49152));
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
      for (const unsigned shared : {65536U, 1024U}) {
        void* memory = const_cast<CUdeviceptr*>(&loop.x);
        const hipError_t status = cuLaunchKernel(loop.seen, 1, 1, 1, 32, 1, 1, shared, loop.stream, &memory, nullptr);
        refused += status == hipSuccess ? 0 : shared == 65536 ? 1 : 1000;
        scale(loop.stream, loop.scale, loop.x, kCount, 3, 1);
      }
      if (i % 5 == 4) {
        CHECK_CU(cuStreamSynchronize(loop.stream));
      }
      if (i == 40) {
        pause_briefly();
      }
    }
    std::printf("refused %d\n", refused);
  }
  print("x", loop.x, kCount);
  return 0;
}
