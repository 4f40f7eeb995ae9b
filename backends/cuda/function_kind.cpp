#include "backends/cuda/function_kind.h"

#include <unordered_map>

#include "env/immortal.h"
#include "env/mutex.h"

namespace refrain::backends {
namespace {

struct Noted {
  env::Mutex mutex;
  std::unordered_map<const void*, FunctionKind> kinds REFRAIN_GUARDED_BY(mutex);
};
/// Of the process, as the handles are. Never destroyed: threads may still call during exit.
Noted& noted() noexcept {
  static env::Immortal<Noted> all;
  return *all;
}

}  // namespace

void note_function_kind(const void* handle, FunctionKind kind) noexcept {
  try {
    const env::MutexLock guard(noted().mutex);
    noted().kinds.insert_or_assign(handle, kind);
  } catch (...) {
    // The driver will be asked.
  }
}

FunctionKind kind_of(const CudaDriver& driver, CUfunction function) noexcept {
  {
    const env::MutexLock guard(noted().mutex);
    if (const auto found = noted().kinds.find(function); found != noted().kinds.end()) {
      return found->second;
    }
  }
  // A handle of the other kind is "invalid" to it; a kernel without parameters is not.
  std::size_t offset = 0;
  std::size_t size = 0;
  return driver.cuFuncGetParamInfo != nullptr &&
                 driver.cuFuncGetParamInfo(function, 0, &offset, &size) == CUDA_ERROR_INVALID_HANDLE
             ? FunctionKind::kKernel
             : FunctionKind::kFunction;
}

}  // namespace refrain::backends
