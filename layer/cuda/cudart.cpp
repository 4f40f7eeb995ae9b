#include "layer/cuda/cudart.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "env/log.h"
#include "layer/cuda/cudart_launch.h"
#include "layer/elf_exports.h"
#include "layer/elf_symbols.h"

namespace refrain::layer::cuda {

constinit std::atomic<bool> launches_skip_runtime{false};

namespace {

// Zero-initialised, because other libraries' constructors may call us before ours have run.
constinit std::atomic<const backends::CudaDriver*> answering{nullptr};

/// What the runtime told the calling thread, and what it is true for.
struct ReportedDevice {
  bool only_device = false;     ///< device 0 is the thread's, and there is no other
  int device = 0;               ///< of `context`
  CUcontext context = nullptr;  ///< current then; null: nothing is known
  std::uint64_t ended = 0;      ///< ended_contexts then
};
thread_local constinit ReportedDevice reported __attribute__((tls_model("initial-exec")));

constinit std::atomic<std::uint64_t> ended_contexts{0};

constexpr const char* kFunctionNames[] = {"cudaGetDevice", "cudaSetDevice", "__cudaLaunchKernel",
                                          "__cudaLaunchKernel_ptsz"};

struct RuntimeLibrary {
  const char* name;  ///< of the file and, in NVIDIA's library, of the version of its functions
  std::atomic<void*> functions[std::size(kFunctionNames)]{};
};
constinit RuntimeLibrary libraries[] = {{"libcudart.so.12"}, {"libcudart.so.13"}};

using GetDevice = int (*)(int* device);
using SetDevice = int (*)(int device);

/// Of everything that is loaded and called a runtime: packages give it names of their own ("libcudart-1a2b3c4d.so.12").
std::vector<std::string> loaded_runtimes() {
  std::vector<std::string> paths;
  visit_loaded_objects([&paths](const dl_phdr_info& info) {
    const std::string_view path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
    if (path.substr(path.rfind('/') + 1).starts_with("libcudart")) {
      paths.emplace_back(path);
    }
    return false;
  });
  return paths;
}

void* find_in(const char* path, const RuntimeLibrary& library, const char* name) noexcept {
  void* opened = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);  // stays open: what was found in it is kept
  return DynamicSymbols(opened).find(name, library.name);
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

/// Which devices are visible is decided when the driver is initialised. 0: not known.
int visible_devices(const backends::CudaDriver& driver) noexcept {
  static std::atomic<int> known{0};
  int count = known.load(std::memory_order_relaxed);
  if (count == 0 && driver.cuDeviceGetCount != nullptr && driver.cuDeviceGetCount(&count) == CUDA_SUCCESS) {
    known.store(count, std::memory_order_relaxed);
    env::log_debug(count == 1 ? "CUDA: one device is visible: cudaGetDevice() is answered without the runtime"
                              : "CUDA: several devices are visible: cudaGetDevice() is answered without the runtime "
                                "while a thread's context stays the same");
  }
  return count;
}

/// The runtime said `device` when `ended` contexts had ended.
void remember(const backends::CudaDriver& driver, int device, std::uint64_t ended) noexcept {
  const int visible = visible_devices(driver);
  reported.only_device = visible == 1 && device == 0;
  CUdevice its = -1;
  if (visible < 2 || driver.cuCtxGetDevice == nullptr || driver.cuCtxGetCurrent == nullptr ||
      driver.cuCtxGetCurrent(&reported.context) != CUDA_SUCCESS || reported.context == nullptr ||
      driver.cuCtxGetDevice(&its) != CUDA_SUCCESS || its != device) {
    reported.context = nullptr;  // the runtime has its own reasons
    return;
  }
  reported.device = device;
  reported.ended = ended;
}

[[nodiscard]] bool same_context(const backends::CudaDriver& driver) noexcept {
  CUcontext current = nullptr;
  return reported.context != nullptr && reported.ended == ended_contexts.load(std::memory_order_acquire) &&
         driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == reported.context;
}

/// Of the thread's first question, and of each one that has to be asked.
__attribute__((noinline, cold)) int ask(RuntimeVersion version, int* device) noexcept {
  const auto function = reinterpret_cast<GetDevice>(runtime_function(version, RuntimeFunction::kGetDevice));
  if (function == nullptr) {
    return kInitializationError;
  }
  const std::uint64_t ended = ended_contexts.load(std::memory_order_acquire);
  const int status = function(device);
  const backends::CudaDriver* driver = answering.load(std::memory_order_acquire);
  if (status == 0 && driver != nullptr && device != nullptr) {
    remember(*driver, *device, ended);
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
  const backends::CudaDriver* const driver = answering.load(std::memory_order_relaxed);
  if (driver != nullptr && device != nullptr) [[likely]] {
    if (reported.only_device) [[likely]] {
      *device = 0;
      return 0;
    }
    if (same_context(*driver)) {
      *device = reported.device;
      return 0;
    }
  }
  return ask(version, device);
}

int runtime_set_device(RuntimeVersion version, int device) noexcept {
  const auto function = reinterpret_cast<SetDevice>(runtime_function(version, RuntimeFunction::kSetDevice));
  reported.context = nullptr;
  context_changed = true;
  return function == nullptr ? kInitializationError : function(device);
}

void context_ended() noexcept {
  ended_contexts.fetch_add(1, std::memory_order_acq_rel);
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
