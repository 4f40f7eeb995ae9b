#include "layer/cuda/capture.h"

#include <array>
#include <map>

#include "env/mutex.h"
#include "layer/cuda/driver_functions.h"
#include "layer/cuda/runtime.h"
#include "layer/immortal.h"
#include "layer/streams/captured_memory.h"

namespace refrain::layer::cuda {
namespace {

struct Tables {
  env::Mutex mutex;
  std::map<CUdevice, ObjectId> devices REFRAIN_GUARDED_BY(mutex);
};
Tables& tables() noexcept {
  static Immortal<Tables> all;
  return *all;
}

bool find_device(CUcontext context, CUdevice* device) {
  const backends::ContextScope scope(runtime.driver, context);
  return scope.status() == CUDA_SUCCESS && driver.cuCtxGetDevice(device) == CUDA_SUCCESS;
}

replay::LayerHooks::Device name_of(CUdevice device) {
  std::array<char, 256> name{};
  int version = 0;
  driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device);
  driver.cuDriverGetVersion(&version);
  return {name.data(), "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10),
          static_cast<std::uint64_t>(device)};
}

}  // namespace

void CudaLayer::notify_recorder(const StreamState& stream, const replay::EntryPoint& /*entry_point*/,
                                const capture::OperationView& operation) noexcept {
  streams::CapturedMemory<CudaLayer>::all().before(stream, operation);
}

replay::LayerHooks::Device CudaLayer::device_of(CUcontext context) {
  CUdevice device = 0;
  return find_device(context, &device) ? name_of(device) : replay::LayerHooks::Device{};
}

ObjectId record_device(CUcontext context) {
  CUdevice device = 0;
  if (!find_device(context, &device)) {
    return 0;
  }
  const env::MutexLock guard(tables().mutex);
  if (const auto known = tables().devices.find(device); known != tables().devices.end()) {
    return known->second;
  }
  int major = 0;
  int minor = 0;
  const replay::LayerHooks::Device named = name_of(device);
  driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  capture::DeviceInfo info;
  info.id = next_object_id();
  info.api = "cuda";
  info.platform = "NVIDIA CUDA";
  info.name = named.name;
  info.driver = named.driver;
  const char* missing = nullptr;
  if (backends::can_replay(runtime.driver, &missing)) {
    info.updates = info.keeps_order = true;
    info.native = "CUDA graphs, compute capability " + std::to_string(major) + "." + std::to_string(minor);
  }
  runtime.recorder->define(info);
  tables().devices[device] = info.id;
  return info.id;
}

}  // namespace refrain::layer::cuda
