#include "layer/cuda/cudart.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "env/log.h"
#include "layer/cuda/cudart_launch.h"

namespace refrain::layer::cuda {

constinit std::atomic<bool> launches_skip_runtime{false};

namespace {

// Zero-initialised, because other libraries' constructors may call us before ours have run.
constinit std::atomic<const backends::CudaDriver*> answering{nullptr};

/// The calling thread has been told by the runtime that device 0 is its own, and there is no other.
thread_local bool only_device __attribute__((tls_model("initial-exec"))) = false;

constexpr const char* kFunctionNames[] = {"cudaGetDevice", "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"};

struct RuntimeLibrary {
  const char* name;  ///< of the file and, in NVIDIA's library, of the version of its functions
  std::atomic<void*> functions[std::size(kFunctionNames)]{};
};
constinit RuntimeLibrary libraries[] = {{"libcudart.so.12"}, {"libcudart.so.13"}};

using GetDevice = int (*)(int* device);

/// Of everything that is loaded and called a runtime: packages give it names of their own ("libcudart-1a2b3c4d.so.12").
std::vector<std::string> loaded_runtimes() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libcudart")) {
          static_cast<std::vector<std::string>*>(found)->emplace_back(path);
        }
        return 0;
      },
      &paths);
  return paths;
}

void* find_in(const char* path, const RuntimeLibrary& library, const char* name) noexcept {
  void* opened = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);  // stays open: what was found in it is kept
  return opened == nullptr ? nullptr : dlvsym(opened, name, library.name);
}

__attribute__((noinline, cold)) void* find(const RuntimeLibrary& library, const char* name) noexcept {
  void* found = find_in(library.name, library, name);
  try {
    if (found == nullptr) {
      for (const std::string& path : loaded_runtimes()) {
        if (found = find_in(path.c_str(), library, name); found != nullptr) {
          break;
        }
      }
    }
    if (static std::atomic<bool> said{false}; found == nullptr && !said.exchange(true)) {
      env::log_error(std::string("CUDA: ") + library.name + " has no " + name +
                     "(), or is not loaded: the call fails. Set REFRAIN_CUDA=off and report this.");
    }
  } catch (const std::exception&) {
    found = nullptr;  // out of memory
  }
  dlerror();  // the application's next dlerror() is its own
  return found;
}

/// Of the thread's first question, and of each one that has to be asked.
__attribute__((noinline, cold)) int ask(RuntimeVersion version, int* device) noexcept {
  const auto function = reinterpret_cast<GetDevice>(runtime_function(version, RuntimeFunction::kGetDevice));
  if (function == nullptr) {
    return kInitializationError;
  }
  const int status = function(device);
  const backends::CudaDriver* driver = answering.load(std::memory_order_acquire);
  int visible = 0;
  if (status == 0 && driver != nullptr && device != nullptr && *device == 0 && driver->cuDeviceGetCount != nullptr &&
      driver->cuDeviceGetCount(&visible) == CUDA_SUCCESS) {
    only_device = visible == 1;
    if (!only_device) {
      answering.store(nullptr, std::memory_order_release);  // nor is their number asked for again
    }
    if (static std::atomic<bool> said{false}; !said.exchange(true)) {
      env::log_debug(only_device ? "CUDA: one device is visible: cudaGetDevice() is answered without the runtime"
                                 : "CUDA: several devices are visible: cudaGetDevice() is asked of the runtime");
    }
  }
  return status;
}

}  // namespace

void* runtime_function(RuntimeVersion version, RuntimeFunction function) noexcept {
  RuntimeLibrary& library = libraries[static_cast<unsigned char>(version)];
  const auto place = static_cast<unsigned char>(function);
  void* found = library.functions[place].load(std::memory_order_acquire);
  if (found == nullptr) [[unlikely]] {
    found = find(library, kFunctionNames[place]);
    library.functions[place].store(found, std::memory_order_release);
  }
  return found;
}

int runtime_get_device(RuntimeVersion version, int* device) noexcept {
  if (only_device && device != nullptr && answering.load(std::memory_order_relaxed) != nullptr) [[likely]] {
    *device = 0;
    return 0;
  }
  return ask(version, device);
}

void answer_runtime(const backends::CudaDriver& driver, const env::Settings& settings) noexcept {
  if (settings.answer_queries) {
    answering.store(&driver, std::memory_order_release);
  }
  launches_skip_runtime.store(settings.skip_runtime, std::memory_order_release);
}

void stop_answering_runtime() noexcept {
  answering.store(nullptr, std::memory_order_release);
  launches_skip_runtime.store(false, std::memory_order_release);
}

}  // namespace refrain::layer::cuda
