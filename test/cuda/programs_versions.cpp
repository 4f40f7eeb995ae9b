// Kernels of one name that are loaded one after the other, as libraries do that compile one for each size of their
// data.

#include <array>
#include <cstdio>

#include "test/cuda/program.h"
#include "test/portable/cuda/tagged_code.h"

using namespace program;

namespace {

constexpr Word kCount = 32;
constexpr int kRounds = 300;
constexpr unsigned kVersions = 40;
constexpr int kManyBytes = 98304;

/// Its code says which version it is.
struct Version {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;

  void load(unsigned tag) {
    CHECK_CU(cuLibraryLoadData(&library, tagged_code(tag).c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK_CU(cuLibraryGetKernel(&kernel, library, "tagged"));
  }
  void unload() {
    CHECK_CU(cuLibraryUnload(library));
    kernel = nullptr;
  }
  CUresult launch(CUstream stream, CUdeviceptr x, unsigned blocks = 1, unsigned threads = 32,
                  unsigned shared = 60000) const {
    void* arguments[] = {&x};
    return cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), blocks, 1, 1, threads, 1, 1, shared, stream, arguments,
                          nullptr);
  }
};

void set(const Version& version, CUfunction_attribute attribute, int value) {
  CHECK_CU(cuKernelSetAttribute(attribute, value, version.kernel, 0));
}

}  // namespace

/// Each round launches one version several times, most of them in the middle of what is the same each time. Now and
/// then a launch is refused, which only its own call may tell, something is set, or a version goes and comes back.
PROGRAM(versions) {
  const Device gpu;
  CUstream stream = make_stream();
  const CUdeviceptr x = filled(kCount, 1), y = filled(kCount, 2);
  CUlibrary others = nullptr;
  CUkernel mix_kernel = nullptr;
  CHECK_CU(cuLibraryLoadData(&others, "kernels", nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK_CU(cuLibraryGetKernel(&mix_kernel, others, "mix_in"));
  auto* const mix = reinterpret_cast<CUfunction>(mix_kernel);
  std::array<Version, kVersions> versions;
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    Version& version = versions[static_cast<unsigned>(round) % kVersions];
    for (int i = 0; i < 6; ++i) {
      mix_in(stream, mix, x, y, kCount, 7);
      if (version.kernel == nullptr) {
        version.load(static_cast<unsigned>(round));
        set(version, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kManyBytes);
      }
      CHECK_CU(version.launch(stream, x, round % 7 == 0 ? static_cast<unsigned>(round) + 1 : 1));
      if (round % 37 == 36 && i == 3) {
        refused += version.launch(stream, x, 1, 64) != CUDA_SUCCESS ? 1 : 0;
        refused += version.launch(stream, x, 1, 32, kManyBytes + 1) != CUDA_SUCCESS ? 1 : 0;
      }
    }
    if (round % 50 == 49) {
      set(version, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, round % 100);
    }
    CHECK_CU(cuStreamSynchronize(stream));
    if (round % 60 == 59) {
      version.unload();
    }
  }
  // One that may have less, in place of one that may have more.
  Version less;
  less.load(1000);
  for (int round = 0; round < 40; ++round) {
    const Version& version = round % 4 == 3 ? less : versions[static_cast<unsigned>(round) % 4];
    for (int i = 0; i < 6; ++i) {
      mix_in(stream, mix, x, y, kCount, 7);
      refused += version.launch(stream, x) != CUDA_SUCCESS ? 1 : 0;
    }
    CHECK_CU(cuStreamSynchronize(stream));
  }
  std::printf("refused %d\n", refused);
  print("x", x, kCount);
  print("y", y, kCount);
  return 0;
}
