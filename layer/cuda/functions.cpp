#include "layer/cuda/functions.h"

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
  constexpr std::uint64_t kLibrary = 1;  // no handle is this
  if (backends::kind_of(driver, handle) == backends::FunctionKind::kKernel) {
    return kLibrary;
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
  function.module = module_of(driver, handle);
  function.any_grid = takes_any_grid(driver, handle);
}

}  // namespace

const FunctionState* adopt_function(CUfunction handle) noexcept {
  return Table::all().adopt(handle_of(handle), [handle](FunctionState& made) {
    describe(made, handle);
    if (runtime.recorder != nullptr) {
      made.id = record_function(handle, made.name, made.id);
    } else if (runtime.inventory != nullptr) {
      note_kernel_in_use(owner_of(handle), made.name);
    }
  });
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
