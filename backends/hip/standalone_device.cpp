#include "backends/hip/standalone_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "backends/device_choice.h"
#include "backends/hip/code_object.h"
#include "backends/hip/hip_backend.h"
#include "backends/hip/system_runtime.h"
#include "backends/streams/standalone_device.h"

namespace refrain::backends::hip {
namespace {

using capture::MemoryPlace;
using capture::OperationKind;
using capture::OperationView;

std::string name_of_device(const HipDriver& driver, int device) {
  std::array<char, 256> name{};
  (void)driver.hipDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  return name.data();
}

class HipDevice final : public StandaloneStreamDevice<HipApi, hipModule_t, hipFunction_t> {
 public:
  HipDevice(const HipDriver& driver, int device) : StandaloneStreamDevice(driver, device), backend_(driver) {
    info_.api = "hip";
    info_.platform = "AMD HIP";
    info_.name = name_of_device(driver, device);
    info_.driver =
        "HIP " + std::to_string(driver.version / 10000000) + "." + std::to_string(driver.version / 100000 % 100);
    info_.native = "HIP graphs";
  }
  ~HipDevice() override { release_everything(); }
  HipDevice(const HipDevice&) = delete;
  HipDevice& operator=(const HipDevice&) = delete;

  Backend& backend() noexcept override { return backend_; }

  capture::Handle make_function(const capture::FunctionInfo& function, capture::CodeKind kind,
                                std::span<const std::byte> code, std::string* why) override {
    const capture::Handle made = StandaloneStreamDevice::make_function(function, kind, code, why);
    if (made == 0 || parameters_.contains(made)) {
      return made;
    }
    const ImageLayouts layouts = read_layouts(code.data(), code.size());
    const auto found = layouts.kernels.find(function.name);
    if (found == layouts.kernels.end() || found->second.differs) {
      *why = "the captured code does not tell the parameters of the kernel '" + function.name + "'";
      return 0;
    }
    parameters_[made] = found->second.parameters;
    return made;
  }

  /// A function of the captured program is one of a module here, whose launches are recorded without saying so.
  void adapt(std::vector<std::byte>* record) override {
    const OperationView operation(record->data());
    KernelLaunch call;
    std::uint64_t more = 0;
    if (operation.kind() != OperationKind::kKernel || !call.read(operation) || call.more.size() != sizeof(more)) {
      return;
    }
    std::memcpy(&more, call.more.data(), sizeof(more));
    if (more != kProgramsFunction) {
      return;
    }
    const auto place_of = [record](const void* part) { return static_cast<const std::byte*>(part) - record->data(); };
    const auto value = record->begin() + place_of(operation.values().data() + operation.values().size() - sizeof(more));
    const auto descriptor = record->begin() + place_of(&operation.arguments().back());
    record->erase(value, value + sizeof(more));
    record->erase(descriptor, descriptor + sizeof(capture::ArgumentDescriptor));
    auto* const header = reinterpret_cast<capture::OperationHeader*>(record->data());
    header->size = static_cast<std::uint32_t>(record->size());
    header->argument_count -= 1;
    header->value_bytes -= std::uint32_t{sizeof(more)};
  }

  bool fits(const OperationView& operation, std::string* why) override {
    if (operation.kind() == OperationKind::kPointerCopyRect &&
        !(is_of_device(operation, 0) && is_of_device(operation, 1))) {
      *why = "it copies rows from or to the host, of which versions of the runtime make different things";
      return false;
    }
    if (operation.kind() != OperationKind::kKernel) {
      return true;
    }
    KernelLaunch call;
    if (!call.read(operation) || !call.more.empty()) {
      *why = "the capture does not hold the launch's arguments";
      return false;
    }
    // The runtime reads as many parameters as the kernel has, as many bytes as they have.
    const auto known = parameters_.find(operation.header().function_handle);
    const auto arguments = operation.arguments().first(call.parameters.size());
    if (known == parameters_.end() ||
        !std::ranges::equal(arguments, known->second, {}, &capture::ArgumentDescriptor::size, &KernelParameter::size)) {
      *why = "its arguments are not those of the captured kernel";
      return false;
    }
    return true;
  }

