// Start, the driver, the device, contexts.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "test/sim/core/checks.h"
#include "test/sim/level_zero/objects.h"

namespace sim::level_zero {
namespace {

char driver_object, device_object;

bool has_copy_engine() noexcept {
  static const bool has = [] {
    const char* text = std::getenv("SIM_ZE_COPY_ENGINE");
    return text != nullptr && *text == '1';
  }();
  return has;
}

ze_result_t give_one(std::uint32_t* count, void** handles, void* handle) noexcept {
  if (count == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  }
  if (*count != 0 && handles != nullptr) {
    handles[0] = handle;
  }
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGet(std::uint32_t* count, ze_driver_handle_t* drivers) {
  ENTER(zeDriverGet);
  return give_one(count, reinterpret_cast<void**>(drivers), the_driver());
}

ze_result_t zeDriverGetApiVersion(ze_driver_handle_t, ze_api_version_t* version) {
  ENTER(zeDriverGetApiVersion);
  *version = ZE_API_VERSION_CURRENT;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetProperties(ze_driver_handle_t, ze_driver_properties_t* properties) {
  ENTER(zeDriverGetProperties);
  std::memset(&properties->uuid, 7, sizeof(properties->uuid));
  properties->driverVersion = 0x01000001;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t, ze_driver_ipc_properties_t* properties) {
  ENTER(zeDriverGetIpcProperties);
  properties->flags = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGet(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t* devices) {
  ENTER(zeDeviceGet);
  return give_one(count, reinterpret_cast<void**>(devices), the_device());
}

ze_result_t zeDeviceGetSubDevices(ze_device_handle_t, std::uint32_t* count, ze_device_handle_t*) {
  ENTER(zeDeviceGetSubDevices);
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t, ze_device_properties_t* properties) {
  ENTER(zeDeviceGetProperties);
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->vendorId = 0x8086;
  properties->deviceId = 0x51;
  properties->flags = 0;
  properties->subdeviceId = 0;
  properties->coreClockRate = 1000;
  properties->maxMemAllocSize = std::uint64_t{1} << 32U;
  properties->maxHardwareContexts = 1024;
  properties->maxCommandQueuePriority = 0;
  properties->numThreadsPerEU = 8;
  properties->physicalEUSimdWidth = 8;
  properties->numEUsPerSubslice = 8;
  properties->numSubslicesPerSlice = 8;
  properties->numSlices = 1;
  properties->timerResolution = 1;  // nanoseconds
  properties->timestampValidBits = 64;
  properties->kernelTimestampValidBits = 64;
  std::memset(&properties->uuid, 3, sizeof(properties->uuid));
  std::snprintf(properties->name, sizeof(properties->name), "Simulated device");
  tell_mutable_properties(properties->pNext);
  tell_graph_properties(properties->pNext);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t, ze_device_compute_properties_t* properties) {
  ENTER(zeDeviceGetComputeProperties);
  properties->maxTotalGroupSize = 1024;
  properties->maxGroupSizeX = properties->maxGroupSizeY = properties->maxGroupSizeZ = 1024;
  properties->maxGroupCountX = properties->maxGroupCountY = properties->maxGroupCountZ = ~0U;
  properties->maxSharedLocalMemory = 65536;
  properties->numSubGroupSizes = 1;
  properties->subGroupSizes[0] = 16;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t, ze_device_module_properties_t* properties) {
  ENTER(zeDeviceGetModuleProperties);
  properties->spirvVersionSupported = ZE_MAKE_VERSION(1, 2);
  properties->flags = 0;
  properties->maxArgumentsSize = 2048;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t, std::uint32_t* count,
                                                   ze_command_queue_group_properties_t* groups) {
  ENTER(zeDeviceGetCommandQueueGroupProperties);
  const std::uint32_t known = has_copy_engine() ? 2 : 1;
  for (std::uint32_t i = 0; groups != nullptr && i < known && i < *count; ++i) {
    groups[i].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
                      (i == 0 ? std::uint32_t{ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE} : 0U);
    groups[i].maxMemoryFillPatternSize = 128;
    groups[i].numQueues = 4;
  }
  *count = *count == 0 || *count > known ? known : *count;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t, std::uint32_t* count,
                                        ze_device_memory_properties_t* memories) {
  ENTER(zeDeviceGetMemoryProperties);
  if (*count != 0 && memories != nullptr) {
    memories[0].flags = 0;
    memories[0].maxClockRate = 1000;
    memories[0].maxBusWidth = 64;
    memories[0].totalSize = std::uint64_t{1} << 32U;
    std::snprintf(memories[0].name, sizeof(memories[0].name), "memory of the process");
  }
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t, std::uint64_t* host, std::uint64_t* device) {
  ENTER(zeDeviceGetGlobalTimestamps);
  *host = *device = static_cast<std::uint64_t>(host_ns());
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceGetStatus(ze_device_handle_t) {
  ENTER(zeDeviceGetStatus);
  return ZE_RESULT_SUCCESS;
}

ze_result_t make_context(const char* name, ze_driver_handle_t driver, ze_context_handle_t* result) {
  if (const ze_result_t status = begin_submission(name); status != ZE_RESULT_SUCCESS) {
    return status;
  }
  if (driver != the_driver()) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  const Lock lock;
  Context* made = state().contexts.make();
  made->open = std::make_shared<OpenWork>();
  *result = reinterpret_cast<ze_context_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t*, ze_context_handle_t* result) {
  return make_context("zeContextCreate", driver, result);
}
ze_result_t zeContextCreateEx(ze_driver_handle_t driver, const ze_context_desc_t*, std::uint32_t, ze_device_handle_t*,
                              ze_context_handle_t* result) {
  return make_context("zeContextCreateEx", driver, result);
}

template <class T>
bool any_of_context(const Handles<T>& all, const Context* context) {
  for (const T* object : all.all()) {
    if (object->context == context) {
      return true;
    }
  }
  return false;
}

ze_result_t zeContextDestroy(ze_context_handle_t handle) {
  ENTER(zeContextDestroy);
  const Lock lock;
  Context* context = find_or_complain(state().contexts, handle, "zeContextDestroy");
  if (context == nullptr) {
    return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  must_be_idle(lock, context->open, "zeContextDestroy");
  if (any_of_context(state().lists, context) || any_of_context(state().queues, context) ||
      any_of_context(state().modules, context) || any_of_context(state().pools, context)) {
    violation("zeContextDestroy with lists, queues, modules or event pools in it");
  }
  release_all(context);
  state().contexts.destroy(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeContextGetStatus(ze_context_handle_t) {
  ENTER(zeContextGetStatus);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeContextMakeMemoryResident(ze_context_handle_t, ze_device_handle_t, void*, std::size_t) {
  ENTER(zeContextMakeMemoryResident);
  return ZE_RESULT_SUCCESS;
}
ze_result_t zeContextEvictMemory(ze_context_handle_t, ze_device_handle_t, void*, std::size_t) {
  ENTER(zeContextEvictMemory);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zeDeviceSetCacheAdviceExt(ze_device_handle_t, void*, std::size_t, ze_cache_ext_region_t region) {
  ENTER(zeDeviceSetCacheAdviceExt);
  const Lock lock;
  state().set = region;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

namespace {

ze_result_t result(Entered entered) noexcept {
  switch (entered) {
    case Entered::kNotStarted:
    case Entered::kEnded: return ZE_RESULT_ERROR_UNINITIALIZED;
    case Entered::kInjected: return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case Entered::kOk: break;
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t begin(const char* name) noexcept {
  return result(enter(name));
}

ze_result_t begin_submission(const char* name) noexcept {
  return result(enter_submission(name));
}

State& state() noexcept {
  static State& all = *new State;
  return all;
}

ze_driver_handle_t the_driver() noexcept {
  return reinterpret_cast<ze_driver_handle_t>(&driver_object);
}
ze_device_handle_t the_device() noexcept {
  return reinterpret_cast<ze_device_handle_t>(&device_object);
}
bool valid_ordinal(std::uint32_t ordinal) noexcept {
  return ordinal < (has_copy_engine() ? 2U : 1U);
}
bool runs_kernels(std::uint32_t ordinal) noexcept {
  return ordinal == 0;
}

void fill(ze_driver_dditable_t& table) noexcept {
  table.pfnGet = zeDriverGet;
  table.pfnGetApiVersion = zeDriverGetApiVersion;
  table.pfnGetProperties = zeDriverGetProperties;
  table.pfnGetIpcProperties = zeDriverGetIpcProperties;
  fill_extensions(table);
}
void fill(ze_device_dditable_t& table) noexcept {
  table.pfnSetCacheAdviceExt = zeDeviceSetCacheAdviceExt;
  table.pfnGet = zeDeviceGet;
  table.pfnGetSubDevices = zeDeviceGetSubDevices;
  table.pfnGetProperties = zeDeviceGetProperties;
  table.pfnGetComputeProperties = zeDeviceGetComputeProperties;
  table.pfnGetModuleProperties = zeDeviceGetModuleProperties;
  table.pfnGetCommandQueueGroupProperties = zeDeviceGetCommandQueueGroupProperties;
  table.pfnGetMemoryProperties = zeDeviceGetMemoryProperties;
  table.pfnGetGlobalTimestamps = zeDeviceGetGlobalTimestamps;
  table.pfnGetStatus = zeDeviceGetStatus;
}
void fill(ze_context_dditable_t& table) noexcept {
  table.pfnCreate = zeContextCreate;
  table.pfnCreateEx = zeContextCreateEx;
  table.pfnDestroy = zeContextDestroy;
  table.pfnGetStatus = zeContextGetStatus;
  table.pfnMakeMemoryResident = zeContextMakeMemoryResident;
  table.pfnEvictMemory = zeContextEvictMemory;
}

}  // namespace sim::level_zero
