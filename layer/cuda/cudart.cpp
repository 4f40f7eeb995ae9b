#include "layer/cuda/cudart.h"

#include <dlfcn.h>

#include <atomic>

#include "env/log.h"

namespace refrain::layer::cuda {
namespace {

// Zero-initialised, because other libraries' constructors may call us before ours have run.
constinit std::atomic<const backends::CudaDriver*> answering{nullptr};

/// The calling thread has been told by the runtime that device 0 is its own, and there is no other.
thread_local bool only_device __attribute__((tls_model("initial-exec"))) = false;

constexpr int kInitializationError = 3;  // cudaErrorInitializationError
using GetDevice = int (*)(int* device);

struct RuntimeLibrary {
  const char* name;  ///< of the file and, in NVIDIA's library, of the version of its functions
  std::atomic<GetDevice> get_device{nullptr};
};
constinit RuntimeLibrary libraries[] = {{"libcudart.so.12"}, {"libcudart.so.13"}};

/// The runtime's own function. Who calls us is linked with that library, so it is there; it stays once it was asked.
GetDevice real(RuntimeLibrary& library) noexcept {
  GetDevice found = library.get_device.load(std::memory_order_acquire);
  if (found == nullptr) {
    if (void* opened = dlopen(library.name, RTLD_LAZY | RTLD_NOLOAD); opened != nullptr) {
      found = reinterpret_cast<GetDevice>(dlvsym(opened, "cudaGetDevice", library.name));
      library.get_device.store(found, std::memory_order_release);
    }
    dlerror();  // the application's next dlerror() is its own
  }
  return found;
}

/// Of the thread's first question, and of each one that has to be asked.
__attribute__((noinline, cold)) int ask(RuntimeLibrary& library, int* device) noexcept {
  const GetDevice function = real(library);
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
      stop_answering_runtime();  // nor is their number asked for again
    }
    if (static std::atomic<bool> said{false}; !said.exchange(true)) {
      env::log_debug(only_device ? "CUDA: one device is visible: cudaGetDevice() is answered without the runtime"
                                 : "CUDA: several devices are visible: cudaGetDevice() is asked of the runtime");
    }
  }
  return status;
}

}  // namespace

int runtime_get_device(RuntimeVersion version, int* device) noexcept {
  if (only_device && device != nullptr && answering.load(std::memory_order_relaxed) != nullptr) [[likely]] {
    *device = 0;
    return 0;
  }
  return ask(libraries[static_cast<unsigned char>(version)], device);
}

void answer_runtime(const backends::CudaDriver& driver) noexcept {
  answering.store(&driver, std::memory_order_release);
}

void stop_answering_runtime() noexcept {
  answering.store(nullptr, std::memory_order_release);
}

}  // namespace refrain::layer::cuda
