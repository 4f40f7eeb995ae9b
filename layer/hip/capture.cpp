// What a capture file is told of HIP.

#include <array>
#include <map>

#include "env/mutex.h"
#include "layer/hip/runtime.h"
#include "layer/immortal.h"
#include "layer/streams/captured_memory.h"

namespace refrain::layer::hip {

void HipLayer::notify_recorder(const StreamState& stream, const replay::EntryPoint& /*entry_point*/,
                               const capture::OperationView& operation) noexcept {
  streams::CapturedMemory<HipLayer>::all().before(stream, operation);
}

replay::LayerHooks::Device HipLayer::device_of(int device) {
  const backends::HipDriver& driver = hip::runtime.driver;
  std::array<char, 256> name{};
  int version = 0;
  static_cast<void>(
      backends::quiet(driver, driver.hipDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device)));
  static_cast<void>(backends::quiet(driver, driver.hipRuntimeGetVersion(&version)));
  return {name.data(), "HIP " + std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100),
          static_cast<std::uint64_t>(device)};
}

ObjectId HipLayer::device_id(int device, ObjectId otherwise) {
  if (hip::runtime.recorder == nullptr) {
    return otherwise;
  }
  static Immortal<env::Mutex> mutex;
  static Immortal<std::map<int, ObjectId>> all REFRAIN_GUARDED_BY(*mutex);
  const env::MutexLock guard(*mutex);
  auto& recorded = *all;
  if (const auto known = recorded.find(device); known != recorded.end()) {
    return known->second;
  }
  const replay::LayerHooks::Device named = device_of(device);
  capture::DeviceInfo info;
  info.id = next_object_id();
  info.api = "hip";
  info.platform = "AMD HIP";
  info.name = named.name;
  info.driver = named.driver;
  info.native = "HIP graphs";
  info.updates = info.keeps_order = true;
  hip::runtime.recorder->define(info);
  recorded[device] = info.id;
  return info.id;
}

}  // namespace refrain::layer::hip
