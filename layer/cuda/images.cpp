#include "layer/cuda/images.h"

#include <span>
#include <string>
#include <unordered_map>

#include "backends/cuda/code_image.h"
#include "backends/cuda/function_kind.h"
#include "env/log.h"
#include "env/mutex.h"
#include "env/regular_file.h"
#include "layer/common/captured_code.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/module_variables.h"
#include "layer/cuda/runtime.h"
#include "layer/cuda/wrappers.h"
#include "layer/immortal.h"

namespace refrain::layer::cuda {
namespace {

using capture::CodeId;

struct Tables {
  env::Mutex mutex;
  std::unordered_map<const void*, CodeId> loaded REFRAIN_GUARDED_BY(mutex);  ///< by module or library; 0: no capture
  /// Owners of kernels, where the driver does not tell them.
  std::unordered_map<const void*, const void*> kernels REFRAIN_GUARDED_BY(mutex);
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

/// Somebody wants to know of images.
bool are_wanted() noexcept {
  return runtime.recorder != nullptr || runtime.inventory != nullptr;
}

template <class Handle>
void note(Handle handle, const backends::CodeImage& image) {
  if (runtime.recorder == nullptr) {
    note_code(handle, image);
    const env::MutexLock guard(tables().mutex);
    tables().loaded[handle] = 0;
    return;
  }
  if (image.bytes.empty()) {
    env::log_debug("capture: a module was loaded from an image that is neither cubin, fat binary nor PTX");
    forget_image(handle);
    return;
  }
  const CodeId id = common::CapturedCode::all().add(image.kind, image.bytes);
  const env::MutexLock guard(tables().mutex);
  tables().loaded[handle] = id;
}

/// After a load that the driver accepted, so that the image's own headers can be believed.
template <class Handle>
CUresult loaded(CUresult status, const Handle* handle, const void* image) noexcept {
  if (!are_wanted() || status != CUDA_SUCCESS) [[likely]] {
    return status;
  }
  try {
    note(*handle, backends::image_at(image));
  } catch (...) {
    forget_image(*handle);
  }
  return status;
}

template <class Handle>
CUresult loaded_from_file(CUresult status, const Handle* handle, const char* name) noexcept {
  if (!are_wanted() || status != CUDA_SUCCESS) [[likely]] {
    return status;
  }
  try {
    std::string bytes;
    std::string why;  // the driver read it somehow; of nothing there is no image
    static_cast<void>(env::read_regular_file(name, backends::kLargestImage - 1, &bytes, &why));
    bytes.push_back('\0');  // PTX ends with one in memory
    note(*handle, backends::image_in(std::as_bytes(std::span(bytes))));
  } catch (...) {
    forget_image(*handle);
  }
  return status;
}

/// For handles whose owner the driver does not tell: kernels before CUDA 12.5, and functions of library kernels,
/// whose module is one that nobody loaded by itself.
void note_kernel(const void* handle, const void* owner) noexcept {
  try {
    const env::MutexLock guard(tables().mutex);
    if (owner != nullptr) {
      tables().kernels[handle] = owner;
    } else {
      tables().kernels.erase(handle);
    }
  } catch (...) {
    // Its image stays unknown.
  }
}

bool was_loaded(const void* owner) noexcept {
  const env::MutexLock guard(tables().mutex);
  return tables().loaded.contains(owner);
}

CodeId image_of(const void* owner) noexcept {
  const env::MutexLock guard(tables().mutex);
  const auto found = tables().loaded.find(owner);
  return found == tables().loaded.end() ? 0 : found->second;
}

}  // namespace

const void* owner_of(CUfunction handle) noexcept {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  const backends::CudaDriver& asked = runtime.driver;
  const bool of_library = backends::kind_of(asked, handle) == backends::FunctionKind::kKernel;
  if (of_library && asked.cuKernelGetLibrary != nullptr &&
      asked.cuKernelGetLibrary(&library, reinterpret_cast<CUkernel>(handle)) == CUDA_SUCCESS && was_loaded(library)) {
    return library;
  }
  if (!of_library && asked.cuFuncGetModule != nullptr && asked.cuFuncGetModule(&module, handle) == CUDA_SUCCESS &&
      was_loaded(module)) {
    return module;
  }
  const env::MutexLock guard(tables().mutex);
  const auto found = tables().kernels.find(handle);
  return found == tables().kernels.end() ? nullptr : found->second;
}

capture::FunctionId record_function(CUfunction handle, const std::string& name, capture::FunctionId otherwise) {
  return common::CapturedCode::all().tell(*runtime.recorder, image_of(owner_of(handle)), name, otherwise);
}

void forget_image(const void* handle) noexcept {
  forget_code(handle);
  const env::MutexLock guard(tables().mutex);
  tables().loaded.erase(handle);
}

CUresult wrap::cuModuleLoad(CUmodule* module, const char* file) noexcept {
  return loaded_from_file(driver.cuModuleLoad(module, file), module, file);
}

CUresult wrap::cuModuleLoadData(CUmodule* module, const void* image) noexcept {
  return loaded(driver.cuModuleLoadData(module, image), module, image);
}

CUresult wrap::cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                  void** values) noexcept {
  return loaded(driver.cuModuleLoadDataEx(module, image, count, options, values), module, image);
}

CUresult wrap::cuModuleLoadFatBinary(CUmodule* module, const void* image) noexcept {
  return loaded(driver.cuModuleLoadFatBinary(module, image), module, image);
}

CUresult wrap::cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options, void** jit_values,
                                 unsigned jit_count, CUlibraryOption* options, void** values, unsigned count) noexcept {
  return loaded(driver.cuLibraryLoadData(library, code, jit_options, jit_values, jit_count, options, values, count),
                library, code);
}

CUresult wrap::cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* jit_options, void** jit_values,
                                     unsigned jit_count, CUlibraryOption* options, void** values,
                                     unsigned count) noexcept {
  return loaded_from_file(
      driver.cuLibraryLoadFromFile(library, file, jit_options, jit_values, jit_count, options, values, count), library,
      file);
}

CUresult wrap::cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) noexcept {
  const CUresult status = driver.cuModuleGetFunction(function, module, name);
  if (status != CUDA_SUCCESS) {
    return status;
  }
  backends::note_function_kind(*function, backends::FunctionKind::kFunction);
  if (are_wanted()) [[unlikely]] {
    note_kernel(*function, module);
  }
  return status;
}

CUresult wrap::cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) noexcept {
  const CUresult status = driver.cuLibraryGetKernel(kernel, library, name);
  if (status != CUDA_SUCCESS) {
    return status;
  }
  backends::note_function_kind(*kernel, backends::FunctionKind::kKernel);
  if (are_wanted()) [[unlikely]] {
    note_kernel(*kernel, library);
  }
  return status;
}

CUresult wrap::cuKernelGetFunction(CUfunction* function, CUkernel kernel) noexcept {
  const CUresult status = driver.cuKernelGetFunction(function, kernel);
  if (status != CUDA_SUCCESS) {
    return status;
  }
  backends::note_function_kind(*function, backends::FunctionKind::kFunction);
  if (are_wanted()) [[unlikely]] {
    note_kernel(*function, owner_of(reinterpret_cast<CUfunction>(kernel)));
  }
  return status;
}

}  // namespace refrain::layer::cuda
