#include "backends/cuda/standalone_device.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "backends/cuda/code_image.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/kernel_call.h"
#include "backends/cuda/system_driver.h"

namespace refrain::backends::cuda {
namespace {

using capture::Handle;
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

class CudaDevice final : public StandaloneDevice {
 public:
  CudaDevice(const CudaDriver& driver, CUdevice device, CUcontext context)
      : d_(driver), device_(device), context_(context), backend_(driver) {
    int version = 0;
    (void)d_.cuDriverGetVersion(&version);
    info_.api = "cuda";
    info_.platform = "NVIDIA CUDA";
    info_.name = name_of_device(driver, device);
    info_.driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    info_.native = "CUDA graphs, compute capability " + capability(driver, device);
  }
  ~CudaDevice() override {
    release_memory();
    for (const auto& [id, module] : modules_) {
      (void)d_.cuModuleUnload(module);
    }
    (void)d_.cuDevicePrimaryCtxRelease_v2(device_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Backend& backend() noexcept override { return backend_; }
  const capture::DeviceInfo& info() const noexcept override { return info_; }

  bool make_queue(const capture::QueueInfo& wanted, capture::QueueInfo* made, std::string* why) override {
    auto stream = std::make_unique<CudaStream>();
    stream->context = context_;
    switch (wanted.default_order) {
      case capture::DefaultOrder::kIsDefault: stream->kind = StreamKind::kLegacy; break;
      case capture::DefaultOrder::kWithDefault: stream->kind = StreamKind::kBlocking; break;
      default: stream->kind = StreamKind::kNonBlocking; break;
    }
    CUresult status = CUDA_SUCCESS;
    if (stream->kind == StreamKind::kLegacy) {
      stream->handle = CU_STREAM_LEGACY;
    } else {
      const unsigned flags = stream->kind == StreamKind::kNonBlocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
      status = d_.cuStreamCreateWithPriority(&stream->handle, flags, 0);
    }
    if (status != CUDA_SUCCESS) {
      *why = "the device refuses a stream" + reason(status);
      return false;
    }
    stream->id.store(wanted.id, std::memory_order_release);
    *made = wanted;
    made->handle = reinterpret_cast<Handle>(stream.get());
    streams_.push_back(std::move(stream));
    return true;
  }

  Handle make_memory(const capture::BufferInfo& wanted, Handle /*parent*/, std::string* why) override {
    const auto place =
        wanted.description.empty() ? MemoryPlace::kDevice : static_cast<MemoryPlace>(wanted.description[0]);
    CUdeviceptr address = 0;
    CUresult status = CUDA_SUCCESS;
    switch (place) {
      case MemoryPlace::kHost: {
        void* host = nullptr;
        status = d_.cuMemAllocHost_v2(&host, wanted.size);
        address = reinterpret_cast<CUdeviceptr>(host);
        break;
      }
      case MemoryPlace::kManaged: status = d_.cuMemAllocManaged(&address, wanted.size, CU_MEM_ATTACH_GLOBAL); break;
      default: status = d_.cuMemAlloc_v2(&address, wanted.size); break;
    }
    if (status != CUDA_SUCCESS) {
      *why = "the device refuses " + std::to_string(wanted.size) + " bytes of memory" + reason(status);
      return 0;
    }
    memory_.emplace_back(address, place == MemoryPlace::kHost);
    return address;
  }

  Handle make_function(const capture::FunctionInfo& function, capture::CodeKind kind, std::span<const std::byte> code,
                       std::string* why) override {
    if (const auto found = functions_.find(function.id); found != functions_.end()) {
      return reinterpret_cast<Handle>(found->second);
    }
    // A module, also where the program had a library: what this device cannot run is refused here, not later.
    CUmodule module = load(function.code, kind, code, why);
    if (module == nullptr) {
      return 0;
    }
    CUfunction made = nullptr;
    const CUresult status = d_.cuModuleGetFunction(&made, module, function.name.c_str());
    if (status != CUDA_SUCCESS) {
      *why = status == CUDA_ERROR_NO_BINARY_FOR_GPU ? other_gpu()
             : status == CUDA_ERROR_NOT_FOUND
                 ? "the captured code has no kernel '" + function.name + "'"
                 : "the kernel '" + function.name + "' cannot be used here" + reason(status);
      return 0;
    }
    functions_[function.id] = made;
    return reinterpret_cast<Handle>(made);
  }

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
      if (d_.cuFuncGetParamInfo(function, i, &offset, &size) != CUDA_SUCCESS || size != operation.arguments()[i].size) {
        *why = "its arguments are not those of the captured kernel";
        return false;
      }
    }
    if (d_.cuFuncGetParamInfo(function, call.parameters.size(), &offset, &size) == CUDA_SUCCESS) {
      *why = "it has fewer arguments than the captured kernel";
      return false;
    }
    allow(function, call);
    return true;
  }

