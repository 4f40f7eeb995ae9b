#include "backends/cuda/standalone_device.h"

#include <algorithm>
#include <array>

#include "backends/cuda/code_image.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/kernel_call.h"
#include "backends/cuda/system_driver.h"
#include "backends/device_choice.h"
#include "backends/streams/standalone_device.h"

namespace refrain::backends::cuda {
namespace {

using capture::MemoryPlace;
using capture::OperationKind;

std::string name_of_device(const CudaDriver& driver, CUdevice device) {
  std::array<char, 256> name{};
  (void)driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  return name.data();
}

int attribute(const CudaDriver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  (void)driver.cuDeviceGetAttribute(&value, which, device);
  return value;
}

std::string capability(const CudaDriver& driver, CUdevice device) {
  return std::to_string(attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) + "." +
         std::to_string(attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

class CudaDevice final : public StandaloneStreamDevice<CudaApi, CUmodule, CUfunction> {
 public:
  CudaDevice(const CudaDriver& driver, CUdevice device, CUcontext context)
      : StandaloneStreamDevice(driver, context), device_(device), backend_(driver) {
    int version = 0;
    (void)driver_.cuDriverGetVersion(&version);
    info_.api = "cuda";
    info_.platform = "NVIDIA CUDA";
    info_.name = name_of_device(driver, device);
    info_.driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    info_.native = "CUDA graphs, compute capability " + capability(driver, device);
  }
  ~CudaDevice() override {
    release_everything();
    (void)driver_.cuDevicePrimaryCtxRelease_v2(device_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Backend& backend() noexcept override { return backend_; }

  bool fits(const capture::OperationView& operation, std::string* why) override {
    if (operation.kind() != OperationKind::kKernel) {
      return true;
    }
    KernelCall call;
    if (!call.read(operation) || !std::all_of(call.attributes.begin(), call.attributes.end(), [](const auto& given) {
          CUlaunchAttribute known;
          return normalize(given, &known);
        })) {
      *why = "the capture does not hold the launch's arguments";
      return false;
    }
    // The driver reads as many parameters as the kernel has, as many bytes as they have.
    auto* function = reinterpret_cast<CUfunction>(operation.header().function_handle);
    std::size_t offset = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < call.parameters.size(); ++i) {
      if (driver_.cuFuncGetParamInfo(function, i, &offset, &size) != CUDA_SUCCESS ||
          size != operation.arguments()[i].size) {
        *why = "its arguments are not those of the captured kernel";
        return false;
      }
    }
    if (driver_.cuFuncGetParamInfo(function, call.parameters.size(), &offset, &size) == CUDA_SUCCESS) {
      *why = "it has fewer arguments than the captured kernel";
      return false;
    }
    allow(function, call);
    return true;
  }

 private:
  CUresult allocate(MemoryPlace place, std::uint64_t bytes, std::uint64_t* address) override {
    CUdeviceptr made = 0;
    CUresult status = CUDA_SUCCESS;
    switch (place) {
      case MemoryPlace::kHost: {
        void* host = nullptr;
        status = driver_.cuMemAllocHost_v2(&host, bytes);
        made = reinterpret_cast<CUdeviceptr>(host);
        break;
      }
      case MemoryPlace::kManaged: status = driver_.cuMemAllocManaged(&made, bytes, CU_MEM_ATTACH_GLOBAL); break;
      default: status = driver_.cuMemAlloc_v2(&made, bytes); break;
    }
    *address = made;
    return status;
  }
  void release(std::uint64_t address, bool of_host) noexcept override {
    (void)(of_host ? driver_.cuMemFreeHost(reinterpret_cast<void*>(address)) : driver_.cuMemFree_v2(address));
  }
  void synchronize() noexcept override { (void)driver_.cuCtxSynchronize(); }

  std::span<const std::byte> image_in(capture::CodeKind kind, std::span<const std::byte> code,
                                      std::string* why) override {
    const CodeImage image = backends::image_in(code);
    if (image.bytes.empty() || image.kind != kind) {
      *why = "the captured code is damaged: it is neither cubin, fat binary nor PTX";
      return {};
    }
    return image.bytes;
  }
  CUresult load(std::span<const std::byte> image, CUmodule* module) override {
    return driver_.cuModuleLoadData(module, image.data());
  }
  void unload(CUmodule module) noexcept override { (void)driver_.cuModuleUnload(module); }
  CUresult find_function(CUmodule module, const std::string& name, CUfunction* function) override {
    return driver_.cuModuleGetFunction(function, module, name.c_str());
  }
  bool is_of_other_gpu(CUresult status) const noexcept override { return status == CUDA_ERROR_NO_BINARY_FOR_GPU; }
  bool is_not_found(CUresult status) const noexcept override { return status == CUDA_ERROR_NOT_FOUND; }
  bool is_lost(CUresult status) const noexcept override {
    switch (status) {
      case CUDA_ERROR_ILLEGAL_ADDRESS:
      case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      case CUDA_ERROR_MISALIGNED_ADDRESS:
      case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      case CUDA_ERROR_INVALID_PC:
      case CUDA_ERROR_ASSERT:
      case CUDA_ERROR_LAUNCH_TIMEOUT:
      case CUDA_ERROR_LAUNCH_FAILED: return true;
      default: return false;
    }
  }
  std::string other_gpu() const override {
    return "the captured code was made for another GPU: it has neither machine code nor PTX for compute capability " +
           capability(driver_, device_) + " (" + info_.name + ")";
  }

  /// What programs have to ask for before launches like this one. If it is more than there is, the launch says so.
  void allow(CUfunction function, const KernelCall& call) {
    int allowed = 0;
    if (driver_.cuFuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) ==
            CUDA_SUCCESS &&
        call.shared_bytes > static_cast<unsigned>(std::max(allowed, 0))) {
      (void)driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       static_cast<int>(std::min<unsigned>(call.shared_bytes, 1U << 30U)));
    }
    if (std::ranges::any_of(call.attributes, [](const CUlaunchAttribute& given) {
          return given.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        })) {
      (void)driver_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    }
  }

  CUdevice device_;
  CudaBackend backend_;
};

}  // namespace

std::unique_ptr<StandaloneDevice> open_device(const DeviceChoice& choice, std::string* why) {
  const CudaDriver* driver = system_driver(why);
  if (driver == nullptr) {
    return nullptr;
  }
  const auto refuse = [&](const std::string& what, CUresult status) {
    const char* name = nullptr;
    const bool known = driver->cuGetErrorName != nullptr && driver->cuGetErrorName(status, &name) == CUDA_SUCCESS;
    *why = what + " (" + (known && name != nullptr ? name : "unknown CUDA error") + ")";
    return nullptr;
  };
  if (const CUresult status = driver->cuInit(0); status != CUDA_SUCCESS) {
    return refuse("this machine's CUDA driver does not start; `refrain doctor` says more", status);
  }
  int count = 0;
  if (const CUresult status = driver->cuDeviceGetCount(&count); status != CUDA_SUCCESS) {
    return refuse("this machine's CUDA driver does not tell its devices", status);
  }
  const auto device_at = [&](int number) {
    CUdevice device = -1;
    return driver->cuDeviceGet(&device, number) == CUDA_SUCCESS ? device : -1;
  };
  const int number = choose_device(
      choice, "CUDA", count, [&](int each) { return name_of_device(*driver, device_at(each)); }, why);
  if (number < 0) {
    return nullptr;
  }
  const CUdevice device = device_at(number);
  CUcontext context = nullptr;
  CUresult status = driver->cuDevicePrimaryCtxRetain(&context, device);
  if (status == CUDA_SUCCESS) {
    status = driver->cuCtxSetCurrent(context);
  }
  if (status != CUDA_SUCCESS) {
    return refuse("the device '" + name_of_device(*driver, device) + "' cannot be used", status);
  }
  return std::make_unique<CudaDevice>(*driver, device, context);
}

}  // namespace refrain::backends::cuda
