// The functions under the names and versions that programs find them by (cudart.h): what the stubs of
// runtime_stubs.def lead to.
#include "layer/cuda/cudart_launch.h"

namespace refrain::layer::cuda {
namespace {

int get_device_12(int* device) noexcept {
  return runtime_get_device(RuntimeVersion::k12, device);
}
int get_device_13(int* device) noexcept {
  return runtime_get_device(RuntimeVersion::k13, device);
}
int set_device_12(int device) noexcept {
  return runtime_set_device(RuntimeVersion::k12, device);
}
int set_device_13(int device) noexcept {
  return runtime_set_device(RuntimeVersion::k13, device);
}

// The runtime's dim3 is passed as a Grid is: three unsigned numbers in two registers.
#define LAUNCH(name, version, by_default)                                                                \
  [[gnu::hot]] int name(CUfunction kernel, backends::Grid grid, backends::Grid block, void** parameters, \
                        std::size_t shared_bytes, CUstream stream) noexcept {                            \
    return runtime_launch_kernel<RuntimeVersion::version, DefaultStream::by_default>(                    \
        {kernel, grid, block, parameters, shared_bytes, stream});                                        \
  }
LAUNCH(launch_12, k12, kLegacy)
LAUNCH(launch_13, k13, kLegacy)
LAUNCH(launch_ptsz_12, k12, kPerThread)
LAUNCH(launch_ptsz_13, k13, kPerThread)

void* const functions[] = {
#define ANSWERED(stub, version, function) reinterpret_cast<void*>(&stub),
#include "layer/cuda/runtime_stubs.def"
#undef ANSWERED
};

}  // namespace

std::span<void* const> runtime_functions() noexcept {
  return functions;
}

}  // namespace refrain::layer::cuda