  void release_memory() noexcept override {
    (void)d_.cuCtxSynchronize();
    for (const auto& [address, host] : memory_) {
      (void)(host ? d_.cuMemFreeHost(reinterpret_cast<void*>(address)) : d_.cuMemFree_v2(address));
    }
    memory_.clear();
    for (const auto& stream : streams_) {
      if (stream->id.exchange(0) != 0 && stream->kind != StreamKind::kLegacy) {
        (void)d_.cuStreamDestroy_v2(stream->handle);
      }
    }
  }

 private:
  /// " (CUDA_ERROR_…)", and what to do if it is the consequence of something else.
  std::string reason(CUresult status) const {
    std::string text = std::string(" (") + backend_.error_name(status) + ")";
    switch (status) {
      case CUDA_ERROR_ILLEGAL_ADDRESS:
      case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      case CUDA_ERROR_MISALIGNED_ADDRESS:
      case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      case CUDA_ERROR_INVALID_PC:
      case CUDA_ERROR_ASSERT:
      case CUDA_ERROR_LAUNCH_TIMEOUT:
      case CUDA_ERROR_LAUNCH_FAILED:
        return text + ": an earlier graph left the device unusable for this process; bench this one with --graph";
      default: return text;
    }
  }

  std::string other_gpu() const {
    return "the captured code was made for another GPU: it has neither machine code nor PTX for compute capability " +
           capability(d_, device_) + " (" + info_.name + ")";
  }

  CUmodule load(capture::CodeId id, capture::CodeKind kind, std::span<const std::byte> bytes, std::string* why) {
    if (const auto found = modules_.find(id); found != modules_.end()) {
      return found->second;
    }
    if (const auto failed = failures_.find(id); failed != failures_.end()) {
      *why = failed->second;
      return nullptr;
    }
    // The driver believes what an image says of its own size.
    const CodeImage image = image_in(bytes);
    if (image.bytes.empty() || image.kind != kind) {
      *why = "the captured code is damaged: it is neither cubin, fat binary nor PTX";
    } else {
      CUmodule made = nullptr;
      const CUresult status = d_.cuModuleLoadData(&made, image.bytes.data());
      if (status == CUDA_SUCCESS) {
        modules_[id] = made;
        return made;
      }
      *why = status == CUDA_ERROR_NO_BINARY_FOR_GPU ? other_gpu()
                                                    : "the driver does not take the captured code" + reason(status);
    }
    failures_[id] = *why;
    return nullptr;
  }

  /// What programs have to ask for before launches like this one. If it is more than there is, the launch says so.
  void allow(CUfunction function, const KernelCall& call) {
    int allowed = 0;
    if (d_.cuFuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS &&
        call.shared_bytes > static_cast<unsigned>(std::max(allowed, 0))) {
      (void)d_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  static_cast<int>(std::min<unsigned>(call.shared_bytes, 1U << 30U)));
    }
    if (std::ranges::any_of(call.attributes, [](const CUlaunchAttribute& given) {
          return given.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        })) {
      (void)d_.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    }
  }

  const CudaDriver& d_;
  CUdevice device_;
  CUcontext context_;
  CudaBackend backend_;
  capture::DeviceInfo info_;
  std::vector<std::unique_ptr<CudaStream>> streams_;  // as long as we live: command buffers name them
  std::vector<std::pair<CUdeviceptr, bool>> memory_;  // and whether it is the host's
  std::map<capture::CodeId, CUmodule> modules_;
  std::map<capture::CodeId, std::string> failures_;
  std::map<capture::FunctionId, CUfunction> functions_;
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
  for (int number = 0; number < count; ++number) {
    CUdevice device = 0;
    if (driver->cuDeviceGet(&device, number) != CUDA_SUCCESS ||
        !(choice.name.empty() ? choice.platform == 0 && static_cast<std::uint32_t>(number) == choice.device
                              : name_of_device(*driver, device).find(choice.name) != std::string::npos)) {
      continue;
    }
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
  if (!choice.name.empty()) {
    *why = "no CUDA device here has '" + choice.name + "' in its name; `refrain doctor` lists them";
  } else if (choice.platform != 0) {
    *why = "CUDA has one platform, number 0";
  } else {
    *why = "this machine has no CUDA device " + std::to_string(choice.device) + ", only " + std::to_string(count) +
           "; `refrain doctor` lists them";
  }
  return nullptr;
}

}  // namespace refrain::backends::cuda
