#include "backends/opencl/device_facts.h"

#include <cstring>
#include <string>
#include <vector>

namespace refrain::backends::opencl {
namespace {

constexpr char kExtension[] = "cl_khr_command_buffer";
constexpr char kMutableExtension[] = "cl_khr_command_buffer_mutable_dispatch";

std::string text_of(const cl_icd_dispatch& driver, cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  if (driver.clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) {
    return {};
  }
  std::string text(size, '\0');
  if (driver.clGetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  text.resize(std::strlen(text.c_str()));
  return text;
}

bool lists(const std::string& extensions, const std::string& name) {
  return (" " + extensions + " ").find(" " + name + " ") != std::string::npos;
}

// 0 if it does not say.
std::uint32_t version_of(const std::vector<cl_name_version>& extensions, const char* name) {
  for (const cl_name_version& extension : extensions) {
    if (std::strncmp(extension.name, name, sizeof(extension.name)) == 0) {
      return extension.version;
    }
  }
  return 0;
}

template <typename T>
bool ask_number(const cl_icd_dispatch& driver, cl_device_id device, cl_device_info what, T* answer) {
  return driver.clGetDeviceInfo(device, what, sizeof(T), answer, nullptr) == CL_SUCCESS;
}

}  // namespace

DeviceFacts DeviceTable::ask(cl_device_id device) const {
  DeviceFacts facts;
  const auto no = [&](const char* why) {
    facts.native = false;
    facts.why_not = why;
    return facts;
  };
  const std::string names = text_of(driver_, device, CL_DEVICE_EXTENSIONS);
  if (!lists(names, kExtension)) {
    return no("the device has no command buffers (cl_khr_command_buffer)");
  }
  std::size_t size = 0;
  std::vector<cl_name_version> extensions;
  if (driver_.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, 0, nullptr, &size) == CL_SUCCESS) {
    extensions.resize(size / sizeof(cl_name_version));
    if (driver_.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION, extensions.size() * sizeof(cl_name_version),
                                extensions.data(), nullptr) != CL_SUCCESS) {
      extensions.clear();
    }
  }
  facts.version = version_of(extensions, kExtension);
  if (facts.version == 0) {
    // Calling functions of one version with the arguments of another would crash.
    return no("the driver does not say which version of cl_khr_command_buffer it has");
  }
  if (facts.version < kOldestVersion || facts.version > kNewestVersion) {
    return no("this version of Refrain knows cl_khr_command_buffer 0.9.0 to 0.9.8 only");
  }
  facts.mutable_version = lists(names, kMutableExtension) ? version_of(extensions, kMutableExtension) : 0;

  cl_bitfield capabilities = 0;
  if (!ask_number(driver_, device, kDeviceCapabilities, &capabilities) ||
      !ask_number(driver_, device, kDeviceRequiredQueueProperties, &facts.required_queue_properties)) {
    return no("the driver does not answer what its command buffers can do");
  }
  if (facts.version >= make_version(0, 9, 6)) {
    if (!ask_number(driver_, device, kDeviceSupportedQueueProperties, &facts.supported_queue_properties)) {
      return no("the driver does not answer which queues its command buffers support");
    }
  } else {
    facts.supported_queue_properties = ~cl_bitfield{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
    if ((capabilities & kCapabilityOutOfOrder) != 0) {
      facts.supported_queue_properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    }
  }
  facts.simultaneous_use = (capabilities & kCapabilitySimultaneousUse) != 0;

  cl_platform_id platform = nullptr;
  if (!ask_number(driver_, device, CL_DEVICE_PLATFORM, &platform)) {
    return no("the driver does not say which platform the device belongs to");
  }
  if (!facts.api.load(driver_, platform, facts.version, facts.mutable_version)) {
    return no("the driver lacks functions of the version of cl_khr_command_buffer that it announces");
  }
  if (facts.mutable_version != 0 && !ask_number(driver_, device, kDeviceMutableCapabilities, &facts.offered_updates)) {
    facts.offered_updates = 0;
  }
  facts.updates = facts.api.has_update() ? facts.offered_updates & kKnownUpdates : 0;
  facts.name = text_of(driver_, device, CL_DEVICE_NAME);

  // PoCL takes the address of a copy of the sampler's handle for the sampler itself when it retains the arguments of a
  // recorded kernel: the process ends, or memory is corrupted. Every version that has command buffers does, 3.1 to 8.0
  // (lib/CL/pocl_ndrange_kernel.c, before 6.0 clCommandNDRangeKernelKHR.c).
  char platform_name[64] = "";
  (void)driver_.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(platform_name), platform_name, nullptr);
  facts.samplers_broken = std::strcmp(platform_name, "Portable Computing Language") == 0;
  facts.native = true;
  return facts;
}

const DeviceFacts& DeviceTable::of_device(cl_device_id device) {
  const env::MutexLock lock(mutex_);
  auto& place = facts_[device];
  if (!place) {
    place = std::make_unique<DeviceFacts>(ask(device));
  }
  return *place;
}

std::vector<std::string> DeviceTable::notes() {
  std::vector<std::string> result;
  const env::MutexLock lock(mutex_);
  for (const auto& [device, facts] : facts_) {
    if (facts->native) {
      result.push_back(facts->name + ": mutable dispatch offers " + names_of_updates(facts->offered_updates) + "; " +
                       use_of_updates(facts->updates));
    }
  }
  return result;
}

const DeviceFacts* DeviceTable::of_queue(cl_command_queue queue) {
  cl_device_id device = nullptr;
  if (queue == nullptr ||
      driver_.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr) != CL_SUCCESS) {
    return nullptr;
  }
  return &of_device(device);
}

}  // namespace refrain::backends::opencl
