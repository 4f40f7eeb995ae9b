// Memory that kernels reach: of every kind that calls make, and variables of code.
#include <cuda.h>  // in HIP's words

#include "backends/hip/code_object.h"
#include "test/cuda/program.h"

extern "C" {
extern const char contract_variable[];
extern const char contract_unnamed[];
extern const char contract_heap[];
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** modules, const void* host_function, char* device_function, const char* name,
                           unsigned thread_limit, void* thread, void* block, dim3* block_size, dim3* grid_size,
                           int* warp_size);
void __hipRegisterVar(void** modules, void* host_variable, char* name, char* device_name, int external,
                      std::size_t bytes, int constant, int global);
void __hipUnregisterFatBinary(void** modules);
hipError_t hipExtHostAlloc(void** memory, std::size_t bytes, unsigned flags);
}

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr int kRounds = 200;

/// The kernel counts its calls in a variable of its code.
void run_counted(hipFunction_t counted) {
  hipStream_t stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  void* arguments[] = {const_cast<CUdeviceptr*>(&x)};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      CHECK_CU(hipModuleLaunchKernel(counted, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    }
    CHECK_CU(hipStreamSynchronize(stream));
  }
  print("x", x, kCount);
}

int run_counted_of(const char* image) {
  const Device gpu;
  hipModule_t module = nullptr;
  hipFunction_t counted = nullptr;
  CHECK_CU(hipModuleLoadData(&module, image));
  CHECK_CU(hipModuleGetFunction(&counted, module, "counted"));
  run_counted(counted);
  CHECK_CU(hipModuleUnload(module));
  return 0;
}

}  // namespace

PROGRAM(module_variable) {
  return run_counted_of(contract_variable);
}
/// A variable that the code object has no symbol for.
PROGRAM(unnamed_variable) {
  return run_counted_of(contract_unnamed);
}
/// A kernel that has the device's heap.
PROGRAM(device_heap) {
  return run_counted_of(contract_heap);
}

/// Kernels may write arrays, through an object that the program made.
PROGRAM(surface) {
  hipSurfaceObject_t surface = nullptr;
  const hipResourceDesc what{};
  CHECK_CU(hipCreateSurfaceObject(&surface, &what));
  return run_counted_of(contract_variable);
}

/// The same in a program's own code, as clang registers it; `known`: with its variable.
int run_registered(bool known) {
  static const refrain::backends::hip::FatBinaryWrapper wrapper{refrain::backends::hip::kFatBinaryMagic, 1,
                                                                contract_variable, nullptr};
  static char function = 0;
  static char variable = 0;
  char name[] = "calls";
  void** const modules = __hipRegisterFatBinary(&wrapper);
  __hipRegisterFunction(modules, &function, nullptr, "counted", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
  if (known) {
    __hipRegisterVar(modules, &variable, name, name, 0, sizeof(Word), 0, 0);
  }
  hipStream_t stream = make_stream();
  CUdeviceptr x = filled(kCount, 1);
  void* arguments[] = {&x};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      CHECK_CU(hipLaunchKernel(&function, dim3(1), dim3(1), arguments, 0, stream));
    }
    CHECK_CU(hipStreamSynchronize(stream));
  }
  print("x", x, kCount);
  __hipUnregisterFatBinary(modules);
  return 0;
}

PROGRAM(registered_variable) {
  return run_registered(true);
}
PROGRAM(unregistered_variable) {
  return run_registered(false);
}

/// Kernels on memory of every kind that calls make.
PROGRAM(memory_kinds) {
  const Device gpu;
  hipFunction_t scale_function = gpu.function("scale");
  hipStream_t stream = make_stream();
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  void* kinds[13] = {};
  std::size_t pitch = 0;
  hipPitchedPtr rows{};
  static Word own[kCount];
  CHECK_CU(hipMalloc(&kinds[0], kBytes));
  CHECK_CU(hipMallocManaged(&kinds[1], kBytes, 1));
  CHECK_CU(hipHostMalloc(&kinds[2], kBytes, 0));
  CHECK_CU(hipHostRegister(own, kBytes, 0));
  kinds[3] = own;
  CHECK_CU(hipMallocAsync(&kinds[4], kBytes, stream));
  CHECK_CU(hipMallocPitch(&kinds[5], &pitch, kBytes, 4));
  CHECK_CU(hipMalloc3D(&rows, {kBytes, 4, 2}));
  kinds[6] = rows.ptr;
  CHECK_CU(hipMemAllocPitch(&kinds[7], &pitch, kBytes, 4, 4));
  CHECK_CU(hipExtMallocWithFlags(&kinds[8], kBytes, 0));
  CHECK_CU(hipMallocHost(&kinds[9], kBytes));
  CHECK_CU(hipMemAllocHost(&kinds[10], kBytes));
  CHECK_CU(hipHostAlloc(&kinds[11], kBytes, 0));
  CHECK_CU(hipExtHostAlloc(&kinds[12], kBytes, 0));
  for (Word kind = 0; kind < 13; ++kind) {
    CHECK_CU(hipMemsetD32Async(kinds[kind], static_cast<int>(kind), kCount, stream));
  }
  CHECK_CU(hipStreamSynchronize(stream));
  for (int round = 0; round < kRounds; ++round) {
    for (void* const kind : kinds) {
      scale(stream, scale_function, reinterpret_cast<CUdeviceptr>(kind), kCount, 3, 1);
    }
    CHECK_CU(hipStreamSynchronize(stream));
  }
  for (void* const kind : kinds) {
    print("x", reinterpret_cast<CUdeviceptr>(kind), kCount);
  }
  CHECK_CU(hipHostUnregister(own));
  for (const int kind : {0, 1, 5, 6, 7, 8}) {
    CHECK_CU(hipFree(kinds[kind]));
  }
  return 0;
}
