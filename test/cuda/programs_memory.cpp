// Memory that kernels reach: of every kind that calls make, and what no call names.

#include <string>

#include "test/cuda/program.h"

using namespace program;

namespace {
constexpr Word kCount = 32;
constexpr int kRounds = 200;
}  // namespace

namespace {

/// The kernel counts its calls in a variable of its code, whose address the program never asks for.
void run_counted(CUfunction counted) {
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1);
  void* arguments[] = {const_cast<CUdeviceptr*>(&x)};
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      CHECK_CU(cuLaunchKernel(counted, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  print("x", x, kCount);
}

constexpr const char* kWithVariable =
    ".version 6.0\n"
    ".target sm_50  // .global .b8 not_this;\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 calls = 0;\n"
    ".visible .entry counted(.param .u64 .ptr .global .align 4 x) { ld.global.u32 %r1, [calls]; }\n";

}  // namespace

PROGRAM(module_variable) {
  const Device gpu;
  CUmodule module = nullptr;
  CUfunction counted = nullptr;
  CHECK_CU(cuModuleLoadData(&module, kWithVariable));
  CHECK_CU(cuModuleGetFunction(&counted, module, "counted"));
  run_counted(counted);
  CHECK_CU(cuModuleUnload(module));
  return 0;
}

/// The same, by the handle of a library's kernel and that of its function.
PROGRAM(library_variable) {
  const Device gpu;
  for (const bool function : {false, true}) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CHECK_CU(cuLibraryLoadData(&library, kWithVariable, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK_CU(cuLibraryGetKernel(&kernel, library, "counted"));
    auto* counted = reinterpret_cast<CUfunction>(kernel);
    if (function) {
      CHECK_CU(cuKernelGetFunction(&counted, kernel));
    }
    run_counted(counted);
    CHECK_CU(cuLibraryUnload(library));
  }
  return 0;
}

/// Kernels that keep what they count where nobody can put it back (as far as their code tells).
PROGRAM(device_heap) {
  const Device gpu;
  const std::string image =
      std::string(".extern .func (.param .b64 result) malloc (.param .b64 bytes);\n") + kWithVariable;
  CUmodule module = nullptr;
  CUfunction counted = nullptr;
  CHECK_CU(cuModuleLoadData(&module, image.c_str()));
  CHECK_CU(cuModuleGetFunction(&counted, module, "counted"));
  run_counted(counted);
  CHECK_CU(cuModuleUnload(module));
  return 0;
}

/// Pieces that are mapped side by side, one of which is exchanged, and one that no device may use.
PROGRAM(mapped_memory) {
  const Device gpu;
  CUfunction scale_function = gpu.function("scale");
  CUstream stream = make_stream();
  constexpr std::size_t kPiece = std::size_t{2} << 20U;
  constexpr Word kBoth = 2 * kPiece / sizeof(Word);
  CUdeviceptr base = 0;
  CUmemAllocationProp kind = {};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CHECK_CU(cuMemAddressReserve(&base, 8 * kPiece, 0, 0, 0));
  const auto map = [&](std::size_t piece) {
    CUmemGenericAllocationHandle memory = 0;
    CHECK_CU(cuMemCreate(&memory, kPiece, &kind, 0));
    CHECK_CU(cuMemMap(base + piece * kPiece, kPiece, 0, memory, 0));
    CHECK_CU(cuMemRelease(memory));
  };
  for (const std::size_t piece : {1, 2, 3}) {
    map(piece);
  }
  const CUdeviceptr x = base + kPiece;
  CHECK_CU(cuMemSetAccess(x, 2 * kPiece, &access, 1));
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_CU(cuMemsetD32Async(x, 1, kBoth, stream));
    for (int round = 0; round < kRounds / 2; ++round) {
      for (Word i = 0; i < 4; ++i) {
        scale(stream, scale_function, x + kPiece - sizeof(Word) * kCount / 2, kCount, 3, i);
      }
      CHECK_CU(cuStreamSynchronize(stream));
    }
    print("x", x + kPiece - sizeof(Word) * kCount / 2, kCount);
    CHECK_CU(cuMemUnmap(base + 2 * kPiece, kPiece));
    map(2);
    CHECK_CU(cuMemSetAccess(base + 2 * kPiece, kPiece, &access, 1));
  }
  CHECK_CU(cuMemUnmap(base + kPiece, 3 * kPiece));
  CHECK_CU(cuMemAddressFree(base, 8 * kPiece));
  return 0;
}

/// Kernels on memory of every kind that calls make.
PROGRAM(memory_kinds) {
  const Device gpu;
  CUfunction scale_function = gpu.function("scale");
  CUstream stream = make_stream();
  constexpr std::size_t kBytes = kCount * sizeof(Word);
  std::size_t pitch = 0;
  CUdeviceptr kinds[5] = {};
  void* pinned = nullptr;
  static Word own[kCount];
  CHECK_CU(cuMemAllocPitch(&kinds[0], &pitch, kBytes, 4, sizeof(Word)));
  CHECK_CU(cuMemAllocManaged(&kinds[1], kBytes, CU_MEM_ATTACH_GLOBAL));
  CHECK_CU(cuMemAllocHost(&pinned, kBytes));
  CHECK_CU(cuMemHostRegister(own, kBytes, 0));
  CHECK_CU(cuMemAllocAsync(&kinds[4], kBytes, stream));
  kinds[2] = reinterpret_cast<CUdeviceptr>(pinned);
  kinds[3] = reinterpret_cast<CUdeviceptr>(own);
  for (Word kind = 0; kind < 5; ++kind) {
    CHECK_CU(cuMemsetD32Async(kinds[kind], kind, kCount, stream));
  }
  CHECK_CU(cuStreamSynchronize(stream));
  for (int round = 0; round < kRounds; ++round) {
    for (const CUdeviceptr kind : kinds) {
      scale(stream, scale_function, kind, kCount, 3, 1);
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  for (const CUdeviceptr kind : kinds) {
    print("x", kind, kCount);
  }
  CHECK_CU(cuMemHostUnregister(own));
  return 0;
}
