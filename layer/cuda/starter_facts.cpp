// What is preloaded for CUDA: the starter (layer/starter) with the driver's functions.
#include "layer/cuda/library_facts.h"
#include "layer/starter/c_library.h"
#include "layer/starter/facts.h"

extern "C" __attribute__((visibility("default"))) const char refrain_cuda_shim[];

namespace refrain::layer::starter {
namespace {

struct RuntimeStub {
  const char* version;
  const char* function;
};
const RuntimeStub runtime_stubs[] = {
#define ANSWERED(stub, version, function) {"libcudart.so." #version, #function},
#include "layer/cuda/runtime_stubs.def"
#undef ANSWERED
};

/// cudaErrorInitializationError.
int no_runtime() noexcept {
  return 3;
}

/// The runtime's own function, of whichever library is called so: packages give theirs names like libcudart-1a2b.so.12.
void* runtime_function(std::uint32_t number) {
  const RuntimeStub& stub = runtime_stubs[number];
  void* found = nullptr;
  visit_loaded([&](const char* path, const DynamicSymbols& symbols) {
    const char* const slash = strrchr(path, '/');
    if (strncmp(slash == nullptr ? path : slash + 1, "libcudart", sizeof("libcudart") - 1) == 0) {
      found = symbols.find(stub.function, stub.version);
    }
    return found != nullptr;
  });
  return found != nullptr ? found : reinterpret_cast<void*>(&no_runtime);
}

#define ENTRY(f) #f "\0"
const char names[] =
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"
    ;
#undef ENTRY

enum Stub : std::uint32_t {
#define ENTRY(f) f##_stub,
#define ANSWERED(stub, version, function) stub##_stub,
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"
#include "layer/cuda/runtime_stubs.def"
  kStubs
};
#undef ENTRY

}  // namespace

const Facts facts{
    .api = cuda::kApi,
    .layer = "librefrain_cuda_layer.so",
    .soname = cuda::kDriverFile,
    .setting = "REFRAIN_CUDA_DRIVER",
    .marker = cuda::kMarker,
    .own_marker = refrain_cuda_shim,
    .probe = cuda::kProbe,
    .folders = cuda::kFolders,
    .folder_count = sizeof(cuda::kFolders) / sizeof(char*),
    .stubs = kStubs,
    .names = names,
    .other = &runtime_function,
    .inner_code = nullptr,
    .inner_targets = nullptr,
};

}  // namespace refrain::layer::starter

const char refrain_cuda_shim[] = REFRAIN_VERSION;
