// What a device can do with command buffers, asked once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/opencl/command_buffer_api.h"
#include "backends/opencl/update_use.h"
#include "env/mutex.h"

namespace refrain::backends::opencl {

struct DeviceFacts {
  bool native = false;
  const char* why_not = "";  ///< static lifetime
  std::uint32_t version = 0;
  std::uint32_t mutable_version = 0;  ///< 0: none
  cl_bitfield required_queue_properties = 0;
  cl_bitfield supported_queue_properties = 0;
  bool simultaneous_use = false;      ///< the flag may be given at creation
  std::uint64_t offered_updates = 0;  ///< of mutable dispatch, as update_use.h names them
  std::uint64_t updates = 0;          ///< of those, what the functions that there are can change
  std::string name;                   ///< of the device
  bool samplers_broken = false;
  CommandBufferApi api;
};

/// Facts of all devices asked for so far. Thread-safe. The results live as long as the object.
class DeviceTable {
 public:
  explicit DeviceTable(const cl_icd_dispatch& driver) : driver_(driver) {}
  /// Null if the queue is not a queue, says the driver.
  const DeviceFacts* of_queue(cl_command_queue queue);
  const DeviceFacts& of_device(cl_device_id device);
  /// For the report: what of recorded launches is changed on each device with command buffers.
  [[nodiscard]] std::vector<std::string> notes();

 private:
  DeviceFacts ask(cl_device_id device) const;
  const cl_icd_dispatch& driver_;
  env::Mutex mutex_;
  std::map<cl_device_id, std::unique_ptr<DeviceFacts>> facts_ REFRAIN_GUARDED_BY(mutex_);
};

}  // namespace refrain::backends::opencl
