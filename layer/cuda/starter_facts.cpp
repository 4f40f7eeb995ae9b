// What is preloaded for CUDA: the starter (layer/starter) with the driver's functions.
#include "layer/cuda/driver_folders.h"
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

#define NAME(f) #f "\0"
#define SUBMIT(f) NAME(f)
#define TRACKED(f) NAME(f)
#define TYPED(f) NAME(f)
#define SETTER(f) NAME(f)
#define RESOLVE(f) NAME(f)
#define NEUTRAL(f) NAME(f)
#define HOST(f) NAME(f)
const char names[] =
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"
    ;
#undef SUBMIT
#undef TRACKED
#undef TYPED
#undef SETTER
#undef RESOLVE
#undef NEUTRAL
#undef HOST

enum Stub : std::uint32_t {
#define SUBMIT(f) f##_stub,
#define TRACKED(f) SUBMIT(f)
#define TYPED(f) SUBMIT(f)
#define SETTER(f) SUBMIT(f)
#define RESOLVE(f) SUBMIT(f)
#define NEUTRAL(f) SUBMIT(f)
#define HOST(f) SUBMIT(f)
#define ANSWERED(stub, version, function) SUBMIT(stub)
#include "layer/cuda/entry_points.def"
#include "layer/cuda/extra_entry_points.def"
#include "layer/cuda/runtime_stubs.def"
  kStubs
};

}  // namespace

const Facts facts{
    .api = "CUDA",
    .layer = "librefrain_cuda_layer.so",
    .soname = "libcuda.so.1",
    .setting = "REFRAIN_CUDA_DRIVER",
    .marker = "refrain_cuda_shim",
    .own_marker = refrain_cuda_shim,
    .probe = "cuInit",
    .folders = cuda::kDriverFolders,
    .folder_count = sizeof(cuda::kDriverFolders) / sizeof(char*),
    .names = names,
    .other = &runtime_function,
};

Starter self{
    .version = REFRAIN_VERSION,
    .file = "",
    .soname = "libcuda.so.1",
    .stubs = kStubs,
    .stub_offsets = refrain_starter_stub_offsets,
    .targets = refrain_starter_targets,
    .watching = nullptr,
    .host_call = nullptr,
    .inner_code = nullptr,
    .inner_targets = nullptr,
    .pass_to = nullptr,
};

}  // namespace refrain::layer::starter

const char refrain_cuda_shim[] = REFRAIN_VERSION;
