// Capture mode only: tells the recorder of devices and of the memory that recorded operations name.

#include <cstring>
#include <map>
#include <unordered_set>

#include "env/log.h"
#include "env/mutex.h"
#include "layer/immortal.h"
#include "layer/level_zero/objects.h"
#include "layer/level_zero/resolver.h"

namespace refrain::layer::level_zero {
namespace {

struct Recorded {
  env::Mutex mutex;
  std::map<ze_device_handle_t, ObjectId> devices REFRAIN_GUARDED_BY(mutex);
  std::unordered_set<ObjectId> memory REFRAIN_GUARDED_BY(mutex);
};
Recorded& recorded() noexcept {
  static Immortal<Recorded> all;
  return *all;
}

}  // namespace

ObjectId record_device(ze_device_handle_t device) noexcept {
  try {
    const env::MutexLock guard(recorded().mutex);
    if (const auto known = recorded().devices.find(device); known != recorded().devices.end()) {
      return known->second;
    }
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    if (runtime.driver.zeDeviceGetProperties(device, &properties) != ZE_RESULT_SUCCESS) {
      return 0;
    }
    capture::DeviceInfo info;
    info.id = next_object_id();
    info.api = "level_zero";
    info.platform = "Level Zero";
    info.name = properties.name;
    info.native = "command lists";
    info.updates = mutable_lists(device) != nullptr;
    info.keeps_order = true;
    runtime.recorder->define(info);
    recorded().devices[device] = info.id;
    return info.id;
  } catch (...) {
    return 0;
  }
}

void record_memory(const capture::OperationView& operation, ObjectId context) noexcept {
  try {
    const std::byte* value = operation.values().data();
    for (const capture::ArgumentDescriptor& argument : operation.arguments()) {
      std::uint64_t address = 0;
      if (argument.kind == capture::ArgumentKind::kPointer) {
        std::memcpy(&address, value, sizeof(address));
        const Place place = memory_at(address);
        const env::MutexLock guard(recorded().mutex);
        if (place.id == argument.object && recorded().memory.insert(place.id).second) {
          capture::BufferInfo info;
          info.id = place.id;
          info.context = context;
          info.size = place.bytes;
          info.address = place.start;
          info.description = {static_cast<std::uint64_t>(capture::MemoryPlace::kDevice), 0};
          runtime.recorder->define(info);
        }
      }
      value += argument.stored_bytes();
    }
  } catch (...) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      env::log_error("out of memory: the capture lacks some buffers");
    }
  }
}

}  // namespace refrain::layer::level_zero
