#include "backends/standalone_device.h"

#if defined(REFRAIN_WITH_CUDA)
#include "backends/cuda/standalone_device.h"
#endif
#if defined(REFRAIN_WITH_HIP)
#include "backends/hip/standalone_device.h"
#endif
#if defined(REFRAIN_WITH_LEVEL_ZERO)
#include "backends/level_zero/standalone_device.h"
#endif
#if defined(REFRAIN_WITH_OPENCL)
#include "backends/opencl/standalone_device.h"
#endif

namespace refrain::backends {

std::unique_ptr<StandaloneDevice> open_standalone_device(std::string_view api, const DeviceChoice& choice,
                                                         std::string* why) {
  if (api == "opencl") {
#if defined(REFRAIN_WITH_OPENCL)
    return opencl::open_device(choice, why);
#else
    (void)choice;
    *why = "this build of Refrain has no OpenCL backend (the OpenCL headers were missing when it was built)";
    return nullptr;
#endif
  }
  if (api == "cuda") {
#if defined(REFRAIN_WITH_CUDA)
    return cuda::open_device(choice, why);
#else
    *why = "this build of Refrain has no CUDA backend (cuda.h was missing when it was built)";
    return nullptr;
#endif
  }
  if (api == "hip") {
#if defined(REFRAIN_WITH_HIP)
    return hip::open_device(choice, why);
#else
    *why = "this build of Refrain has no HIP backend (hip/hip_runtime_api.h was missing when it was built)";
    return nullptr;
#endif
  }
  if (api == "level_zero") {
#if defined(REFRAIN_WITH_LEVEL_ZERO)
    return level_zero::open_device(choice, why);
#else
    *why = "this build of Refrain has no Level Zero backend (level_zero/ze_api.h was missing when it was built)";
    return nullptr;
#endif
  }
  *why = "this build of Refrain knows no API called '" + std::string(api) + "'";
  return nullptr;
}

}  // namespace refrain::backends
