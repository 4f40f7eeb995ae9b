#include "layer/cuda/functions.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "backends/cuda/function_kind.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/images.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"

namespace refrain::layer::cuda {
namespace {

struct Tables {
  std::mutex mutex;
  std::unordered_map<capture::FunctionId, std::string> names;
  std::vector<FunctionState*> live;
  /// Values that setters were given last: (function, attribute, device) → value.
  std::unordered_map<std::uint64_t, int> attributes;
};
Tables& tables() noexcept {
  static Tables& all = *new Tables;
  return all;
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
}

/// Some of Tables::attributes, found without a lock: libraries set the same before each launch.
class FrequentSettings {
 public:
  [[nodiscard]] bool known(std::uint64_t key, int value) const noexcept {
    return of(key).load(std::memory_order_relaxed) == word(key, value);
  }
  void keep(std::uint64_t key, int value) noexcept { of(key).store(word(key, value), std::memory_order_relaxed); }
  /// Before it is set to something else.
  void drop(std::uint64_t key) noexcept { of(key).store(0, std::memory_order_relaxed); }
  void clear() noexcept {
    for (auto& any : words_) {
      any.store(0, std::memory_order_relaxed);
    }
  }

 private:
  using Word = std::atomic<std::uint64_t>;
  static std::uint64_t word(std::uint64_t key, int value) noexcept {
    return capture::mix(key, static_cast<std::uint64_t>(value)) | 1U;
  }
  [[nodiscard]] Word& of(std::uint64_t key) noexcept { return words_[key % words_.size()]; }
  [[nodiscard]] const Word& of(std::uint64_t key) const noexcept { return words_[key % words_.size()]; }

  std::array<Word, 256> words_{};
};
constinit FrequentSettings frequent_settings;

/// A setter that sets what is set already changes nothing for held work; any other is a host call.
template <class Set>
CUresult set(const replay::EntryPoint& entry_point, Handle function, std::uint64_t what, int value,
             Set&& call) noexcept {
  const std::uint64_t key = capture::mix(function, what);
  if (frequent_settings.known(key, value)) [[likely]] {
    return call();
  }
  {
    const std::lock_guard guard(tables().mutex);
    const auto known = tables().attributes.find(key);
    if (known != tables().attributes.end() && known->second == value) {
      frequent_settings.keep(key, value);
      return call();
    }
  }
  HostCall host_call(entry_point, false);
  frequent_settings.drop(key);
  const CUresult status = call();
  if (status == CUDA_SUCCESS) {
    try {
      const std::lock_guard guard(tables().mutex);
      tables().attributes[key] = value;
    } catch (...) {
      // The next call of it is a host call again.
    }
  }
  return host_call.done(status, false);
}

constexpr std::uint64_t kCacheConfig = 1ULL << 32U;

}  // namespace

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
    const std::lock_guard guard(tables().mutex);
    if (const FunctionState* other = objects.functions.find(handle_of(handle)); other != nullptr) {
      objects.functions.recycle(made);
      return other;
    }
    tables().names.emplace(made->id, made->name);
    tables().live.push_back(made);
    if (objects.functions.insert(made, handle_of(handle))) {
      return made;
    }
    tables().live.pop_back();
  } catch (...) {
    // Reported by the caller as a kernel that is not known.
  }
  objects.functions.recycle(made);
  return nullptr;
}

void forget_functions() noexcept {
  replay::Engine* running = engine();
  const std::lock_guard guard(tables().mutex);
  for (FunctionState* function : tables().live) {
    if (running != nullptr) {
      running->object_gone(function->id);
    }
    runtime.backend->forget_function(function->id);
    // Not recycled: a thread that launches it right now, which is an error of the application, may read it.
    objects.functions.erase(function);
  }
  tables().live.clear();
  tables().attributes.clear();
  frequent_settings.clear();
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

CUresult wrap::cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) noexcept {
  return set(entry::cuFuncSetAttribute, handle_of(function), static_cast<std::uint64_t>(attribute), value,
             [&] { return driver.cuFuncSetAttribute(function, attribute, value); });
}

CUresult wrap::cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) noexcept {
  return set(entry::cuFuncSetCacheConfig, handle_of(function), kCacheConfig, static_cast<int>(config),
             [&] { return driver.cuFuncSetCacheConfig(function, config); });
}

CUresult wrap::cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                    CUdevice device) noexcept {
  const std::uint64_t what =
      capture::mix(static_cast<std::uint64_t>(attribute), static_cast<std::uint64_t>(device) + 1);
  return set(entry::cuKernelSetAttribute, handle_of(kernel), what, value,
             [&] { return driver.cuKernelSetAttribute(attribute, value, kernel, device); });
}

CUresult wrap::cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) noexcept {
  return set(entry::cuKernelSetCacheConfig, handle_of(kernel),
             capture::mix(kCacheConfig, static_cast<std::uint64_t>(device)), static_cast<int>(config),
             [&] { return driver.cuKernelSetCacheConfig(kernel, config, device); });
}

}  // namespace refrain::layer::cuda
