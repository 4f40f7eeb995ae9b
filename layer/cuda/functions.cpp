#include "layer/cuda/functions.h"

#include <array>
#include <cstring>
#include <utility>

#include "backends/cuda/function_kind.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/images.h"
#include "layer/cuda/module_variables.h"
#include "layer/cuda/runtime.h"
#include "layer/streams/function_table.h"

namespace refrain::layer::cuda {
namespace {

using Table = streams::FunctionTable<CudaLayer>;

constexpr std::uint32_t kMostParameters = 4096;

/// Asks the driver for the parameters. `get` is the function for the kind of handle this is.
template <class Get>
CUresult read_layout(FunctionState& function, Get&& get) {
  CUresult status = CUDA_SUCCESS;
  for (std::uint32_t i = 0; i < kMostParameters; ++i) {
    std::size_t offset = 0;
    std::size_t size = 0;
    status = get(i, &offset, &size);
    if (status != CUDA_SUCCESS) {
      break;
    }
    function.add_parameter(static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(offset));
  }
  return status;
}

/// As long as a library is loaded no module of it can be unloaded.
std::uint64_t module_of(const backends::CudaDriver& driver, CUfunction handle) noexcept {
  if (backends::kind_of(driver, handle) == backends::FunctionKind::kKernel) {
    CUlibrary library = nullptr;
    const bool known = driver.cuKernelGetLibrary != nullptr &&
                       driver.cuKernelGetLibrary(&library, reinterpret_cast<CUkernel>(handle)) == CUDA_SUCCESS;
    return (known ? handle_of(library) : 0) | streams::kLibraryBit;
  }
  CUmodule module = nullptr;
  return driver.cuFuncGetModule != nullptr && driver.cuFuncGetModule(&module, handle) == CUDA_SUCCESS
             ? handle_of(module)
             : 0;
}

/// False if the kernel's code says how many blocks are a cluster: then grids have to be multiples of that.
bool takes_any_grid(const backends::CudaDriver& driver, CUfunction handle) noexcept {
  constexpr auto kClusterWidth = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
  int width = 0;
  CUresult status = CUDA_ERROR_NOT_SUPPORTED;
  if (backends::kind_of(driver, handle) != backends::FunctionKind::kKernel) {
    if (driver.cuFuncGetAttribute != nullptr) {
      status = driver.cuFuncGetAttribute(&width, kClusterWidth, handle);
    }
  } else if (CUdevice device = 0; driver.cuKernelGetAttribute != nullptr && driver.cuCtxGetDevice != nullptr &&
                                  driver.cuCtxGetDevice(&device) == CUDA_SUCCESS) {
    status = driver.cuKernelGetAttribute(&width, kClusterWidth, reinterpret_cast<CUkernel>(handle), device);
  }
  return status != CUDA_SUCCESS || width == 0;
}

/// What a kernel's code allows on one device it allows on all of the same name.
[[nodiscard]] bool devices_are_alike(const backends::CudaDriver& driver) noexcept {
  static const bool alike = [&driver] {
    int count = 0;
    std::array<char, 256> first{}, name{};
    if (driver.cuDeviceGetCount == nullptr || driver.cuDeviceGetName == nullptr ||
        driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) {
      return false;
    }
    for (int device = 0; device < count; ++device) {
      if (driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device) != CUDA_SUCCESS ||
          (device != 0 && std::strcmp(name.data(), first.data()) != 0)) {
        return false;
      }
      first = device == 0 ? name : first;
    }
    return true;
  }();
  return alike;
}

/// The driver answers the parameter after the last one with "invalid value".
void describe(FunctionState& function, CUfunction handle) {
  const backends::CudaDriver& driver = runtime.driver;
  const char* name = nullptr;
  if (driver.cuFuncGetParamInfo == nullptr || driver.cuKernelGetParamInfo == nullptr) {
    function.unholdable = "the driver (older than CUDA 12.4) does not tell the kernel's parameters";
    return;
  }
  CUresult status = CUDA_SUCCESS;
  if (backends::kind_of(driver, handle) == backends::FunctionKind::kKernel) {
    auto* kernel = reinterpret_cast<CUkernel>(handle);
    status = read_layout(function, [&](std::uint32_t i, std::size_t* offset, std::size_t* size) {
      return driver.cuKernelGetParamInfo(kernel, i, offset, size);
    });
    if (driver.cuKernelGetName == nullptr || driver.cuKernelGetName(&name, kernel) != CUDA_SUCCESS) {
      name = nullptr;
    }
  } else {
    status = read_layout(function, [&](std::uint32_t i, std::size_t* offset, std::size_t* size) {
      return driver.cuFuncGetParamInfo(handle, i, offset, size);
    });
    if (driver.cuFuncGetName == nullptr || driver.cuFuncGetName(&name, handle) != CUDA_SUCCESS) {
      name = nullptr;
    }
  }
  if (status != CUDA_ERROR_INVALID_VALUE) {
    function.unholdable = "the driver does not tell the kernel's parameters";
  }
  function.end_parameters();
  function.name = name == nullptr ? "" : name;
  function.others_wait = streams::works_with_other_devices(function.name);
  function.module = module_of(driver, handle);
  function.any_grid = takes_any_grid(driver, handle);
  if (function.unholdable == nullptr) {
    CudaLayer::find_limits(function, handle_of(handle));
  }
}

}  // namespace

const FunctionState* adopt_function(CUfunction handle) noexcept {
  return Table::all().adopt(handle_of(handle), [handle](FunctionState& made) {
    describe(made, handle);
    if (runtime.recorder != nullptr) {
      made.recorded = record_function(handle, made.name, made.id);
    } else if (runtime.inventory != nullptr) {
      note_kernel_in_use(owner_of(handle), made.name);
    }
  });
}

bool CudaLayer::has_one_handle(capture::Handle handle) noexcept {
  return backends::kind_of(cuda::runtime.driver, reinterpret_cast<CUfunction>(handle)) ==
         backends::FunctionKind::kKernel;
}

/// A CUfunction is of one context, and nobody tells of which: a node is never given another one.
void CudaLayer::find_limits(FunctionState& function, capture::Handle handle) noexcept {
  const backends::CudaDriver& api = cuda::runtime.driver;
  auto* const kernel = reinterpret_cast<CUkernel>(handle);
  int threads = 0, shared = 0;
  CUdevice device = 0;
  const bool known =
      has_one_handle(handle) && api.cuKernelGetAttribute != nullptr && api.cuCtxGetDevice != nullptr &&
      devices_are_alike(api) && api.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
      api.cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, device) == CUDA_SUCCESS &&
      api.cuKernelGetAttribute(&shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, device) ==
          CUDA_SUCCESS &&
      threads > 0 && shared >= 0;
  function.limits.store(
      known ? streams::LaunchLimits{static_cast<std::uint32_t>(threads), static_cast<std::uint32_t>(shared)}
            : streams::LaunchLimits(),
      std::memory_order_relaxed);
}

const FunctionState* CudaLayer::function_of(capture::Handle handle) noexcept {
  return find_function(reinterpret_cast<CUfunction>(handle));
}

void CudaLayer::forget_functions(std::uint64_t module) noexcept {
  Table::all().forget_of(module);
}

std::string CudaLayer::name_of_function(capture::FunctionId function) noexcept {
  return Table::all().name_of(function);
}

}  // namespace refrain::layer::cuda
