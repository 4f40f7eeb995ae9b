#include "layer/cuda/module_variables.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/cuda/code_contents.h"
#include "env/mutex.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/inventory.h"
#include "layer/cuda/runtime.h"
#include "layer/immortal.h"

namespace refrain::layer::cuda {
namespace {

constexpr const char* kUnknownCode = "it is not known which variables the code of a kernel has";
constexpr const char* kUnnamed = "the driver does not tell where a variable of a kernel's code is";

struct Code {
  backends::CodeContents contents;
  bool is_library = false;
  bool in_use = false;
  std::vector<CUcontext> known_in = {};  ///< whose variables are in the inventory
};

struct Tables {
  env::Mutex mutex;
  std::unordered_map<const void*, Code> loaded REFRAIN_GUARDED_BY(mutex);  ///< by module or library
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

/// The first digits of the compute capabilities of all devices, which do not change.
const std::vector<int>& majors() {
  static const std::vector<int> all = [] {
    std::vector<int> found;
    int count = 0;
    static_cast<void>(driver.cuDeviceGetCount(&count));
    for (CUdevice device = 0; device < count; ++device) {
      int major = 0;
      if (driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == CUDA_SUCCESS) {
        found.push_back(major);
      }
    }
    return found;
  }();
  return all;
}

void note(const void* handle, const backends::CodeImage& image, bool is_library) {
  forget_code(handle);  // whatever happens now, what is known is not of something else
  Code code{backends::contents_of(image, majors()), is_library};
  const env::MutexLock guard(tables().mutex);
  tables().loaded[handle] = std::move(code);
}

CUdeviceptr address_of(const void* owner, const Code& code, const char* name) noexcept {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  if (!code.is_library) {
    auto* module = static_cast<CUmodule>(const_cast<void*>(owner));
    return driver.cuModuleGetGlobal_v2(&address, &bytes, module, name) == CUDA_SUCCESS ? address : 0;
  }
  auto* library = static_cast<CUlibrary>(const_cast<void*>(owner));
  return driver.cuLibraryGetGlobal(&address, &bytes, library, name) == CUDA_SUCCESS ||
                 driver.cuLibraryGetManaged(&address, &bytes, library, name) == CUDA_SUCCESS
             ? address
             : 0;
}

}  // namespace

void note_code(CUmodule module, const backends::CodeImage& image) {
  note(module, image, false);
}
void note_code(CUlibrary library, const backends::CodeImage& image) {
  note(library, image, true);
}

void forget_code(const void* handle) noexcept {
  const env::MutexLock guard(tables().mutex);
  tables().loaded.erase(handle);
}

void CudaLayer::ask_variables_again() noexcept {
  const env::MutexLock guard(tables().mutex);
  for (auto& [owner, code] : tables().loaded) {
    code.known_in.clear();
  }
}

void note_kernel_in_use(const void* owner, std::string_view kernel) noexcept {
  streams::note_kernel_name<CudaLayer>(kernel);
  const env::MutexLock guard(tables().mutex);
  const auto found = tables().loaded.find(owner);
  if (found == tables().loaded.end()) {
    runtime.inventory->cannot_compare(kUnknownCode);
    return;
  }
  Code& code = found->second;
  code.in_use = true;
  const std::vector<std::string>& names = code.contents.printing_or_allocating;
  if (code.contents.unknown != nullptr) {
    runtime.inventory->cannot_compare(code.contents.unknown);
  } else if (std::ranges::binary_search(names, kernel) || (kernel.empty() && !names.empty())) {
    runtime.inventory->cannot_compare(streams::kPrintsOrAllocates);
  }
}

void add_variables() {
  CUcontext context = nullptr;
  static_cast<void>(driver.cuCtxGetCurrent(&context));
  // Nothing is unloaded while they are asked for.
  const env::MutexLock guard(tables().mutex);
  for (auto& [owner, code] : tables().loaded) {
    if (!code.in_use || std::ranges::find(code.known_in, context) != code.known_in.end()) {
      continue;
    }
    code.known_in.push_back(context);
    for (const std::string& name : code.contents.variables) {
      if (!note_memory(CUDA_SUCCESS, address_of(owner, code, name.c_str()))) {
        runtime.inventory->cannot_compare(kUnnamed);
      }
    }
  }
}

}  // namespace refrain::layer::cuda