 private:
  [[nodiscard]] bool is_of_device(const OperationView& operation, std::size_t argument) const noexcept {
    Allocation memory;
    return find_allocation(driver_, operation.handle_of(argument), &memory) && memory.type == MemoryType::kDevice;
  }

  hipError_t allocate(MemoryPlace place, std::uint64_t bytes, std::uint64_t* address) override {
    void* made = nullptr;
    hipError_t status = hipSuccess;
    switch (place) {
      case MemoryPlace::kHost: status = driver_.hipHostMalloc(&made, bytes, hipHostMallocDefault); break;
      case MemoryPlace::kManaged: status = driver_.hipMallocManaged(&made, bytes, hipMemAttachGlobal); break;
      default: status = driver_.hipMalloc(&made, bytes); break;
    }
    *address = reinterpret_cast<std::uint64_t>(made);
    return status;
  }
  void release(std::uint64_t address, bool of_host) noexcept override {
    auto* const memory = reinterpret_cast<void*>(address);
    (void)(of_host ? driver_.hipHostFree(memory) : driver_.hipFree(memory));
  }
  void synchronize() noexcept override { (void)driver_.hipDeviceSynchronize(); }

  std::span<const std::byte> image_in(capture::CodeKind kind, std::span<const std::byte> code,
                                      std::string* why) override {
    const std::span<const std::byte> image = image_at(code.data(), code.size());
    if (image.empty() || kind != capture::CodeKind::kBinary) {
      *why = "the captured code is damaged: it is neither a code object nor a bundle of them";
      return {};
    }
    return image;
  }
  hipError_t load(std::span<const std::byte> image, hipModule_t* module) override {
    // Nobody says that the runtime does not look at it later.
    const std::vector<std::byte>& kept = images_.emplace_back(image.begin(), image.end());
    return driver_.hipModuleLoadData(module, kept.data());
  }
  void unload(hipModule_t module) noexcept override { (void)driver_.hipModuleUnload(module); }
  hipError_t find_function(hipModule_t module, const std::string& name, hipFunction_t* function) override {
    return driver_.hipModuleGetFunction(function, module, name.c_str());
  }
  bool is_of_other_gpu(hipError_t status) const noexcept override { return status == hipErrorNoBinaryForGpu; }
  bool is_not_found(hipError_t status) const noexcept override { return status == hipErrorNotFound; }
  bool is_lost(hipError_t status) const noexcept override {
    return status == hipErrorIllegalAddress || status == hipErrorLaunchFailure || status == hipErrorLaunchTimeOut ||
           status == hipErrorAssert;
  }
  std::string other_gpu() const override {
    return "the captured code was made for another GPU: it has no code object for " + info_.name;
  }

  HipBackend backend_;
  std::vector<std::vector<std::byte>> images_;                                    ///< of all modules
  std::unordered_map<capture::Handle, std::vector<KernelParameter>> parameters_;  ///< of each function
};

}  // namespace

std::unique_ptr<StandaloneDevice> open_device(const DeviceChoice& choice, std::string* why) {
  const HipDriver* const driver = system_runtime(choice.library, why);
  if (driver == nullptr) {
    return nullptr;
  }
  const auto refuse = [&](const std::string& what, hipError_t status) {
    *why = what + " (" + HipApi::error_name(*driver, status) + ")";
    return nullptr;
  };
  int count = 0;
  // Without a device that is an error.
  if (const hipError_t status = driver->hipGetDeviceCount(&count); status != hipSuccess && status != hipErrorNoDevice) {
    return refuse("this machine's HIP runtime does not tell its devices", status);
  }
  const int device = choose_device(
      choice, "HIP", count, [driver](int number) { return name_of_device(*driver, number); }, why);
  if (device < 0) {
    return nullptr;
  }
  if (const hipError_t status = driver->hipSetDevice(device); status != hipSuccess) {
    return refuse("the device '" + name_of_device(*driver, device) + "' cannot be used", status);
  }
  return std::make_unique<HipDevice>(*driver, device);
}

}  // namespace refrain::backends::hip
