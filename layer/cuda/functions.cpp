#include "layer/cuda/functions.h"

#include <algorithm>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include "backends/cuda/function_kind.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/images.h"
#include "layer/cuda/runtime.h"
#include "layer/immortal.h"
#include "layer/streams/setters.h"

namespace refrain::layer::cuda {
namespace {

struct Tables {
  std::mutex mutex;
  std::unordered_map<capture::FunctionId, std::string> names;
  std::vector<FunctionState*> live;
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

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
}

/// Under the tables' lock. False, and nothing is remembered, if there is no memory.
bool remember(FunctionState* function, CUfunction handle) noexcept {
  try {
    tables().names.emplace(function->id, function->name);
    tables().live.push_back(function);
    streams::Setters<CudaLayer>::all().adopt(*function);
    if (objects.functions.insert(function, handle_of(handle))) {
      return true;
    }
  } catch (...) {
    // As far as it came is taken back.
  }
  tables().names.erase(function->id);
  std::erase(tables().live, function);
  streams::Setters<CudaLayer>::all().forget(*function);
  return false;
}

}  // namespace

// Without memory: reported by the caller as a kernel that is not known.
const FunctionState* adopt_function(CUfunction handle) noexcept {
  FunctionState* made = objects.functions.make();
  if (made == nullptr) {
    return nullptr;
  }
  try {
    made->id = next_object_id();
    describe(*made, handle);
    if (runtime.recorder != nullptr) {
      made->id = tell_function(handle, made->name, made->id);
    }
  } catch (...) {
    objects.functions.recycle(made);
    return nullptr;
  }
  const std::lock_guard guard(tables().mutex);
  const FunctionState* other = objects.functions.find(handle_of(handle));
  if (other == nullptr && remember(made, handle)) {
    return made;
  }
  objects.functions.recycle(made);
  return other;
}

void forget_functions(std::uint64_t module) noexcept {
  replay::Engine* running = streams::engine_with_threads<CudaLayer>();
  const std::lock_guard guard(tables().mutex);
  std::vector<FunctionState*>& live = tables().live;
  const auto gone = std::partition(live.begin(), live.end(),
                                   [module](const FunctionState* function) { return !function->may_be_of(module); });
  for (FunctionState* const function : std::span(gone, live.end())) {
    if (running != nullptr) {
      running->identity_gone(function->id);
    }
    runtime.backend->forget_function(function->id);
    objects.functions.erase(function);
    streams::Setters<CudaLayer>::all().forget(*function);
    tables().names.erase(function->id);
    if (function->is_of(module)) {
      objects.functions.recycle(function);
    }
  }
  live.erase(gone, live.end());
}

std::string name_of_function(capture::FunctionId function) noexcept {
  try {
    const std::lock_guard guard(tables().mutex);
    const auto found = tables().names.find(function);
    return found == tables().names.end() ? std::string() : found->second;
  } catch (...) {
    return {};
  }
}

}  // namespace refrain::layer::cuda
